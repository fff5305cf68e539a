//! `braid_internal`: what BraidDB shows of itself beyond PostgreSQL's catalogs.
//!
//! - `tables`: every table of every database, with its ids, the span of its keys, estimates, and of
//!   how many dropped or moved indexes keys are left below its rows;
//! - `columns`: their columns with family and hidden ones;
//! - `indexes`: their indexes with number, state, the prefix of their keys and, interleaved,
//!   the table that they lie below;
//! - `locks`: locks held and awaited, with readable keys (for those who may read the table) and
//!   how long they have been waited for;
//! - `metrics`: the counters that `/metrics` shows;
//! - `sessions`: open sessions with their transactions;
//! - `gateways`: the processes that serve this store (one on the embedded store), with the end of
//!   their leases and whether they trust their cached catalogs;
//! - `settings`: this session's settings.

use braid_codec::key::AdvisoryKey;
use braid_types::{Datum, Interval, Json, Result, Row};

use super::registry::{RowsOf, VirtualContext};
use super::sessions::{lock_key, time};
use super::sheet::{Sheet, flag, int, optional, text, texts};
use crate::{CatalogKeyNames, Index, IndexState, LockEntry, Object, Table};

/// The tables and their columns, in the form of `columns.txt`.
pub(super) const COLUMNS: &str = "\
braid_internal|tables|15001|v|table_id:int8 data_id:int8 database_name:text schema_name:text \
table_name:text owner:text estimated_rows:int8 row_bytes:int8 start_key:text end_key:text \
create_statement:text left_over:int4
braid_internal|columns|15002|v|table_id:int8 column_id:int4 column_name:text data_type:text \
is_nullable:bool column_default:text generated:text family:text is_hidden:bool
braid_internal|indexes|15003|v|table_id:int8 index_id:int8 index_number:int4 index_name:text \
is_unique:bool is_primary:bool state:text columns:text[] storing:text[] key_prefix:text \
parent:text
braid_internal|locks|15004|v|transaction_id:int8 pid:int4 key:text strength:text granted:bool \
waited:interval
braid_internal|metrics|15005|v|name:text labels:jsonb kind:text value:float8 help:text
braid_internal|sessions|15006|v|pid:int4 user_name:text database_name:text application_name:text \
client_address:text started:timestamptz transaction_id:int8 transaction_started:timestamptz \
statement_started:timestamptz state:text statement:text
braid_internal|gateways|15007|v|gateway_id:int8 address:text version:text started:timestamptz \
expires:timestamptz mode:text is_self:bool
braid_internal|settings|15008|v|name:text value:text unit:text default_value:text \
description:text
";

pub(super) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "tables" => tables,
        "columns" => columns,
        "indexes" => indexes,
        "locks" => locks,
        "metrics" => metrics,
        "sessions" => sessions,
        "gateways" => gateways,
        "settings" => settings,
        _ => return None,
    })
}

fn number(value: u64) -> Datum {
    int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn print(cx: &VirtualContext<'_>, key: &[u8]) -> String {
    braid_codec::key::print(key, &CatalogKeyNames(cx.catalog.clone()))
}

fn tables(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "braid_internal.tables",
        &[
            "table_id",
            "data_id",
            "database_name",
            "schema_name",
            "table_name",
            "owner",
            "estimated_rows",
            "row_bytes",
            "start_key",
            "end_key",
            "create_statement",
            "left_over",
        ],
    );
    for table in cx.catalog.tables() {
        let statistics = cx.catalog.statistics(table.id);
        let span = match table.primary.is_mixed() {
            true => table.index_span(&table.primary),
            false => crate::table_span(table.data_id),
        };
        let passing = table.primary.passing.iter();
        let left_over = passing.filter(|passing| !cx.catalog.is_arriving(passing)).count();
        let left_over = left_over + usize::from(table.vacated);
        let left_over = u32::try_from(left_over).unwrap_or(u32::MAX);
        sheet.push([
            int(table.id),
            int(table.data_id),
            optional(cx.catalog.database(table.database).map(|database| database.name.as_str())),
            text(cx.catalog.schema_name(table.schema)),
            text(&table.name),
            text(cx.catalog.role_name(table.owner)),
            number(statistics.rows),
            number(statistics.row_bytes),
            text(print(cx, &span.start)),
            text(print(cx, &span.end)),
            text(crate::create_table_text(cx.catalog, table)),
            int(left_over),
        ]);
    }
    sheet.rows()
}

fn columns(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "braid_internal.columns",
        &[
            "table_id",
            "column_id",
            "column_name",
            "data_type",
            "is_nullable",
            "column_default",
            "generated",
            "family",
            "is_hidden",
        ],
    );
    for table in cx.catalog.tables() {
        for column in table.columns.iter().filter(|column| !column.is_key_expr) {
            let family = table.families.iter().find(|family| family.id == column.family);
            sheet.push([
                int(table.id),
                int(column.id),
                text(&column.name),
                text(column.type_name()),
                flag(column.nullable),
                optional(column.default.as_ref().map(|expr| cx.names().expr(table, expr, false))),
                optional(column.generated.as_ref().map(|expr| cx.names().expr(table, expr, false))),
                optional(family.map(|family| family.name.as_str())),
                flag(column.hidden),
            ]);
        }
    }
    sheet.rows()
}

fn index_row(cx: &VirtualContext<'_>, sheet: &mut Sheet, table: &Table, index: &Index) {
    let name = |id| table.column(id).map(|column| column.name.clone());
    let keys = index.keys.iter().filter_map(|key| {
        let name = name(key.column)?;
        Some(if key.descending { format!("{name} DESC") } else { name })
    });
    let prefix = table.key_prefix(index);
    let is_moving = index.number == table.primary.number && table.moving.is_some();
    let parent = index.parent().and_then(|parent| cx.catalog.table(parent));
    sheet.push([
        int(table.id),
        int(index.id),
        int(index.number),
        text(&index.name),
        flag(index.unique),
        flag(index.number == table.primary.number),
        text(match index.state {
            _ if is_moving => "moving",
            IndexState::Building => "building",
            IndexState::Public => "public",
        }),
        texts(Some(keys.collect())),
        texts(Some(index.storing.iter().filter_map(|id| name(*id)).collect())),
        text(print(cx, &prefix)),
        optional(parent.map(|parent| parent.name.as_str())),
    ]);
}

fn indexes(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "braid_internal.indexes",
        &[
            "table_id",
            "index_id",
            "index_number",
            "index_name",
            "is_unique",
            "is_primary",
            "state",
            "columns",
            "storing",
            "key_prefix",
            "parent",
        ],
    );
    for table in cx.catalog.tables() {
        for index in table.all_indexes() {
            index_row(cx, &mut sheet, table, index);
        }
    }
    sheet.rows()
}

/// Whether the user may see the values in a lock's key: a superuser, who has locked it, and who
/// may read the table.
fn sees_key(cx: &VirtualContext<'_>, entry: &LockEntry) -> bool {
    let user = cx.catalog.role_by_name(cx.env.current_user());
    let Some(user) = user else { return false };
    let table = || crate::owner_of(cx.catalog, &entry.info.span.start).map(|(table, _)| table);
    user.superuser
        || AdvisoryKey::decode(&entry.info.span.start).is_some()
        || entry.pid == Some(cx.env.backend_pid())
        || table().is_some_and(|t| cx.catalog.has_privilege(user.id, Object::Table(t), "SELECT"))
}

fn locks(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["transaction_id", "pid", "key", "strength", "granted", "waited"];
    let mut sheet = Sheet::new("braid_internal.locks", &columns);
    for entry in cx.runtime.locks() {
        let micros = i64::try_from(entry.info.waited.as_micros()).unwrap_or(i64::MAX);
        let key = if sees_key(cx, &entry) {
            lock_key(cx, &entry.info.span)
        } else {
            "<insufficient privilege>".to_owned()
        };
        sheet.push([
            number(entry.info.txn.0),
            entry.pid.map_or(Datum::Null, int),
            text(key),
            text(match entry.info.strength {
                braid_kv::LockStrength::Shared => "shared",
                braid_kv::LockStrength::Exclusive => "exclusive",
            }),
            flag(entry.info.granted),
            Datum::Interval(Interval { months: 0, days: 0, micros }),
        ]);
    }
    sheet.rows()
}

fn metrics(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "labels", "kind", "value", "help"];
    let mut sheet = Sheet::new("braid_internal.metrics", &columns);
    for metric in cx.runtime.metrics() {
        let labels = metric.labels.into_iter();
        let labels: Vec<_> =
            labels.map(|(key, value)| (key.into(), Json::String(value.into()))).collect();
        sheet.push([
            text(&metric.name),
            if labels.is_empty() { Datum::Null } else { Datum::json(Json::object(labels)) },
            text(&metric.kind),
            Datum::Float(metric.value),
            text(&metric.help),
        ]);
    }
    sheet.rows()
}

fn sessions(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "braid_internal.sessions",
        &[
            "pid",
            "user_name",
            "database_name",
            "application_name",
            "client_address",
            "started",
            "transaction_id",
            "transaction_started",
            "statement_started",
            "state",
            "statement",
        ],
    );
    for session in cx.runtime.sessions() {
        sheet.push([
            int(session.pid),
            text(&session.user),
            text(&session.database),
            text(&session.application_name),
            optional(session.client_addr),
            time(Some(session.backend_start)),
            session.transaction.map_or(Datum::Null, number),
            time(session.transaction_start),
            time(session.query_start),
            text(&session.state),
            text(&session.query),
        ]);
    }
    sheet.rows()
}

fn gateways(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["gateway_id", "address", "version", "started", "expires", "mode", "is_self"];
    let mut sheet = Sheet::new("braid_internal.gateways", &columns);
    for gateway in cx.runtime.gateways() {
        sheet.push([
            number(gateway.id),
            optional(Some(gateway.address).filter(|address| !address.is_empty())),
            text(&gateway.version),
            time(Some(gateway.started)),
            time(gateway.expires),
            text(gateway.mode),
            flag(gateway.is_self),
        ]);
    }
    sheet.rows()
}

fn settings(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "value", "unit", "default_value", "description"];
    let mut sheet = Sheet::new("braid_internal.settings", &columns);
    for setting in cx.runtime.settings() {
        sheet.push([
            text(&setting.name),
            text(&setting.value),
            optional(setting.unit),
            optional(setting.boot),
            text(&setting.description),
        ]);
    }
    sheet.rows()
}
