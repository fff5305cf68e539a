//! What PostgreSQL counts for each table, index and sequence: `pg_stat_*` and `pg_statio_*`.
//!
//! Scans and changes are counted since the start, by each gateway for itself. There are no blocks
//! and no VACUUM, so their columns are 0 or NULL.

use std::sync::Arc;

use braid_types::{Datum, Result, Row};

use crate::cell::{instant, int, number, text};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::relations::visible_indexes;
use crate::row_builder::RowBuilder;
use crate::runtime::RelationCounts;
use braid_catalog::{AnalyzedBy, Id, Index, Table};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_stat_all_tables" => |cx| stat_tables(cx, "pg_stat_all_tables"),
        "pg_stat_user_tables" => |cx| stat_tables(cx, "pg_stat_user_tables"),
        "pg_stat_xact_all_tables" => |cx| stat_open_tables(cx, "pg_stat_xact_all_tables"),
        "pg_stat_xact_user_tables" => |cx| stat_open_tables(cx, "pg_stat_xact_user_tables"),
        "pg_stat_all_indexes" => |cx| stat_indexes(cx, "pg_stat_all_indexes"),
        "pg_stat_user_indexes" => |cx| stat_indexes(cx, "pg_stat_user_indexes"),
        "pg_statio_all_tables" => |cx| statio_tables(cx, "pg_statio_all_tables"),
        "pg_statio_user_tables" => |cx| statio_tables(cx, "pg_statio_user_tables"),
        "pg_statio_all_indexes" => |cx| statio_indexes(cx, "pg_statio_all_indexes"),
        "pg_statio_user_indexes" => |cx| statio_indexes(cx, "pg_statio_user_indexes"),
        "pg_statio_all_sequences" => |cx| statio_sequences(cx, "pg_statio_all_sequences"),
        "pg_statio_user_sequences" => |cx| statio_sequences(cx, "pg_statio_user_sequences"),
        _ => return None,
    })
}

fn stat_tables(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns = [
        "relid",
        "schemaname",
        "relname",
        "seq_scan",
        "seq_tup_read",
        "idx_scan",
        "idx_tup_fetch",
        "n_tup_ins",
        "n_tup_upd",
        "n_tup_del",
        "n_live_tup",
        "n_mod_since_analyze",
        "last_analyze",
        "last_autoanalyze",
        "analyze_count",
        "autoanalyze_count",
    ];
    let mut builder = RowBuilder::new(name, &columns).with_zeros();
    let counted = cx.runtime.relation_counts();
    let of = |id: Id| counted.get(&id).copied().unwrap_or_default();
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let statistics = &cx.catalog.statistics;
        let by_user = statistics.runs_of(table.id, AnalyzedBy::User);
        let by_job = statistics.runs_of(table.id, AnalyzedBy::Job);
        let own = of(table.id);
        let mut by_index = RelationCounts::default();
        table.all_indexes().for_each(|index| by_index.add(&of(index.id)));
        let has_index = visible_indexes(table).next().is_some();
        let of_index = |value: u64| if has_index { number(value) } else { Datum::Null };
        builder.push([
            int(table.id),
            text(cx.catalog.schema_name(table.schema)),
            text(&table.name),
            number(own.scans),
            number(own.read),
            of_index(by_index.scans),
            of_index(by_index.fetched),
            number(own.inserted),
            number(own.updated),
            number(own.deleted),
            number(statistics.live_rows(table.id)),
            int(statistics.changes_of(table.id).changed.max(0)),
            by_user.last.map_or(Datum::Null, instant),
            by_job.last.map_or(Datum::Null, instant),
            number(by_user.count),
            number(by_job.count),
        ]);
    }
    builder.rows()
}

/// What an open transaction has done is not counted apart from what has ended.
fn stat_open_tables(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(name, &["relid", "schemaname", "relname"]).with_zeros();
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let schema = cx.catalog.schema_name(table.schema);
        builder.push([int(table.id), text(schema), text(&table.name)]);
    }
    builder.rows()
}

/// The columns that say which index a row is about.
const INDEX_COLUMNS: [&str; 5] = ["relid", "indexrelid", "schemaname", "relname", "indexrelname"];

/// The values of [`INDEX_COLUMNS`] for each index.
fn index_rows(cx: &VirtualContext<'_>) -> impl Iterator<Item = [Datum; 5]> {
    let of_table = |table: &Arc<Table>| {
        let schema = cx.catalog.schema_name(table.schema);
        let row = |index: &Index| {
            [int(table.id), int(index.id), text(&schema), text(&table.name), text(&index.name)]
        };
        visible_indexes(table).map(row).collect::<Vec<_>>()
    };
    cx.catalog.tables().in_database(cx.path.database).flat_map(of_table)
}

fn stat_indexes(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let [relid, indexrelid, schemaname, relname, indexrelname] = INDEX_COLUMNS;
    let counters = ["idx_scan", "idx_tup_read", "idx_tup_fetch"];
    let [scans, read, fetched] = counters;
    let columns = [relid, indexrelid, schemaname, relname, indexrelname, scans, read, fetched];
    let mut builder = RowBuilder::new(name, &columns);
    let counted = cx.runtime.relation_counts();
    for [table, index, schema, relation, own] in index_rows(cx) {
        let id = index.as_int().and_then(|id| Id::try_from(id).ok()).unwrap_or_default();
        let counts = counted.get(&id).copied().unwrap_or_default();
        let (scans, read) = (number(counts.scans), number(counts.read));
        builder.push([table, index, schema, relation, own, scans, read, number(counts.fetched)]);
    }
    builder.rows()
}

fn statio_indexes(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(name, &INDEX_COLUMNS).with_zeros();
    index_rows(cx).for_each(|row| builder.push(row));
    builder.rows()
}

fn statio_tables(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(name, &["relid", "schemaname", "relname"]).with_zeros();
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let schema = cx.catalog.schema_name(table.schema);
        builder.push([int(table.id), text(schema), text(&table.name)]);
    }
    builder.rows()
}

fn statio_sequences(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(name, &["relid", "schemaname", "relname"]).with_zeros();
    for sequence in cx.catalog.sequences().in_database(cx.path.database) {
        let schema = cx.catalog.schema_name(sequence.schema);
        builder.push([int(sequence.id), text(schema), text(&sequence.name)]);
    }
    builder.rows()
}
