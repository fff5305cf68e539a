//! Objects of CREATE STATISTICS: `pg_statistic_ext`. No data is gathered for them.

use braid_catalog::{ExtendedStatistics, StoredExpr};
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{int, optional, text, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_statistic_ext" => objects,
        _ => return None,
    })
}

fn objects(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "oid",
        "stxrelid",
        "stxname",
        "stxnamespace",
        "stxowner",
        "stxstattarget",
        "stxkeys",
        "stxkind",
        "stxexprs",
    ];
    let mut builder = RowBuilder::new("pg_statistic_ext", &columns);
    for table in cx.catalog.tables().in_database(cx.path.database) {
        for object in &table.statistics {
            let exprs: Vec<&StoredExpr> = object.exprs.iter().collect();
            let node = (!exprs.is_empty()).then(|| cx.names().node_text(table, &exprs));
            builder.push([
                int(object.id),
                int(table.id),
                text(&object.name),
                int(object.schema),
                int(object.owner),
                int(object.target),
                vector(SqlType::Int2, object.columns.iter().map(|column| i64::from(*column))),
                kinds(object),
                optional(node),
            ]);
        }
    }
    builder.rows()
}

/// The letters of the kinds; `e` stands for expressions.
fn kinds(object: &ExtendedStatistics) -> Datum {
    let kinds = object.kinds.iter().map(|kind| kind.letter());
    let exprs = (!object.exprs.is_empty()).then_some("e");
    let letters = kinds.chain(exprs).map(text).collect();
    Datum::array(SqlType::InternalChar, letters)
}
