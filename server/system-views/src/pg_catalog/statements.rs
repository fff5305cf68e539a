//! What was counted of statements and databases: `pg_stat_statements`, `pg_stat_database`, and the
//! views of PostgreSQL that have one row of numbers about parts that do not exist here.

use braid_types::{Datum, Result, Row};

use crate::access::{HIDDEN_STATEMENT, sees_work_of};
use crate::cell::number;
use crate::cell::{count, flag, int, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;
use crate::runtime::{DatabaseCounts, StatementInfo};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_stat_statements" => pg_stat_statements,
        "pg_stat_statements_info" => pg_stat_statements_info,
        "pg_stat_database" => pg_stat_database,
        "pg_stat_database_conflicts" => pg_stat_database_conflicts,
        "pg_stat_archiver" => |_| zeros("pg_stat_archiver"),
        "pg_stat_bgwriter" => |_| zeros("pg_stat_bgwriter"),
        "pg_stat_wal" => |_| zeros("pg_stat_wal"),
        _ => return None,
    })
}

fn millis(micros: u64) -> Datum {
    Datum::Float(micros as f64 / 1000.0)
}

fn pg_stat_statements(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "userid",
        "dbid",
        "toplevel",
        "queryid",
        "query",
        "calls",
        "rows",
        "total_exec_time",
        "min_exec_time",
        "max_exec_time",
        "mean_exec_time",
        "stddev_exec_time",
    ];
    let mut builder = RowBuilder::new("pg_stat_statements", &columns).with_zeros();
    for info in cx.runtime.statements().all {
        let is_visible = sees_work_of(cx, Some(info.user));
        let StatementInfo { user, database, id, calls, rows, .. } = info;
        builder.push([
            int(user),
            int(database),
            flag(true),
            if is_visible { Datum::Int(id) } else { Datum::Null },
            text(if is_visible { &*info.text } else { HIDDEN_STATEMENT }),
            number(calls),
            number(rows),
            Datum::Float(info.total),
            Datum::Float(info.min),
            Datum::Float(info.max),
            Datum::Float(info.mean),
            Datum::Float(info.deviation),
        ]);
    }
    builder.rows()
}

fn pg_stat_statements_info(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_stat_statements_info", &["dealloc", "stats_reset"]);
    let info = cx.runtime.statements();
    builder.push([number(info.evictions), Datum::Timestamptz(info.reset)]);
    builder.rows()
}

fn pg_stat_database(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "datid",
        "datname",
        "numbackends",
        "xact_commit",
        "xact_rollback",
        "tup_returned",
        "tup_fetched",
        "tup_inserted",
        "tup_updated",
        "tup_deleted",
        "temp_files",
        "temp_bytes",
        "deadlocks",
        "session_time",
        "active_time",
        "idle_in_transaction_time",
        "sessions",
        "sessions_abandoned",
        "sessions_killed",
        "stats_reset",
        "checksum_failures",
    ];
    let mut builder = RowBuilder::new("pg_stat_database", &columns).with_zeros();
    let sessions = cx.runtime.sessions();
    let counted = cx.runtime.database_counts();
    let shared = (int(0), Datum::Null, int(0), DatabaseCounts::default());
    let databases = cx.catalog.databases().iter().map(|database| {
        let inside = sessions.iter().filter(|session| session.database == database.name);
        let counts = counted.get(&database.id).copied().unwrap_or_default();
        (int(database.id), text(&database.name), count(inside.count()), counts)
    });
    // Row 0 is for what belongs to no database.
    for (id, name, backends, counts) in std::iter::once(shared).chain(databases) {
        let relations = &counts.relations;
        builder.push([
            id,
            name,
            backends,
            number(counts.commits),
            number(counts.rollbacks),
            number(relations.read),
            number(relations.fetched),
            number(relations.inserted),
            number(relations.updated),
            number(relations.deleted),
            number(counts.temp_files),
            number(counts.temp_bytes),
            number(counts.deadlocks),
            millis(counts.session_micros),
            millis(counts.active_micros),
            millis(counts.idle_in_transaction_micros),
            number(counts.sessions),
            number(counts.abandoned),
            number(counts.killed),
            counts.reset.map_or(Datum::Null, Datum::Timestamptz),
            // Checksums of the store are always on; what is damaged is not served.
            Datum::Null,
        ]);
    }
    builder.rows()
}

fn pg_stat_database_conflicts(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["datid", "datname"];
    let mut builder = RowBuilder::new("pg_stat_database_conflicts", &columns).with_zeros();
    for database in cx.catalog.databases().iter() {
        builder.push([int(database.id), text(&database.name)]);
    }
    builder.rows()
}

/// One row whose numbers are 0.
fn zeros(view: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(view, &[]).with_zeros();
    builder.push([]);
    builder.rows()
}
