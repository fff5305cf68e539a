//! CREATE INDEX, inside of a transaction block or alone.

use std::sync::Arc;

use braid_catalog::{IndexNumber, Object, Table};
use braid_sql::ast::{CreateIndex, Expr, Ident, IndexKey};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::columns::check_collation;
use super::constraints::{KeySpec, SpecKey};
use super::create_table::wanted_name;
use super::lookup::folded;
use super::relocate::refuse_moving;
use super::{DdlContext, build_index};

/// A key as CREATE INDEX or an inline INDEX writes it.
pub(super) fn index_spec(
    cx: &DdlContext<'_>,
    table: &Table,
    name: Option<&Ident>,
    unique: bool,
    keys: &[IndexKey],
    storing: &[Ident],
    predicate: Option<&Expr>,
) -> Result<KeySpec> {
    let mut columns: Vec<SpecKey> = Vec::with_capacity(keys.len());
    let shape = Arc::new(table.clone());
    for key in keys {
        check_collation(key.collation.as_ref())?;
        let (column, expr) = match key.column() {
            Some(column) => (fold(column), None),
            None => {
                let expr = cx.index_key(&shape, &key.expr.to_string())?;
                let label = match braid_plan::column_name(&key.expr) {
                    name if name == "?column?" => "expr".to_owned(),
                    name => name,
                };
                let taken = |name: &str| columns.iter().any(|other| other.column == name);
                (free_label(&label, taken), Some(expr))
            }
        };
        columns.push(SpecKey {
            column,
            expr,
            descending: key.descending,
            // NULLs come last in ascending and first in descending order.
            nulls_opposed: key.nulls_first.is_some_and(|first| first != key.descending),
        });
    }
    let predicate = match predicate {
        Some(expr) => cx.predicate(&Arc::new(table.clone()), expr)?,
        None => None,
    };
    Ok(KeySpec {
        name: wanted_name(name),
        primary: false,
        unique,
        constraint: false,
        keys: columns,
        storing: folded(storing),
        predicate,
    })
}

/// A name for a column of an index that no other column of it has: `expr`, `expr1`, …
fn free_label(label: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number: u32| format!("{label}{number}"));
    let mut names = std::iter::once(label.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}

fn check_supported(create: &CreateIndex) -> Result<()> {
    if create.nulls_not_distinct {
        return Err(Error::unsupported("NULLS NOT DISTINCT"));
    }
    let method = create.method.as_ref().map(fold);
    match method.as_deref() {
        None | Some("btree") => Ok(()),
        Some("hash" | "gin" | "gist" | "spgist" | "brin") => {
            Err(Error::unsupported(format_args!("access method {}", method.unwrap_or_default())))
        }
        Some(other) => {
            let message = format!("access method \"{other}\" does not exist");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

/// The table and the key wanted; `None` if the index is there and IF NOT EXISTS was said.
fn prepare(cx: &mut DdlContext<'_>, create: &CreateIndex) -> Result<Option<(Arc<Table>, KeySpec)>> {
    check_supported(create)?;
    let table = cx.table(&create.table)?;
    cx.check_owner(Object::Table(&table))?;
    if let Some(name) = wanted_name(create.name.as_ref())
        && create.if_not_exists
        && cx.catalog().named(table.schema, &name).is_some()
    {
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        return Ok(None);
    }
    let spec = index_spec(
        cx,
        &table,
        create.name.as_ref(),
        create.unique,
        &create.keys,
        &create.storing,
        create.predicate.as_ref(),
    )?;
    Ok(Some((table, spec)))
}

fn add(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    spec: &KeySpec,
    create: &CreateIndex,
) -> Result<IndexNumber> {
    let number = cx.add_key(table, spec)?;
    if let Some(clause) = &create.interleave {
        cx.interleave(table, number, clause)?;
    }
    Ok(number)
}

/// Inside of a transaction block: filled by the transaction itself.
pub(super) async fn run(cx: &mut DdlContext<'_>, create: &CreateIndex) -> Result<()> {
    if create.concurrently && !cx.implicit {
        let message = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(Error::new(SqlState::ActiveSqlTransaction, message));
    }
    let Some((table, spec)) = prepare(cx, create)? else { return Ok(()) };
    let mut changed = Table::clone(&table);
    let number = add(cx, &mut changed, &spec, create)?;
    let shape = Arc::new(changed.clone());
    if let Some(index) = shape.index(number) {
        cx.fill_index(&shape, index).await?;
    }
    cx.draft()?.put_table(changed);
    Ok(())
}

/// As a transaction of its own: announced, filled in batches beside writers, then made public.
pub(super) async fn run_alone(cx: &mut DdlContext<'_>, create: &CreateIndex) -> Result<()> {
    if cx.txn().is_read_only() {
        let message = "cannot execute CREATE INDEX in a read-only transaction";
        return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
    }
    let announce = |cx: &mut DdlContext<'_>| {
        let Some((table, spec)) = prepare(cx, create)? else { return Ok(None) };
        if table.moving.is_some() {
            refuse_moving(&cx.catalog(), &table)?;
        }
        let mut changed = Table::clone(&table);
        let number = add(cx, &mut changed, &spec, create)?;
        Ok(Some((changed, number)))
    };
    build_index::run(cx, announce).await
}
