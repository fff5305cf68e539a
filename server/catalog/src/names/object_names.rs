//! The names of objects that are no relations: roles, databases, schemas, types, routines.
//!
//! ```text
//!   (Schema, database 100, "public", 101)        one entry for each name of each object
//!   (Routine, schema 101, "f", 16384)            two functions may have the same name
//!   (Routine, schema 101, "f", 16390)
//! ```
//!
//! Rule: each look-up costs the depth of a tree, however many objects there are.

use std::sync::Arc;

use crate::Id;
use crate::cache::SharedMap;

/// A kind of objects with names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameKind {
    /// Roles; they are in nothing.
    Role,
    /// Databases; they are in nothing.
    Database,
    /// Schemas of a database.
    Schema,
    /// Enums of a schema.
    Enum,
    /// The types of arrays of enums, by the ids of the enums.
    EnumArray,
    /// Domains of a schema.
    Domain,
    /// Routines of a schema.
    Routine,
}

/// Where an object has its name: the kind, and the schema or database. 0 for none.
pub(crate) type Place = (NameKind, Id);

/// The names of objects. A copy costs one pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectNames {
    entries: SharedMap<(Place, Arc<str>, Id), ()>,
}

impl ObjectNames {
    /// The objects of that name in one place, by id.
    pub(crate) fn find<'n>(&'n self, place: Place, name: &'n str) -> impl Iterator<Item = Id> + 'n {
        let from = move |(of, known, id): &(Place, Arc<str>, Id)| {
            (*of, &**known, *id).cmp(&(place, name, 0))
        };
        let entries = self.entries.iter_from(from).map(|(key, ())| key);
        let found = entries.take_while(move |(of, known, _)| *of == place && **known == *name);
        found.map(|(_, _, id)| *id)
    }

    pub(crate) fn learn(&mut self, place: Place, name: &str, id: Id) {
        self.entries.insert((place, Arc::from(name), id), ());
    }

    pub(crate) fn forget(&mut self, place: Place, name: &str, id: Id) {
        self.entries.remove(&(place, Arc::from(name), id));
    }
}
