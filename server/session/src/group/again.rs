//! A transaction of nothing but acknowledgements, run again in order.
//!
//! Side by side, two transactions may take the same locks in opposite orders and meet in a
//! deadlock that neither would have met alone; or what one has read may change. As long as the
//! client knows no more than that its statements arrived, the transaction can begin anew: its
//! locks are dropped, and its statements run one after the other.

use std::sync::Arc;

use braid_catalog::Token;
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, SqlState};

use super::report::{Failure, barrier_error, shortened};
use crate::deadline::{ATTEMPTS_MAX, Reruns};
use crate::errors::is_retryable;
use crate::portal::Running;
use crate::prepared::Prepared;
use crate::session::Session;
use crate::transaction::{Block, Open};

/// Statements that are remembered, at most.
const STEPS_MAX: usize = 1000;
/// Bytes of their texts and parameters, at most.
const STEPS_BYTES_MAX: usize = 1 << 20;

/// A statement that was acknowledged.
struct Step {
    number: u32,
    prepared: Arc<Prepared>,
    params: Arc<Vec<Datum>>,
}

/// Everything that the transaction has done, as long as that is only acknowledgements.
#[derive(Default)]
pub(super) struct Steps {
    list: Vec<Step>,
    bytes: usize,
    /// Something else was done, or there is too much.
    is_blocked: bool,
}

impl Steps {
    pub(super) fn push(
        &mut self,
        number: u32,
        prepared: &Arc<Prepared>,
        params: &Arc<Vec<Datum>>,
        bytes: usize,
    ) {
        self.bytes += bytes;
        if self.list.len() >= STEPS_MAX || self.bytes > STEPS_BYTES_MAX {
            self.block();
        }
        if !self.is_blocked {
            let (prepared, params) = (prepared.clone(), params.clone());
            self.list.push(Step { number, prepared, params });
        }
    }

    /// Another statement comes by, whose answer the client sees.
    pub(super) fn pass(&mut self, statement: &Statement) {
        let is_end = matches!(
            statement,
            Statement::Commit { .. } | Statement::Rollback { to_savepoint: None, .. }
        );
        let is_setting = matches!(
            statement,
            Statement::Set(_) | Statement::SetTransaction(_) | Statement::Show(_)
        );
        if !(is_end || is_setting && self.list.is_empty()) {
            self.block();
        }
    }

    /// What was queued was dropped.
    pub(super) fn drop_group(&mut self) {
        self.block();
    }

    fn block(&mut self) {
        self.is_blocked = true;
        self.list = Vec::new();
    }
}

impl Session {
    /// Whether the client knows of nothing but acknowledgements.
    pub(super) fn can_run_again(&self, error: &Error) -> bool {
        let steps = &self.group.steps;
        self.block == Block::Active
            && !steps.is_blocked
            && !steps.list.is_empty()
            && self.shared.advisory.may_run_again(None, error)
            && self.block_state.savepoints.is_empty()
            && self.open.as_ref().is_none_or(|open| open.draft.is_none())
    }

    /// Begins the transaction anew and runs its statements in order.
    pub(super) async fn run_again(&mut self, mut error: Error) -> Result<()> {
        let steps = std::mem::take(&mut self.group.steps);
        let mut reruns = Reruns::new();
        while let Some(attempt) = reruns.next() {
            self.server.counters.server_retries.add(&error);
            self.pause(attempt).await?;
            self.group.queue.clear();
            self.restart_kv().await;
            match self.run_in_order(&steps.list).await {
                Ok(()) => {
                    self.group.steps = steps;
                    return Ok(());
                }
                Err(again) if is_retryable(&again) => error = again,
                Err(error) => return Err(error),
            }
        }
        Err(error)
    }

    async fn run_in_order(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            let text = shortened(step.prepared.text());
            if let Err(error) = self.run_step(step, &text).await {
                let failure = Failure { number: Some(step.number), text, error };
                return Err(barrier_error(std::slice::from_ref(&failure)).unwrap_or(failure.error));
            }
        }
        Ok(())
    }

    async fn run_step(&mut self, step: &Step, text: &str) -> Result<()> {
        let open = self.ensure_open();
        open.statements += 1;
        let txn = open.txn.clone();
        let mut seq = txn.next_statement();
        for attempt in 1..=ATTEMPTS_MAX {
            let note = |ledger: &mut super::ledger::Ledger<_>| {
                ledger.note_seq(seq.number(), step.number, text.to_owned());
            };
            self.group.queue.with_ledger(note);
            let running = Box::pin(self.start(&step.prepared, &step.params, seq)).await;
            let result = match running {
                Ok(running) => self.finish_step(running).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(()) => {
                    self.shared.advisory.settle_statement();
                    txn.end_statement(seq);
                    return Ok(());
                }
                Err(error)
                    if error.state() == SqlState::SerializationFailure
                        && self.shared.advisory.may_run_again(Some(seq), &error) =>
                {
                    self.pause(attempt).await?;
                    let next = txn.restart_statement(seq).await.map_err(|_| error)?;
                    self.shared.advisory.undo_statement(seq);
                    seq = next;
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(SqlState::SerializationFailure, "restart transaction: too many attempts"))
    }

    async fn finish_step(&mut self, mut running: Running) -> Result<()> {
        let cancel = self.shared.entry.cancel.clone();
        while !running.source.next(1024, &cancel).await?.is_empty() {}
        Ok(())
    }

    /// The commit has met a conflict: the transaction as a whole runs again, if it may.
    pub(crate) async fn commit_again(
        &mut self,
        open: Open,
        token: Option<Token>,
        mut error: Error,
    ) -> (Option<Open>, Result<()>) {
        self.open = Some(open);
        let mut reruns = Reruns::new();
        while reruns.next().is_some() {
            if !is_retryable(&error) || !self.can_run_again(&error) {
                break;
            }
            if let Err(error) = self.run_again(error.clone()).await {
                return (self.open.take(), Err(error));
            }
            let Some(mut open) = self.open.take() else { break };
            match self.commit_kv(&mut open, token, false).await {
                Err(again) => {
                    error = again;
                    self.open = Some(open);
                }
                Ok(()) => return (Some(open), Ok(())),
            }
        }
        (self.open.take(), Err(error))
    }
}
