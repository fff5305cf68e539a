//! Settings of PostgreSQL that steer parts which do not exist here: drivers, tools and dumps send
//! them. They are checked, kept and shown like all others, and change nothing.

use super::setting::{Access, Kind, Setting};
use super::units::Unit;

const DESCRIPTION: &str = "Accepted for PostgreSQL's sake; has no effect.";

const fn accepted(name: &'static str, kind: Kind, default: &'static str) -> Setting {
    let access = Access::User;
    Setting { name, kind, default, access, report: false, description: DESCRIPTION }
}

/// Only superusers may set it.
const fn guarded(name: &'static str, kind: Kind, default: &'static str) -> Setting {
    let access = Access::Superuser;
    Setting { name, kind, default, access, report: false, description: DESCRIPTION }
}

/// Nobody can set it: monitoring asks for it, and the value says how the server is.
const fn told(name: &'static str, kind: Kind, default: &'static str) -> Setting {
    let (access, description) = (Access::Fixed, "What monitoring asks of PostgreSQL's settings.");
    Setting { name, kind, default, access, report: false, description }
}

const INT_MAX: i64 = i32::MAX as i64;
/// PostgreSQL's bound of costs.
const COST_MAX: f64 = f64::MAX;

const fn int(min: i64, max: i64) -> Kind {
    Kind::Int { min, max, unit: None }
}

const fn sized(min: i64, max: i64, unit: Unit) -> Kind {
    Kind::Int { min, max, unit: Some(unit) }
}

const fn real(min: f64, max: f64) -> Kind {
    Kind::Real { min, max, unit: None }
}

/// Every such setting, sorted by name.
pub(super) const ACCEPTED: &[Setting] = &[
    told("allow_system_table_mods", Kind::Bool, "off"),
    told("archive_command", Kind::Text, "(disabled)"),
    told("archive_mode", Kind::Enum(&["off", "on", "always"]), "off"),
    told("archive_timeout", sized(0, INT_MAX, Unit::Millis), "0"),
    accepted("array_nulls", Kind::Bool, "on"),
    told("autovacuum", Kind::Bool, "on"),
    told("autovacuum_analyze_scale_factor", real(0.0, 100.0), "0.1"),
    told("autovacuum_analyze_threshold", int(0, INT_MAX), "50"),
    told("autovacuum_freeze_max_age", int(0, 2_000_000_000), "200000000"),
    told("autovacuum_naptime", sized(1, 2_147_483, Unit::Seconds), "10s"),
    accepted("backend_flush_after", sized(0, 256, Unit::Pages), "0"),
    told("checkpoint_completion_target", real(0.0, 1.0), "0.9"),
    told("checkpoint_timeout", sized(0, INT_MAX, Unit::Millis), "5min"),
    accepted("client_connection_check_interval", sized(0, INT_MAX, Unit::Millis), "0"),
    told("cluster_name", Kind::Text, ""),
    guarded("commit_delay", int(0, 100_000), "0"),
    accepted("commit_siblings", int(0, 1000), "5"),
    guarded("compute_query_id", Kind::Enum(&["auto", "regress", "on", "off"]), "auto"),
    told("config_file", Kind::Text, ""),
    accepted("constraint_exclusion", Kind::Enum(&["partition", "on", "off"]), "partition"),
    accepted("cpu_index_tuple_cost", real(0.0, COST_MAX), "0.005"),
    accepted("cpu_operator_cost", real(0.0, COST_MAX), "0.0025"),
    accepted("cpu_tuple_cost", real(0.0, COST_MAX), "0.01"),
    told("data_checksums", Kind::Bool, "on"),
    told("data_directory", Kind::Text, ""),
    guarded("deadlock_timeout", sized(1, INT_MAX, Unit::Millis), "1s"),
    accepted("debug_pretty_print", Kind::Bool, "on"),
    accepted("debug_print_parse", Kind::Bool, "off"),
    accepted("debug_print_plan", Kind::Bool, "off"),
    accepted("debug_print_rewritten", Kind::Bool, "off"),
    accepted("default_statistics_target", int(1, 10_000), "100"),
    accepted("default_with_oids", Kind::Bool, "off"),
    accepted("effective_cache_size", sized(1, INT_MAX, Unit::Pages), "4GB"),
    accepted("effective_io_concurrency", int(0, 1000), "1"),
    accepted("enable_async_append", Kind::Bool, "on"),
    accepted("enable_bitmapscan", Kind::Bool, "on"),
    accepted("enable_gathermerge", Kind::Bool, "on"),
    accepted("enable_hashagg", Kind::Bool, "on"),
    accepted("enable_incremental_sort", Kind::Bool, "on"),
    accepted("enable_indexonlyscan", Kind::Bool, "on"),
    accepted("enable_material", Kind::Bool, "on"),
    accepted("enable_memoize", Kind::Bool, "on"),
    accepted("enable_parallel_append", Kind::Bool, "on"),
    accepted("enable_parallel_hash", Kind::Bool, "on"),
    accepted("enable_partition_pruning", Kind::Bool, "on"),
    accepted("enable_partitionwise_aggregate", Kind::Bool, "off"),
    accepted("enable_partitionwise_join", Kind::Bool, "off"),
    accepted("enable_sort", Kind::Bool, "on"),
    accepted("enable_tidscan", Kind::Bool, "on"),
    told("external_pid_file", Kind::Text, ""),
    accepted("force_parallel_mode", Kind::Enum(&["off", "on", "regress"]), "off"),
    told("fsync", Kind::Bool, "on"),
    told("full_page_writes", Kind::Bool, "off"),
    accepted("geqo_effort", int(1, 10), "5"),
    accepted("geqo_generations", int(0, INT_MAX), "0"),
    accepted("geqo_pool_size", int(0, INT_MAX), "0"),
    accepted("geqo_seed", real(0.0, 1.0), "0"),
    accepted("geqo_selection_bias", real(1.5, 2.0), "2"),
    accepted("geqo_threshold", int(2, INT_MAX), "12"),
    accepted("gin_fuzzy_search_limit", int(0, INT_MAX), "0"),
    accepted("gin_pending_list_limit", sized(64, INT_MAX, Unit::KiloBytes), "4MB"),
    accepted("hash_mem_multiplier", real(1.0, 1000.0), "2"),
    told("hba_file", Kind::Text, ""),
    told("hot_standby", Kind::Bool, "off"),
    told("hot_standby_feedback", Kind::Bool, "off"),
    told("ident_file", Kind::Text, ""),
    accepted("jit_above_cost", real(-1.0, COST_MAX), "100000"),
    accepted("jit_inline_above_cost", real(-1.0, COST_MAX), "500000"),
    accepted("jit_optimize_above_cost", real(-1.0, COST_MAX), "500000"),
    told("listen_addresses", Kind::Text, ""),
    guarded("lo_compat_privileges", Kind::Bool, "off"),
    guarded("log_duration", Kind::Bool, "off"),
    guarded("log_error_verbosity", Kind::Enum(&["terse", "default", "verbose"]), "default"),
    guarded("log_executor_stats", Kind::Bool, "off"),
    guarded("log_lock_waits", Kind::Bool, "off"),
    guarded("log_min_duration_sample", sized(-1, INT_MAX, Unit::Millis), "-1"),
    guarded(
        "log_min_error_statement",
        Kind::Enum(&[
            "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error",
            "log", "fatal", "panic",
        ]),
        "error",
    ),
    guarded("log_parameter_max_length", sized(-1, 1_073_741_823, Unit::Bytes), "-1"),
    accepted("log_parameter_max_length_on_error", sized(-1, 1_073_741_823, Unit::Bytes), "0"),
    guarded("log_parser_stats", Kind::Bool, "off"),
    guarded("log_planner_stats", Kind::Bool, "off"),
    guarded("log_replication_commands", Kind::Bool, "off"),
    guarded("log_statement_sample_rate", real(0.0, 1.0), "1"),
    guarded("log_statement_stats", Kind::Bool, "off"),
    guarded("log_temp_files", sized(-1, INT_MAX, Unit::KiloBytes), "-1"),
    guarded("log_transaction_sample_rate", real(0.0, 1.0), "0"),
    accepted("logical_decoding_work_mem", sized(64, INT_MAX, Unit::KiloBytes), "64MB"),
    accepted("maintenance_io_concurrency", int(0, 1000), "10"),
    told("max_locks_per_transaction", int(0, INT_MAX), "64"),
    accepted("max_parallel_maintenance_workers", int(0, 1024), "2"),
    accepted("max_parallel_workers", int(0, 1024), "8"),
    accepted("max_parallel_workers_per_gather", int(0, 1024), "2"),
    told("max_replication_slots", int(0, INT_MAX), "0"),
    guarded("max_stack_depth", sized(100, INT_MAX, Unit::KiloBytes), "2MB"),
    told("max_wal_senders", int(0, INT_MAX), "0"),
    told("max_worker_processes", int(0, INT_MAX), "0"),
    accepted("min_parallel_index_scan_size", sized(0, 715_827_882, Unit::Pages), "512kB"),
    accepted("min_parallel_table_scan_size", sized(0, 715_827_882, Unit::Pages), "8MB"),
    accepted("parallel_leader_participation", Kind::Bool, "on"),
    accepted("parallel_setup_cost", real(0.0, COST_MAX), "1000"),
    accepted("parallel_tuple_cost", real(0.0, COST_MAX), "0.1"),
    told("port", int(1, 65_535), "5432"),
    accepted("recursive_worktable_factor", real(0.001, 1e6), "10"),
    accepted("seed", real(-1.0, 1.0), "unavailable"),
    accepted("seq_page_cost", real(0.0, COST_MAX), "1"),
    told("shared_buffers", sized(0, INT_MAX, Unit::Pages), "0"),
    told("shared_preload_libraries", Kind::Text, "pg_stat_statements"),
    accepted("stats_fetch_consistency", Kind::Enum(&["none", "cache", "snapshot"]), "cache"),
    told("superuser_reserved_connections", int(0, INT_MAX), "0"),
    told("synchronous_standby_names", Kind::Text, ""),
    accepted("tcp_keepalives_count", int(0, INT_MAX), "9"),
    accepted("tcp_keepalives_interval", int(0, INT_MAX), "75"),
    accepted("tcp_user_timeout", sized(0, INT_MAX, Unit::Millis), "0"),
    accepted("temp_tablespaces", Kind::Text, ""),
    guarded("track_activities", Kind::Bool, "on"),
    told("track_activity_query_size", sized(0, INT_MAX, Unit::Bytes), "64kB"),
    guarded("track_counts", Kind::Bool, "on"),
    guarded("track_functions", Kind::Enum(&["none", "pl", "all"]), "none"),
    guarded("track_io_timing", Kind::Bool, "off"),
    guarded("track_wal_io_timing", Kind::Bool, "off"),
    accepted("transform_null_equals", Kind::Bool, "off"),
    told("unix_socket_directories", Kind::Text, ""),
    guarded("update_process_title", Kind::Bool, "on"),
    accepted("vacuum_cost_limit", int(1, 10_000), "200"),
    accepted("vacuum_cost_page_dirty", int(0, 10_000), "20"),
    accepted("vacuum_cost_page_hit", int(0, 10_000), "1"),
    accepted("vacuum_cost_page_miss", int(0, 10_000), "2"),
    accepted("vacuum_failsafe_age", int(0, 2_100_000_000), "1600000000"),
    accepted("vacuum_freeze_min_age", int(0, 1_000_000_000), "50000000"),
    accepted("vacuum_freeze_table_age", int(0, 2_000_000_000), "150000000"),
    accepted("vacuum_multixact_failsafe_age", int(0, 2_100_000_000), "1600000000"),
    accepted("vacuum_multixact_freeze_min_age", int(0, 1_000_000_000), "5000000"),
    accepted("vacuum_multixact_freeze_table_age", int(0, 2_000_000_000), "150000000"),
    guarded("wal_compression", Kind::Enum(&["pglz", "lz4", "zstd", "on", "off"]), "off"),
    guarded("wal_init_zero", Kind::Bool, "on"),
    guarded("wal_recycle", Kind::Bool, "on"),
    accepted("wal_sender_timeout", sized(0, INT_MAX, Unit::Millis), "1min"),
    accepted("wal_skip_threshold", sized(0, INT_MAX, Unit::KiloBytes), "2MB"),
    accepted("xmlbinary", Kind::Enum(&["base64", "hex"]), "base64"),
];
