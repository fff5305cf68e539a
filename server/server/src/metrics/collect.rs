//! The server's numbers in one list.

use std::sync::atomic::Ordering::Relaxed;

use braid_session::StatementClass;

use super::metric::Metric;
use crate::server::Server;

impl Server {
    /// Counters and gauges.
    pub fn metrics(&self) -> Vec<Metric> {
        collect(self)
    }
}

fn collect(server: &Server) -> Vec<Metric> {
    let mut all = sessions(server);
    all.extend(durations(server));
    all.extend(transactions(server));
    all.extend(store(server));
    all.extend(histograms(server));
    all.push(Metric::counter(
        "braid_backfill_rows_total",
        "Rows that backfills of this process are done with.",
        server.engine.catalog.backfilled() as f64,
    ));
    all.extend(notifications(server));
    all.extend(spans(server));
    all.extend(server.engine.kv.store().own_metrics().into_iter().flat_map(Metric::of_store));
    all
}

fn sessions(server: &Server) -> Vec<Metric> {
    let counters = &server.engine.counters;
    let (hits, misses) = server.engine.plan_counts();
    let (files, bytes) = server.engine.temp.written();
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed) as f64;
    vec![
        Metric::gauge("braid_sessions", "Open sessions.", server.engine.sessions.count() as f64),
        Metric::gauge(
            "braid_sessions_admitted",
            "Places taken of max_connections, starting sessions included.",
            server.admitted.load(Relaxed) as f64,
        ),
        Metric::counter(
            "braid_sessions_refused_total",
            "Sessions refused because max_connections was reached.",
            count(&server.refused),
        ),
        Metric::gauge(
            "braid_prepared_transactions",
            "Transactions of PREPARE TRANSACTION that wait for their end.",
            server.engine.prepared.list().len() as f64,
        ),
        Metric::counter(
            "braid_statements_total",
            "Statements run.",
            counters.statements.iter().map(count).sum(),
        ),
        Metric::counter(
            "braid_statement_errors_total",
            "Statements that ended with an error.",
            count(&counters.errors),
        ),
        Metric::counter("braid_plan_cache_hits_total", "Plans found in the cache.", hits as f64),
        Metric::counter(
            "braid_plan_cache_misses_total",
            "Plans made on a cache miss.",
            misses as f64,
        ),
        Metric::gauge(
            "braid_statement_memory_bytes",
            "Memory reserved by statements of more than 256 KiB, in chunks of 1 MiB.",
            server.engine.memory.used_bytes() as f64,
        ),
        Metric::counter("braid_temp_files_total", "Temporary files of statements.", files as f64),
        Metric::counter(
            "braid_temp_file_bytes_total",
            "Bytes by which temporary files of statements have grown.",
            bytes as f64,
        ),
        Metric::gauge(
            "braid_temp_file_bytes",
            "Size of the temporary files that exist now.",
            server.engine.temp.used_bytes() as f64,
        ),
    ]
}

/// How long statements and transactions have taken.
fn durations(server: &Server) -> Vec<Metric> {
    let times = &server.engine.counters.times;
    let statements = StatementClass::ALL.into_iter().flat_map(|class| {
        Metric::labelled_times(
            "braid_statement_duration_seconds",
            "Time of each statement, by kind.",
            &[("kind", class.as_str())],
            &times.of_statements(class),
        )
    });
    let transactions = times.of_transactions().flat_map(|of| {
        let kind = if of.has_written { "read_write" } else { "read_only" };
        let outcome = if of.is_committed { "committed" } else { "rolled_back" };
        Metric::labelled_times(
            "braid_transaction_duration_seconds",
            "Time of each transaction, by kind and outcome.",
            &[("kind", kind), ("outcome", outcome)],
            &of.nanos,
        )
    });
    statements.chain(transactions).collect()
}

fn notifications(server: &Server) -> Vec<Metric> {
    let notifications = server.engine.notification_counts();
    vec![
        Metric::counter(
            "braid_notifications_sent_total",
            "Notifications that transactions of this process have sent.",
            notifications.sent as f64,
        ),
        Metric::counter(
            "braid_notifications_delivered_total",
            "Notifications that were put into the queue of a listening session.",
            notifications.delivered as f64,
        ),
        Metric::gauge(
            "braid_notification_channels",
            "Channels that sessions listen to, each counted for each session.",
            notifications.channels as f64,
        ),
        Metric::gauge(
            "braid_notification_queue_bytes",
            "Bytes that wait for the listening session for which most wait.",
            notifications.waiting_bytes as f64,
        ),
    ]
}

fn spans(server: &Server) -> [Metric; 2] {
    let (exported, dropped) = server.engine.spans.counts();
    [
        Metric::counter(
            "braid_spans_exported_total",
            "Spans that the collector of traces has taken.",
            exported as f64,
        ),
        Metric::counter(
            "braid_spans_dropped_total",
            "Spans that were dropped, because the collector was slow or away.",
            dropped as f64,
        ),
    ]
}

fn transactions(server: &Server) -> Vec<Metric> {
    let kv = server.engine.kv.metrics();
    let mut all = vec![
        Metric::counter("braid_transactions_begun_total", "Transactions begun.", kv.begun as f64),
        Metric::counter(
            "braid_transactions_committed_total",
            "Transactions committed.",
            kv.committed as f64,
        ),
        Metric::counter(
            "braid_transactions_aborted_total",
            "Transactions rolled back or failed.",
            kv.aborted as f64,
        ),
        Metric::counter(
            "braid_transactions_unknown_total",
            "Commits whose outcome is unknown.",
            kv.unknown as f64,
        ),
        Metric::counter("braid_round_trips_total", "Waits for the store.", kv.round_trips as f64),
        Metric::counter(
            "sql_txn_refresh_success_total",
            "Refreshes that moved a transaction's snapshot forward.",
            kv.refresh_success as f64,
        ),
        Metric::counter(
            "sql_txn_refresh_fail_total",
            "Refreshes that found a changed read.",
            kv.refresh_fail as f64,
        ),
        Metric::counter(
            "sql_restart_savepoint_rollbacks_total",
            "Rollbacks to the savepoint cockroach_restart.",
            server.engine.counters.restart_rollbacks.load(Relaxed) as f64,
        ),
    ];
    all.extend(kv.retries.iter().map(|(reason, count)| {
        let help = "Conflicts found by the store, cured or not, by reason.";
        Metric::counter("braid_conflicts_total", help, *count as f64)
            .label("reason", reason.as_str())
    }));
    all.extend(server.engine.counters.server_retries.read().map(|(reason, count)| {
        let help = "Retry errors that the server has cured by running again, by reason.";
        Metric::counter("sql_txn_server_retries_total", help, count as f64).label("reason", reason)
    }));
    all.extend(server.engine.counters.client_retries.read().map(|(reason, count)| {
        let help = "Retry errors that clients have got, by reason.";
        Metric::counter("sql_txn_client_retry_errors_total", help, count as f64)
            .label("reason", reason)
    }));
    all
}

fn store(server: &Server) -> Vec<Metric> {
    let store = server.engine.kv.store_metrics();
    vec![
        Metric::counter("braid_store_commits_total", "Commits written.", store.commits as f64),
        Metric::gauge("braid_locks_held", "Locks held.", store.locks_held as f64),
        Metric::gauge("braid_lock_waiters", "Lock requests waiting.", store.lock_waiters as f64),
        Metric::counter("braid_deadlocks_total", "Deadlocks found.", store.deadlocks as f64),
        Metric::counter(
            "braid_store_conflicts_total",
            "Commits refused because something they read had changed.",
            store.conflicts as f64,
        ),
        Metric::gauge(
            "braid_store_recent_bytes",
            "Bytes of the index of recent writes.",
            store.recent_bytes as f64,
        ),
        Metric::gauge(
            "braid_store_range_cache_bytes",
            "Bytes of the cache of scanned ranges.",
            store.range_cache_bytes as f64,
        ),
        Metric::counter(
            "braid_store_range_cache_hits_total",
            "Batches of scans that came from the cache of scanned ranges.",
            store.range_cache_hits as f64,
        ),
        Metric::counter(
            "braid_store_range_cache_misses_total",
            "Batches of scans that had to be read.",
            store.range_cache_misses as f64,
        ),
        Metric::gauge("braid_store_disk_bytes", "Bytes on disk.", store.disk_bytes as f64),
        Metric::gauge(
            "braid_store_tombstones",
            "Range tombstones that wait for their cleaning.",
            store.tombstones as f64,
        ),
        Metric::counter(
            "braid_store_compactions_total",
            "Compactions that slow scans have asked for.",
            store.compactions as f64,
        ),
        Metric::gauge(
            "braid_store_unreachable",
            "1 while the store, or a part of it that is needed, does not answer.",
            f64::from(u8::from(server.store_trouble().is_some())),
        ),
    ]
}

fn histograms(server: &Server) -> Vec<Metric> {
    const NANOS: f64 = 1e9;
    let store = server.engine.kv.store_metrics();
    let families = [
        (
            "braid_store_commit_batch_size",
            "Transactions that were written in one batch.",
            1.0,
            store.commit_batch_sizes,
        ),
        ("braid_store_sync_seconds", "Time of each sync of the journal.", NANOS, store.sync_nanos),
        ("braid_lock_wait_seconds", "Time of each wait for a lock.", NANOS, store.lock_wait_nanos),
    ];
    let samples = families
        .iter()
        .map(|(name, help, units, values)| Metric::histogram(name, help, *units, values));
    samples.flatten().collect()
}
