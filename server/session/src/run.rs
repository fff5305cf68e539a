//! Running one bound statement: rows to the client, running again after a conflict.
//!
//! ```text
//! run_portal ─ planned ──► start ──► rows ──► rows … ──► tag
//!            │                 ▲        │ 40001 or 40P01, and nothing of it has left
//!            │                 └────────┘
//!            ├ ddl      ──► exec::ddl
//!            └ others   ──► dispatch, copy
//! ```
//!
//! Rules: output of a failed attempt is taken back before the next; a statement that has sent
//! something is never run again; a cancel or a timeout ends every wait.

use std::sync::Arc;

use braid_catalog::{Catalog, CatalogLookup};
use braid_exec::{ExecContext, Execution, Memory, NewKeys, from_kv};
use braid_kv::{RetryReason, Seq, Transaction};
use braid_plan::PlannedStatement;
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType, work};
use tokio::task::JoinHandle;

use crate::client::{Client, Formats, ResultColumn};
use crate::clock::now_micros;
use crate::deadline::ATTEMPTS_MAX;
use crate::entry::SessionEntry;
use crate::environment::StatementEnvironment;
use crate::errors::is_retryable;
use crate::explain::explained_execute;
use crate::planning::Bound;
use crate::portal::{Portal, Run, Running, Source};
use crate::prepared::{Prepared, returns_rows, runs_in_any_block};
use crate::session::Session;

/// Rows asked for at a time.
const BATCH_ROWS: usize = 1024;

/// How a portal's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At the end of its rows.
    Complete,
    /// At the limit of rows.
    Suspended,
}

/// While it lives, the statement can be cancelled and its timeout runs.
pub(crate) struct StatementGuard {
    entry: Arc<SessionEntry>,
    timer: Option<JoinHandle<()>>,
}

impl Drop for StatementGuard {
    fn drop(&mut self) {
        self.entry.end_statement();
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}

impl Session {
    /// Marks the beginning of a statement for cancel requests, timeouts and the activity view;
    /// `None` if it is a part or another attempt of one that is marked.
    pub(crate) fn guard_statement(&mut self, text: &Arc<str>) -> Option<StatementGuard> {
        let entry = self.shared.entry.clone();
        if entry.is_running() {
            return None;
        }
        entry.begin_statement(text, now_micros());
        self.server.counters.statements.here().fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let timer = self.deadline().map(|deadline| {
            let (entry, server) = (entry.clone(), self.server.clone());
            tokio::spawn(async move {
                tokio::time::sleep_until(deadline).await;
                entry.cancel.stop(server.statement_timeout());
            })
        });
        Some(StatementGuard { entry, timer })
    }

    /// What functions and the planner see.
    pub(crate) fn environment(&mut self, catalog: &Arc<Catalog>) -> StatementEnvironment {
        let now = now_micros();
        let transaction_micros = self.open.as_ref().map_or(now, |open| open.micros);
        let shared = self.shared.clone();
        let derived = self.derived();
        StatementEnvironment {
            shared,
            active: derived.active.clone(),
            transaction_micros,
            statement_micros: now,
            user: derived.user.clone(),
            session_user: derived.session_user.clone(),
            lookup: Arc::new(CatalogLookup::new(catalog.clone(), derived.path.clone())),
        }
    }

    /// What an execution may use.
    pub(crate) fn exec_context(
        &mut self,
        seq: Seq,
        catalog: Arc<Catalog>,
        env: StatementEnvironment,
    ) -> ExecContext {
        let txn = self.ensure_open().txn.clone();
        self.context_in(txn, seq, catalog, env)
    }

    /// An empty account for a statement of this session.
    pub(crate) fn statement_memory(&self, limit_bytes: u64) -> Arc<Memory> {
        let stop = self.shared.entry.cancel.clone();
        Arc::new(Memory::new(limit_bytes, self.server.memory.clone(), stop))
    }

    /// The same in a transaction at hand.
    pub(crate) fn context_in(
        &self,
        txn: Arc<Transaction>,
        seq: Seq,
        catalog: Arc<Catalog>,
        env: StatementEnvironment,
    ) -> ExecContext {
        let active = env.active.clone();
        txn.set_lock_timeout(active.lock_timeout);
        let path = env.lookup.path.clone();
        ExecContext {
            txn,
            seq,
            catalog,
            path,
            env: Arc::new(env),
            sequences: self.server.sequences.clone(),
            runtime: self.shared.clone(),
            services: self.shared.clone(),
            memory: self.statement_memory(active.memory_limit_bytes),
            cancel: self.shared.entry.cancel.clone(),
            implicit_locks: active.implicit_locks,
            range_delete: active.range_delete,
            new_keys: NewKeys::Now,
            constraints: self.block_state.constraints.clone(),
        }
    }

    /// Starts a planned statement with this number.
    pub(crate) async fn start(
        &mut self,
        prepared: &Prepared,
        params: &Arc<Vec<Datum>>,
        seq: Seq,
    ) -> Result<Running> {
        if let Some((explain, execute)) = explained_execute(prepared.statement()) {
            return self.start_explained(explain, execute, seq).await;
        }
        let (bound, standing) = self.bound(prepared, params, seq).await?;
        let Bound { catalog, env, plan, params } = bound;
        if let Some(promised) = &prepared.columns
            && !same_columns(promised, &plan.columns)
        {
            let message = "cached plan must not change result type";
            let error = Error::new(SqlState::FeatureNotSupported, message);
            return Err(error.routine("RevalidateCachedQuery"));
        }
        if plan.plan.is_write && self.modes().read_only {
            return Err(read_only(prepared));
        }
        if self.modes().read_only
            && plan.plan.explain.is_none()
            && let Some(strength) = plan.plan.row_lock()
        {
            return Err(Error::new(
                SqlState::ReadOnlySqlTransaction,
                format!("cannot execute SELECT {} in a read-only transaction", strength.clause()),
            ));
        }
        let mut cx = self.exec_context(seq, catalog, env);
        self.put_off_check(&plan.plan, &mut cx);
        let execution = Execution::start(plan.plan.clone(), params, Arc::new(cx))?;
        let explain = matches!(prepared.statement(), Some(Statement::Explain(_)));
        Ok(Running {
            columns: plan.columns.clone(),
            source: Source::Execution(Box::new(execution), explain.then_some("EXPLAIN")),
            standing,
        })
    }

    /// Runs a portal up to `rows_max` rows (0: all). With `describe`, its columns go first.
    pub(crate) async fn run_portal(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let prepared = portal.prepared.clone();
        let Some(statement) = prepared.statement() else {
            client.empty_query();
            return Ok(Ended::Complete);
        };
        if !runs_in_any_block(statement) {
            self.check_block()?;
        }
        self.settle(client).await?;
        if matches!(portal.run, Run::Done) {
            return finished_again(&prepared, client);
        }
        let guard = self.guard_statement(prepared.whole_text());
        let result = self.arrive(portal, rows_max, client, describe).await;
        drop(guard);
        match &result {
            Ok(Ended::Complete) => portal.run = Run::Done,
            Ok(Ended::Suspended) => {}
            Err(_) => {
                portal.run = Run::Done;
                let errors = &self.server.counters.errors;
                errors.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        self.send_notices(client);
        result
    }

    pub(crate) async fn run_planned(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let fresh = matches!(portal.run, Run::New);
        if !fresh {
            return self.deliver(portal, rows_max, client).await;
        }
        let start = client.position();
        let open = self.ensure_open();
        open.statements += 1;
        let mut seq = open.txn.next_statement();
        let mut attempt = 0;
        loop {
            let result = self.attempt(portal, seq, rows_max, client, describe).await;
            let error = match result {
                Ok(ended) => {
                    self.shared.advisory.settle_statement();
                    return Ok(ended);
                }
                Err(error) => error,
            };
            portal.run = Run::New;
            attempt += 1;
            let may_run_again =
                is_retryable(&error) && self.shared.advisory.may_run_again(Some(seq), &error);
            if !may_run_again || attempt > ATTEMPTS_MAX || !client.rewind(start) {
                return Err(error);
            }
            seq = Box::pin(self.again(seq, error, attempt)).await?;
        }
    }

    /// Prepares the statement to run again; its error if that cannot be.
    ///
    /// After a conflict its locks stay, so that the row it has waited for is its own the next
    /// time. After a deadlock, or where earlier statements stand in the way, only a transaction
    /// that has done nothing else can begin anew.
    async fn again(&mut self, seq: Seq, error: Error, attempt: u32) -> Result<Seq> {
        self.server.counters.server_retries.add(&error);
        self.pause(attempt).await?;
        let open = self.ensure_open();
        let first = open.statements <= 1;
        if error.state() == SqlState::SerializationFailure {
            let txn = open.txn.clone();
            match txn.restart_statement(seq).await {
                Ok(next) => {
                    self.shared.advisory.undo_statement(seq);
                    return Ok(next);
                }
                Err(_) if first => {}
                Err(_) => return Err(error),
            }
        }
        if !first {
            return Err(error);
        }
        self.restart_kv().await;
        let open = self.ensure_open();
        open.statements = 1;
        Ok(open.txn.next_statement())
    }

    async fn attempt(
        &mut self,
        portal: &mut Portal,
        seq: Seq,
        rows_max: u64,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let prepared = portal.prepared.clone();
        let running = self.start(&prepared, &portal.params, seq).await?;
        let has_rows = prepared.columns.is_some() || prepared.statement().is_some_and(returns_rows);
        if describe && (!running.columns.is_empty() || has_rows) {
            client.row_description(&running.columns, &portal.formats);
        }
        portal.run = Run::Open(running);
        let ended = self.deliver(portal, rows_max, client).await?;
        if ended == Ended::Complete
            && let Some(open) = &self.open
        {
            open.txn.end_statement(seq);
        }
        Ok(ended)
    }

    /// Sends the rows of a running portal, then its tag.
    pub(crate) async fn deliver(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        client: &mut dyn Client,
    ) -> Result<Ended> {
        let active = self.active();
        let cancel = self.shared.entry.cancel.clone();
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
                self.tag_position = client.position();
                client.command_complete(&running.source.tag(sent));
                return Ok(Ended::Complete);
            }
            self.send_warnings(client);
            left -= rows.len() as u64;
            sent += rows.len();
            if let Some(columns) = &named {
                running.source.name_objects(&mut rows, &running.columns, columns)?;
            }
            let columns = named.as_deref().unwrap_or(&running.columns);
            client.data_rows(&rows, columns, &portal.formats, &active.format);
            work::breathe().await?;
            if client.position() - client.sent() > active.result_buffer_bytes {
                self.settle_new_keys().await?;
                client.flush().await.map_err(|error| connection_lost(&error))?;
            }
        }
        client.portal_suspended();
        Ok(Ended::Suspended)
    }
}

impl Source {
    /// Puts names in the place of object numbers, where `to` says text and `from` does not.
    pub(crate) fn name_objects(
        &self,
        rows: &mut [Row],
        from: &[ResultColumn],
        to: &[ResultColumn],
    ) -> Result<()> {
        let Source::Execution(execution, _) = self else { return Ok(()) };
        let env = &*execution.run().cx.env;
        for row in rows {
            for (datum, (from, to)) in row.iter_mut().zip(from.iter().zip(to)) {
                if from.ty != to.ty {
                    *datum = braid_builtins::cast_reg(datum, &from.ty, &to.ty, env)?;
                }
            }
        }
        Ok(())
    }

    /// The next rows; none at the end.
    pub(crate) async fn next(
        &mut self,
        rows_max: usize,
        cancel: &braid_exec::Cancel,
    ) -> Result<Vec<Row>> {
        match self {
            Source::Execution(execution, _) => {
                cancel.check()?;
                tokio::select! {
                    biased;
                    rows = execution.next(rows_max) => rows,
                    error = cancel.stopped() => Err(error),
                }
            }
            Source::Rows(rows, _) => {
                let count = rows_max.min(rows.len());
                Ok(rows.drain(..count).collect())
            }
        }
    }

    /// The command tag, once there are no more rows. A SELECT counts the rows of this Execute.
    pub(crate) fn tag(&self, sent: usize) -> String {
        match self {
            Source::Execution(_, Some(tag)) => (*tag).to_owned(),
            Source::Execution(execution, None) if execution.is_query() => {
                format!("SELECT {sent}")
            }
            Source::Execution(execution, None) => execution.tag(),
            Source::Rows(_, tag) => tag.clone(),
        }
    }
}

/// 08006: the client is gone.
pub(crate) fn connection_lost(error: &std::io::Error) -> Error {
    Error::new(SqlState::ConnectionFailure, error.to_string())
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

/// 25006: the transaction may not write.
pub(crate) fn read_only(prepared: &Prepared) -> Error {
    let statement = match prepared.statement() {
        Some(Statement::Explain(explain)) => Some(&explain.statement),
        other => other,
    };
    let command = match statement {
        Some(Statement::Insert(_)) => "INSERT",
        Some(Statement::Update(_)) => "UPDATE",
        Some(Statement::Delete(_)) => "DELETE",
        _ => "SELECT",
    };
    Error::new(
        SqlState::ReadOnlySqlTransaction,
        format!("cannot execute {command} in a read-only transaction"),
    )
}

/// The columns with numbers of catalog objects (`regclass` and its kin) as text, if there are
/// any: as text they show names, which only the catalog knows.
pub(crate) fn named_columns(
    columns: &[ResultColumn],
    formats: &Formats,
) -> Option<Vec<ResultColumn>> {
    let is_named = |(i, column): (usize, &ResultColumn)| {
        column.ty.innermost().is_reg() && !formats.is_binary(i)
    };
    columns.iter().enumerate().any(is_named).then(|| {
        let text = |(i, column): (usize, &ResultColumn)| match is_named((i, column)) {
            true => ResultColumn { ty: SqlType::Text, ..column.clone() },
            false => column.clone(),
        };
        columns.iter().enumerate().map(text).collect()
    })
}

fn same_columns(a: &[ResultColumn], b: &[ResultColumn]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ty == b.ty && a.name == b.name)
}

pub(crate) fn result_columns(plan: &PlannedStatement) -> Arc<[ResultColumn]> {
    plan.columns
        .iter()
        .map(|column| ResultColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            table_oid: column.table_oid,
            column_number: i16::try_from(column.column_number).unwrap_or(0),
        })
        .collect()
}
