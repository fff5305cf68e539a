//! `UPDATE pg_class SET reltuples = …, relpages = …`: sizes that a superuser sets.
//!
//! What is kept is the number of rows and the bytes of each, so that `relpages` is rounded.
//! They take the place of what ANALYZE has found, until it finds something else. Like ANALYZE the
//! statement is no part of its transaction: ROLLBACK keeps the new sizes.

use std::sync::Arc;

use braid_catalog::{Table, TableStatistics};
use braid_exec::ExecContext;
use braid_plan::plan;
use braid_sql::ast::{Expr, Query, SelectItem, SetExpr, SetSizes, Statement};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::context::DdlContext;

use super::run::store;

/// The bytes of a page, in which `relpages` counts.
const PAGE_BYTES: f64 = 8192.0;

/// Sets the sizes that a statement gives; returns the command tag.
pub(crate) async fn set_sizes(cx: &mut DdlContext<'_>, sizes: &SetSizes) -> Result<String> {
    let catalog = cx.catalog();
    if !catalog.privileges().is_superuser(cx.user()) {
        let message = "permission denied for table pg_class";
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    let rows = rows_of(cx, query_of(sizes)?).await?;
    let mut sizes = Vec::with_capacity(rows.len());
    for row in &rows {
        let [oid, tuples, pages] = &row[..] else {
            return Err(Error::broken("a query of sizes has three columns"));
        };
        let oid = oid.as_int().and_then(|oid| u32::try_from(oid).ok());
        let table = oid.and_then(|oid| catalog.table(oid)).cloned();
        let Some(table) = table.filter(|table| table.partitioning.is_none()) else {
            return Err(Error::unsupported("a new size of anything but a table"));
        };
        sizes.push((table, number(tuples)?, number(pages)?));
    }
    for (table, tuples, pages) in sizes {
        let known = catalog.statistics.of(table.id);
        store(cx, &table, resized(&table, &known, tuples, pages)?).await?;
    }
    Ok(format!("UPDATE {}", rows.len()))
}

/// A query of three columns: the number of a relation and the new values; NULL is in the place of
/// one that stays.
fn query_of(sizes: &SetSizes) -> Result<Box<Query>> {
    let alias = sizes.alias.as_ref().map_or("pg_class".to_owned(), |alias| alias.to_string());
    let text = format!("SELECT oid, NULL, NULL FROM pg_catalog.pg_class AS {alias}");
    let mut query = braid_sql::parse_query(&text)?;
    if let SetExpr::Select(select) = &mut *query.body {
        let values: [&Option<Expr>; 2] = [&sizes.rows, &sizes.pages];
        for (item, value) in select.projection.iter_mut().skip(1).zip(values) {
            if let Some(value) = value {
                *item = SelectItem::UnnamedExpr(value.clone());
            }
        }
        select.selection.clone_from(&sizes.selection);
    }
    Ok(query)
}

/// The statistics with a new number of rows, of pages, or of both.
fn resized(
    table: &Table,
    known: &TableStatistics,
    tuples: Option<f64>,
    pages: Option<f64>,
) -> Result<TableStatistics> {
    if tuples.is_some_and(|tuples| tuples < 0.0) || pages.is_some_and(|pages| pages < 0.0) {
        let message = format!("an unknown size of table \"{}\"", table.name);
        return Err(Error::unsupported(message));
    }
    let rows = tuples.unwrap_or(known.rows as f64).round();
    let bytes = match pages {
        Some(pages) => pages * PAGE_BYTES,
        None => known.rows as f64 * known.row_bytes as f64,
    };
    let row_bytes = (bytes / rows.max(1.0)).floor() as u64;
    Ok(TableStatistics { rows: rows as u64, row_bytes, ..known.clone() })
}

/// A number of any type; `None` for NULL.
fn number(datum: &Datum) -> Result<Option<f64>> {
    match datum {
        Datum::Null => Ok(None),
        Datum::Int(value) => Ok(Some(*value as f64)),
        Datum::Float(value) => Ok(Some(*value)),
        Datum::Numeric(value) => Ok(value.to_string().parse().ok()),
        _ => {
            let message = "the size of a relation is a number";
            Err(Error::new(SqlState::DatatypeMismatch, message))
        }
    }
}

async fn rows_of(cx: &DdlContext<'_>, query: Box<Query>) -> Result<Vec<Row>> {
    let statement = Statement::Query(query);
    let planned = cx.plan_own(|context| plan(&statement, context))?;
    let mut own: ExecContext = cx.exec.in_transaction(cx.txn().clone(), cx.seq());
    own.catalog = cx.catalog();
    let params = Arc::new(Vec::new());
    let mut execution = braid_dml::start(Arc::new(planned), params, Arc::new(own))?;
    let mut rows = Vec::new();
    loop {
        let next = execution.next(usize::MAX).await?;
        if next.is_empty() {
            return Ok(rows);
        }
        rows.extend(next);
    }
}
