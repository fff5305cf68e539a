//! What PostgreSQL counts for each table, index and sequence: `pg_stat_*` and `pg_statio_*`.
//!
//! Reads are not counted, so those columns are 0. There are no blocks, so theirs are NULL.

use std::sync::Arc;

use braid_types::{Datum, Result, Row};

use super::registry::{RowsOf, VirtualContext};
use super::relations::visible_indexes;
use super::sheet::{Sheet, int, text};
use crate::{Index, Table};

pub(super) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_stat_all_tables" => |cx| stat_tables(cx, "pg_stat_all_tables"),
        "pg_stat_user_tables" => |cx| stat_tables(cx, "pg_stat_user_tables"),
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
    let columns =
        ["relid", "schemaname", "relname", "seq_scan", "seq_tup_read", "n_live_tup", "n_dead_tup"];
    let mut sheet = Sheet::new(name, &columns);
    for table in cx.catalog.tables_of(cx.path.database) {
        let rows = cx.catalog.statistics(table.id).rows;
        sheet.push([
            int(table.id),
            text(cx.catalog.schema_name(table.schema)),
            text(&table.name),
            int(0),
            int(0),
            int(i64::try_from(rows).unwrap_or(i64::MAX)),
            int(0),
        ]);
    }
    sheet.rows()
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
    cx.catalog.tables_of(cx.path.database).flat_map(of_table)
}

fn stat_indexes(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let [relid, indexrelid, schemaname, relname, indexrelname] = INDEX_COLUMNS;
    let columns = [relid, indexrelid, schemaname, relname, indexrelname, "idx_scan"];
    let mut sheet = Sheet::new(name, &columns);
    for [table, index, schema, relation, own] in index_rows(cx) {
        sheet.push([table, index, schema, relation, own, int(0)]);
    }
    sheet.rows()
}

fn statio_indexes(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(name, &INDEX_COLUMNS);
    index_rows(cx).for_each(|row| sheet.push(row));
    sheet.rows()
}

fn statio_tables(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(name, &["relid", "schemaname", "relname"]);
    for table in cx.catalog.tables_of(cx.path.database) {
        let schema = cx.catalog.schema_name(table.schema);
        sheet.push([int(table.id), text(schema), text(&table.name)]);
    }
    sheet.rows()
}

fn statio_sequences(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(name, &["relid", "schemaname", "relname"]);
    for sequence in cx.catalog.sequences_of(cx.path.database) {
        let schema = cx.catalog.schema_name(sequence.schema);
        sheet.push([int(sequence.id), text(schema), text(&sequence.name)]);
    }
    sheet.rows()
}
