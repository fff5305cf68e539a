//! Temporary objects: descriptors of one session, laid over the shared catalog.
//!
//! ```text
//!   shared catalog, version 7 ─┐
//!                              ├─ with_temporary ─▶ Catalog with a private version
//!   TemporaryObjects ──────────┘   ids from FIRST_TEMPORARY on, schema pg_temp_N
//! ```
//!
//! A session without temporary objects works with the shared catalog itself. The laid-over one
//! has a version that no other catalog has, so that plans made with it are never shared and end
//! with the next change.
//!
//! Rules: ids of temporary objects come from a range of their own and are never stored; no stored
//! object refers to one; rows of temporary tables are keys of [`temporary_span`], which never
//! reach the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use braid_codec::key;
use braid_kv::Span;

use crate::catalog::private_version;
use crate::edit::CatalogEdit;
use crate::{Catalog, Descriptor, Id, ROOT, Routine, Schema, Sequence, Table, View};

/// The first id of temporary objects.
pub const FIRST_TEMPORARY: Id = 1 << 30;
/// The first id after those of temporary objects.
const END_TEMPORARY: Id = 1 << 31;
/// The name by which a session knows its own temporary schema.
pub const PG_TEMP: &str = "pg_temp";

/// Whether an id is one of a temporary object.
pub fn is_temporary(id: Id) -> bool {
    (FIRST_TEMPORARY..END_TEMPORARY).contains(&id)
}

/// The keys of all temporary tables.
pub fn temporary_span() -> Span {
    Span::new(key::table_prefix(FIRST_TEMPORARY), key::table_prefix(END_TEMPORARY))
}

/// A new id for a temporary object. The process shares one counter, so that estimates of tables of
/// two sessions do not meet. It begins again after 2^30 objects.
pub(crate) fn allocate_temporary() -> Id {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    FIRST_TEMPORARY + NEXT.fetch_add(1, Ordering::Relaxed) % (END_TEMPORARY - FIRST_TEMPORARY)
}

/// The temporary objects of a session, as its last commit has left them.
#[derive(Clone, Debug, Default)]
pub struct TemporaryObjects {
    schema: Option<Arc<Schema>>,
    tables: Vec<Arc<Table>>,
    views: Vec<Arc<View>>,
    sequences: Vec<Arc<Sequence>>,
    routines: Vec<Arc<Routine>>,
}

impl TemporaryObjects {
    /// Whether the session has not even a temporary schema.
    pub fn is_empty(&self) -> bool {
        self.schema.is_none()
    }

    /// The tables, by id.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// The views, by id.
    pub fn views(&self) -> &[Arc<View>] {
        &self.views
    }

    /// The sequences, by id.
    pub fn sequences(&self) -> &[Arc<Sequence>] {
        &self.sequences
    }

    /// The functions and procedures, by id.
    pub fn routines(&self) -> &[Arc<Routine>] {
        &self.routines
    }
}

impl Catalog {
    /// The temporary schema of the session that has this catalog.
    pub fn temporary_schema(&self) -> Option<&Arc<Schema>> {
        self.schemas.at_or_above(FIRST_TEMPORARY).next()
    }

    /// The temporary objects among all.
    pub fn temporary_objects(&self) -> TemporaryObjects {
        TemporaryObjects {
            schema: self.temporary_schema().cloned(),
            tables: self.tables.at_or_above(FIRST_TEMPORARY).cloned().collect(),
            views: self.views.at_or_above(FIRST_TEMPORARY).cloned().collect(),
            sequences: self.sequences.at_or_above(FIRST_TEMPORARY).cloned().collect(),
            routines: self.routines.at_or_above(FIRST_TEMPORARY).cloned().collect(),
        }
    }

    /// This catalog with a session's temporary objects laid over it.
    pub fn with_temporary(self: &Arc<Self>, objects: &TemporaryObjects) -> Arc<Catalog> {
        if objects.is_empty() {
            return self.clone();
        }
        let mut catalog = Catalog::clone(self);
        catalog.version = private_version();
        let mut edit = CatalogEdit::new(&mut catalog);
        objects.schema.iter().cloned().for_each(|schema| edit.put(Descriptor::Schema(schema)));
        objects.tables.iter().cloned().for_each(|table| edit.put(Descriptor::Table(table)));
        objects.views.iter().cloned().for_each(|view| edit.put(Descriptor::View(view)));
        let sequences = objects.sequences.iter().cloned();
        sequences.for_each(|sequence| edit.put(Descriptor::Sequence(sequence)));
        let routines = objects.routines.iter().cloned();
        routines.for_each(|routine| edit.put(Descriptor::Routine(routine)));
        edit.settle();
        Arc::new(catalog)
    }
}

impl Schema {
    /// The temporary schema of a session with this number.
    pub(crate) fn temporary(database: Id, session: i32) -> Schema {
        Schema {
            id: allocate_temporary(),
            database,
            name: format!("{PG_TEMP}_{session}"),
            owner: ROOT,
            grants: Vec::new(),
            comment: None,
            collations: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_temporary_tables_are_apart_from_all_others() {
        let span = temporary_span();
        let inside = |id: Id| span.contains(&key::index_prefix(id, 1));
        assert!(inside(FIRST_TEMPORARY) && inside(END_TEMPORARY - 1));
        assert!(!inside(FIRST_TEMPORARY - 1) && !inside(END_TEMPORARY) && !inside(16384));
        assert!(!span.contains(&key::system_key("x")));
    }
}
