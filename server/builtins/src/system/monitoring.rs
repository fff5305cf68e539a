//! Functions of monitoring: counters, their resets, snapshots and numbers of transactions.
//!
//! A transaction's number is its beginning in microseconds, so numbers grow with time. A snapshot
//! shows the transactions of this gateway that are open.

use braid_types::snapshot::Snapshot;
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType, unsigned};

use crate::registry::call::text;
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, RelationCounter, Rows, Special};

/// The snapshot that an argument is.
fn snapshot(call: &Call<'_>, index: usize) -> Result<Snapshot> {
    Snapshot::parse(call.text(index)?)
}

/// A number as an `xid8`.
fn to_xid8(id: i64) -> Datum {
    unsigned::to_datum(u64::try_from(id).unwrap_or(0))
}

fn open_of(call: &Call<'_>, datum: fn(i64) -> Datum) -> Result<Rows> {
    let open = snapshot(call, 0)?.open;
    let rows: Vec<Result<Row>> = open.into_iter().map(|id| Ok(vec![datum(id)])).collect();
    Ok(Box::new(rows.into_iter()))
}

/// No rows: what the function would show does not exist here.
fn none(_: &Call<'_>) -> Result<Rows> {
    Ok(Box::new(std::iter::empty()))
}

/// `pg_control_system()`
fn control_system(_: &Call<'_>) -> Result<Rows> {
    /// The numbers of PostgreSQL 15.
    const CONTROL_VERSION: i64 = 1300;
    const CATALOG_VERSION: i64 = 202_209_061;
    let row = vec![
        Datum::Int(CONTROL_VERSION),
        Datum::Int(CATALOG_VERSION),
        // The store has no number of its own.
        Datum::Int(0),
        Datum::Null,
    ];
    Ok(Box::new(std::iter::once(Ok(row))))
}

/// `pg_control_checkpoint()`: there are no checkpoints, and one timeline.
fn control_checkpoint(_: &Call<'_>) -> Result<Rows> {
    const COLUMNS: usize = 18;
    let mut row: Row = vec![Datum::Null; COLUMNS];
    row[3] = Datum::Int(1);
    row[4] = Datum::Int(1);
    row[5] = Datum::Bool(true);
    Ok(Box::new(std::iter::once(Ok(row))))
}

fn register_snapshots(registry: &mut Registry) {
    registry.special("pg_current_snapshot() -> pg_snapshot volatile", Special::CurrentSnapshot);
    registry.special("txid_current_snapshot() -> txid_snapshot volatile", Special::CurrentSnapshot);
    registry.add("pg_snapshot_xmin(pg_snapshot) -> xid8", |c| Ok(to_xid8(snapshot(c, 0)?.xmin)));
    registry.add("pg_snapshot_xmax(pg_snapshot) -> xid8", |c| Ok(to_xid8(snapshot(c, 0)?.xmax)));
    registry
        .add("txid_snapshot_xmin(txid_snapshot) -> int8", |c| Ok(Datum::Int(snapshot(c, 0)?.xmin)));
    registry
        .add("txid_snapshot_xmax(txid_snapshot) -> int8", |c| Ok(Datum::Int(snapshot(c, 0)?.xmax)));
    registry.add("pg_visible_in_snapshot(xid8, pg_snapshot) -> bool", |c| {
        let id = i64::try_from(unsigned::from_datum(c.datum(0))?).unwrap_or(i64::MAX);
        Ok(Datum::Bool(snapshot(c, 1)?.shows(id)))
    });
    registry.add("txid_visible_in_snapshot(int8, txid_snapshot) -> bool", |c| {
        Ok(Datum::Bool(snapshot(c, 1)?.shows(c.int(0)?)))
    });
    registry.set("pg_snapshot_xip(pg_snapshot) -> xid8", |c| open_of(c, to_xid8));
    registry.set("txid_snapshot_xip(txid_snapshot) -> int8", |c| open_of(c, Datum::Int));
    registry.add("txid_current() -> int8 stable", |c| Ok(Datum::Int(c.env.transaction_micros())));
    registry
        .add("pg_current_xact_id() -> xid8 stable", |c| Ok(to_xid8(c.env.transaction_micros())));
    registry.add("pg_xact_status(xid8) -> text volatile", |c| {
        let id = i64::try_from(unsigned::from_datum(c.datum(0))?).unwrap_or(i64::MAX);
        status_of(c, id)
    });
    registry.add("txid_status(int8) -> text volatile", |c| status_of(c, c.int(0)?));
    registry.special(
        "pg_current_xact_id_if_assigned() -> xid8 volatile",
        Special::AssignedXactId { is_xid8: true },
    );
    registry.special(
        "txid_current_if_assigned() -> int8 volatile",
        Special::AssignedXactId { is_xid8: false },
    );
}

/// `pg_walfile_name(lsn)`: the file that PostgreSQL would have the byte before that place in.
fn wal_file(call: &Call<'_>) -> Result<Datum> {
    /// Bytes of a file.
    const SEGMENT: u64 = 16 << 20;
    let lsn = unsigned::from_datum(call.datum(0))?;
    let number = lsn.saturating_sub(1) / SEGMENT;
    let files = (1 << 32) / SEGMENT;
    Ok(Datum::text(format!("{:08X}{:08X}{:08X}", 1, number / files, number % files)))
}

/// `pg_xact_status(id)`: only the own transaction is known. Of older ones NULL says that how they
/// ended is not kept.
fn status_of(call: &Call<'_>, id: i64) -> Result<Datum> {
    let own = call.env.transaction_micros();
    match id {
        id if id == own => Ok(Datum::text("in progress")),
        id if id > own => {
            let message = format!("transaction ID {id} is in the future");
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
        _ => Ok(Datum::Null),
    }
}

/// `pg_stat_have_stats(kind, database, object)`: whether something of that kind is counted.
fn has_counters(call: &Call<'_>) -> Result<Datum> {
    let (kind, database, object) = (call.text(0)?, call.oid(1)?, call.oid(2)?);
    let lookup = call.env.lookup();
    let is_here = || lookup.database_oid(call.env.database()) == Some(database);
    Ok(Datum::Bool(match kind.to_ascii_lowercase().as_str() {
        "database" => object == 0 && lookup.database_name(database).is_some(),
        "relation" => is_here() && lookup.relation_name(object).is_some(),
        // Nothing is counted of them.
        "function" | "replslot" | "subscription" => false,
        // There is one row of each.
        "archiver" | "bgwriter" | "checkpointer" | "slru" | "wal" => true,
        _ => {
            let message = format!("invalid statistics kind: \"{kind}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    }))
}

/// `pg_stat_reset_shared(target)`: what it would reset is not counted.
fn reset_shared(call: &Call<'_>) -> Result<Datum> {
    let target = call.text(0)?;
    if ["archiver", "bgwriter", "recovery_prefetch", "wal"].contains(&target) {
        return text("");
    }
    let message = format!("unrecognized reset target: \"{target}\"");
    Err(Error::new(SqlState::InvalidParameterValue, message)
        .hint("Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\"."))
}

fn register_counters(registry: &mut Registry) {
    for (signature, counter) in [
        ("pg_stat_get_numscans(oid) -> int8 volatile", RelationCounter::Scans),
        ("pg_stat_get_tuples_returned(oid) -> int8 volatile", RelationCounter::Read),
        ("pg_stat_get_tuples_fetched(oid) -> int8 volatile", RelationCounter::Fetched),
        ("pg_stat_get_tuples_inserted(oid) -> int8 volatile", RelationCounter::Inserted),
        ("pg_stat_get_tuples_updated(oid) -> int8 volatile", RelationCounter::Updated),
        ("pg_stat_get_tuples_deleted(oid) -> int8 volatile", RelationCounter::Deleted),
        ("pg_stat_get_live_tuples(oid) -> int8 volatile", RelationCounter::Live),
    ] {
        registry.special(signature, Special::RelationCounter(counter));
    }
    // Rows are not updated in place, and none of them stays behind.
    registry.add(
        "pg_stat_get_tuples_hot_updated|pg_stat_get_dead_tuples|pg_stat_get_blocks_fetched|\
         pg_stat_get_blocks_hit(oid) -> int8 volatile",
        |_| Ok(Datum::Int(0)),
    );
    registry.special("pg_stat_reset() -> void volatile", Special::ResetCounters);
    registry.special(
        "pg_stat_reset_single_table_counters(oid) -> void volatile",
        Special::ResetCounters,
    );
    registry
        .add("pg_stat_clear_snapshot|pg_stat_force_next_flush() -> void volatile", |_| text(""));
    registry.add("pg_stat_have_stats(text, oid, oid) -> bool volatile", has_counters);
    registry.add("pg_stat_reset_shared(text) -> void volatile", reset_shared);
    registry.add("pg_stat_reset_slru(text) -> void volatile lax", |_| text(""));
    // Calls of functions are not counted, and no snapshot is taken of the counters.
    registry.add(
        "pg_stat_get_function_calls|pg_stat_get_xact_function_calls(oid) -> int8 volatile",
        |_| Ok(Datum::Null),
    );
    registry.add(
        "pg_stat_get_function_total_time|pg_stat_get_function_self_time|\
         pg_stat_get_xact_function_total_time|pg_stat_get_xact_function_self_time(oid) -> float8 \
         volatile",
        |_| Ok(Datum::Null),
    );
    registry.add("pg_stat_get_snapshot_timestamp() -> timestamptz volatile", |_| Ok(Datum::Null));
    for signature in [
        "pg_stat_statements_reset() -> void volatile",
        "pg_stat_statements_reset(oid) -> void volatile",
        "pg_stat_statements_reset(oid, oid) -> void volatile",
        "pg_stat_statements_reset(oid, oid, int8) -> void volatile",
    ] {
        registry.special(signature, Special::ResetStatements);
    }
}

pub(super) fn register(registry: &mut Registry) {
    register_snapshots(registry);
    register_counters(registry);
    registry.set(
        "pg_ls_waldir|pg_ls_archive_statusdir|pg_ls_logdir|pg_ls_tmpdir() -> name text, size int8, \
         modification timestamptz",
        none,
    );
    registry.set("pg_tablespace_databases(oid) -> oid", |c| {
        let databases = c.env.lookup().databases_in(c.oid(0)?);
        rows(databases.into_iter().map(|oid| Row::from([Datum::Int(oid.into())])))
    });
    registry.add("pg_walfile_name(pg_lsn) -> text stable", wal_file);
    registry.add("pg_is_wal_replay_paused() -> bool volatile", |_| {
        let message = "recovery is not in progress";
        Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
            .hint("Recovery control functions can only be executed during recovery."))
    });
    registry.set("pg_last_committed_xact() -> xid xid, timestamp timestamptz, roident oid", |_| {
        let message = "could not get commit timestamp data";
        Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
            .hint("Make sure the configuration parameter \"track_commit_timestamp\" is set."))
    });
    registry.add("pg_safe_snapshot_blocking_pids(int4) -> int4[] volatile", |_| {
        Ok(Datum::array(SqlType::Int4, Vec::new()))
    });
    registry.set(
        "pg_control_system() -> pg_control_version int4, catalog_version_no int4, \
         system_identifier int8, pg_control_last_modified timestamptz",
        control_system,
    );
    registry.set(
        "pg_control_checkpoint() -> checkpoint_lsn pg_lsn, redo_lsn pg_lsn, redo_wal_file text, \
         timeline_id int4, prev_timeline_id int4, full_page_writes bool, next_xid text, \
         next_oid oid, next_multixact_id xid, next_multi_offset xid, oldest_xid xid, \
         oldest_xid_dbid oid, oldest_active_xid xid, oldest_multi_xid xid, oldest_multi_dbid oid, \
         oldest_commit_ts_xid xid, newest_commit_ts_xid xid, checkpoint_time timestamptz",
        control_checkpoint,
    );
    registry.set(
        "pg_stat_get_progress_info(text) -> pid int4, datid oid, relid oid, param1 int8, \
         param2 int8, param3 int8, param4 int8, param5 int8, param6 int8, param7 int8, \
         param8 int8, param9 int8, param10 int8, param11 int8, param12 int8, param13 int8, \
         param14 int8, param15 int8, param16 int8, param17 int8, param18 int8, param19 int8, \
         param20 int8",
        none,
    );
}
