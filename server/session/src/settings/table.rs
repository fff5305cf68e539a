//! The table of variables: names, kinds, defaults, limits.

use std::sync::LazyLock;

use super::accepted::ACCEPTED;
use super::setting::{Access, Kind, Setting};
use super::units::Unit;

const fn user(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    description: &'static str,
) -> Setting {
    Setting { name, kind, default, access: Access::User, report: false, description }
}

const fn reported(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    description: &'static str,
) -> Setting {
    Setting { name, kind, default, access: Access::User, report: true, description }
}

const fn identity(
    name: &'static str,
    default: &'static str,
    report: bool,
    description: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Text, default, access: Access::Identity, report, description }
}

const fn fixed(
    name: &'static str,
    default: &'static str,
    report: bool,
    description: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Text, default, access: Access::Fixed, report, description }
}

const fn int(min: i64, max: i64) -> Kind {
    Kind::Int { min, max, unit: None }
}

const INT_MAX: i64 = i32::MAX as i64;
const TIMEOUT: Kind = Kind::Int { min: 0, max: INT_MAX, unit: Some(Unit::Millis) };
const ISOLATION: Kind =
    Kind::Enum(&["serializable", "repeatable read", "read committed", "read uncommitted"]);
const LEVELS: Kind = Kind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
]);
const LOG_LEVELS: Kind = Kind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log",
    "fatal", "panic",
]);

/// The version of this server.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The variables that steer something, and those that the first clients needed, sorted by
/// lower-case name.
const SETTINGS: &[Setting] = &[
    reported("application_name", Kind::Text, "", "The name of the client's program."),
    user(
        "backslash_quote",
        Kind::Enum(&["safe_encoding", "on", "off"]),
        "safe_encoding",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    fixed("block_size", "8192", false, "PostgreSQL's page size, which some tools ask for."),
    fixed("braid_version", VERSION, true, "The version of BraidDB."),
    user("bytea_output", Kind::Enum(&["escape", "hex"]), "hex", "How bytea is printed."),
    user(
        "check_function_bodies",
        Kind::Bool,
        "on",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    reported("client_encoding", Kind::Encoding, "UTF8", "The client's encoding."),
    user("client_min_messages", LEVELS, "notice", "The least severity of messages sent."),
    Setting {
        name: "commit_token",
        kind: Kind::Uuid,
        default: "",
        access: Access::Transaction,
        report: false,
        description: "The uuid under which braid_commit_status finds the transaction's outcome.",
    },
    user(
        "cursor_tuple_fraction",
        Kind::Real { min: 0.0, max: 1.0, unit: None },
        "0.1",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    reported("DateStyle", Kind::DateStyle, "ISO, MDY", "How dates are printed and read."),
    user(
        "default_table_access_method",
        Kind::Text,
        "heap",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user("default_tablespace", Kind::Text, "", "Accepted for PostgreSQL's sake; has no effect."),
    user(
        "default_text_search_config",
        Kind::Text,
        "pg_catalog.english",
        "The configuration of text search where none is named.",
    ),
    user(
        "default_toast_compression",
        Kind::Enum(&["pglz", "lz4"]),
        "pglz",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "default_transaction_deferrable",
        Kind::Bool,
        "off",
        "Whether transactions are deferrable unless they say otherwise.",
    ),
    user(
        "default_transaction_isolation",
        ISOLATION,
        "serializable",
        "The isolation level of transactions that name none.",
    ),
    reported(
        "default_transaction_read_only",
        Kind::Bool,
        "off",
        "Whether transactions are read-only unless they say otherwise.",
    ),
    user("enable_hashjoin", Kind::Bool, "on", "Accepted for PostgreSQL's sake; has no effect."),
    user("enable_indexscan", Kind::Bool, "on", "Accepted for PostgreSQL's sake; has no effect."),
    user("enable_mergejoin", Kind::Bool, "on", "Accepted for PostgreSQL's sake; has no effect."),
    user("enable_nestloop", Kind::Bool, "on", "Accepted for PostgreSQL's sake; has no effect."),
    user("enable_seqscan", Kind::Bool, "on", "Accepted for PostgreSQL's sake; has no effect."),
    user(
        "escape_string_warning",
        Kind::Bool,
        "on",
        "Whether a backslash in a plain string is warned of, if it is an escape.",
    ),
    user("extra_float_digits", int(-15, 3), "1", "Digits of floats beyond the usual ones."),
    user(
        "from_collapse_limit",
        int(1, INT_MAX),
        "8",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user("geqo", Kind::Bool, "on", "Accepted for PostgreSQL's sake; has no effect."),
    user(
        "idle_in_transaction_session_timeout",
        TIMEOUT,
        "0",
        "How long a session may be idle inside a transaction; 0: for ever.",
    ),
    user(
        "idle_session_timeout",
        TIMEOUT,
        "0",
        "How long a session may be idle outside of a transaction; 0: for ever.",
    ),
    user(
        "implicit_select_for_update",
        Kind::Bool,
        "on",
        "Whether UPDATE and DELETE lock the rows that they read.",
    ),
    fixed("in_hot_standby", "off", true, "Whether this is a standby: never."),
    user(
        "inject_retry_errors_enabled",
        Kind::Bool,
        "off",
        "Whether statements in transaction blocks fail with a retry error, to test clients.",
    ),
    fixed("integer_datetimes", "on", true, "Timestamps are integers: always."),
    reported(
        "IntervalStyle",
        Kind::Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        "How intervals are printed.",
    ),
    fixed("is_superuser", "on", true, "Whether the user is a superuser."),
    user("jit", Kind::Bool, "off", "Accepted for PostgreSQL's sake; has no effect."),
    user(
        "join_collapse_limit",
        int(1, INT_MAX),
        "8",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    fixed("lc_collate", "C", false, "Text is compared by its bytes."),
    fixed("lc_ctype", "C.UTF-8", false, "Letters are those of Unicode."),
    user("lc_messages", Kind::Text, "C", "Accepted for PostgreSQL's sake; has no effect."),
    user("lc_monetary", Kind::Text, "C", "Accepted for PostgreSQL's sake; has no effect."),
    user("lc_numeric", Kind::Text, "C", "Accepted for PostgreSQL's sake; has no effect."),
    user("lc_time", Kind::Text, "C", "Accepted for PostgreSQL's sake; has no effect."),
    user("lock_timeout", TIMEOUT, "0", "How long a statement waits for a lock; 0: for ever."),
    Setting {
        name: "log_min_duration_statement",
        kind: Kind::Int { min: -1, max: INT_MAX, unit: Some(Unit::Millis) },
        default: "-1",
        access: Access::Superuser,
        report: false,
        description: "Statements that take at least this long are logged; 0: all, -1: none.",
    },
    user(
        "log_min_messages",
        LOG_LEVELS,
        "warning",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "log_statement",
        Kind::Enum(&["none", "ddl", "mod", "all"]),
        "none",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "maintenance_work_mem",
        Kind::Int { min: 1024, max: INT_MAX, unit: Some(Unit::KiloBytes) },
        "64MB",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    Setting {
        name: "max_connections",
        kind: int(1, 262_143),
        default: "200",
        access: Access::Start,
        report: false,
        description: "The most sessions at a time.",
    },
    fixed("max_identifier_length", "63", false, "The most bytes of a name."),
    fixed("max_index_keys", "32", false, "The most columns of an index."),
    Setting {
        name: "max_message_bytes",
        kind: Kind::Int { min: 1024, max: 1 << 30, unit: Some(Unit::Bytes) },
        default: "64MB",
        access: Access::Start,
        report: false,
        description: "The largest protocol message accepted.",
    },
    user(
        "max_parallel_statement_bytes",
        Kind::Int { min: 1024, max: 1 << 30, unit: Some(Unit::Bytes) },
        "4MB",
        "Texts and parameters of queued RETURNING NOTHING statements; more wait.",
    ),
    user(
        "max_parallel_statements",
        int(1, 10_000),
        "64",
        "RETURNING NOTHING statements of a transaction that are queued or run; more wait.",
    ),
    user(
        "max_parallel_workers_per_query",
        int(-1, 64),
        "-1",
        "Workers that share the work of an aggregate. -1: one a core, four at most.",
    ),
    Setting {
        name: "max_prepared_transactions",
        kind: int(0, 262_143),
        default: "64",
        access: Access::Start,
        report: false,
        description: "The most prepared transactions at a time.",
    },
    user(
        "password_encryption",
        Kind::Enum(&["scram-sha-256"]),
        "scram-sha-256",
        "How passwords are stored.",
    ),
    Setting {
        name: "pg_stat_statements.max",
        kind: int(100, 1_073_741_823),
        default: "5000",
        access: Access::Start,
        report: false,
        description: "Statements of which pg_stat_statements keeps numbers.",
    },
    Setting {
        name: "pg_stat_statements.track",
        kind: Kind::Enum(&["none", "top", "all"]),
        default: "top",
        access: Access::Superuser,
        report: false,
        description: "Whether pg_stat_statements counts statements.",
    },
    user(
        "min_parallel_cost",
        int(0, 1_000_000_000),
        "100000",
        "The least estimated work that workers share, in rows that a scan reads.",
    ),
    user(
        "plan_cache_mode",
        Kind::Enum(&["auto", "force_generic_plan", "force_custom_plan"]),
        "auto",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "quote_all_identifiers",
        Kind::Bool,
        "off",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "random_page_cost",
        Kind::Real { min: 0.0, max: f64::MAX, unit: None },
        "4",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "range_delete",
        Kind::Bool,
        "on",
        "Whether rows of interleaved tables may be deleted as ranges of keys.",
    ),
    user(
        "record_timeline",
        Kind::Bool,
        "off",
        "Whether SHOW TRANSACTION TIMELINE has something to show.",
    ),
    user(
        "result_buffer_bytes",
        Kind::Int { min: 0, max: 64 << 20, unit: Some(Unit::Bytes) },
        "16kB",
        "Results up to this size are held back, so that their statement can be run again.",
    ),
    identity("role", "none", false, "The current role."),
    user(
        "row_security",
        Kind::Bool,
        "on",
        "Whether policies hide rows. If it is off, a statement that they concern fails.",
    ),
    reported(
        "search_path",
        Kind::Names,
        "\"$user\", public",
        "The schemas in which names are looked up.",
    ),
    fixed("server_encoding", "UTF8", true, "The encoding of stored text: always UTF8."),
    fixed(
        "server_version",
        concat!("15.0 (BraidDB ", env!("CARGO_PKG_VERSION"), ")"),
        true,
        "The version of PostgreSQL that clients may expect.",
    ),
    fixed("server_version_num", "150000", false, "The same as a number."),
    identity("session_authorization", "root", true, "The user of the session."),
    Setting {
        name: "session_replication_role",
        kind: Kind::Enum(&["origin", "replica", "local"]),
        default: "origin",
        access: Access::Superuser,
        report: false,
        description: "Which triggers fire; replica also turns off foreign keys. For superusers.",
    },
    user(
        "share_plans",
        Kind::Bool,
        "on",
        "Whether statements that differ only in their literals share one plan.",
    ),
    fixed("ssl", "off", false, "Whether TLS is offered."),
    reported(
        "standard_conforming_strings",
        Kind::Bool,
        "on",
        "Whether backslashes in plain strings are literal.",
    ),
    user(
        "statement_memory_limit",
        Kind::Int { min: 0, max: 1 << 40, unit: Some(Unit::Bytes) },
        "256MB",
        "The most memory of one statement; 0: no limit.",
    ),
    user("statement_timeout", TIMEOUT, "0", "How long a statement may run; 0: for ever."),
    user(
        "synchronize_seqscans",
        Kind::Bool,
        "on",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "synchronous_commit",
        Kind::Enum(&["local", "remote_write", "remote_apply", "on", "off"]),
        "on",
        "Accepted for PostgreSQL's sake; every commit is synchronous.",
    ),
    user(
        "tcp_keepalives_idle",
        int(0, INT_MAX),
        "60",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "temp_buffers",
        Kind::Int { min: 100, max: INT_MAX, unit: Some(Unit::Pages) },
        "8MB",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    Setting {
        name: "temp_file_limit",
        kind: Kind::Int { min: -1, max: INT_MAX, unit: Some(Unit::KiloBytes) },
        default: "-1",
        access: Access::Superuser,
        report: false,
        description: "The most disk space of a session's temporary files; -1: no limit.",
    },
    reported("TimeZone", Kind::TimeZone, "UTC", "The session's time zone."),
    user(
        "temporary_memory_limit",
        Kind::Int { min: 1 << 16, max: 1 << 40, unit: Some(Unit::Bytes) },
        "256MB",
        "The most memory of a session's temporary tables.",
    ),
    user(
        "timezone_abbreviations",
        Kind::Text,
        "Default",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "traceparent",
        Kind::TraceParent,
        "",
        "The place in a trace of what the session does, in the form of the W3C.",
    ),
    user(
        "transaction_deferrable",
        Kind::Bool,
        "off",
        "Whether the current transaction is deferrable.",
    ),
    user(
        "transaction_isolation",
        ISOLATION,
        "serializable",
        "The isolation level of the current transaction.",
    ),
    user(
        "transaction_read_only",
        Kind::Bool,
        "off",
        "Whether the current transaction is read-only.",
    ),
    user(
        "vacuum_cost_delay",
        Kind::Real { min: 0.0, max: 100.0, unit: Some(Unit::Millis) },
        "0",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    fixed("wal_level", "replica", false, "PostgreSQL's; some tools ask for it."),
    user(
        "work_mem",
        Kind::Int { min: 64, max: INT_MAX, unit: Some(Unit::KiloBytes) },
        "4MB",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
    user(
        "xmloption",
        Kind::Enum(&["content", "document"]),
        "content",
        "Accepted for PostgreSQL's sake; has no effect.",
    ),
];

/// The variable of that name, in any case.
pub fn find(name: &str) -> Option<&'static Setting> {
    let mut all = SETTINGS.iter().chain(ACCEPTED);
    all.find(|setting| setting.name.eq_ignore_ascii_case(name))
}

/// Every variable, sorted by lower-case name.
pub fn settings() -> &'static [&'static Setting] {
    static ALL: LazyLock<Vec<&Setting>> = LazyLock::new(|| {
        let mut all: Vec<&Setting> = SETTINGS.iter().chain(ACCEPTED).collect();
        all.sort_by_key(|setting| setting.name.to_lowercase());
        all
    });
    &ALL
}

/// Whether the variable of that lower-case name says who the session acts as.
pub fn is_identity(name: &str) -> bool {
    find(name).is_some_and(|setting| setting.access == Access::Identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_without_doubles() {
        for pair in settings().windows(2) {
            let (a, b) = (pair[0].name.to_lowercase(), pair[1].name.to_lowercase());
            assert!(a < b, "{a} {b}");
        }
    }

    #[test]
    fn every_default_is_accepted_and_canonical() {
        // A transaction has none of its own unless it says so. As in PostgreSQL, the word that `seed`
        // shows is no value.
        let is_known = |s: &&&Setting| s.access != Access::Transaction && s.name != "seed";
        let with_default = settings().iter().filter(is_known);
        for setting in with_default {
            let value = crate::settings::formats::canonical(setting, &[setting.default.to_owned()]);
            assert_eq!(value.unwrap(), setting.default, "{}", setting.name);
        }
    }
}
