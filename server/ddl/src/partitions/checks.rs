//! Rows that have to meet the bound of a partition.

use std::sync::Arc;

use braid_catalog::partitions::leaves;
use braid_catalog::{PartitionBound, Table};
use braid_plan::bind_partition_condition;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::rows::reader::{block_writers, table_reader};
use crate::table::exprs::evaluator;

/// 23514 if a row of a partition, or of one below it, does not meet the partition's bound. The
/// draft has the partition already.
pub(crate) async fn check_rows(cx: &DdlContext<'_>, table: &Arc<Table>) -> Result<()> {
    let message =
        format!("partition constraint of relation \"{}\" is violated by some row", table.name);
    check(cx, table, &message).await
}

/// 23514 if a row of the default partition belongs to a partition that was added.
pub(crate) async fn check_default(cx: &DdlContext<'_>, parent: &Table) -> Result<()> {
    let catalog = cx.catalog();
    let partitions = parent.partitioning.iter().flat_map(|keys| &keys.partitions);
    let is_default = |table: &&Arc<Table>| {
        let part = table.partition_of.as_ref();
        part.is_some_and(|part| matches!(part.bound, PartitionBound::Default))
    };
    let mut tables = partitions.filter_map(|id| catalog.table(*id));
    let Some(default) = tables.find(is_default) else { return Ok(()) };
    let message = format!(
        "updated partition constraint for default partition \"{}\" would be violated by some row",
        default.name
    );
    check(cx, default, &message).await
}

async fn check(cx: &DdlContext<'_>, table: &Arc<Table>, message: &str) -> Result<()> {
    let evaluator = evaluator(cx);
    let catalog = cx.catalog();
    for leaf in leaves(&catalog, table)? {
        let Some(condition) = cx.plan_own(|cx| bind_partition_condition(cx, &leaf))? else {
            continue;
        };
        block_writers(cx, &leaf).await?;
        let mut reader = table_reader(cx, &leaf)?;
        while let Some(rows) = reader.next().await? {
            cx.exec.check_interrupts().await?;
            for row in rows {
                if evaluator.eval(&condition, &row).await?.as_bool() != Some(true) {
                    let schema = catalog.schema_name(table.schema);
                    return Err(
                        Error::new(SqlState::CheckViolation, message).table(&schema, &table.name)
                    );
                }
            }
        }
    }
    Ok(())
}
