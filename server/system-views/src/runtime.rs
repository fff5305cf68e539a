//! What the catalog views show of the running server; implemented by `session`.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Changes, Id};
use braid_types::Result;

/// The running server as the catalog views show it.
pub trait RuntimeInfo: Send + Sync {
    /// Every session.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Ends a session and its statement; false if there is no such session, 42501 without the
    /// right to end it.
    fn terminate_session(&self, pid: i32) -> Result<bool>;
    /// Ends the sessions of the job that analyzes tables in a database: they make way for others.
    fn end_analyzers(&self, database: &str);
    /// Locks held and awaited.
    fn locks(&self) -> Vec<LockEntry>;
    /// Locks awaited.
    fn awaited_locks(&self) -> Vec<LockEntry>;
    /// Counters and gauges, as `/metrics` shows them.
    fn metrics(&self) -> Vec<MetricEntry>;
    /// This session's settings.
    fn settings(&self) -> Vec<SettingInfo>;
    /// This session's prepared statements.
    fn prepared_statements(&self) -> Vec<PreparedInfo>;
    /// The transactions of all databases that wait for their second step, with their numbers.
    fn prepared_transactions(&self) -> Vec<(braid_kv::TxnId, braid_cluster::PreparedInfo)>;
    /// This session's open cursors.
    fn cursors(&self) -> Vec<CursorInfo>;
    /// The gateways over this store.
    fn gateways(&self) -> Vec<braid_cluster::GatewayInfo>;
    /// What was done with the tables and indexes of this session's database.
    fn relation_counts(&self) -> HashMap<Id, RelationCounts>;
    /// What was done in each database.
    fn database_counts(&self) -> HashMap<Id, DatabaseCounts>;
    /// The statements that were counted.
    fn statements(&self) -> StatementsInfo;
}

/// What was done with a table or an index since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelationCounts {
    /// Scans: of an index, or of a whole table.
    pub scans: u64,
    /// Entries of the index, or rows of the whole table, that were read.
    pub read: u64,
    /// Rows that the index has led to.
    pub fetched: u64,
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}

impl RelationCounts {
    /// Adds others.
    pub fn add(&mut self, other: &RelationCounts) {
        self.scans += other.scans;
        self.read += other.read;
        self.fetched += other.fetched;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }

    /// What has changed.
    pub fn changes(&self) -> Changes {
        let rows = self.inserted.cast_signed().wrapping_sub(self.deleted.cast_signed());
        let changed = (self.inserted + self.updated + self.deleted).cast_signed();
        Changes { rows, changed }
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.scans + self.read + self.fetched + self.inserted + self.updated + self.deleted
    }
}

/// What was done in a database since the start or the last reset. Times are microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseCounts {
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back.
    pub rollbacks: u64,
    /// Deadlocks found.
    pub deadlocks: u64,
    /// What was done with its relations.
    pub relations: RelationCounts,
    /// Temporary files of statements.
    pub temp_files: u64,
    /// Bytes of these files.
    pub temp_bytes: u64,
    /// Sessions begun.
    pub sessions: u64,
    /// Of them, those whose client went away.
    pub abandoned: u64,
    /// Of them, those that an administrator has ended.
    pub killed: u64,
    /// Time of sessions that have ended.
    pub session_micros: u64,
    /// Time in statements.
    pub active_micros: u64,
    /// Time in transactions between statements.
    pub idle_in_transaction_micros: u64,
    /// When the numbers were reset; microseconds since 2000-01-01 UTC.
    pub reset: Option<i64>,
}

impl DatabaseCounts {
    /// Adds others.
    pub fn add(&mut self, other: &DatabaseCounts) {
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.deadlocks += other.deadlocks;
        self.relations.add(&other.relations);
        self.temp_files += other.temp_files;
        self.temp_bytes += other.temp_bytes;
        self.sessions += other.sessions;
        self.abandoned += other.abandoned;
        self.killed += other.killed;
        self.session_micros += other.session_micros;
        self.active_micros += other.active_micros;
        self.idle_in_transaction_micros += other.idle_in_transaction_micros;
        self.reset = self.reset.max(other.reset);
    }
}

/// `pg_stat_statements`.
#[derive(Clone, Debug, Default)]
pub struct StatementsInfo {
    /// Each statement.
    pub all: Vec<StatementInfo>,
    /// How often statements were forgotten because there were too many.
    pub evictions: u64,
    /// When all were forgotten; microseconds since 2000-01-01 UTC.
    pub reset: i64,
}

/// What was counted of the runs of a statement. Times are milliseconds.
#[derive(Clone, Debug)]
pub struct StatementInfo {
    /// Who has run it.
    pub user: Id,
    /// In which database.
    pub database: Id,
    /// Its number.
    pub id: i64,
    /// Its text without constants.
    pub text: Arc<str>,
    /// Runs.
    pub calls: u64,
    /// Rows given or changed.
    pub rows: u64,
    /// Time of all runs.
    pub total: f64,
    /// The shortest one.
    pub min: f64,
    /// The longest one.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// A session. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// Its number (`pg_backend_pid`).
    pub pid: i32,
    /// The user who logged in.
    pub user: String,
    /// The database.
    pub database: String,
    /// `application_name`
    pub application_name: String,
    /// The client's address, none for a local socket.
    pub client_addr: Option<String>,
    /// The client's port.
    pub client_port: Option<i32>,
    /// When it connected.
    pub backend_start: i64,
    /// When its transaction began.
    pub transaction_start: Option<i64>,
    /// When its last statement began.
    pub query_start: Option<i64>,
    /// When its state last changed.
    pub state_change: Option<i64>,
    /// `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    pub state: String,
    /// Its last statement.
    pub query: String,
    /// Its transaction's number in this process.
    pub transaction: Option<u64>,
    /// Whose session it is: `client backend`, `autovacuum worker`, `background worker`.
    pub backend: String,
}

/// A lock held or awaited.
#[derive(Clone, Debug)]
pub struct LockEntry {
    /// The lock.
    pub info: braid_kv::LockInfo,
    /// The session whose transaction it is.
    pub pid: Option<i32>,
}

/// A counter, a gauge, or one sample of a histogram.
#[derive(Clone, Debug)]
pub struct MetricEntry {
    /// Its name.
    pub name: String,
    /// Labels with their values.
    pub labels: Vec<(&'static str, String)>,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// Its value now.
    pub value: f64,
    /// What it counts.
    pub help: String,
}

/// A setting, as `pg_settings` shows it.
#[derive(Clone, Debug, Default)]
pub struct SettingInfo {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// The unit of the value.
    pub unit: Option<String>,
    /// What it belongs to.
    pub category: String,
    /// What it does.
    pub description: String,
    /// `user`, `superuser`, `postmaster`, `internal`.
    pub context: String,
    /// `bool`, `integer`, `real`, `string`, `enum`.
    pub vartype: String,
    /// Where the value comes from: `default`, `session`, `command line`.
    pub source: String,
    /// The smallest value.
    pub min: Option<String>,
    /// The largest value.
    pub max: Option<String>,
    /// The values of an enum.
    pub values: Option<Vec<String>>,
    /// The value at start-up.
    pub boot: Option<String>,
    /// What RESET makes it.
    pub reset: Option<String>,
}

/// A prepared statement of the session.
#[derive(Clone, Debug)]
pub struct PreparedInfo {
    /// Its name.
    pub name: String,
    /// Its text.
    pub statement: String,
    /// When it was prepared.
    pub prepare_time: i64,
    /// The oids of its parameters' types.
    pub parameter_types: Vec<u32>,
    /// By PREPARE, else by the protocol.
    pub from_sql: bool,
}

/// An open cursor of the session.
#[derive(Clone, Debug)]
pub struct CursorInfo {
    /// Its name.
    pub name: String,
    /// Its query.
    pub statement: String,
    /// WITH HOLD
    pub is_holdable: bool,
    /// BINARY
    pub is_binary: bool,
    /// SCROLL
    pub is_scrollable: bool,
    /// When it was declared.
    pub creation_time: i64,
}
