//! What the catalog views show of the running server; implemented by `session`.

/// The running server as the catalog views show it.
pub trait RuntimeInfo: Send + Sync {
    /// Every session.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Locks held and awaited.
    fn locks(&self) -> Vec<LockEntry>;
    /// Counters and gauges, as `/metrics` shows them.
    fn metrics(&self) -> Vec<MetricEntry>;
    /// This session's settings.
    fn settings(&self) -> Vec<SettingInfo>;
    /// This session's prepared statements.
    fn prepared_statements(&self) -> Vec<PreparedInfo>;
    /// This session's open cursors.
    fn cursors(&self) -> Vec<CursorInfo>;
    /// The gateways over this store.
    fn gateways(&self) -> Vec<crate::GatewayInfo>;
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
    /// Kind and name of what it waits for.
    pub wait: Option<(String, String)>,
    /// Its transaction's number in this process.
    pub transaction: Option<u64>,
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
