//! `UPDATE pg_class SET reltuples = …, relpages = …`: sizes that a superuser sets.
//!
//! What is kept is the number of rows and the bytes of each, so that `relpages` is rounded.
//! They take the place of what ANALYZE has found, until it finds something else. Like ANALYZE the
//! statement is no part of its transaction: ROLLBACK keeps the new sizes.

use std::sync::Arc;

use braid_catalog::TableStatistics;
use braid_exec::ExecContext;
use braid_plan::plan;
use braid_sql::ast::{Expr, Query, SetSizes, Statement};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::context::DdlContext;

use super::run::{forget, store};

/// The bytes of a page, in which `relpages` counts.
const PAGE_BYTES: f64 = 8192.0;
/// The most rows that are assumed of a table.
const ROWS_MAX: f64 = 1e15;

/// Sets the sizes that a statement gives; returns the command tag.
pub(crate) async fn set_sizes(cx: &mut DdlContext<'_>, sizes: &SetSizes) -> Result<String> {
    let catalog = cx.catalog();
    if !catalog.privileges().is_superuser(cx.user()) {
        let message = "permission denied for table pg_class";
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    let rows = rows_of(cx, query_of(sizes)?).await.map_err(Error::without_position)?;
    let mut changes = Vec::with_capacity(rows.len());
    for row in &rows {
        let [oid, tuples, pages] = &row[..] else {
            return Err(Error::broken("a query of sizes has three columns"));
        };
        refuse_null("reltuples", sizes.rows.as_ref(), tuples)?;
        refuse_null("relpages", sizes.pages.as_ref(), pages)?;
        let oid = oid.as_int().and_then(|oid| u32::try_from(oid).ok());
        let table = oid.and_then(|oid| catalog.table(oid)).cloned();
        let Some(table) = table.filter(|table| table.partitioning.is_none()) else {
            return Err(Error::unsupported("a new size of anything but a table"));
        };
        let tuples = match tuples {
            Datum::Float(tuples) => Some(*tuples),
            _ => None,
        };
        changes.push((table, tuples, pages.as_int()));
    }
    for (table, tuples, pages) in changes {
        let known = catalog.statistics.of(table.id);
        match resized(&known, tuples, pages) {
            Some(statistics) => {
                let counted = catalog.statistics.counted(table.id);
                store(cx, &table, statistics, counted).await?;
            }
            None => forget(cx, &table).await?,
        }
    }
    Ok(format!("UPDATE {}", rows.len()))
}

/// 23502 for a NULL in the place of a new size.
fn refuse_null(column: &str, written: Option<&Expr>, value: &Datum) -> Result<()> {
    if written.is_none() || !value.is_null() {
        return Ok(());
    }
    let message = format!(
        "null value in column \"{column}\" of relation \"pg_class\" violates not-null \
         constraint"
    );
    Err(Error::new(SqlState::NotNullViolation, message))
}

/// A query of three columns: the number of a relation and the new values, as their columns have
/// them; NULL is in the place of one that stays. In VALUES no set-returning function may stand.
fn query_of(sizes: &SetSizes) -> Result<Box<Query>> {
    let alias = sizes.alias.as_ref().map_or("pg_class".to_owned(), |alias| alias.to_string());
    let value = |written: &Option<Expr>, ty: &str| match written {
        Some(written) => format!("CAST(({written}) AS {ty})"),
        None => format!("CAST(NULL AS {ty})"),
    };
    let (rows, pages) = (value(&sizes.rows, "real"), value(&sizes.pages, "integer"));
    let mut text = format!(
        "SELECT {alias}.oid, \"new sizes\".* FROM pg_catalog.pg_class AS {alias}, \
         LATERAL (VALUES ({rows}, {pages})) AS \"new sizes\" (\"new rows\", \"new pages\")"
    );
    if let Some(selection) = &sizes.selection {
        text = format!("{text} WHERE {selection}");
    }
    braid_sql::parse_query(&text).map_err(Error::without_position)
}

/// The statistics with a new number of rows, of pages, or of both; `None` for an unknown number of
/// rows.
fn resized(
    known: &TableStatistics,
    tuples: Option<f64>,
    pages: Option<i64>,
) -> Option<TableStatistics> {
    if tuples.is_some_and(|tuples| tuples.is_nan() || tuples < 0.0) {
        return None;
    }
    let rows = tuples.unwrap_or(known.rows as f64).round().min(ROWS_MAX);
    let bytes = match pages {
        Some(pages) => pages.max(0) as f64 * PAGE_BYTES,
        None => known.rows as f64 * known.row_bytes as f64,
    };
    let row_bytes = (bytes / rows.max(1.0)).floor() as u64;
    Some(TableStatistics { rows: rows as u64, row_bytes, ..known.clone() })
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
