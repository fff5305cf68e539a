//! `pg_inherits` and `pg_partitioned_table`.

use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{count, flag, int, optional, text, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::attributes::{collation_oid, column_collation};
use crate::row_builder::RowBuilder;
use braid_catalog::{
    KeyPart, OperatorClass, PartitionBound, PartitionKey, PartitionStrategy, StoredExpr, Table,
};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_inherits" => pg_inherits,
        "pg_partitioned_table" => pg_partitioned_table,
        _ => return None,
    })
}

fn pg_inherits(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["inhrelid", "inhparent", "inhseqno", "inhdetachpending"];
    let mut builder = RowBuilder::new("pg_inherits", &columns);
    for table in cx.catalog.tables().in_database(cx.path.database) {
        if let Some(part) = &table.partition_of {
            builder.push([int(table.id), int(part.parent), int(1), flag(false)]);
        }
        for index in table.all_indexes() {
            if let Some(upper) = index.part_of {
                builder.push([int(index.id), int(upper), int(1), flag(false)]);
            }
        }
    }
    builder.rows()
}

fn pg_partitioned_table(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_partitioned_table",
        &[
            "partrelid",
            "partstrat",
            "partnatts",
            "partdefid",
            "partattrs",
            "partclass",
            "partcollation",
            "partexprs",
        ],
    );
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let Some(keys) = &table.partitioning else { continue };
        let is_default = |id: &&u32| {
            let part = cx.catalog.table(**id).and_then(|table| table.partition_of.as_ref());
            part.is_some_and(|part| matches!(part.bound, PartitionBound::Default))
        };
        let numbers = keys.keys.iter().map(|key| match &key.part {
            KeyPart::Column(id) => i64::from(*id),
            KeyPart::Expr(..) => 0,
        });
        let exprs: Vec<&StoredExpr> = keys
            .keys
            .iter()
            .filter_map(|key| match &key.part {
                KeyPart::Expr(expr, _) => Some(expr),
                KeyPart::Column(_) => None,
            })
            .collect();
        let node = (!exprs.is_empty()).then(|| cx.names().node_text(table, &exprs));
        builder.push([
            int(table.id),
            letter(keys.strategy),
            count(keys.keys.len()),
            int(keys.partitions.iter().find(is_default).copied().unwrap_or_default()),
            vector(SqlType::Int2, numbers),
            vector(SqlType::Oid, keys.keys.iter().map(|key| class_of(table, key))),
            vector(SqlType::Oid, keys.keys.iter().map(|key| collation_of(table, key))),
            optional(node),
        ]);
    }
    builder.rows()
}

fn letter(strategy: PartitionStrategy) -> Datum {
    text(match strategy {
        PartitionStrategy::List => "l",
        PartitionStrategy::Range => "r",
        PartitionStrategy::Hash => "h",
    })
}

/// The operator class of a key: the default one of its type.
fn class_of(table: &Table, key: &PartitionKey) -> i64 {
    let ty = key.ty(table).ok();
    let class = ty.and_then(|ty| OperatorClass::default_of(&ty));
    class.map_or(0, |class| i64::from(class.oid))
}

/// The collation of a key: its own, or that of its column.
fn collation_of(table: &Table, key: &PartitionKey) -> i64 {
    let own = key.collation.as_deref().map(collation_oid);
    let column = match &key.part {
        KeyPart::Column(id) => table.column(*id).map(column_collation),
        KeyPart::Expr(..) => None,
    };
    i64::from(own.or(column).unwrap_or_default())
}
