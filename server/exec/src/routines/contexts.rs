//! The context of a statement and those of the routines that it calls.

use std::sync::Arc;

use braid_catalog::Catalog;
use braid_plan::PlannedStatement;

use super::definitions::{PlansAround, SessionSettings};
use crate::ExecContext;

impl ExecContext {
    /// What a routine has that this statement calls: the statement's plan is one of those around.
    pub fn enter_routine(&mut self) {
        if let Some(plan) = self.plan.take() {
            let around = self.around.take();
            self.around = Some(Arc::new(PlansAround::new(plan, around)));
        }
    }

    /// The plans of the statements around this one, which are running.
    pub fn plans_around(&self) -> impl Iterator<Item = &PlannedStatement> {
        self.around.iter().flat_map(|around| around.iter())
    }

    /// Whether a routine has defined something, or has changed a setting, since this context was
    /// made.
    pub fn is_outdated(&self) -> bool {
        let is_same = |now: Arc<Catalog>| Arc::ptr_eq(&now, &self.catalog);
        let has_changed = |seen: SessionSettings| seen.changes != self.services.settings_changes();
        !self.draft.catalog().is_none_or(is_same) || self.settings.is_some_and(has_changed)
    }

    /// The same with what routines have defined and set since; `None` if that is nothing.
    pub fn renewed(&self) -> Option<ExecContext> {
        self.is_outdated().then(|| {
            let catalog = self.draft.catalog().unwrap_or_else(|| self.catalog.clone());
            self.services.renewed(self, catalog)
        })
    }
}
