//! SET CONSTRAINTS: which deferrable constraints a transaction checks at its commit.

use std::collections::HashMap;

use braid_catalog::{ForeignKey, Id, Index, TriggerConstraint};

/// What SET CONSTRAINTS has said in a transaction.
#[derive(Clone, Debug, Default)]
pub struct ConstraintModes {
    all: Option<bool>,
    each: HashMap<Id, bool>,
    /// Statements are parts of a longer one: what a table asks of itself waits for its end.
    in_parts: bool,
}

impl ConstraintModes {
    /// SET CONSTRAINTS ALL.
    pub fn set_all(&mut self, deferred: bool) {
        self.each.clear();
        self.all = Some(deferred);
    }

    /// SET CONSTRAINTS of one foreign key, or of one unique index.
    pub fn set(&mut self, constraint: Id, deferred: bool) {
        self.each.insert(constraint, deferred);
    }

    /// The same for statements that are parts of a longer one. Who runs them calls
    /// `braid_dml::check_left` after the last one for the keys of the table to itself.
    #[must_use]
    pub fn in_parts(&self) -> Self {
        Self { in_parts: true, ..self.clone() }
    }

    /// Whether a foreign key of a table is not checked at the end of a statement now.
    pub fn is_deferred(&self, child: Id, key: &ForeignKey) -> bool {
        if self.in_parts && key.parent == child {
            return true;
        }
        let said = self.each.get(&key.id).copied().or(self.all);
        key.deferrable && said.unwrap_or(key.initially_deferred)
    }

    /// Whether a constraint trigger does not fire at the end of a statement now.
    pub fn is_trigger_deferred(&self, constraint: &TriggerConstraint) -> bool {
        let said = self.each.get(&constraint.id).copied().or(self.all);
        constraint.deferrable && said.unwrap_or(constraint.initially_deferred)
    }

    /// Whether a unique constraint is not checked at the end of a statement now.
    pub fn is_unique_deferred(&self, index: &Index) -> bool {
        let said = self.each.get(&index.id).copied().or(self.all);
        index.deferrable && said.unwrap_or(index.initially_deferred)
    }
}
