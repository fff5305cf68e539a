//! Triggers: `CREATE TRIGGER`, and which of a table's triggers `ALTER TABLE` means.

use super::{Expr, Ident, ObjectName};

/// `CREATE [CONSTRAINT] TRIGGER`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// The trigger's name.
    pub name: Ident,
    /// When it fires.
    pub timing: TriggerTiming,
    /// What it fires for, in the order in which it is written.
    pub events: Vec<TriggerEvent>,
    /// The columns of `UPDATE OF`.
    pub columns: Vec<Ident>,
    /// The table or view.
    pub table: ObjectName,
    /// `CONSTRAINT`, with what only such triggers have.
    pub constraint: Option<ConstraintTrigger>,
    /// `REFERENCING`.
    pub transitions: Vec<TransitionName>,
    /// `FOR EACH ROW`, else `FOR EACH STATEMENT`.
    pub for_each_row: bool,
    /// `WHEN`.
    pub when: Option<Expr>,
    /// The function.
    pub function: ObjectName,
    /// The function's arguments.
    pub arguments: Vec<String>,
}

/// When a trigger fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerTiming {
    /// `BEFORE`.
    Before,
    /// `AFTER`.
    After,
    /// `INSTEAD OF`.
    InsteadOf,
}

/// What a trigger fires for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `TRUNCATE`.
    Truncate,
}

/// What a constraint trigger has besides.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintTrigger {
    /// `FROM`: another table that the constraint is about.
    pub from: Option<ObjectName>,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub initially_deferred: bool,
}

/// An entry of `REFERENCING`.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionName {
    /// `NEW`, else `OLD`.
    pub is_new: bool,
    /// `TABLE`, else `ROW`.
    pub is_table: bool,
    /// The name.
    pub name: Ident,
}

/// Which triggers of a table `ENABLE` and `DISABLE TRIGGER` mean.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerChoice {
    /// One by its name.
    Named(Ident),
    /// `ALL`: those of foreign keys as well.
    All,
    /// `USER`: those that users have made.
    User,
}

/// When a trigger may fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerState {
    /// `ENABLE`.
    Origin,
    /// `DISABLE`.
    Disabled,
    /// `ENABLE REPLICA`.
    Replica,
    /// `ENABLE ALWAYS`.
    Always,
}
