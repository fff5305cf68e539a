//! What a relation's name stands for.

use std::sync::Arc;

use crate::{Catalog, Composite, Id, Index, Sequence, Table, View, VirtualTable};

/// What a relation's name stands for.
#[derive(Clone)]
pub enum Relation {
    /// A table.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// A table of `pg_catalog`, `information_schema` or `braid_internal`.
    Virtual(&'static VirtualTable),
    /// A composite type.
    Composite(Arc<Composite>),
    /// An index of a table.
    Index(Arc<Table>, Arc<Index>),
}

impl Relation {
    /// Its oid.
    pub fn oid(&self) -> Id {
        match self {
            Relation::Table(table) => table.id,
            Relation::View(view) => view.id,
            Relation::Sequence(sequence) => sequence.id,
            Relation::Virtual(table) => table.oid,
            Relation::Composite(found) => found.id,
            Relation::Index(_, index) => index.id,
        }
    }

    /// What PostgreSQL calls its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Relation::Table(table) => table.kind(),
            Relation::View(_) => "view",
            Relation::Sequence(_) => "sequence",
            Relation::Virtual(table) => table.kind(),
            Relation::Composite(_) => "composite type",
            Relation::Index(..) => "index",
        }
    }

    /// The name of its schema.
    pub fn schema_name(&self, catalog: &Catalog) -> String {
        match self {
            Relation::Table(table) | Relation::Index(table, _) => catalog.schema_name(table.schema),
            Relation::View(view) => catalog.schema_name(view.schema),
            Relation::Sequence(sequence) => catalog.schema_name(sequence.schema),
            Relation::Composite(found) => catalog.schema_name(found.schema),
            Relation::Virtual(table) => table.schema.to_owned(),
        }
    }

    /// Its name without schema.
    pub fn name(&self) -> &str {
        match self {
            Relation::Table(table) => &table.name,
            Relation::View(view) => &view.name,
            Relation::Sequence(sequence) => &sequence.name,
            Relation::Virtual(table) => table.name,
            Relation::Composite(found) => &found.name,
            Relation::Index(_, index) => &index.name,
        }
    }
}
