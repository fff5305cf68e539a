//! What one execution of a statement can use.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use braid_builtins::{Environment, Special};
use braid_catalog::{Catalog, Id, Routine, SearchPath, Sequences};
use braid_kv::{Error as Kv, Seq, SharedSnapshot, Snapshot, Transaction};
use braid_plan::PlannedStatement;
use braid_system_views::{RelationCounts, RuntimeInfo};
use braid_types::work;
use braid_types::{Datum, Error, Result, Row};
use futures_util::future::BoxFuture;

use crate::{
    AdvisoryLocks, Cancel, ConstraintModes, Memory, Parallelism, PlansAround, RoutineCommand,
    RoutineCursors, RoutineRows, SessionSettings, TempSpace, TransactionDraft, TriggerCall,
    WorkerTask, errors,
};

/// What one execution of a statement can use.
pub struct ExecContext {
    /// The transaction.
    pub txn: Arc<Transaction>,
    /// The statement's number: it sees the writes of lower ones.
    pub seq: Seq,
    /// The catalog that the plan was made with.
    pub catalog: Arc<Catalog>,
    /// What the transaction has made of the catalog, also since the plan was made.
    pub draft: Arc<TransactionDraft>,
    /// The plan, once it runs.
    pub plan: OnceLock<Arc<PlannedStatement>>,
    /// The plans of the statements that have called the routines around it.
    pub around: Option<Arc<PlansAround>>,
    /// A snapshot that is not newer than the catalog's: since then the tables of the plan must not
    /// have changed when the transaction commits.
    pub catalog_since: Option<Arc<dyn Snapshot>>,
    /// Where names are looked up.
    pub path: Arc<SearchPath>,
    /// The session as functions see it.
    pub env: Arc<dyn Environment>,
    /// The settings that `env` and `path` follow; `None` for a routine that has its own.
    pub settings: Option<SessionSettings>,
    /// Sequences, outside of the transaction.
    pub sequences: Arc<Sequences>,
    /// What the catalog views of the running server show.
    pub runtime: Arc<dyn RuntimeInfo>,
    /// The rest of what a session does for a statement.
    pub services: Arc<dyn SessionServices>,
    /// Set by a cancel request or a timeout.
    pub cancel: Arc<Cancel>,
    /// Memory of this statement.
    pub memory: Arc<Memory>,
    /// Disk space of this session for rows that memory has no room for.
    pub temp: Arc<TempSpace>,
    /// `SET implicit_select_for_update`
    pub implicit_locks: bool,
    /// `SET range_delete`
    pub range_delete: bool,
    /// How many workers a query may have.
    pub parallelism: Parallelism,
    /// When an INSERT looks whether its new keys are free.
    pub new_keys: NewKeys,
    /// Which constraints are checked at the commit.
    pub constraints: Arc<ConstraintModes>,
    /// How many routines of users are running around it.
    pub routine_depth: usize,
    /// How many triggers are running around it.
    pub trigger_depth: usize,
}

/// How important a message for the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// `DEBUG`
    Debug,
    /// `LOG`
    Log,
    /// `INFO`
    Info,
    /// `NOTICE`
    Notice,
    /// `WARNING`
    Warning,
}

/// When an INSERT looks whether its new keys are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewKeys {
    /// Before it ends: its answer says so.
    #[default]
    Now,
    /// At the next barrier: the session calls [`braid_kv::Writes::check_new_keys`] before
    /// anything is told that depends on it. Below SERIALIZABLE it is the same as `Now`.
    AtBarrier,
    /// At the commit, which follows at once.
    AtCommit,
}

impl ExecContext {
    /// Lets others have the thread if it is their turn; 57014 once the statement is to stop.
    pub async fn check_interrupts(&self) -> Result<()> {
        self.cancel.check()?;
        work::check_interrupts().await
    }

    /// A kv error as the client sees it, with the names of keys and sessions.
    pub fn kv_error(&self, error: Kv) -> Error {
        errors::from_kv_named(error, &self.catalog, &*self.runtime)
    }

    /// The same for another attempt or statement: its number, its switch, memory of its own.
    #[must_use]
    pub fn renumbered(&self, seq: Seq, cancel: Arc<Cancel>) -> Self {
        Self {
            txn: self.txn.clone(),
            seq,
            catalog: self.catalog.clone(),
            draft: self.draft.clone(),
            plan: self.plan.clone(),
            around: self.around.clone(),
            catalog_since: self.catalog_since.clone(),
            path: self.path.clone(),
            env: self.env.clone(),
            settings: self.settings,
            sequences: self.sequences.clone(),
            runtime: self.runtime.clone(),
            services: self.services.clone(),
            memory: Arc::new(self.memory.renewed(cancel.clone())),
            temp: self.temp.clone(),
            cancel,
            implicit_locks: self.implicit_locks,
            range_delete: self.range_delete,
            parallelism: self.parallelism,
            new_keys: self.new_keys,
            constraints: self.constraints.clone(),
            routine_depth: self.routine_depth,
            trigger_depth: self.trigger_depth,
        }
    }

    /// The same session in another transaction, in which routines may define nothing.
    #[must_use]
    pub fn in_transaction(&self, txn: Arc<Transaction>, seq: Seq) -> Self {
        Self {
            txn,
            seq,
            catalog: self.catalog.clone(),
            draft: Arc::new(TransactionDraft::closed()),
            plan: OnceLock::new(),
            around: None,
            catalog_since: self.catalog_since.clone(),
            path: self.path.clone(),
            env: self.env.clone(),
            settings: self.settings,
            sequences: self.sequences.clone(),
            runtime: self.runtime.clone(),
            services: self.services.clone(),
            cancel: self.cancel.clone(),
            memory: Arc::new(self.memory.renewed(self.cancel.clone())),
            temp: self.temp.clone(),
            implicit_locks: self.implicit_locks,
            range_delete: self.range_delete,
            parallelism: self.parallelism,
            new_keys: NewKeys::Now,
            constraints: self.constraints.clone(),
            routine_depth: self.routine_depth,
            trigger_depth: self.trigger_depth,
        }
    }
}

/// What functions that wait ask of the session.
pub trait SessionServices: Send + Sync {
    /// Carries out a special function other than those of sequences and `pg_sleep`, with the
    /// privileges of a user.
    fn call<'a>(
        &'a self,
        special: Special,
        args: &'a [Datum],
        catalog: &'a Catalog,
        user: &'a str,
    ) -> BoxFuture<'a, Result<Datum>>;
    /// Calls a function of a user within a statement.
    fn call_routine<'a>(
        &'a self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<Datum>>;
    /// Calls a function of a user that gives a set of rows, or one row as a set.
    fn call_set_routine<'a>(
        &'a self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<RoutineRows>>;
    /// Carries out a definition, SET or RESET for a routine inside of a statement; false for any
    /// other command.
    fn command<'a>(
        &'a self,
        cx: &'a ExecContext,
        command: RoutineCommand<'a>,
    ) -> BoxFuture<'a, Result<bool>>;
    /// A position in the changes of the session's settings.
    fn mark_settings(&self) -> Box<dyn Any + Send + Sync>;
    /// Takes back the changes of settings after a position.
    fn take_settings_back(&self, mark: &(dyn Any + Send + Sync));
    /// The same context over another catalog, with the session's settings as they are now.
    fn renewed(&self, cx: &ExecContext, catalog: Arc<Catalog>) -> ExecContext;
    /// The cursors that functions of users have opened.
    fn cursors(&self) -> &RoutineCursors;
    /// Calls the function of a trigger; the row that it gives, by the table's columns.
    fn call_trigger<'a>(
        &'a self,
        cx: &'a Arc<ExecContext>,
        call: TriggerCall<'a>,
    ) -> BoxFuture<'a, Result<Option<Row>>>;
    /// Sends a message to the client before the statement's end.
    fn notice(&self, level: NoticeLevel, fields: Error);
    /// A number that changes with every change of the session's settings and user.
    fn settings_changes(&self) -> u64;
    /// Whether the transaction is READ ONLY.
    fn is_read_only(&self) -> bool;
    /// Lets other sessions read at a snapshot until the transaction ends; its identifier.
    fn export_snapshot(&self, snapshot: SharedSnapshot) -> Result<String>;
    /// The advisory locks of this session.
    fn advisory_locks(&self) -> &AdvisoryLocks;
    /// Starts a worker of a query beside it. It ends when its task is dropped.
    fn start_worker(&self, cancel: Arc<Cancel>, work: BoxFuture<'static, ()>) -> WorkerTask;
    /// Adds to what is known of the use of a table or an index.
    fn count_relation(&self, relation: Id, counts: &RelationCounts);
    /// The values of sequences in this session: `currval`, `lastval`.
    fn sequence_values(&self) -> &parking_lot::Mutex<braid_catalog::SequenceValues>;
}
