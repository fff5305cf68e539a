//! The way of one bound statement, from its portal to its tag.
//!
//! ```text
//! run_portal     may this block run it?  checks that were deferred; cancel and timeout begin
//!     │
//! run_or_queue   number ─► RETURNING NOTHING in a block? ─► groups::enqueue, acknowledged at once
//!     │          barrier: what was queued has finished
//!     │
//!     ├ a plan   execute::run_planned: catalog, plan, start, rows, tag; again after a conflict
//!     └ others   commands::dispatch: transactions, settings, cursors, COPY, definitions
//! ```
//!
//! Rules: a failed block runs nothing but its end; a statement's notices leave with its answer.

use std::sync::Arc;
use std::time::Instant;

use braid_ddl as ddl;
use braid_exec::from_kv;
use braid_kv::{RetryReason, StatementWaits};
use braid_sql::ast::{ShowTarget, Statement};
use braid_types::{Error, Result, SqlState};

use crate::client::Client;
use crate::groups::{ParallelStatements, Recorder};
use crate::observe::statements::note_executed;
use crate::session::Session;
use crate::statement::binding::bind_execute;
use crate::statement::commands::dispatch::run_command;
use crate::statement::context::send_notices;
use crate::statement::deadline::guard_statement;
use crate::statement::execute::run_planned;
use crate::statement::kinds::{is_planned, returns_nothing, runs_in_any_block};
use crate::statement::portal::{Ended, Portal, Run, Wanted};
use crate::statement::prepared::Prepared;
use crate::statistics::note::count_statement;
use crate::transaction::deferred_unique_checks::settle_unique_check;
use crate::transaction::machine::Block;

/// With `inject_retry_errors_enabled`: restarts of a transaction after which it gets no more
/// injected errors.
const INJECTED_MAX: u32 = 3;

/// Runs a portal up to `rows_max` rows (0: all). With `describe`, its columns go first.
pub(crate) async fn run_portal(
    session: &mut Session,
    portal: &mut Portal,
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let prepared = portal.prepared.clone();
    client.set_encoding(session.client_encoding());
    let Some(statement) = prepared.statement() else {
        client.empty_query();
        return Ok(Ended::Complete);
    };
    if !runs_in_any_block(statement) {
        session.block.check()?;
    }
    settle_unique_check(session, client).await?;
    if matches!(portal.run, Run::Done) {
        return finished_again(&prepared, client);
    }
    let guard = guard_statement(session, prepared.whole_text());
    let (is_first, started) = (matches!(portal.run, Run::New), Instant::now());
    let result = run_or_queue(session, portal, wanted, client).await;
    drop(guard);
    if result.is_ok() {
        count_statement(session, &prepared, is_first, started.elapsed()).await;
    }
    match &result {
        Ok(Ended::Complete) => portal.run = Run::Done,
        Ok(Ended::Suspended) => {}
        Err(_) => {
            portal.run = Run::Done;
            let errors = &session.engine.counters.errors;
            errors.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    send_notices(session, client);
    result
}

/// Runs a statement, or queues it.
async fn run_or_queue(
    session: &mut Session,
    portal: &mut Portal,
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let prepared = portal.prepared.clone();
    let statement =
        prepared.statement().ok_or_else(|| Error::internal("an empty statement arrived"))?;
    let is_fresh = matches!(portal.run, Run::New);
    if is_fresh && let Statement::Execute(execute) = statement {
        // What it stands for comes by here itself.
        let bind = bind_execute(session, execute, portal.formats.clone());
        let mut target = Box::pin(bind).await?;
        note_executed(session, target.prepared.statement());
        let run = run_portal(session, &mut target, wanted, client);
        let ended = Box::pin(run).await?;
        portal.run = std::mem::replace(&mut target.run, Run::Done);
        return Ok(ended);
    }
    let recorder = if is_fresh { number_statement(session, &prepared) } else { None };
    check_injected(session, statement)?;
    if is_fresh && session.block == Block::Active {
        if returns_nothing(statement)
            && let Some(ended) = Box::pin(session.enqueue(portal, client, recorder.clone())).await?
        {
            return Ok(ended);
        }
        session.note_answered(statement);
    }
    let start = client.mark();
    session.pass_barrier(statement, recorder.as_ref()).await?;
    let is_logged = session.observer.is_logged();
    let work = async {
        if is_planned(statement) {
            run_planned(session, portal, wanted, client).await
        } else {
            Box::pin(run_command(session, portal, wanted, client)).await
        }
    };
    let result = if recorder.is_none() && !is_logged {
        work.await
    } else {
        let started = Instant::now();
        let waits = Arc::new(StatementWaits::default());
        let result = Box::pin(waits.watch(work)).await;
        if let Some(recorder) = &recorder {
            recorder.ran(started, &waits);
        }
        session.observer.waited(waits.lock_micros(), waits.round_trips());
        result
    };
    match session.settle_new_keys().await {
        Ok(()) => result,
        Err(error) => {
            // Nothing of it was sent to the client: a flush settles as well.
            client.rewind(start);
            Err(error)
        }
    }
}

/// Counts a statement of the transaction, and records it if that is asked for.
fn number_statement(session: &mut Session, prepared: &Prepared) -> Option<Recorder> {
    let is_part = |statement: &Statement| match session.block.state() {
        Block::Active => !matches!(statement, Statement::Show(ShowTarget::TransactionTimeline)),
        Block::None => is_planned(statement),
        Block::Failed | Block::Released => false,
    };
    let is_part = prepared.statement().is_some_and(is_part);
    let is_recorded = is_part && session.active().record_timeline;
    session.number_statement(prepared.text(), is_recorded)
}

/// The error that `inject_retry_errors_enabled` asks for: for each statement in a block that
/// does any work, until the client has restarted often enough.
fn check_injected(session: &mut Session, statement: &Statement) -> Result<()> {
    let spared = session.block != Block::Active || session.block_state.restarts >= INJECTED_MAX;
    if spared || !session.derived().active.inject_retry_errors {
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

/// A portal that is executed again after its end.
fn finished_again(prepared: &Prepared, client: &mut dyn Client) -> Result<Ended> {
    match prepared.statement() {
        Some(Statement::Query(_)) => {
            client.command_complete("SELECT 0");
            Ok(Ended::Complete)
        }
        _ => Err(Error::new(
            SqlState::ObjectNotInPrerequisiteState,
            format!("portal \"{}\" cannot be run", prepared.name),
        )),
    }
}
