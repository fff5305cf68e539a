//! The running server: sessions, locks, settings, prepared statements, cursors.

use braid_codec::key::AdvisoryKey;
use braid_types::datetime::Abbreviation;
use braid_types::net::Inet;
use braid_types::{Datum, Interval, Result, Row, SqlType};

use crate::access::{sees_work_of, visible_sessions};
use crate::cell::{flag, int, ints, optional, text, texts};
use crate::cell::{instant, time};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;
use crate::runtime::{LockEntry, SessionInfo};
use braid_catalog::CatalogKeyNames;
use braid_kv::{LockStrength, Span, key_after};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_stat_activity" => pg_stat_activity,
        "pg_locks" => pg_locks,
        "pg_settings" => pg_settings,
        "pg_prepared_statements" => pg_prepared_statements,
        "pg_prepared_xacts" => pg_prepared_xacts,
        "pg_cursors" => pg_cursors,
        "pg_timezone_names" => pg_timezone_names,
        "pg_timezone_abbrevs" => pg_timezone_abbrevs,
        _ => return None,
    })
}

fn pg_stat_activity(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_stat_activity",
        &[
            "datid",
            "datname",
            "pid",
            "usesysid",
            "usename",
            "application_name",
            "client_addr",
            "client_port",
            "backend_start",
            "xact_start",
            "query_start",
            "state_change",
            "wait_event_type",
            "wait_event",
            "state",
            "backend_xid",
            "query",
            "backend_type",
        ],
    );
    let waits = cx.runtime.awaited_locks();
    for session in visible_sessions(cx) {
        let database = cx.catalog.names().database(&session.database);
        let user = cx.catalog.names().role(&session.user);
        let is_seen = sees_work_of(cx, user.map(|user| user.id));
        let wait = if is_seen { wait_of(cx, &session, &waits) } else { None };
        let (wait_kind, wait_name) = wait.unzip();
        // The low bits, as an xid has them.
        let transaction = session.transaction.map(|number| i64::from(number as u32));
        builder.push([
            database.map_or(Datum::Null, |database| int(database.id)),
            text(&session.database),
            int(session.pid),
            user.map_or(Datum::Null, |user| int(user.id)),
            text(&session.user),
            text(&session.application_name),
            address(session.client_addr),
            session.client_port.map_or(Datum::Null, int),
            time(Some(session.backend_start)),
            time(session.transaction_start),
            time(session.query_start),
            time(session.state_change),
            wait_kind.map_or(Datum::Null, text),
            wait_name.map_or(Datum::Null, text),
            text(&session.state),
            transaction.map_or(Datum::Null, int),
            text(&session.query),
            text(&session.backend),
        ]);
    }
    builder.rows()
}

/// Kind and name of what a session waits for: a lock, or its client.
fn wait_of(
    cx: &VirtualContext<'_>,
    session: &SessionInfo,
    waits: &[LockEntry],
) -> Option<(&'static str, &'static str)> {
    match waits.iter().find(|wait| wait.pid == Some(session.pid)) {
        Some(wait) => Some(("Lock", lock_kind(cx, &wait.info.span))),
        None if session.state.starts_with("idle") => Some(("Client", "ClientRead")),
        None => None,
    }
}

/// The kind of a lock, in the words of `pg_locks`. Some keys that no row has stand for a table.
fn lock_kind(cx: &VirtualContext<'_>, span: &Span) -> &'static str {
    if AdvisoryKey::decode(&span.start).is_some() {
        return "advisory";
    }
    match table_key(cx, &span.start) {
        None if span.is_key() => "tuple",
        _ => "relation",
    }
}

/// The mode of a table lock that this key stands for (`exec/src/lock_table.rs`).
fn table_key(cx: &VirtualContext<'_>, key: &[u8]) -> Option<&'static str> {
    let (table, _) = braid_catalog::owner_of(cx.catalog, key)?;
    let start = table.index_span(&table.primary).start;
    match key {
        key if key == start => Some("ShareUpdateExclusiveLock"),
        key if key == key_after(&start) => Some("RowExclusiveLock"),
        _ => None,
    }
}

/// A client's address, or NULL.
fn address(shown: Option<String>) -> Datum {
    let parsed = shown.and_then(|shown| Inet::parse(&SqlType::Inet, &shown).ok());
    parsed.map_or(Datum::Null, |address| address.to_datum())
}

fn pg_locks(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "locktype",
        "database",
        "relation",
        "classid",
        "objid",
        "objsubid",
        "virtualtransaction",
        "pid",
        "mode",
        "granted",
        "fastpath",
        "waitstart",
    ];
    let now = std::time::SystemTime::now();
    let mut builder = RowBuilder::new("pg_locks", &columns);
    for entry in cx.runtime.locks() {
        let table =
            braid_catalog::owner_of(cx.catalog, &entry.info.span.start).map(|(table, _)| table);
        let span = &entry.info.span;
        let of_table = table_key(cx, &span.start).filter(|_| span.is_key());
        let mode = of_table.unwrap_or(match entry.info.strength {
            LockStrength::Shared => "ShareLock",
            LockStrength::Exclusive => "ExclusiveLock",
        });
        let advisory = AdvisoryKey::decode(&span.start);
        let database = advisory.map(|key| key.database).or(table.map(|table| table.database));
        builder.push([
            text(lock_kind(cx, span)),
            database.map_or(Datum::Null, int),
            table.map_or(Datum::Null, |table| int(table.id)),
            advisory.map_or(Datum::Null, |key| int(key.class)),
            advisory.map_or(Datum::Null, |key| int(key.object)),
            advisory.map_or(Datum::Null, |key| int(key.parts)),
            text(format!("{}/{}", entry.pid.unwrap_or(0), entry.info.txn)),
            entry.pid.map_or(Datum::Null, int),
            text(mode),
            flag(entry.info.granted),
            flag(false),
            if entry.info.granted { Datum::Null } else { instant(now - entry.info.waited) },
        ]);
    }
    builder.rows()
}

fn pg_settings(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_settings",
        &[
            "name",
            "setting",
            "unit",
            "category",
            "short_desc",
            "context",
            "vartype",
            "source",
            "min_val",
            "max_val",
            "enumvals",
            "boot_val",
            "reset_val",
            "pending_restart",
        ],
    );
    for setting in cx.runtime.settings() {
        builder.push([
            text(&setting.name),
            text(&setting.value),
            optional(setting.unit),
            text(&setting.category),
            text(&setting.description),
            text(&setting.context),
            text(&setting.vartype),
            text(&setting.source),
            optional(setting.min),
            optional(setting.max),
            texts(setting.values),
            optional(setting.boot),
            optional(setting.reset),
            flag(false),
        ]);
    }
    builder.rows()
}

fn pg_prepared_statements(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "statement", "prepare_time", "parameter_types", "from_sql"];
    let mut builder = RowBuilder::new("pg_prepared_statements", &columns);
    for prepared in cx.runtime.prepared_statements() {
        let types = prepared.parameter_types.iter().map(|oid| i64::from(*oid));
        builder.push([
            text(&prepared.name),
            text(&prepared.statement),
            time(Some(prepared.prepare_time)),
            ints(SqlType::Regtype, types),
            flag(prepared.from_sql),
        ]);
    }
    builder.rows()
}

fn pg_prepared_xacts(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["transaction", "gid", "prepared", "owner", "database"];
    let mut builder = RowBuilder::new("pg_prepared_xacts", &columns);
    for (id, info) in cx.runtime.prepared_transactions() {
        let owner = cx.catalog.role(info.role).map(|role| role.name.clone());
        let database = cx.catalog.database(info.database).map(|database| database.name.clone());
        builder.push([
            int(i64::from(id.0 as u32)),
            text(info.gid),
            time(Some(info.micros)),
            optional(owner),
            optional(database),
        ]);
    }
    builder.rows()
}

fn pg_cursors(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns =
        ["name", "statement", "is_holdable", "is_binary", "is_scrollable", "creation_time"];
    let mut builder = RowBuilder::new("pg_cursors", &columns);
    for cursor in cx.runtime.cursors() {
        builder.push([
            text(&cursor.name),
            text(&cursor.statement),
            flag(cursor.is_holdable),
            flag(cursor.is_binary),
            flag(cursor.is_scrollable),
            time(Some(cursor.creation_time)),
        ]);
    }
    builder.rows()
}

/// Microseconds from 1970 to 2000.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

fn pg_timezone_names(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "abbrev", "utc_offset", "is_dst"];
    let mut builder = RowBuilder::new("pg_timezone_names", &columns);
    let micros = cx.env.statement_micros().saturating_add(EPOCH_MICROS);
    let Ok(now) = jiff::Timestamp::from_microsecond(micros) else { return builder.rows() };
    for name in jiff::tz::db().available() {
        let Ok(zone) = jiff::tz::TimeZone::get(name.as_str()) else { continue };
        let offset = zone.to_offset_info(now);
        let seconds = i64::from(offset.offset().seconds());
        let interval = Interval { months: 0, days: 0, micros: seconds * 1_000_000 };
        builder.push([
            text(name.as_str()),
            text(offset.abbreviation()),
            Datum::Interval(interval),
            flag(offset.dst().is_dst()),
        ]);
    }
    builder.rows()
}

fn pg_timezone_abbrevs(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_timezone_abbrevs", &["abbrev", "utc_offset", "is_dst"]);
    for (name, seconds, is_dst) in Abbreviation::all(cx.env.statement_micros()) {
        let micros = i64::from(seconds) * 1_000_000;
        let interval = Interval { months: 0, days: 0, micros };
        builder.push([text(name.to_uppercase()), Datum::Interval(interval), flag(is_dst)]);
    }
    builder.rows()
}

/// The key of a lock for a human.
pub(crate) fn lock_key(cx: &VirtualContext<'_>, span: &Span) -> String {
    let names = CatalogKeyNames(cx.catalog.clone());
    let start = braid_codec::key::print(&span.start, &names);
    if span.is_key() {
        return start;
    }
    format!("[{start}, {})", braid_codec::key::print(&span.end, &names))
}
