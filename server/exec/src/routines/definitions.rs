//! Definitions that routines carry out inside of a statement, and the transaction's own catalog
//! that they change.
//!
//! ```text
//!   session ── TransactionDraft ◄── ExecContext of a statement ◄── ExecContext of its routines
//!                    │ lend
//!                    ▼
//!                LentDraft ── give_back, or dropped: nothing has changed
//! ```
//!
//! Rules: one definition at a time works on the draft; the plans of running statements stay as
//! they are, so no definition may change the tables of these.

use std::sync::Arc;

use braid_catalog::{Catalog, Draft};
use braid_plan::{PlannedStatement, Variables};
use braid_sql::ast::Statement;
use braid_types::{Datum, SqlType};
use parking_lot::Mutex;

/// A statement in the body of a routine that is no query and changes no rows.
pub struct RoutineCommand<'a> {
    /// The statement.
    pub statement: &'a Statement,
    /// Its text.
    pub text: &'a str,
    /// The types of the routine's variables.
    pub types: Vec<SqlType>,
    /// Their values.
    pub values: Arc<Vec<Datum>>,
    /// What names mean in its query, if it has one.
    pub variables: Option<&'a Variables>,
}

/// The draft of a transaction, where its statements and their routines reach it.
#[derive(Default)]
pub struct TransactionDraft(Mutex<State>);

#[derive(Default)]
struct State {
    draft: Option<Draft>,
    /// A definition is working on it.
    is_lent: bool,
    /// The version of the stored catalog that the only statement so far has seen.
    seen: Option<u64>,
}

impl TransactionDraft {
    /// The draft of a transaction in which routines may define nothing.
    pub fn closed() -> Self {
        Self(Mutex::new(State { is_lent: true, ..State::default() }))
    }

    /// A draft that a definition has in its hands, for the query that it runs.
    pub fn of_definition(draft: Option<Draft>) -> Self {
        Self(Mutex::new(State { draft, ..State::default() }))
    }

    /// The draft as it is now.
    pub fn get(&self) -> Option<Draft> {
        self.0.lock().draft.clone()
    }

    /// Replaces the draft, as a savepoint does.
    pub fn set(&self, draft: Option<Draft>) {
        self.0.lock().draft = draft;
    }

    /// Whether anything was defined, be it temporary.
    pub fn is_open(&self) -> bool {
        self.0.lock().draft.is_some()
    }

    /// Whether the stored catalog is locked for changes.
    pub fn is_locked(&self) -> bool {
        self.0.lock().draft.as_ref().is_some_and(Draft::is_locked)
    }

    /// The catalog with the changes of all definitions that have ended; `None` without any, and
    /// while a definition is running.
    pub fn catalog(&self) -> Option<Arc<Catalog>> {
        let state = self.0.lock();
        state.draft.as_ref().filter(|_| !state.is_lent).map(|draft| draft.catalog().clone())
    }

    /// The catalog of the draft over this version of the stored one; `None` without a draft.
    pub fn rebased(&self, base: &Arc<Catalog>) -> Option<Arc<Catalog>> {
        let mut state = self.0.lock();
        let draft = state.draft.as_mut()?;
        draft.rebase(base);
        Some(draft.catalog().clone())
    }

    /// Notes the version of the stored catalog that a statement sees.
    pub fn note_seen(&self, version: u64, is_first: bool) {
        self.0.lock().seen = is_first.then_some(version);
    }

    /// The draft for a definition; `None` while another one works on it.
    pub fn lend(self: &Arc<Self>) -> Option<LentDraft> {
        let mut state = self.0.lock();
        if std::mem::replace(&mut state.is_lent, true) {
            return None;
        }
        Some(LentDraft { draft: state.draft.clone(), owner: self.clone() })
    }
}

/// The draft in the hands of a definition. Dropping it leaves what was there before.
pub struct LentDraft {
    /// The draft that the definition changes.
    pub draft: Option<Draft>,
    owner: Arc<TransactionDraft>,
}

impl LentDraft {
    /// The draft is the transaction's. True if the transaction's only statement has read an older
    /// catalog than the one that is locked.
    pub fn give_back(mut self) -> bool {
        let mut state = self.owner.0.lock();
        let draft = self.draft.take();
        let locked = draft.as_ref().filter(|draft| draft.is_locked());
        let base = locked.map(|draft| draft.base().version());
        state.draft = draft;
        base.is_some_and(|base| state.seen.is_some_and(|seen| seen != base))
    }
}

impl Drop for LentDraft {
    fn drop(&mut self) {
        self.owner.0.lock().is_lent = false;
    }
}

/// The settings of the session as a context has them.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    /// The changes that it knows of ([`crate::SessionServices::settings_changes`]).
    pub changes: u64,
    /// Its user is that of a routine with SECURITY DEFINER.
    pub has_own_user: bool,
}

/// The plans of the statements around a routine, the innermost first.
pub struct PlansAround {
    plan: Arc<PlannedStatement>,
    around: Option<Arc<PlansAround>>,
}

impl PlansAround {
    /// A plan inside of others.
    pub(crate) fn new(plan: Arc<PlannedStatement>, around: Option<Arc<PlansAround>>) -> Self {
        Self { plan, around }
    }

    /// The plans, the innermost first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PlannedStatement> {
        std::iter::successors(Some(self), |one| one.around.as_deref()).map(|one| &*one.plan)
    }
}
