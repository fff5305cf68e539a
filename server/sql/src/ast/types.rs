//! Types of users.

use super::{DataType, DropBehavior, Ident, ObjectName};

/// `CREATE TYPE name AS …`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    /// The type.
    pub name: ObjectName,
    /// What it is made of.
    pub definition: TypeDefinition,
}

/// What a new type is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeDefinition {
    /// `AS ENUM (…)`: the labels, in order.
    Enum(Vec<String>),
    /// `AS (…)`: the attributes, in order.
    Composite(Vec<Attribute>),
}

/// An attribute of a composite type.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: DataType,
    /// `COLLATE`.
    pub collation: Option<ObjectName>,
}

/// `ALTER TYPE name` with an action on its values or attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterType {
    /// The type.
    pub name: ObjectName,
    /// What to change.
    pub action: AlterTypeAction,
}

/// What `ALTER TYPE` does to attributes.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeAction {
    /// `ADD ATTRIBUTE`.
    Add(Attribute),
    /// `DROP ATTRIBUTE`.
    Drop {
        /// The attribute.
        name: Ident,
        /// `IF EXISTS`.
        if_exists: bool,
        /// `CASCADE` or `RESTRICT`.
        behavior: DropBehavior,
    },
    /// `ALTER ATTRIBUTE … TYPE`: the attribute as it is to be.
    Type(Attribute),
    /// `RENAME ATTRIBUTE a TO b`.
    Rename {
        /// The old name.
        from: Ident,
        /// The new name.
        to: Ident,
    },
}

/// What `ALTER TYPE` does to values or attributes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTypeAction {
    /// Changes of attributes, one after the other.
    Attributes(Vec<AttributeAction>),
    /// `ADD VALUE`.
    AddValue {
        /// The new label.
        label: String,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// Where it goes; the end without one.
        place: Option<LabelPlace>,
    },
    /// `RENAME VALUE a TO b`.
    RenameValue {
        /// The old label.
        from: String,
        /// The new label.
        to: String,
    },
}

/// Where `ADD VALUE` puts a label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelPlace {
    /// The label beside which it goes.
    pub neighbor: String,
    /// `BEFORE`, else `AFTER`.
    pub before: bool,
}
