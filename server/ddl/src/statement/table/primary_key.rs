//! Adds, replaces and drops the primary key of a table with rows.

use std::sync::Arc;

use braid_catalog::Table;
use braid_types::{Datum, Error, Result};

use crate::context::DdlContext;
use crate::rows::rewrite::{fill_index, rewrite_rows};
use crate::rows::validate::validate_not_null;
use crate::table::constraint_names::multiple_primary_keys;
use crate::table::constraints::add_key;
use crate::table::descriptor::refuse_if_referenced;
use crate::table::exprs::{bind_expr, evaluate};
use crate::table::interleave::refuse_new_key;
use crate::table::key_spec::KeySpec;
use crate::table::rowid::add_rowid;

pub(crate) async fn add_primary_key(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    spec: KeySpec,
) -> Result<()> {
    if table.primary_key().is_some() {
        return Err(multiple_primary_keys(&table.name));
    }
    if spec.stores_rows() {
        return replace_primary_key(cx, table, spec).await;
    }
    let key_places: Vec<usize> = spec
        .keys
        .iter()
        .filter_map(|key| table.columns.iter().position(|column| column.name == key.column))
        .collect();
    validate_not_null(cx, &table, &key_places).await?;
    add_unique(cx, table, spec).await
}

/// Adds a key that is a secondary index, and checks the rows that are there.
pub(crate) async fn add_unique(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    spec: KeySpec,
) -> Result<()> {
    let mut changed = Table::clone(&table);
    let number = add_key(cx, &mut changed, &spec)?;
    let shape = Arc::new(changed.clone());
    if let Some(index) = shape.index(number) {
        fill_index(cx, &shape, index).await?;
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// Rewrites the table under another primary key. The hidden `rowid` is dropped.
pub(crate) async fn replace_primary_key(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    spec: KeySpec,
) -> Result<()> {
    refuse_new_key(&table)?;
    refuse_if_referenced(cx, &table, &table.primary)?;
    let mut changed = Table::clone(&table);
    changed.columns.retain(|column| !column.hidden || column.is_key_expr);
    changed.primary.keys.clear();
    changed.primary.name.clear();
    changed.primary.constraint = None;
    cx.draft()?.put(changed.clone());
    add_key(cx, &mut changed, &spec)?;
    let key_places: Vec<usize> =
        changed.primary.keys.iter().map(|key| table.place_of(key.column)).collect::<Result<_>>()?;
    validate_not_null(cx, &table, &key_places).await?;
    let kept: Vec<usize> = (0..table.columns.len())
        .filter(|place| changed.column(table.columns[*place].id).is_some())
        .collect();
    let kept_of = |row: &[Datum]| kept.iter().map(|place| row[*place].clone()).collect();
    rewrite_rows(cx, &table, &mut changed, |_, row| Ok(kept_of(row))).await?;
    cx.draft()?.put(changed);
    Ok(())
}

/// Rewrites the table with the hidden `rowid` as its key.
pub(crate) async fn drop_primary_key(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    mut changed: Table,
) -> Result<()> {
    refuse_new_key(table)?;
    changed.primary.keys.clear();
    changed.primary.constraint = None;
    changed.primary.comment = None;
    add_rowid(cx, &mut changed)?;
    let shape = Arc::new(changed.clone());
    let place = changed.columns.len() - 1;
    let column = &changed.columns[place];
    let expr =
        column.default.clone().ok_or_else(|| Error::internal("a rowid without a default"))?;
    let rowid = bind_expr(cx, &shape, &expr, Some(&column.ty), "DEFAULT expressions")?;
    rewrite_rows(cx, table, &mut changed, |cx, row| {
        let mut row = row.to_vec();
        row.push(evaluate(cx, &rowid, &[])?);
        Ok(row)
    })
    .await?;
    cx.draft()?.put(changed);
    Ok(())
}
