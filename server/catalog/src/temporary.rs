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

use crate::draft::private_version;
use crate::{Catalog, Id, ROOT, Schema, SearchPath, Sequence, Table, View};

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
}

impl Catalog {
    /// The temporary schema of the session that has this catalog.
    pub fn temporary_schema(&self) -> Option<&Arc<Schema>> {
        self.schemas.iter_from(|id| id.cmp(&FIRST_TEMPORARY)).map(|(_, schema)| schema).next()
    }

    /// The temporary objects among all.
    pub fn temporary_objects(&self) -> TemporaryObjects {
        let first = |id: &Id| id.cmp(&FIRST_TEMPORARY);
        TemporaryObjects {
            schema: self.temporary_schema().cloned(),
            tables: self.tables.iter_from(first).map(|(_, table)| table.clone()).collect(),
            views: self.views.iter_from(first).map(|(_, view)| view.clone()).collect(),
            sequences: self.sequences.iter_from(first).map(|(_, s)| s.clone()).collect(),
        }
    }

    /// This catalog with a session's temporary objects laid over it.
    pub fn with_temporary(self: &Arc<Self>, objects: &TemporaryObjects) -> Arc<Catalog> {
        if objects.is_empty() {
            return self.clone();
        }
        let mut catalog = Catalog::clone(self);
        catalog.version = private_version();
        objects.schema.iter().for_each(|schema| catalog.insert_schema(schema.clone()));
        objects.tables.iter().for_each(|table| catalog.insert_table(table.clone()));
        objects.views.iter().for_each(|view| catalog.insert_view(view.clone()));
        objects.sequences.iter().for_each(|sequence| catalog.insert_sequence(sequence.clone()));
        Arc::new(catalog)
    }

    /// Whether a schema of that name is, or would be, the session's temporary one.
    pub fn is_temporary_schema(&self, name: &str) -> bool {
        name == PG_TEMP || self.temporary_schema().is_some_and(|schema| schema.name == name)
    }

    /// Whether CREATE with this name makes a temporary object although it does not say so.
    pub fn creates_temporary(&self, path: &SearchPath, name: &[String]) -> bool {
        match name {
            [_] => {
                let exists = |schema: &&str| {
                    self.is_temporary_schema(schema)
                        || crate::is_virtual_schema(schema)
                        || self.schema_by_name(path.database, schema).is_some()
                };
                let first = path.names(false).find(exists);
                first.is_some_and(|schema| self.is_temporary_schema(schema))
            }
            [.., schema, _] => self.is_temporary_schema(schema),
            [] => false,
        }
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
