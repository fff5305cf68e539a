//! Executing a planned statement: start, rows to the client, running again after a conflict.
//!
//! ```text
//! run_planned ─ start ──► rows ──► rows … ──► tag
//!                  ▲        │ 40001 or 40P01, and nothing of it has left
//!                  └────────┘
//! ```
//!
//! Rules: the output of a failed attempt is taken back before the next; a statement that has sent
//! something is never run again; a cancel or a timeout ends every wait.

use std::sync::Arc;

use braid_catalog::Standing;
use braid_dml::StatementParts;
use braid_exec::from_kv;
use braid_kv::{RetryReason, Seq};
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, SqlState, work};

use crate::client::{Client, Mark, ResultColumn, connection_lost};
use crate::groups::ParallelStatements;
use crate::notices::send_warnings;
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::retry::reason::{is_closed, is_restart, is_schema_changed};
use crate::routines::{BeforeCall, lock_catalog, run_defining};
use crate::session::Session;
use crate::settings::SettingsMark;
use crate::statement::commands::explain::{explained_execute, start_explained};
use crate::statement::context::exec_context;
use crate::statement::kinds::returns_rows;
use crate::statement::plans::planning::{Bound, bind_plan};
use crate::statement::portal::{
    Ended, Portal, Run, Running, Source, Wanted, hide_columns, named_columns,
};
use crate::statement::prepared::{Prepared, read_only};
use crate::statistics::note::note_rows;
use crate::transaction::deferred_unique_checks::defer_unique_check;
use crate::transaction::open::{ensure_open, restart_kv};

/// Rows asked for at a time.
const BATCH_ROWS: usize = 1024;

/// Starts a planned statement with this number.
pub(crate) async fn start_statement(
    session: &mut Session,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    seq: Seq,
) -> Result<Running> {
    if let Some((explain, execute)) = explained_execute(prepared.statement()) {
        return start_explained(session, explain, execute, seq).await;
    }
    let (bound, standing) = bind_plan(session, prepared, params, seq).await?;
    start_bound(session, prepared, (bound, standing), seq, None)
}

/// Starts a part of a statement: the triggers of all parts fire once.
pub(crate) async fn start_part(
    session: &mut Session,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    seq: Seq,
    part: Part<'_>,
) -> Result<Running> {
    let bound = bind_plan(session, prepared, params, seq).await?;
    start_bound(session, prepared, bound, seq, Some(part))
}

/// A part of a statement, and whether it is the last one.
pub(crate) type Part<'a> = (&'a StatementParts, bool);

fn start_bound(
    session: &mut Session,
    prepared: &Prepared,
    (bound, standing): (Bound, Option<Standing>),
    seq: Seq,
    part: Option<Part<'_>>,
) -> Result<Running> {
    let Bound { catalog, env, plan, params } = bound;
    if let Some(promised) = &prepared.columns
        && !same_columns(promised, &plan.columns)
    {
        let message = "cached plan must not change result type";
        let error = Error::new(SqlState::FeatureNotSupported, message);
        return Err(error.routine("RevalidateCachedQuery"));
    }
    if plan.plan.is_write && session.shared.modes().read_only {
        return Err(read_only(prepared));
    }
    if session.shared.modes().read_only
        && plan.plan.explain.as_ref().is_none_or(|explain| explain.analyze)
        && let Some(strength) = plan.plan.row_lock()
    {
        return Err(Error::new(
            SqlState::ReadOnlySqlTransaction,
            format!("cannot execute SELECT {} in a read-only transaction", strength.clause()),
        ));
    }
    let mut cx = exec_context(session, seq, catalog, env);
    defer_unique_check(session, &plan.plan, &mut cx);
    let (planned, cx) = (plan.plan.clone(), Arc::new(cx));
    let execution = match part {
        Some((parts, is_last)) => parts.start(planned, params, cx, is_last)?,
        None => braid_dml::start(planned, params, cx)?,
    };
    let explain = matches!(prepared.statement(), Some(Statement::Explain(_)));
    Ok(Running {
        columns: plan.columns.clone(),
        source: Source::Execution(Box::new(execution), explain.then_some("EXPLAIN")),
        standing,
    })
}

/// Runs a planned statement, or goes on with one that was suspended.
pub(crate) async fn run_planned(
    session: &mut Session,
    portal: &mut Portal,
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let fresh = matches!(portal.run, Run::New);
    if !fresh {
        return deliver(session, portal, wanted.rows_max, client).await;
    }
    let start = client.mark();
    let before = BeforeCall::of(session, portal);
    let open = ensure_open(session);
    open.statements += 1;
    let seq = open.txn.next_statement();
    let settings = session.shared.state.lock().settings.mark();
    let locks_first = false;
    let mut planned =
        Planned { session, portal, seq, wanted, start, client, locks_first, settings };
    match run_until_done(&mut planned).await {
        Err(error) => {
            let run = run_defining(session, portal, (before, start), (wanted, client), error);
            Box::pin(run).await?;
            deliver(session, portal, wanted.rows_max, client).await
        }
        ended => ended,
    }
}

/// A planned statement that runs again alone, as long as nothing of it has left.
struct Planned<'a> {
    session: &'a mut Session,
    portal: &'a mut Portal,
    seq: Seq,
    wanted: Wanted,
    /// Where its output begins.
    start: Mark,
    client: &'a mut dyn Client,
    /// It locks the catalog before it looks at it: a routine of it has changed an older one.
    locks_first: bool,
    /// The settings before it, which its routines may change.
    settings: SettingsMark,
}

impl Repeat for Planned<'_> {
    type Output = Ended;
    const LIMITS: Limits = Limits::STATEMENT;

    async fn attempt(&mut self) -> Result<Ended> {
        if self.locks_first {
            let txn = ensure_open(self.session).txn.clone();
            lock_catalog(&txn).await?;
            self.seq = txn.next_statement();
        }
        let Planned { session, portal, seq, wanted, client, .. } = self;
        let result = attempt_statement(session, portal, *seq, *wanted, *client).await;
        match result {
            Ok(_) => session.shared.advisory.settle_statement(),
            Err(_) => portal.run = Run::New,
        }
        result
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        self.session.shared.advisory.may_run_again(Some(self.seq), error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        if !self.client.rewind(self.start) {
            return Err(error);
        }
        let has_defined = ensure_open(self.session).draft.is_locked();
        self.locks_first |= has_defined && is_schema_changed(&error);
        self.session.shared.state.lock().settings.rollback_to(&self.settings);
        self.seq = Box::pin(prepare_again(self.session, self.seq, error, attempt)).await?;
        Ok(())
    }
}

/// Prepares the statement to run again; its error if that cannot be.
///
/// After a conflict its locks stay, so that the row it has waited for is its own the next
/// time. After a deadlock, or where earlier statements stand in the way, only a transaction
/// that has done nothing else can begin again.
async fn prepare_again(session: &mut Session, seq: Seq, error: Error, attempt: u32) -> Result<Seq> {
    note_rerun(session, &error, attempt).await?;
    let open = ensure_open(session);
    let first = open.statements <= 1;
    session.shared.raised.lock().clear();
    let open = ensure_open(session);
    // What routines have changed has higher numbers, which only a new beginning takes back.
    // A closed table is not waited for with locks: its definition may wait for these.
    if is_restart(&error) && !is_closed(&error) && !open.txn.restarts().has_later(seq) {
        let txn = open.txn.clone();
        match txn.restarts().statement(seq).await {
            Ok(next) => {
                session.shared.advisory.undo_statement(seq);
                return Ok(next);
            }
            Err(_) if first => {}
            Err(_) => return Err(error),
        }
    }
    if !first {
        return Err(error);
    }
    restart_kv(session).await;
    let open = ensure_open(session);
    open.statements = 1;
    Ok(open.txn.next_statement())
}

async fn attempt_statement(
    session: &mut Session,
    portal: &mut Portal,
    seq: Seq,
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let prepared = portal.prepared.clone();
    let running = start_statement(session, &prepared, &portal.params, seq).await?;
    let has_rows = prepared.columns.is_some() || prepared.statement().is_some_and(returns_rows);
    if wanted.describe && (!running.columns.is_empty() || has_rows) {
        client.row_description(&running.columns, &portal.formats);
    }
    portal.run = Run::Open(running);
    let ended = deliver(session, portal, wanted.rows_max, client).await?;
    if ended == Ended::Complete
        && let Some(open) = &session.open
    {
        open.txn.snapshots().release(seq);
    }
    Ok(ended)
}

/// Sends the rows of a running portal, then its tag.
pub(crate) async fn deliver(
    session: &mut Session,
    portal: &mut Portal,
    rows_max: u64,
    client: &mut dyn Client,
) -> Result<Ended> {
    let active = session.active();
    let cancel = session.shared.entry.cancel.clone();
    let hidden = portal.hidden_columns();
    let Run::Open(running) = &mut portal.run else {
        return Err(Error::internal("the portal has not begun"));
    };
    let mut left = if rows_max == 0 { u64::MAX } else { rows_max };
    let mut sent = 0;
    let named = named_columns(&running.columns, &portal.formats);
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(BATCH_ROWS);
        let mut rows = running.source.next(wanted, &cancel).await?;
        if running.standing.as_ref().is_some_and(|standing| !standing.stands()) {
            return Err(from_kv(braid_kv::Error::retry(RetryReason::SchemaChanged, None)));
        }
        if rows.is_empty() {
            session.tag_mark = client.mark();
            let tag = running.source.tag(sent);
            client.command_complete(&tag);
            note_rows(session, &tag);
            return Ok(Ended::Complete);
        }
        send_warnings(&session.shared, active.notices, client);
        left -= rows.len() as u64;
        sent += rows.len();
        if let Some(columns) = &named {
            running.source.name_objects(&mut rows, &running.columns, columns)?;
        }
        hide_columns(&mut rows, hidden);
        let columns = named.as_deref().unwrap_or(&running.columns);
        client.data_rows(&rows, columns, &portal.formats, &active.format)?;
        work::check_interrupts().await?;
        if client.unsent_bytes() > active.result_buffer_bytes {
            session.settle_new_keys().await?;
            client.flush().await.map_err(|error| connection_lost(&error))?;
        }
    }
    session.rows_noted = sent as u64;
    client.portal_suspended();
    Ok(Ended::Suspended)
}

pub(crate) fn same_columns(a: &[ResultColumn], b: &[ResultColumn]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ty == b.ty && a.name == b.name)
}
