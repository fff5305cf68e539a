//! The categories of settings in `pg_settings`, as PostgreSQL has them.

/// The category of settings that PostgreSQL does not have.
const OWN: &str = "BraidDB";

/// Each category with its settings, in lower case.
const CATEGORIES: &[(&str, &str)] = &[
    (
        "Autovacuum",
        "autovacuum autovacuum_analyze_scale_factor autovacuum_analyze_threshold \
         autovacuum_freeze_max_age autovacuum_naptime",
    ),
    (
        "Client Connection Defaults / Locale and Formatting",
        "client_encoding datestyle default_text_search_config extra_float_digits \
         intervalstyle lc_messages lc_monetary lc_numeric lc_time timezone \
         timezone_abbreviations",
    ),
    ("Client Connection Defaults / Other Defaults", "gin_fuzzy_search_limit"),
    ("Client Connection Defaults / Shared Library Preloading", "shared_preload_libraries"),
    (
        "Client Connection Defaults / Statement Behavior",
        "bytea_output check_function_bodies client_min_messages default_table_access_method \
         default_tablespace default_toast_compression default_transaction_deferrable \
         default_transaction_isolation default_transaction_read_only gin_pending_list_limit \
         idle_in_transaction_session_timeout idle_session_timeout lock_timeout row_security \
         search_path session_replication_role statement_timeout temp_tablespaces \
         transaction_deferrable transaction_isolation transaction_read_only \
         vacuum_failsafe_age vacuum_freeze_min_age vacuum_freeze_table_age \
         vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age \
         vacuum_multixact_freeze_table_age xmlbinary xmloption",
    ),
    ("Connections and Authentication / Authentication", "password_encryption"),
    (
        "Connections and Authentication / Connection Settings",
        "client_connection_check_interval listen_addresses max_connections port \
         superuser_reserved_connections tcp_keepalives_count tcp_keepalives_idle \
         tcp_keepalives_interval tcp_user_timeout unix_socket_directories",
    ),
    ("Connections and Authentication / SSL", "ssl"),
    ("Developer Options", "allow_system_table_mods force_parallel_mode"),
    ("File Locations", "config_file data_directory external_pid_file hba_file ident_file"),
    ("Lock Management", "deadlock_timeout max_locks_per_transaction"),
    (
        "Preset Options",
        "block_size data_checksums in_hot_standby integer_datetimes lc_collate lc_ctype \
         max_identifier_length max_index_keys server_encoding server_version \
         server_version_num",
    ),
    (
        "Query Tuning / Genetic Query Optimizer",
        "geqo geqo_effort geqo_generations geqo_pool_size geqo_seed geqo_selection_bias \
         geqo_threshold",
    ),
    (
        "Query Tuning / Other Planner Options",
        "constraint_exclusion cursor_tuple_fraction default_statistics_target \
         from_collapse_limit jit join_collapse_limit plan_cache_mode \
         recursive_worktable_factor",
    ),
    (
        "Query Tuning / Planner Cost Constants",
        "cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost effective_cache_size \
         jit_above_cost jit_inline_above_cost jit_optimize_above_cost \
         min_parallel_index_scan_size min_parallel_table_scan_size parallel_setup_cost \
         parallel_tuple_cost random_page_cost seq_page_cost",
    ),
    (
        "Query Tuning / Planner Method Configuration",
        "enable_async_append enable_bitmapscan enable_gathermerge enable_hashagg \
         enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan \
         enable_material enable_memoize enable_mergejoin enable_nestloop \
         enable_parallel_append enable_parallel_hash enable_partition_pruning \
         enable_partitionwise_aggregate enable_partitionwise_join enable_seqscan enable_sort \
         enable_tidscan",
    ),
    ("Replication / Primary Server", "synchronous_standby_names"),
    ("Replication / Sending Servers", "max_replication_slots max_wal_senders wal_sender_timeout"),
    ("Replication / Standby Servers", "hot_standby hot_standby_feedback"),
    ("Reporting and Logging / Process Title", "cluster_name update_process_title"),
    (
        "Reporting and Logging / What to Log",
        "application_name debug_pretty_print debug_print_parse debug_print_plan \
         debug_print_rewritten log_duration log_error_verbosity log_lock_waits \
         log_parameter_max_length log_parameter_max_length_on_error log_replication_commands \
         log_statement log_temp_files",
    ),
    (
        "Reporting and Logging / When to Log",
        "log_min_duration_sample log_min_duration_statement log_min_error_statement \
         log_min_messages log_statement_sample_rate log_transaction_sample_rate",
    ),
    (
        "Resource Usage / Asynchronous Behavior",
        "backend_flush_after effective_io_concurrency maintenance_io_concurrency \
         max_parallel_maintenance_workers max_parallel_workers \
         max_parallel_workers_per_gather max_worker_processes parallel_leader_participation",
    ),
    (
        "Resource Usage / Cost-Based Vacuum Delay",
        "vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit \
         vacuum_cost_page_miss",
    ),
    ("Resource Usage / Disk", "temp_file_limit"),
    (
        "Resource Usage / Memory",
        "hash_mem_multiplier logical_decoding_work_mem maintenance_work_mem \
         max_prepared_transactions max_stack_depth shared_buffers temp_buffers work_mem",
    ),
    (
        "Statistics / Cumulative Query and Index Statistics",
        "stats_fetch_consistency track_activities track_activity_query_size track_counts \
         track_functions track_io_timing track_wal_io_timing",
    ),
    (
        "Statistics / Monitoring",
        "compute_query_id log_executor_stats log_parser_stats log_planner_stats \
         log_statement_stats",
    ),
    ("Version and Platform Compatibility / Other Platforms and Clients", "transform_null_equals"),
    (
        "Version and Platform Compatibility / Previous PostgreSQL Versions",
        "array_nulls backslash_quote escape_string_warning lo_compat_privileges \
         quote_all_identifiers standard_conforming_strings synchronize_seqscans",
    ),
    ("Write-Ahead Log / Archiving", "archive_command archive_mode archive_timeout"),
    ("Write-Ahead Log / Checkpoints", "checkpoint_completion_target checkpoint_timeout"),
    (
        "Write-Ahead Log / Settings",
        "commit_delay commit_siblings fsync full_page_writes synchronous_commit \
         wal_compression wal_init_zero wal_level wal_recycle wal_skip_threshold",
    ),
];

/// The category of a setting.
pub(crate) fn category(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let has = |(_, names): &&(&str, &str)| names.split(' ').any(|known| known == name);
    CATEGORIES.iter().find(has).map_or(OWN, |(category, _)| category)
}
