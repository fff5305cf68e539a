//! A trigger of a table or a view, as it is stored with that.

use serde::{Deserialize, Serialize};

use super::{ColumnId, Id, StoredExpr};

/// A trigger.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trigger {
    /// Its oid.
    pub id: Id,
    /// Its name, which no other trigger of the table has.
    pub name: String,
    /// The function that it calls.
    pub function: Id,
    /// When it fires.
    pub timing: TriggerTiming,
    /// What it fires for.
    pub events: Vec<TriggerEvent>,
    /// The columns of `UPDATE OF`; of a view their places from 1. Empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnId>,
    /// Whether it fires for each row, and not once for each statement.
    pub for_each_row: bool,
    /// `WHEN`: item 1 is the old row, item 2 the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<StoredExpr>,
    /// `OLD TABLE AS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_table: Option<String>,
    /// `NEW TABLE AS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_table: Option<String>,
    /// The arguments of the function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// When it may fire.
    pub state: TriggerState,
    /// What a constraint trigger has besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<TriggerConstraint>,
    /// COMMENT ON TRIGGER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerTiming {
    /// Before the row or the statement.
    Before,
    /// After it.
    After,
    /// In its place, for the rows of a view.
    InsteadOf,
}

/// What a trigger fires for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TriggerEvent {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// TRUNCATE.
    Truncate,
}

/// When a trigger may fire, by `session_replication_role`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerState {
    /// If it is `origin` or `local`.
    #[default]
    Origin,
    /// Never.
    Disabled,
    /// If it is `replica`.
    Replica,
    /// Always.
    Always,
}

/// What a constraint trigger has besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TriggerConstraint {
    /// The constraint's oid.
    pub id: Id,
    /// Another table that the constraint is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Id>,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
}

impl TriggerTiming {
    /// The words of definitions, and `TG_WHEN`.
    pub fn words(self) -> &'static str {
        match self {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        }
    }
}

impl TriggerEvent {
    /// The word of definitions, and `TG_OP`.
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

impl TriggerState {
    /// Its letter in `pg_trigger`.
    pub fn letter(self) -> &'static str {
        match self {
            TriggerState::Origin => "O",
            TriggerState::Disabled => "D",
            TriggerState::Replica => "R",
            TriggerState::Always => "A",
        }
    }

    /// Whether a trigger fires while `session_replication_role` is this.
    pub fn fires(self, replication_role: &str) -> bool {
        match self {
            TriggerState::Origin => replication_role != "replica",
            TriggerState::Disabled => false,
            TriggerState::Replica => replication_role == "replica",
            TriggerState::Always => true,
        }
    }

    pub(super) fn is_origin(&self) -> bool {
        *self == TriggerState::Origin
    }
}

impl Trigger {
    /// Whether it fires for an event.
    pub fn is_for(&self, event: TriggerEvent) -> bool {
        self.events.contains(&event)
    }

    /// Whether it gets the rows of a statement as tables.
    pub fn has_transitions(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }

    /// The bits of `pg_trigger.tgtype`.
    pub fn type_bits(&self) -> i64 {
        let timing = match self.timing {
            TriggerTiming::Before => 2,
            TriggerTiming::After => 0,
            TriggerTiming::InsteadOf => 64,
        };
        let event = |event: &TriggerEvent| match event {
            TriggerEvent::Insert => 4,
            TriggerEvent::Delete => 8,
            TriggerEvent::Update => 16,
            TriggerEvent::Truncate => 32,
        };
        i64::from(self.for_each_row) + timing + self.events.iter().map(event).sum::<i64>()
    }
}
