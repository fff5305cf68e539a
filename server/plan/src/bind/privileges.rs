//! SELECT on the target of a change, for what its expressions read.

use std::sync::Arc;

use braid_catalog::{Object, Table};
use braid_types::Result;

use super::Binder;
use crate::expr::Slot;

impl Binder<'_> {
    /// Binds expressions that a change's client wrote; one that reads these slots of the target
    /// needs SELECT on it.
    pub(super) fn guarding<T>(
        &mut self,
        table: &Arc<Table>,
        slots: &[Slot],
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.guarded.replace((table.clone(), slots.to_vec()));
        let bound = bind(self);
        self.guarded = before;
        bound
    }

    /// 42501 if the slot is the target's and its table may not be read.
    pub(super) fn check_guarded(&self, slot: Slot) -> Result<()> {
        match &self.guarded {
            Some((table, slots)) if slots.contains(&slot) => {
                self.check(Object::Table(table), "SELECT")
            }
            _ => Ok(()),
        }
    }
}
