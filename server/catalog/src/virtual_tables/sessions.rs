//! The running server: sessions, locks, settings, prepared statements, cursors.

use braid_codec::key::AdvisoryKey;
use braid_types::{Datum, Interval, Result, Row, SqlType};

use super::registry::{RowsOf, VirtualContext};
use super::sheet::{Sheet, flag, int, ints, optional, text, texts};
use crate::CatalogKeyNames;

pub(super) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_stat_activity" => pg_stat_activity,
        "pg_locks" => pg_locks,
        "pg_settings" => pg_settings,
        "pg_prepared_statements" => pg_prepared_statements,
        "pg_cursors" => pg_cursors,
        "pg_timezone_names" => pg_timezone_names,
        "pg_stat_database" => pg_stat_database,
        _ => return None,
    })
}

/// A time, or NULL.
pub(super) fn time(micros: Option<i64>) -> Datum {
    micros.map_or(Datum::Null, Datum::Timestamptz)
}

fn pg_stat_activity(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
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
    for session in cx.runtime.sessions() {
        let database = cx.catalog.database_by_name(&session.database);
        let user = cx.catalog.role_by_name(&session.user);
        let (wait_kind, wait_name) = session.wait.unzip();
        // The low bits, as an xid has them.
        let transaction = session.transaction.map(|number| i64::from(number as u32));
        sheet.push([
            database.map_or(Datum::Null, |database| int(database.id)),
            text(&session.database),
            int(session.pid),
            user.map_or(Datum::Null, |user| int(user.id)),
            text(&session.user),
            text(&session.application_name),
            optional(session.client_addr),
            session.client_port.map_or(Datum::Null, int),
            time(Some(session.backend_start)),
            time(session.transaction_start),
            time(session.query_start),
            time(session.state_change),
            optional(wait_kind),
            optional(wait_name),
            text(&session.state),
            transaction.map_or(Datum::Null, int),
            text(&session.query),
            text("client backend"),
        ]);
    }
    sheet.rows()
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
    let mut sheet = Sheet::new("pg_locks", &columns);
    for entry in cx.runtime.locks() {
        let table = crate::owner_of(cx.catalog, &entry.info.span.start).map(|(table, _)| table);
        let mode = match entry.info.strength {
            braid_kv::LockStrength::Shared => "ShareLock",
            braid_kv::LockStrength::Exclusive => "ExclusiveLock",
        };
        let advisory = AdvisoryKey::decode(&entry.info.span.start);
        let database = advisory.map(|key| key.database).or(table.map(|table| table.database));
        let kind = match (advisory, entry.info.span.is_key()) {
            (Some(_), _) => "advisory",
            (None, true) => "tuple",
            (None, false) => "relation",
        };
        sheet.push([
            text(kind),
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
    sheet.rows()
}

/// A moment as a timestamp.
fn instant(at: std::time::SystemTime) -> Datum {
    const SECONDS_TO_2000: i64 = 946_684_800;
    let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    Datum::Timestamptz(micros.saturating_sub(SECONDS_TO_2000 * 1_000_000))
}

fn pg_settings(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
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
        sheet.push([
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
    sheet.rows()
}

fn pg_prepared_statements(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "statement", "prepare_time", "parameter_types", "from_sql"];
    let mut sheet = Sheet::new("pg_prepared_statements", &columns);
    for prepared in cx.runtime.prepared_statements() {
        let types = prepared.parameter_types.iter().map(|oid| i64::from(*oid));
        sheet.push([
            text(&prepared.name),
            text(&prepared.statement),
            time(Some(prepared.prepare_time)),
            ints(SqlType::Regtype, types),
            flag(prepared.from_sql),
        ]);
    }
    sheet.rows()
}

fn pg_cursors(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns =
        ["name", "statement", "is_holdable", "is_binary", "is_scrollable", "creation_time"];
    let mut sheet = Sheet::new("pg_cursors", &columns);
    for cursor in cx.runtime.cursors() {
        sheet.push([
            text(&cursor.name),
            text(&cursor.statement),
            flag(cursor.is_holdable),
            flag(cursor.is_binary),
            flag(cursor.is_scrollable),
            time(Some(cursor.creation_time)),
        ]);
    }
    sheet.rows()
}

/// Microseconds from 1970 to 2000.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

fn pg_timezone_names(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "abbrev", "utc_offset", "is_dst"];
    let mut sheet = Sheet::new("pg_timezone_names", &columns);
    let micros = cx.env.statement_micros().saturating_add(EPOCH_MICROS);
    let Ok(now) = jiff::Timestamp::from_microsecond(micros) else { return sheet.rows() };
    for name in jiff::tz::db().available() {
        let Ok(zone) = jiff::tz::TimeZone::get(name.as_str()) else { continue };
        let offset = zone.to_offset_info(now);
        let seconds = i64::from(offset.offset().seconds());
        let interval = Interval { months: 0, days: 0, micros: seconds * 1_000_000 };
        sheet.push([
            text(name.as_str()),
            text(offset.abbreviation()),
            Datum::Interval(interval),
            flag(offset.dst().is_dst()),
        ]);
    }
    sheet.rows()
}

fn pg_stat_database(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new("pg_stat_database", &["datid", "datname", "numbackends"]);
    let sessions = cx.runtime.sessions();
    for database in cx.catalog.databases() {
        let inside = sessions.iter().filter(|session| session.database == database.name);
        sheet.push([int(database.id), text(&database.name), super::sheet::count(inside.count())]);
    }
    sheet.rows()
}

/// The key of a lock for a human.
pub(super) fn lock_key(cx: &VirtualContext<'_>, span: &braid_kv::Span) -> String {
    let names = CatalogKeyNames(cx.catalog.clone());
    let start = braid_codec::key::print(&span.start, &names);
    if span.is_key() {
        return start;
    }
    format!("[{start}, {})", braid_codec::key::print(&span.end, &names))
}
