//! A transaction of nothing but acknowledgements, run again in order.
//!
//! Side by side, two transactions may take the same locks in opposite orders and meet in a
//! deadlock that neither would have met alone; or what one has read may change. As long as the
//! client knows no more than that its statements arrived, the transaction can begin again: its
//! locks are dropped, and its statements run one after the other.

use std::sync::Arc;

use braid_kv::{Seq, Transaction};
use braid_types::{Error, Result, SqlState};

use crate::groups::report::{Failure, barrier_error, shortened};
use crate::groups::state::Step;
use crate::retry::driver::{Repeat, rerun, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::{note_rerun, pause};
use crate::retry::reason::{TooManyAttempts, is_closed, is_restart};
use crate::session::Session;
use crate::statement::execute::start_statement;
use crate::statement::portal::Running;
use crate::transaction::machine::Block;
use crate::transaction::open::{ensure_open, restart_kv};

/// Whether the client knows of nothing but acknowledgements.
pub(super) fn can_run_again(session: &Session, error: &Error) -> bool {
    let steps = &session.group.steps;
    session.block == Block::Active
        && !steps.is_blocked
        && !steps.list.is_empty()
        && session.shared.advisory.may_run_again(None, error)
        && session.block_state.savepoints.is_empty()
        && session.open.as_ref().is_none_or(|open| !open.draft.is_open())
}

/// Begins the transaction again and runs its statements in order.
pub(super) async fn run_again(session: &mut Session, error: Error) -> Result<()> {
    let steps = std::mem::take(&mut session.group.steps);
    let mut acknowledged = Acknowledged { session, steps: &steps.list };
    rerun(&mut acknowledged, error).await?;
    session.group.steps = steps;
    Ok(())
}

/// Everything that the transaction has acknowledged.
struct Acknowledged<'a> {
    session: &'a mut Session,
    steps: &'a [Step],
}

impl Repeat for Acknowledged<'_> {
    type Output = ();
    const LIMITS: Limits = Limits::TRANSACTION;

    async fn attempt(&mut self) -> Result<()> {
        run_in_order(self.session, self.steps).await
    }

    fn may_repeat(&mut self, _: &Error) -> bool {
        true
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        note_rerun(self.session, &error, attempt).await?;
        self.session.group.queue.clear();
        restart_kv(self.session).await;
        Ok(())
    }
}

async fn run_in_order(session: &mut Session, steps: &[Step]) -> Result<()> {
    for step in steps {
        let text = shortened(step.prepared.text());
        if let Err(error) = run_step(session, step, &text).await {
            let failure = Failure { number: Some(step.number), text, error };
            return Err(barrier_error(std::slice::from_ref(&failure)).unwrap_or(failure.error));
        }
    }
    Ok(())
}

async fn run_step(session: &mut Session, step: &Step, text: &str) -> Result<()> {
    let open = ensure_open(session);
    open.statements += 1;
    let txn = open.txn.clone();
    let seq = txn.next_statement();
    run_until_done(&mut InOrder { session, step, text, txn, seq }).await
}

/// One statement of the transaction, while its turn lasts.
struct InOrder<'a> {
    session: &'a mut Session,
    step: &'a Step,
    text: &'a str,
    txn: Arc<Transaction>,
    seq: Seq,
}

impl Repeat for InOrder<'_> {
    type Output = ();
    const LIMITS: Limits = Limits::STEP;

    async fn attempt(&mut self) -> Result<()> {
        let InOrder { session, step, text, txn, seq } = self;
        session.group.queue.with_ledger(|ledger| {
            ledger.note_seq(seq.number(), step.number, (*text).to_owned());
        });
        let start = start_statement(session, &step.prepared, &step.params, *seq);
        let running = Box::pin(start).await?;
        finish_step(session, running).await?;
        session.shared.advisory.settle_statement();
        txn.snapshots().release(*seq);
        Ok(())
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        is_restart(error)
            && !is_closed(error)
            && self.session.shared.advisory.may_run_again(Some(self.seq), error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        pause(self.session, attempt).await?;
        let next = self.txn.restarts().statement(self.seq).await.map_err(|_| error)?;
        self.session.shared.advisory.undo_statement(self.seq);
        self.seq = next;
        Ok(())
    }

    fn give_up(&self, _: Error) -> Error {
        let message = "restart transaction: too many attempts";
        Error::new(SqlState::SerializationFailure, message).caused_by(TooManyAttempts)
    }
}

async fn finish_step(session: &mut Session, mut running: Running) -> Result<()> {
    let cancel = session.shared.entry.cancel.clone();
    while !running.source.next(1024, &cancel).await?.is_empty() {}
    Ok(())
}
