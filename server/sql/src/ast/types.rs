//! Types of users.

use super::ObjectName;

/// `CREATE TYPE name AS ENUM (…)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    /// The type.
    pub name: ObjectName,
    /// The labels, in order.
    pub labels: Vec<String>,
}

/// `ALTER TYPE name` with an action on its values.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterType {
    /// The type.
    pub name: ObjectName,
    /// What to change.
    pub action: AlterTypeAction,
}

/// What `ALTER TYPE` does to values.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTypeAction {
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
