//! The objects of one kind, by id.

use std::sync::Arc;

use crate::cache::SharedMap;
use crate::{Composite, Database, Domain, Enum, Id, Role, Routine, Schema, Sequence, Table, View};

/// An object with an id.
pub trait Identified {
    /// Its id.
    fn id(&self) -> Id;
}

/// An object of a database.
pub trait InDatabase: Identified {
    /// The id of the database.
    fn database(&self) -> Id;
}

macro_rules! identified {
    ($($kind:ty),*) => { $(impl Identified for $kind {
        fn id(&self) -> Id {
            self.id
        }
    })* };
}

macro_rules! in_database {
    ($($kind:ty),*) => { $(impl InDatabase for $kind {
        fn database(&self) -> Id {
            self.database
        }
    })* };
}

identified!(Table, View, Sequence, Schema, Enum, Domain, Composite, Routine, Database, Role);
in_database!(Table, View, Sequence, Schema, Enum, Domain, Composite, Routine);

/// The objects of one kind. A copy costs one pointer.
#[derive(Debug)]
pub struct Collection<T> {
    by_id: SharedMap<Id, Arc<T>>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Collection { by_id: self.by_id.clone() }
    }
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Collection { by_id: SharedMap::default() }
    }
}

impl<T> Collection<T> {
    /// The object of that id.
    pub fn get(&self, id: Id) -> Option<&Arc<T>> {
        self.by_id.get(&id)
    }

    /// Every object, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_id.values()
    }

    /// The objects with that id or a larger one.
    pub(crate) fn at_or_above(&self, first: Id) -> impl Iterator<Item = &Arc<T>> {
        self.by_id.iter_from(move |id| id.cmp(&first)).map(|(_, object)| object)
    }

    /// Takes an object out.
    pub(crate) fn remove(&mut self, id: Id) -> Option<Arc<T>> {
        self.by_id.remove(&id)
    }
}

impl<T: Identified> Collection<T> {
    /// Adds or replaces an object.
    pub(crate) fn insert(&mut self, object: Arc<T>) {
        self.by_id.insert(object.id(), object);
    }
}

impl<T: InDatabase> Collection<T> {
    /// The objects of a database, by id.
    pub fn in_database(&self, database: Id) -> impl Iterator<Item = &Arc<T>> {
        self.iter().filter(move |object| object.database() == database)
    }
}
