//! What a check of children has to prove at the commit: that none has come. With an index on the
//! foreign key these are the entries of a span, without one those pairs of the whole table that
//! point at one of the keys.

use std::collections::HashSet;
use std::sync::Arc;

use braid_kv::{EntryFilter, KeyShape, Matching};
use braid_rows::{RowDecoder, TableRows};
use braid_types::{Datum, Result, Row};

use crate::foreign_keys::link::Link;

/// Pairs of children that point at one of these keys.
pub(crate) struct Pointing {
    link: Arc<Link>,
    keys: HashSet<Row>,
    decoder: RowDecoder,
    /// Distinguishes the table's keys from those of interleaved ones.
    shape: Option<Arc<dyn KeyShape>>,
    /// If the foreign key is in another family than the first: how its pairs' keys end.
    family: Option<Vec<u8>>,
}

impl Pointing {
    /// A filter for children of these keys. `None` where one pair does not have all of the foreign
    /// key, so that it cannot be decided by pairs.
    pub(crate) fn at(link: &Link, keys: &[Row]) -> Result<Option<Matching>> {
        let rows = TableRows::new(&link.child)?;
        let decoder = rows.reader(&link.child_places);
        let family = match rows.families_of(&link.child_places).as_slice() {
            [] => None,
            // Columns that are in the key's bytes only are in every pair.
            [_] if rows.family_count() == 1 => None,
            [one] => Some(rows.family_suffix(*one)),
            _ => return Ok(None),
        };
        let keys = keys.iter().map(|key| link.values.of_parent(key).into_owned()).collect();
        let (link, shape) = (Arc::new(link.clone()), rows.shape.clone());
        Ok(Some(Matching(Arc::new(Pointing { link, keys, decoder, shape, family }))))
    }

    fn decide(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        let row_key = self.decoder.row_key(key)?;
        if self.family.as_ref().is_some_and(|family| key[row_key.len()..] != **family) {
            return Ok(false);
        }
        let row = self.decoder.row(key, [value])?;
        let is_null = row.iter().any(Datum::is_null);
        Ok(!is_null && self.keys.contains(&*self.link.values.of_child(row)?))
    }
}

/// Whatever entries come to a span that children of one key alone are in.
pub(crate) struct Coming {
    shape: Option<Arc<dyn KeyShape>>,
}

impl Coming {
    /// A filter for a span of an index; the shape distinguishes its keys from others.
    pub(crate) fn of(shape: Option<&Arc<dyn KeyShape>>) -> Matching {
        Matching(Arc::new(Coming { shape: shape.cloned() }))
    }
}

impl EntryFilter for Coming {
    fn matters(&self, key: &[u8], _: &[u8]) -> bool {
        self.shape.as_ref().is_none_or(|shape| shape.gap(key).is_none())
    }
}

impl EntryFilter for Pointing {
    fn matters(&self, key: &[u8], value: &[u8]) -> bool {
        let is_other = self.shape.as_ref().is_some_and(|shape| shape.gap(key).is_some());
        // What cannot be read may matter.
        !is_other && self.decide(key, value).unwrap_or(true)
    }
}
