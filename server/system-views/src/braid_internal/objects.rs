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

use crate::cell::{flag, int, optional, text, texts, time};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::sessions::lock_key;
use crate::row_builder::RowBuilder;
use crate::runtime::LockEntry;
use braid_catalog::{CatalogKeyNames, Index, IndexState, Object, Table};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
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
    let mut builder = RowBuilder::new(
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
    for table in cx.catalog.tables().iter() {
        let statistics = cx.catalog.statistics(table.id);
        let span = match table.primary.is_mixed() {
            true => table.index_span(&table.primary),
            false => braid_catalog::table_span(table.data_id),
        };
        let passing = table.primary.passing.iter();
        let left_over =
            passing.filter(|passing| !cx.catalog.interleaving().is_arriving(passing)).count();
        let left_over = left_over + usize::from(table.vacated);
        let left_over = u32::try_from(left_over).unwrap_or(u32::MAX);
        builder.push([
            int(table.id),
            int(table.data_id),
            optional(cx.catalog.database(table.database).map(|database| database.name.as_str())),
            text(cx.catalog.schema_name(table.schema)),
            text(&table.name),
            text(cx.catalog.role_name(table.owner)),
            number(cx.catalog.statistics.live_rows(table.id)),
            number(statistics.row_bytes),
            text(print(cx, &span.start)),
            text(print(cx, &span.end)),
            text(crate::lookup::definition::create_table_text(cx.catalog, table)),
            int(left_over),
        ]);
    }
    builder.rows()
}

fn columns(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
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
    for table in cx.catalog.tables().iter() {
        for column in table.columns.iter().filter(|column| !column.is_key_expr) {
            let family = table.families.iter().find(|family| family.id == column.family);
            builder.push([
                int(table.id),
                int(column.id),
                text(&column.name),
                text(cx.names().column_type(column)),
                flag(column.nullable),
                optional(column.default.as_ref().map(|expr| cx.names().expr(table, expr, false))),
                optional(column.generated.as_ref().map(|expr| cx.names().expr(table, expr, false))),
                optional(family.map(|family| family.name.as_str())),
                flag(column.hidden),
            ]);
        }
    }
    builder.rows()
}

fn index_row(cx: &VirtualContext<'_>, builder: &mut RowBuilder, table: &Table, index: &Index) {
    let name = |id| table.column(id).map(|column| column.name.clone());
    let keys = index.keys.iter().filter_map(|key| {
        let name = name(key.column)?;
        Some(if key.descending { format!("{name} DESC") } else { name })
    });
    let prefix = table.key_prefix(index);
    let is_moving = index.number == table.primary.number && table.moving.is_some();
    let parent = index.parent().and_then(|parent| cx.catalog.table(parent));
    builder.push([
        int(table.id),
        int(index.id),
        int(index.number),
        text(&index.name),
        flag(index.declares_unique()),
        flag(index.number == table.primary.number),
        text(match index.state {
            _ if is_moving => "moving",
            IndexState::Building => "building",
            IndexState::Public => "public",
        }),
        texts(Some(keys.collect())),
        texts(Some(index.included().iter().filter_map(|id| name(*id)).collect())),
        text(print(cx, &prefix)),
        optional(parent.map(|parent| parent.name.as_str())),
    ]);
}

fn indexes(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
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
    for table in cx.catalog.tables().iter() {
        for index in table.all_indexes() {
            index_row(cx, &mut builder, table, index);
        }
    }
    builder.rows()
}

/// Whether the user may see the values in a lock's key: a superuser, who has locked it, and who
/// may read the table.
fn sees_key(cx: &VirtualContext<'_>, entry: &LockEntry) -> bool {
    let user = cx.catalog.names().role(cx.env.current_user());
    let Some(user) = user else { return false };
    let table =
        || braid_catalog::owner_of(cx.catalog, &entry.info.span.start).map(|(table, _)| table);
    user.superuser
        || AdvisoryKey::decode(&entry.info.span.start).is_some()
        || entry.pid == Some(cx.env.backend_pid())
        || table().is_some_and(|t| cx.catalog.privileges().has(user.id, Object::Table(t), "SELECT"))
}

fn locks(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["transaction_id", "pid", "key", "strength", "granted", "waited"];
    let mut builder = RowBuilder::new("braid_internal.locks", &columns);
    for entry in cx.runtime.locks() {
        let micros = i64::try_from(entry.info.waited.as_micros()).unwrap_or(i64::MAX);
        let key = if sees_key(cx, &entry) {
            lock_key(cx, &entry.info.span)
        } else {
            "<insufficient privilege>".to_owned()
        };
        builder.push([
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
    builder.rows()
}

fn metrics(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "labels", "kind", "value", "help"];
    let mut builder = RowBuilder::new("braid_internal.metrics", &columns);
    for metric in cx.runtime.metrics() {
        let labels = metric.labels.into_iter();
        let labels: Vec<_> =
            labels.map(|(key, value)| (key.into(), Json::String(value.into()))).collect();
        builder.push([
            text(&metric.name),
            if labels.is_empty() { Datum::Null } else { Datum::json(Json::object(labels)) },
            text(&metric.kind),
            Datum::Float(metric.value),
            text(&metric.help),
        ]);
    }
    builder.rows()
}

fn sessions(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
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
    for session in crate::access::visible_sessions(cx) {
        builder.push([
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
    builder.rows()
}

fn gateways(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["gateway_id", "address", "version", "started", "expires", "mode", "is_self"];
    let mut builder = RowBuilder::new("braid_internal.gateways", &columns);
    for gateway in cx.runtime.gateways() {
        builder.push([
            number(gateway.id),
            optional(Some(gateway.address).filter(|address| !address.is_empty())),
            text(&gateway.version),
            time(Some(gateway.started)),
            time(gateway.expires),
            text(gateway.mode),
            flag(gateway.is_self),
        ]);
    }
    builder.rows()
}

fn settings(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "value", "unit", "default_value", "description"];
    let mut builder = RowBuilder::new("braid_internal.settings", &columns);
    for setting in cx.runtime.settings() {
        builder.push([
            text(&setting.name),
            text(&setting.value),
            optional(setting.unit),
            optional(setting.boot),
            text(&setting.description),
        ]);
    }
    builder.rows()
}
