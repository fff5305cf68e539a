//! The variables that can be named at a place of a body.

use std::sync::Arc;

use braid_plan::{TransitionTable, Variable, Variables};

use super::tree::{BoundCursor, Slot, SlotKind};

/// The variables that can be named, and the slots that exist.
#[derive(Default)]
pub(super) struct Scope {
    visible: Vec<Variable>,
    pub(super) slots: Vec<SlotKind>,
    /// The labels of the blocks and loops around, the innermost last; true for a loop.
    pub(super) labels: Vec<(Option<String>, bool)>,
    /// The variables that keep their first value.
    pub(super) constants: Vec<Slot>,
    /// The first name of each slot.
    pub(super) names: Vec<Option<String>>,
    /// A name that also means a column means the column, and is no error.
    pub(super) prefers_columns: bool,
    /// The cursors that are declared with a query.
    pub(super) cursors: Vec<(Slot, BoundCursor)>,
    /// The transition tables of a trigger's function.
    pub(super) tables: Vec<TransitionTable>,
    /// The variables as pieces of SQL get them, until the next declaration.
    shared: Option<Arc<Variables>>,
}

impl Scope {
    /// A new slot with a name.
    pub(super) fn declare(&mut self, label: Option<&str>, name: &str, kind: SlotKind) -> Slot {
        let slot = self.add(kind);
        self.name(label, name, slot);
        slot
    }

    /// A new slot without a name.
    pub(super) fn add(&mut self, kind: SlotKind) -> Slot {
        self.slots.push(kind);
        self.slots.len() - 1
    }

    /// Another name of a slot.
    pub(super) fn name(&mut self, label: Option<&str>, name: &str, slot: Slot) {
        self.names.resize(self.slots.len(), None);
        if let Some(first) = self.names.get_mut(slot) {
            first.get_or_insert_with(|| name.to_owned());
        }
        let label = label.map(str::to_owned);
        self.visible.push(Variable { label, name: name.to_owned(), param: slot });
        self.shared = None;
    }

    /// How many names there are, to come back to.
    pub(super) fn mark(&self) -> usize {
        self.visible.len()
    }

    /// Forgets the names after a mark.
    pub(super) fn forget(&mut self, mark: usize) {
        self.visible.truncate(mark);
        self.shared = None;
    }

    /// Whether a name was declared after a mark.
    pub(super) fn is_declared_since(&self, mark: usize, name: &str) -> bool {
        self.visible[mark..].iter().any(|variable| variable.name == name)
    }

    /// The slot that the first parts of a name mean, and how many parts these are.
    pub(super) fn find(&self, parts: &[String]) -> Option<(Slot, usize)> {
        let newest = || self.visible.iter().rev();
        let first = parts.first()?;
        if let Some(found) = newest().find(|variable| variable.name == *first) {
            return Some((found.param, 1));
        }
        let second = parts.get(1)?;
        newest()
            .find(|v| v.label.as_ref() == Some(first) && v.name == *second)
            .map(|found| (found.param, 2))
    }

    /// The variables for a piece of SQL.
    pub(super) fn variables(&mut self) -> Arc<Variables> {
        let (visible, tables) = (&self.visible, &self.tables);
        let refuse_ambiguous = !self.prefers_columns;
        let shared = self.shared.get_or_insert_with(|| {
            let (list, tables) = (visible.clone(), tables.clone());
            Arc::new(Variables { list, refuse_ambiguous, tables, is_only_checked: false })
        });
        shared.clone()
    }
}
