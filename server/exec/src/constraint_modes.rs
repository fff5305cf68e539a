//! SET CONSTRAINTS: which deferrable constraints a transaction checks at its commit.

use std::collections::HashMap;

use braid_catalog::{ForeignKey, Id};

/// What SET CONSTRAINTS has said in a transaction.
#[derive(Clone, Debug, Default)]
pub struct ConstraintModes {
    all: Option<bool>,
    each: HashMap<Id, bool>,
}

impl ConstraintModes {
    /// SET CONSTRAINTS ALL.
    pub fn set_all(&mut self, deferred: bool) {
        self.each.clear();
        self.all = Some(deferred);
    }

    /// SET CONSTRAINTS of one foreign key.
    pub fn set(&mut self, foreign_key: Id, deferred: bool) {
        self.each.insert(foreign_key, deferred);
    }

    /// Whether a foreign key is checked at the commit now.
    pub fn is_deferred(&self, key: &ForeignKey) -> bool {
        let said = self.each.get(&key.id).copied().or(self.all);
        key.deferrable && said.unwrap_or(key.initially_deferred)
    }
}
