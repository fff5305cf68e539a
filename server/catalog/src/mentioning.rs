//! Which objects mention an object: the places where a DROP has to look.
//!
//! ```text
//!   Mentioning::of(catalog, 16384).tables()   tables whose descriptors have that number somewhere
//! ```
//!
//! Rule: the answer may have objects that mention the number and do not depend on it. The caller
//! looks at each of them. It has every object that depends on it.

use std::sync::Arc;

use braid_types::sql_type::relation_of_row_type;

use crate::{Catalog, Composite, Domain, Id, Routine, Sequence, Table, View};

/// The objects that mention an object, by id.
pub struct Mentioning<'c> {
    catalog: &'c Catalog,
    ids: Vec<Id>,
}

/// The number under which mentions of an object are kept: a row type is its relation.
pub(crate) fn mentioned_as(oid: Id) -> Id {
    relation_of_row_type(oid).map_or(oid, |(relation, _)| relation)
}

impl<'c> Mentioning<'c> {
    /// The objects whose descriptors mention a relation, a type, a domain or a routine.
    pub fn of(catalog: &'c Catalog, oid: Id) -> Mentioning<'c> {
        let id = mentioned_as(oid);
        let from = catalog.mentions.iter_from(move |known| known.cmp(&(id, 0)));
        let entries = from.map(|((known, by), ())| (*known, *by));
        let ids = entries.take_while(|(known, _)| *known == id).map(|(_, by)| by).collect();
        Mentioning { catalog, ids }
    }

    /// How many objects there are.
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The tables.
    pub fn tables(&self) -> impl Iterator<Item = &'c Arc<Table>> {
        self.ids.iter().filter_map(|id| self.catalog.table(*id))
    }

    /// The views.
    pub fn views(&self) -> impl Iterator<Item = &'c Arc<View>> {
        self.ids.iter().filter_map(|id| self.catalog.views.get(*id))
    }

    /// The views, then the materialized ones as views.
    pub fn queries(&self) -> impl Iterator<Item = Arc<View>> {
        let materialized = self.tables().filter_map(|table| table.as_view());
        self.views().cloned().chain(materialized.map(Arc::new))
    }

    /// The routines.
    pub fn routines(&self) -> impl Iterator<Item = &'c Arc<Routine>> {
        self.ids.iter().filter_map(|id| self.catalog.routines.get(*id))
    }

    /// The domains.
    pub fn domains(&self) -> impl Iterator<Item = &'c Arc<Domain>> {
        self.ids.iter().filter_map(|id| self.catalog.domains.get(*id))
    }

    /// The composite types.
    pub fn composites(&self) -> impl Iterator<Item = &'c Arc<Composite>> {
        self.ids.iter().filter_map(|id| self.catalog.composites.get(*id))
    }

    /// The sequences.
    pub fn sequences(&self) -> impl Iterator<Item = &'c Arc<Sequence>> {
        self.ids.iter().filter_map(|id| self.catalog.sequences.get(*id))
    }
}
