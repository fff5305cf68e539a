//! Savepoints: ordinary ones, and the one of a client's retry loop.
//!
//! ```text
//! BEGIN ─► SAVEPOINT cockroach_restart ─► work ─► RELEASE ─► COMMIT, which has nothing left to do
//!                      ▲                   │ 40001   │ 40001
//!                      └──── ROLLBACK TO ──┴─────────┘
//! ```
//!
//! Rules: ROLLBACK TO an ordinary savepoint takes writes, settings, READ ONLY and the catalog's
//! draft back; what was read and told stays binding, and locks stay. The restart savepoint is the
//! first statement of its transaction; rolling back to it makes a new attempt, with a new snapshot,
//! that holds the locks of the one before, so that it keeps its place in their queues; only a
//! victim of a deadlock gives them up. Releasing it commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_catalog::Draft;
use braid_exec::{ConstraintModes, ddl, from_kv};
use braid_kv::{RetryReason, SavepointId};
use braid_sql::ast::{Ident, Statement};
use braid_types::{Error, Result, SqlState};

use crate::errors::is_retryable;
use crate::prepared::is_planned;
use crate::session::Session;
use crate::settings::SettingsMark;
use crate::transaction::Block;

/// The savepoint of the retry protocol, as CockroachDB calls it.
const RESTART: &str = "cockroach_restart";
/// With `inject_retry_errors_enabled`, after so many restarts a transaction is left alone.
const INJECTED_MAX: u32 = 3;

/// A savepoint of the session.
pub(crate) struct Savepoint {
    name: String,
    /// `None`: the kv transaction had not begun.
    kv: Option<SavepointId>,
    draft: Option<Draft>,
    settings: SettingsMark,
    constraints: Arc<ConstraintModes>,
    /// Whether the transaction was READ ONLY.
    pub read_only: bool,
}

impl Savepoint {
    /// The changes of the catalog before it.
    pub(crate) fn draft(&self) -> Option<&Draft> {
        self.draft.as_ref()
    }
}

impl Session {
    /// `SAVEPOINT`
    pub(crate) fn savepoint(&mut self, name: String) -> Result<()> {
        self.require_explicit_block("SAVEPOINT")?;
        self.check_block()?;
        if name == RESTART && self.is_restart_savepoint_again()? {
            return Ok(());
        }
        let settings = self.shared.state.lock().settings.mark();
        let open = self.open.as_ref();
        self.block_state.savepoints.push(Savepoint {
            name,
            kv: open.filter(|open| open.statements > 0).map(|open| open.txn.savepoint()),
            draft: open.and_then(|open| open.draft.clone()),
            settings,
            constraints: self.block_state.constraints.clone(),
            read_only: self.modes().read_only,
        });
        self.shared.advisory.savepoint(self.block_state.savepoints.len());
        Ok(())
    }

    /// Checks that the restart savepoint may be set here: before every other savepoint and every
    /// statement. True if it is set already and nothing has happened since.
    fn is_restart_savepoint_again(&self) -> Result<bool> {
        let refused = |why: &str| {
            let message = format!("SAVEPOINT \"{RESTART}\" {why}");
            Err(Error::new(SqlState::SyntaxError, message))
        };
        let begun = self.open.as_ref().is_some_and(|open| open.statements > 0);
        match self.block_state.savepoints.as_slice() {
            [only] if only.name == RESTART && !begun => Ok(true),
            [] if begun => refused("needs to be the first statement in a transaction"),
            [] => Ok(false),
            _ => refused("cannot be nested"),
        }
    }

    /// 25P01 outside of BEGIN … COMMIT, also in a list of statements.
    fn require_explicit_block(&self, command: &str) -> Result<()> {
        if self.block != Block::None {
            return Ok(());
        }
        Err(Error::new(
            SqlState::NoActiveSqlTransaction,
            format!("{command} can only be used in transaction blocks"),
        ))
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.block_state.savepoints.iter().rposition(|s| s.name == name).ok_or_else(|| {
            Error::new(
                SqlState::InvalidSavepointSpecification,
                format!("savepoint \"{name}\" does not exist"),
            )
        })
    }

    /// `RELEASE`
    pub(crate) async fn release(&mut self, name: &str) -> Result<()> {
        self.require_explicit_block("RELEASE SAVEPOINT")?;
        self.check_block()?;
        let place = self.find_savepoint(name)?;
        if name == RESTART {
            return self.release_restart().await;
        }
        // READ ONLY ends with the savepoint in which it was set, as in PostgreSQL.
        let read_only = self.block_state.savepoints[place].read_only;
        self.shared.state.lock().modes.read_only = read_only;
        self.block_state.savepoints.truncate(place);
        self.shared.advisory.release_savepoints(place);
        Ok(())
    }

    /// Whether the release of this savepoint commits.
    pub(crate) fn would_commit(&self, name: &Ident) -> bool {
        let is_restart = braid_sql::fold(name) == RESTART;
        is_restart && self.block == Block::Active && self.find_savepoint(RESTART).is_ok()
    }

    /// Commits. After a retry error the savepoint is still there to roll back to.
    async fn release_restart(&mut self) -> Result<()> {
        let result = self.commit_keeping_locks().await;
        match &result {
            Ok(()) => {
                self.block_state.savepoints.clear();
                self.block = Block::Released;
            }
            Err(error) if is_retryable(error) => self.block_state.savepoints.truncate(1),
            Err(_) => self.block_state.savepoints.clear(),
        }
        result
    }

    /// `ROLLBACK TO SAVEPOINT`. What the client was told about absent keys was looked at by the
    /// statement or the barrier that told it, and stays in the read set.
    pub(crate) async fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.require_explicit_block("ROLLBACK TO SAVEPOINT")?;
        if self.block == Block::Released {
            self.check_block()?;
        }
        let place = self.find_savepoint(name)?;
        self.block_state.savepoints.truncate(place + 1);
        self.shared.advisory.roll_back_from(place + 1);
        self.shared.advisory.savepoint(place + 1);
        let (kv, draft, settings) = {
            let savepoint = &self.block_state.savepoints[place];
            (savepoint.kv, savepoint.draft.clone(), savepoint.settings.clone())
        };
        let read_only = self.block_state.savepoints[place].read_only;
        self.block_state.constraints = self.block_state.savepoints[place].constraints.clone();
        self.portals.retain(|_, portal| portal.is_held());
        self.note_cursors();
        match kv {
            _ if name == RESTART => self.restart().await,
            // Nothing was done before it, so a fresh transaction is the same, and can commit.
            None => {
                let doomed = self.open.as_ref().is_some_and(|open| open.doomed);
                self.undo_all(doomed).await;
            }
            Some(savepoint) => {
                if let Some(open) = &mut self.open {
                    open.txn.rollback_to(savepoint);
                    open.draft = draft;
                }
            }
        }
        let mut state = self.shared.state.lock();
        match name {
            RESTART => state.settings.restart(&settings),
            _ => state.settings.rollback_to(&settings),
        }
        state.modes.read_only = read_only;
        drop(state);
        self.block = Block::Active;
        Ok(())
    }

    /// A new attempt of the transaction, with the locks of the one before.
    async fn restart(&mut self) {
        self.server.counters.restart_rollbacks.fetch_add(1, Ordering::Relaxed);
        self.block_state.restarts += 1;
        let Some(open) = &mut self.open else { return };
        if open.deadlocked || open.txn.restart().is_err() {
            self.drop_open().await;
            return;
        }
        open.start = open.txn.savepoint();
        open.draft = None;
        open.statements = 0;
        open.doomed = false;
        open.unchecked = None;
    }

    /// The victim of a deadlock gives its locks back at once if it can only begin anew: the
    /// others must not wait for its client.
    pub(crate) async fn give_way(&mut self) {
        let only_restart = matches!(&*self.block_state.savepoints, [only] if only.name == RESTART);
        if only_restart && self.open.as_ref().is_some_and(|open| open.deadlocked) {
            self.drop_open().await;
        }
    }

    async fn drop_open(&mut self) {
        if let Some(open) = self.open.take() {
            open.txn.rollback().await;
        }
    }

    /// Goes back to the very start of the block. What was read and told stays binding, unless a
    /// retry error has made the transaction worthless anyway.
    async fn undo_all(&mut self, doomed: bool) {
        if doomed {
            self.drop_open().await;
            return;
        }
        if let Some(open) = &mut self.open {
            open.txn.rollback_to(open.start);
            open.draft = None;
        }
    }

    /// The error that `inject_retry_errors_enabled` asks for: for each statement in a block that
    /// does any work, until the client has restarted often enough.
    pub(crate) fn check_injected(&mut self, statement: &Statement) -> Result<()> {
        let spared = self.block != Block::Active || self.block_state.restarts >= INJECTED_MAX;
        if spared || !self.derived().active.inject_retry_errors {
            return Ok(());
        }
        let works = is_planned(statement)
            || ddl::is_ddl(statement)
            || matches!(
                statement,
                Statement::Copy(_) | Statement::DeclareCursor(_) | Statement::Fetch(_)
            );
        match works {
            true => Err(from_kv(braid_kv::Error::retry(RetryReason::Injected, None))),
            false => Ok(()),
        }
    }
}
