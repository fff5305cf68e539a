//! Which tables and indexes are below the rows of which table.

use std::sync::Arc;

use braid_codec::key;
use braid_types::SqlType;

use crate::{Catalog, Id, IndexNumber, Interleaving, Passing, Table};

/// The table and the number of the index that a key belongs to, and the bytes of the key from
/// which on it is that index's own.
pub fn owner_of<'c>(
    catalog: &'c Catalog,
    key_bytes: &[u8],
) -> Option<(&'c Arc<Table>, IndexNumber)> {
    let mut rest = key_bytes;
    let mut columns_read = 0;
    loop {
        let (data_id, number) = key::decode_prefix(&mut rest).ok()?;
        let by_id = catalog.table(data_id).filter(|table| table.data_id == data_id);
        let table =
            by_id.or_else(|| catalog.tables().iter().find(|table| table.data_id == data_id))?;
        let index = table.index(number)?;
        if !index.has_below() {
            return Some((table, number));
        }
        for part in index.keys.get(columns_read..)? {
            if key::skip(&mut rest, &SqlType::Unknown, part.descending).is_err() {
                return Some((table, number));
            }
        }
        columns_read = index.keys.len();
        match rest.split_first() {
            Some((&key::INTERLEAVE_SENTINEL, below)) => rest = below,
            _ => return Some((table, number)),
        }
    }
}

/// The interleaved tables of a catalog.
#[derive(Clone, Copy)]
pub struct InterleavedTables<'c> {
    catalog: &'c Catalog,
}

impl Catalog {
    /// What is below the rows of other tables.
    pub fn interleaving(&self) -> InterleavedTables<'_> {
        InterleavedTables::new(self)
    }
}

impl<'c> InterleavedTables<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> Self {
        InterleavedTables { catalog }
    }

    /// A table whose rows are on their way into or out of a place below those of this one.
    pub fn moving_below(self, table: Id) -> Option<&'c Arc<Table>> {
        let is_below = |to: &Option<Interleaving>| {
            to.as_ref().is_some_and(|to| to.above.iter().any(|above| above.table == table))
        };
        self.catalog.tables().iter().find(|other| {
            let to = other.moving.as_ref().is_some_and(|moving| is_below(&moving.to));
            to || (other.moving.is_some() && is_below(&other.primary.interleaving))
        })
    }

    /// Whether keys that pass are being put there, rather than left over.
    pub fn is_arriving(self, passing: &Passing) -> bool {
        self.catalog.tables().iter().any(|table| {
            table.data_id == passing.data_id
                && table.primary.number == passing.number
                && table.moving.as_ref().is_some_and(|moving| {
                    moving.to.as_ref().is_some_and(|to| to.above == passing.above)
                })
        })
    }

    /// Every index below a table's rows, at any level: the nearest first.
    pub fn below(self, table: &Table) -> Vec<(Arc<Table>, IndexNumber)> {
        let mut found: Vec<(Arc<Table>, IndexNumber)> = Vec::new();
        let mut open = table.primary.below.clone();
        while !open.is_empty() {
            let mut next = Vec::new();
            for (id, number) in open {
                let Some(table) = self.catalog.table(id) else { continue };
                if number == table.primary.number {
                    next.extend_from_slice(&table.primary.below);
                }
                found.push((table.clone(), number));
            }
            open = next;
        }
        found
    }
}
