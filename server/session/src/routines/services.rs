//! What running statements ask of their session: special functions, routines and their commands,
//! messages, settings.

use std::any::Any;
use std::sync::Arc;

use braid_builtins::Special;
use braid_catalog::{Catalog, Changes, Id, Routine, SIGNAL_BACKEND, SequenceValues};
use braid_exec::{
    AdvisoryLocks, Cancel, ExecContext, NoticeLevel, RoutineCommand, RoutineCursors, RoutineRows,
    SessionServices, TriggerCall, WorkerTask, from_kv,
};
use braid_kv::SharedSnapshot;
use braid_sql::ast::IsolationLevel;
use braid_system_views::{LockEntry, RelationCounts, RuntimeInfo};
use braid_types::{Datum, Error, Result, Row, SqlState, unsigned};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::commands::run_command_inside;
use super::surroundings::renewed;
use crate::client::{Notice, Severity};
use crate::compute::roam;
use crate::settings::is_identity;
use crate::shared::Shared;
use crate::transaction::exported_snapshots::Exported;

impl Shared {
    /// `set_config`
    fn set_config(&self, args: &[Datum], catalog: &Catalog) -> Result<Datum> {
        let [name, value, local] = args else {
            return Err(Error::internal("set_config takes three arguments"));
        };
        let Datum::Text(name) = name else {
            let message = "SET requires parameter name";
            return Err(Error::new(SqlState::NullValueNotAllowed, message));
        };
        let local = local.as_bool().unwrap_or(false);
        let lower = name.to_ascii_lowercase();
        if is_identity(&lower) {
            let wanted = match value {
                Datum::Text(value) => Some(&**value),
                _ => None,
            };
            self.set_identity(catalog, &lower, wanted, local)?;
            return Ok(Datum::text(self.state.lock().settings.show(name)?));
        }
        let mut state = self.state.lock();
        match value {
            Datum::Text(value) => {
                let value = state.settings.set(name, &[value.to_string()], local)?;
                Ok(Datum::text(value))
            }
            _ => {
                state.settings.reset(name, local)?;
                Ok(Datum::text(state.settings.show(name)?))
            }
        }
    }

    /// The number of the newest commit; over TiKV a timestamp of PD.
    async fn commit_number(&self) -> Result<Datum> {
        let newest = self.engine.kv.store().snapshot().await.map_err(from_kv)?;
        Ok(unsigned::to_datum(newest.timestamp().0))
    }

    /// `pg_cancel_backend` and `pg_terminate_backend`: whether there is such a session.
    fn signal(
        &self,
        args: &[Datum],
        (catalog, user): (&Catalog, &str),
        signal: Signal,
    ) -> Result<bool> {
        let Some(entry) = pid_of(args).and_then(|pid| self.engine.sessions.entry(pid)) else {
            return Ok(false);
        };
        check_signal(catalog, user, &entry.user, signal)?;
        match signal {
            Signal::Cancel => {
                entry.cancel_running();
            }
            Signal::Terminate => entry.terminate(),
        }
        Ok(true)
    }
}

/// What a session does to another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signal {
    Cancel,
    Terminate,
}

/// 42501 unless a user may do this to the sessions of another one.
fn check_signal(catalog: &Catalog, user: &str, target: &str, signal: Signal) -> Result<()> {
    let privileges = catalog.privileges();
    let role = |name: &str| catalog.names().role(name).map(|role| role.id);
    // The role of a session may have been dropped meanwhile.
    let (own, target) = (role(user), role(target));
    let acts_as = |other: Id| own.is_some_and(|own| privileges.acts_as(own, other));
    let cancels = signal == Signal::Cancel;
    let message = if own.is_some_and(|own| privileges.is_superuser(own)) {
        return Ok(());
    } else if target.is_some_and(|target| privileges.is_superuser(target)) {
        match cancels {
            true => "must be a superuser to cancel superuser query",
            false => "must be a superuser to terminate superuser process",
        }
    } else if target.is_some_and(acts_as) || acts_as(SIGNAL_BACKEND) {
        return Ok(());
    } else if cancels {
        "must be a member of the role whose query is being canceled or member of pg_signal_backend"
    } else {
        "must be a member of the role whose process is being terminated or member of \
         pg_signal_backend"
    };
    Err(Error::new(SqlState::InsufficientPrivilege, message))
}

/// The number of a session: the first argument.
fn pid_of(args: &[Datum]) -> Option<i32> {
    args.first().and_then(Datum::as_int).and_then(|pid| i32::try_from(pid).ok())
}

/// The sessions that a session waits for: those that hold a lock that it asks for, and those that
/// asked for one before it.
fn blocking_pids(locks: &[LockEntry], args: &[Datum]) -> Datum {
    let pid = pid_of(args);
    let waits = locks.iter().filter(|entry| !entry.info.granted && entry.pid == pid);
    let mut pids: Vec<i32> = Vec::new();
    for wait in waits {
        let is_ahead = |other: &&LockEntry| {
            let (a, b) = (&wait.info, &other.info);
            let conflicts = a.strength == braid_kv::LockStrength::Exclusive
                || b.strength == braid_kv::LockStrength::Exclusive;
            let first = b.granted || b.waited > a.waited;
            a.txn != b.txn && conflicts && first && a.span.overlaps(&b.span)
        };
        pids.extend(locks.iter().filter(is_ahead).filter_map(|other| other.pid));
    }
    pids.sort_unstable();
    pids.dedup();
    let pids = pids.into_iter().map(|pid| Datum::Int(pid.into())).collect();
    Datum::array(braid_types::SqlType::Int4, pids)
}

/// How important a message of a routine is for the client.
fn severity(level: NoticeLevel) -> Severity {
    match level {
        NoticeLevel::Debug => Severity::Debug,
        NoticeLevel::Log => Severity::Log,
        NoticeLevel::Info => Severity::Info,
        NoticeLevel::Notice => Severity::Notice,
        NoticeLevel::Warning => Severity::Warning,
    }
}

impl SessionServices for Shared {
    fn start_worker(&self, cancel: Arc<Cancel>, work: BoxFuture<'static, ()>) -> WorkerTask {
        let pool = self.engine.compute.clone();
        WorkerTask(tokio::spawn(roam(work, cancel, pool)).abort_handle())
    }

    fn call<'a>(
        &'a self,
        special: Special,
        args: &'a [Datum],
        catalog: &'a Catalog,
        user: &'a str,
    ) -> BoxFuture<'a, Result<Datum>> {
        let result = match special {
            Special::SetConfig => self.set_config(args, catalog),
            Special::CancelBackend => {
                self.signal(args, (catalog, user), Signal::Cancel).map(Datum::Bool)
            }
            Special::TerminateBackend => {
                self.signal(args, (catalog, user), Signal::Terminate).map(Datum::Bool)
            }
            Special::BlockingPids => Ok(blocking_pids(&self.locks(), args)),
            Special::CurrentSnapshot => Ok(self.current_snapshot()),
            Special::RelationCounter(counter) => Ok(self.relation_counter(counter, args, catalog)),
            Special::ResetCounters => self.reset_counters(args),
            Special::ResetStatements => self.reset_statements(args),
            Special::CommitNumber => return Box::pin(self.commit_number()),
            Special::CommitStatus => return Box::pin(self.commit_status(args)),
            other => Err(Error::internal(format!("the session does not carry out {other:?}"))),
        };
        Box::pin(std::future::ready(result))
    }

    fn call_routine<'a>(
        &'a self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<Datum>> {
        match self.surroundings_of(cx, routine) {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(None) => braid_routines::call_function(&self.routines, cx, routine, args),
            Ok(Some(own)) => Box::pin(async move {
                braid_routines::call_function(&self.routines, &own, routine, args).await
            }),
        }
    }

    fn call_set_routine<'a>(
        &'a self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<RoutineRows>> {
        match self.surroundings_of(cx, routine) {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(None) => braid_routines::call_set_function(&self.routines, cx, routine, args),
            Ok(Some(own)) => Box::pin(async move {
                braid_routines::call_set_function(&self.routines, &own, routine, args).await
            }),
        }
    }

    fn command<'a>(
        &'a self,
        cx: &'a ExecContext,
        command: RoutineCommand<'a>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(run_command_inside(self, cx, command))
    }

    fn mark_settings(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.state.lock().settings.mark())
    }

    fn take_settings_back(&self, mark: &(dyn Any + Send + Sync)) {
        if let Some(mark) = mark.downcast_ref() {
            self.state.lock().settings.rollback_to(mark);
        }
    }

    fn renewed(&self, cx: &ExecContext, catalog: Arc<Catalog>) -> ExecContext {
        renewed(cx, catalog, || {
            let active = self.state.lock().settings.active().clone();
            (active, self.current_user())
        })
    }

    fn cursors(&self) -> &RoutineCursors {
        &self.cursors
    }

    fn call_trigger<'a>(
        &'a self,
        cx: &'a Arc<ExecContext>,
        call: TriggerCall<'a>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        match self.surroundings_of(cx, call.function) {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(None) => braid_routines::call_trigger(&self.routines, cx, call),
            Ok(Some(own)) => {
                Box::pin(
                    async move { braid_routines::call_trigger(&self.routines, &own, call).await },
                )
            }
        }
    }

    fn notice(&self, level: NoticeLevel, fields: Error) {
        let severity = severity(level);
        let least = self.state.lock().settings.active().notices;
        if severity == Severity::Info || least.is_some_and(|least| severity >= least) {
            self.raised.lock().push(Notice { severity, fields });
        }
    }

    fn settings_changes(&self) -> u64 {
        self.state.lock().settings.changes()
    }

    fn is_read_only(&self) -> bool {
        self.modes().read_only
    }

    fn export_snapshot(&self, snapshot: SharedSnapshot) -> Result<String> {
        let modes = self.state.lock().modes;
        let number = self.entry.activity.lock().transaction.unwrap_or_default();
        let exported = Exported {
            snapshot,
            database: self.entry.database.clone(),
            is_serializable: modes.isolation == IsolationLevel::Serializable,
            is_read_only: modes.read_only,
        };
        self.exports.lock().add(&self.engine.snapshots, (self.entry.pid, number), exported)
    }

    fn count_relation(&self, relation: Id, counts: &RelationCounts) {
        self.engine.statistics.activity.count_relation(self.database, relation, counts);
        let changes = counts.changes();
        if changes != Changes::default() {
            self.engine.catalog.statistics().note_changes(relation, changes);
        }
    }

    fn advisory_locks(&self) -> &AdvisoryLocks {
        &self.advisory
    }

    fn sequence_values(&self) -> &Mutex<SequenceValues> {
        &self.sequences
    }
}
