//! What privileges are on.

use crate::{
    Composite, Database, Domain, Enum, Grant, Id, LargeObject, Relation, Routine, Schema, Sequence,
    Table, View, VirtualTable,
};

/// An object that privileges are on.
#[derive(Clone, Copy)]
pub enum Object<'a> {
    /// A table.
    Table(&'a Table),
    /// A view.
    View(&'a View),
    /// A sequence.
    Sequence(&'a Sequence),
    /// A schema.
    Schema(&'a Schema),
    /// A database.
    Database(&'a Database),
    /// An enum.
    Enum(&'a Enum),
    /// A domain.
    Domain(&'a Domain),
    /// A composite type.
    Composite(&'a Composite),
    /// A function or procedure.
    Routine(&'a Routine),
    /// A large object.
    LargeObject(&'a LargeObject),
    /// A catalog view.
    Virtual(&'a VirtualTable),
}

impl<'a> From<&'a Relation> for Object<'a> {
    fn from(relation: &'a Relation) -> Self {
        match relation {
            Relation::Table(table) | Relation::Index(table, _) => Object::Table(table),
            Relation::View(view) => Object::View(view),
            Relation::Sequence(sequence) => Object::Sequence(sequence),
            Relation::Composite(found) => Object::Composite(found),
            Relation::Virtual(table) => Object::Virtual(table),
        }
    }
}

impl<'a> Object<'a> {
    /// Its kind and name, as messages name it.
    pub fn describe(&self) -> (&'static str, &'a str) {
        match *self {
            Object::Table(table) => (table.kind(), &table.name),
            Object::View(view) => ("view", &view.name),
            Object::Sequence(sequence) => ("sequence", &sequence.name),
            Object::Schema(schema) => ("schema", &schema.name),
            Object::Database(database) => ("database", &database.name),
            Object::Enum(found) => ("type", &found.name),
            Object::Domain(found) => ("type", &found.name),
            Object::Composite(found) => ("type", &found.name),
            Object::Routine(found) => (found.kind(), &found.name),
            Object::LargeObject(found) => ("large object", &found.name),
            Object::Virtual(table) => (table.kind(), table.name),
        }
    }

    /// Its owner.
    pub fn owner(&self) -> Id {
        match self {
            Object::Table(table) => table.owner,
            Object::View(view) => view.owner,
            Object::Sequence(sequence) => sequence.owner,
            Object::Schema(schema) => schema.owner,
            Object::Database(database) => database.owner,
            Object::Enum(found) => found.owner,
            Object::Domain(found) => found.owner,
            Object::Composite(found) => found.owner,
            Object::Routine(found) => found.owner,
            Object::LargeObject(found) => found.owner,
            Object::Virtual(_) => crate::ROOT,
        }
    }

    /// The database that it is in.
    pub fn database(&self) -> Option<Id> {
        match self {
            Object::Table(table) => Some(table.database),
            Object::View(view) => Some(view.database),
            Object::Sequence(sequence) => Some(sequence.database),
            Object::Schema(schema) => Some(schema.database),
            Object::Database(database) => Some(database.id),
            Object::Enum(found) => Some(found.database),
            Object::Domain(found) => Some(found.database),
            Object::Composite(found) => Some(found.database),
            Object::Routine(found) => Some(found.database),
            Object::LargeObject(_) | Object::Virtual(_) => None,
        }
    }

    /// Its grants.
    pub fn grants(&self) -> &'a [Grant] {
        match *self {
            Object::Table(table) => &table.grants,
            Object::View(view) => &view.grants,
            Object::Sequence(sequence) => &sequence.grants,
            Object::Schema(schema) => &schema.grants,
            Object::Database(database) => &database.grants,
            Object::Enum(found) => &found.grants,
            Object::Domain(found) => &found.grants,
            Object::Composite(found) => &found.grants,
            Object::Routine(found) => &found.grants,
            Object::LargeObject(found) => &found.grants,
            Object::Virtual(_) => &[],
        }
    }

    /// Every privilege that such an object can have.
    pub fn all_privileges(&self) -> &'static [&'static str] {
        match self {
            Object::Table(_) | Object::View(_) | Object::Virtual(_) => TABLE_PRIVILEGES,
            Object::Sequence(_) => &["SELECT", "UPDATE", "USAGE"],
            Object::Schema(_) => &["USAGE", "CREATE"],
            Object::Enum(_) | Object::Domain(_) | Object::Composite(_) => &["USAGE"],
            Object::Routine(_) => &["EXECUTE"],
            Object::LargeObject(_) => &["SELECT", "UPDATE"],
            Object::Database(_) => &["CREATE", "TEMPORARY", "CONNECT"],
        }
    }
}

/// Every privilege of a table or view, in PostgreSQL's order.
pub const TABLE_PRIVILEGES: &[&str] =
    &["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
