//! What ANALYZE found out about columns: `pg_stats`.
//!
//! A column is shown to users who may select it and all rows of its table. There are no statistics
//! of array elements.

use braid_catalog::{Object, Table, TableStatistics, ValueStatistics};
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{flag, int, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_stats" => stats,
        _ => return None,
    })
}

fn stats(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "schemaname",
        "tablename",
        "attname",
        "inherited",
        "null_frac",
        "avg_width",
        "n_distinct",
        "most_common_vals",
        "most_common_freqs",
        "histogram_bounds",
        "correlation",
    ];
    let mut builder = RowBuilder::new("pg_stats", &columns);
    let user = cx.catalog.names().role(cx.env.current_user()).map_or(0, |user| user.id);
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let privileges = cx.catalog.privileges();
        let hides = privileges.are_policies_for(user, table);
        if hides || !privileges.has(user, Object::Table(table), "SELECT") {
            continue;
        }
        let known = cx.catalog.statistics.of(table.id);
        for row in table_rows(cx, table, &known) {
            builder.push(row);
        }
    }
    builder.rows()
}

fn table_rows(cx: &VirtualContext<'_>, table: &Table, known: &TableStatistics) -> Vec<[Datum; 11]> {
    let mut rows = Vec::new();
    for column in table.visible_columns() {
        let Some(found) = known.column(column.id) else { continue };
        let Some(values) = &found.values else { continue };
        let (common, bounds) = lists(cx, values);
        let frequencies: Vec<Datum> = values.common.iter().map(|(_, part)| float4(*part)).collect();
        let frequencies = match frequencies.is_empty() {
            true => Datum::Null,
            false => Datum::array(SqlType::Float4, frequencies),
        };
        rows.push([
            text(cx.catalog.schema_name(table.schema)),
            text(&table.name),
            text(&column.name),
            flag(false),
            float4(values.null_fraction),
            int(values.width),
            float4(found.distinct),
            common,
            frequencies,
            bounds,
            values.correlation.map_or(Datum::Null, float4),
        ]);
    }
    rows
}

/// A number with the precision of `real`.
fn float4(value: f64) -> Datum {
    Datum::Float(f64::from(value as f32))
}

/// The common values and the bounds of the histogram, as arrays are written.
fn lists(cx: &VirtualContext<'_>, values: &ValueStatistics) -> (Datum, Datum) {
    let common: Vec<&Datum> = values.common.iter().map(|(value, _)| value).collect();
    let bounds: Vec<&Datum> = values.histogram.iter().collect();
    (list(cx, &values.ty, &common), list(cx, &values.ty, &bounds))
}

/// Values of any type as the text of an array; NULL without any.
fn list(cx: &VirtualContext<'_>, ty: &SqlType, values: &[&Datum]) -> Datum {
    if values.is_empty() {
        return Datum::Null;
    }
    let settings = cx.env.settings();
    let item = |value: &&Datum| {
        let mut out = Vec::new();
        braid_types::text::format(ty, value, settings, &mut out);
        Datum::text(String::from_utf8_lossy(&out))
    };
    let array = Datum::array(SqlType::Text, values.iter().map(item).collect());
    let mut out = Vec::new();
    braid_types::text::format(&SqlType::Text.array(), &array, settings, &mut out);
    Datum::text(String::from_utf8_lossy(&out))
}
