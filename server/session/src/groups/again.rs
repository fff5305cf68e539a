//! A transaction of nothing but acknowledgements, run again in order.
//!
//! Side by side, two transactions may take the same locks in opposite orders and meet in a
//! deadlock that neither would have met alone; or what one has read may change. As long as the
//! client knows no more than that its statements arrived, the transaction can begin again: its
//! locks are dropped, and its statements run one after the other.

use braid_types::{Error, Result, SqlState};

use crate::groups::report::{Failure, barrier_error, shortened};
use crate::groups::state::Step;
use crate::retry::deadline::pause;
use crate::retry::reason::{TooManyAttempts, is_restart, is_retryable};
use crate::retry::reruns::{ATTEMPTS_MAX, Reruns};
use crate::session::Session;
use crate::statement::execute::start_statement;
use crate::statement::portal::Running;
use crate::transaction::machine::Block;
use crate::transaction::open::{ensure_open, restart_kv};

/// Whether the client knows of nothing but acknowledgements.
pub(crate) fn can_run_again(session: &Session, error: &Error) -> bool {
    let steps = &session.group.steps;
    session.block == Block::Active
        && !steps.is_blocked
        && !steps.list.is_empty()
        && session.shared.advisory.may_run_again(None, error)
        && session.block_state.savepoints.is_empty()
        && session.open.as_ref().is_none_or(|open| open.draft.is_none())
}

/// Begins the transaction again and runs its statements in order.
pub(crate) async fn run_again(session: &mut Session, mut error: Error) -> Result<()> {
    let steps = std::mem::take(&mut session.group.steps);
    let mut reruns = Reruns::new();
    while let Some(attempt) = reruns.next() {
        session.shared.count_server_retry(&error);
        pause(session, attempt).await?;
        session.group.queue.clear();
        restart_kv(session).await;
        match run_in_order(session, &steps.list).await {
            Ok(()) => {
                session.group.steps = steps;
                return Ok(());
            }
            Err(again) if is_retryable(&again) => error = again,
            Err(error) => return Err(error),
        }
    }
    Err(error)
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
    let mut seq = txn.next_statement();
    for attempt in 1..=ATTEMPTS_MAX {
        let note = |ledger: &mut super::ledger::Ledger<_>| {
            ledger.note_seq(seq.number(), step.number, text.to_owned());
        };
        session.group.queue.with_ledger(note);
        let running = Box::pin(start_statement(session, &step.prepared, &step.params, seq)).await;
        let result = match running {
            Ok(running) => finish_step(session, running).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => {
                session.shared.advisory.settle_statement();
                txn.end_statement(seq);
                return Ok(());
            }
            Err(error)
                if is_restart(&error)
                    && session.shared.advisory.may_run_again(Some(seq), &error) =>
            {
                pause(session, attempt).await?;
                let next = txn.restart_statement(seq).await.map_err(|_| error)?;
                session.shared.advisory.undo_statement(seq);
                seq = next;
            }
            Err(error) => return Err(error),
        }
    }
    let message = "restart transaction: too many attempts";
    Err(Error::new(SqlState::SerializationFailure, message).caused_by(TooManyAttempts))
}

async fn finish_step(session: &mut Session, mut running: Running) -> Result<()> {
    let cancel = session.shared.entry.cancel.clone();
    while !running.source.next(1024, &cancel).await?.is_empty() {}
    Ok(())
}
