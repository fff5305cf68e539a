//! Expressions in descriptors: checked here, given their stored form and bound by `plan`.

use std::borrow::Cow;
use std::sync::Arc;

use braid_catalog::{CatalogNames, Column, ColumnId, Id, StoredExpr, Table, is_temporary};
use braid_exec::{Evaluator, ExecutionState, IndexExprs};
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{
    Expr as Bound, NoStoredForm, bind_default, bind_table_expr, check_written_expr, identify_expr,
};
use braid_sql::ast::{Expr, Spanned};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::table::expr_text::{columns_used, written};

/// A DEFAULT, checked against the column's type. NULL is no default; if the type has a
/// modifier, PostgreSQL keeps it nevertheless.
pub(crate) fn bind_default_expr(
    cx: &DdlContext<'_>,
    expr: &Expr,
    column: &Column,
) -> Result<Option<StoredExpr>> {
    let text = expr.to_string();
    let is_typed = column.modifier.is_some() || column.domain.is_some();
    let is_plain = !is_typed && column.ty == column.ty.bare();
    if text.eq_ignore_ascii_case("null") && is_plain {
        return Ok(None);
    }
    cx.plan(|cx| bind_default(cx, &written(&text), &column.ty))?;
    let stored = stored_expr(cx, &text, None, Some(&column.ty))?;
    // An operator would have parentheses around it.
    let is_null = is_plain && stored.is_identified() && stored.sql().starts_with("NULL::");
    Ok((!is_null).then_some(stored))
}

/// The stored form of an expression that has been checked; the text itself if it has none.
pub(crate) fn stored_expr(
    cx: &DdlContext<'_>,
    text: &str,
    table: Option<&Table>,
    ty: Option<&SqlType>,
) -> Result<StoredExpr> {
    let ast = braid_sql::parse_expr(text)?;
    match cx.plan(|cx| identify_expr(&ast, table, ty, cx)) {
        Err(error) if error.cause::<NoStoredForm>().is_some() => Ok(written(text)),
        Ok(StoredExpr::Identified(found)) if names_temporary_routine(cx, &found.relations) => {
            Err(Error::unsupported("a function in pg_temp in a definition"))
        }
        other => other,
    }
}

/// Whether one of these is a routine that ends with the session.
fn names_temporary_routine(cx: &DdlContext<'_>, ids: &[Id]) -> bool {
    let catalog = cx.catalog();
    let mut temporary = ids.iter().filter(|id| is_temporary(**id));
    temporary.any(|id| catalog.names().routines().get(*id).is_some())
}

/// An expression of one table as one of another table, or of the same with other types: its
/// text with names is read again.
pub(crate) fn restate_expr(cx: &DdlContext<'_>, from: &Table, expr: &StoredExpr) -> StoredExpr {
    let catalog = cx.catalog();
    let names = CatalogNames { catalog: &catalog, path: Some(cx.path()) };
    StoredExpr::Written(names.expr(from, expr, false))
}

/// A CHECK, with the columns it reads. 42804 unless it is boolean.
pub(crate) fn check_expr(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    expr: &Expr,
) -> Result<(StoredExpr, Vec<ColumnId>)> {
    let stored = stored_condition(cx, table, &expr.to_string(), "CHECK", "check constraints")?;
    let columns = columns_used(table, &stored);
    Ok((stored, columns))
}

/// Where CHECKs stand, for their faults.
pub(crate) const CHECKS: (&str, Option<&str>) = ("check constraints", Some("CHECK"));

/// The faults of an expression as the client has written it, with their places.
pub(crate) fn check_written(
    cx: &DdlContext<'_>,
    table: Option<&Table>,
    expr: &Expr,
    clause: (&'static str, Option<&str>),
) -> Result<()> {
    cx.plan(|cx| check_written_expr(cx, table, expr, clause))
}

/// The stored form of a condition. 42804 unless it is boolean.
fn stored_condition(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    text: &str,
    word: &str,
    clause: &'static str,
) -> Result<StoredExpr> {
    check_boolean(cx, table, &written(text), word, clause)?;
    stored_expr(cx, text, Some(table), Some(&SqlType::Bool))
}

/// The predicate of a partial index; none if it is `true`.
pub(crate) fn index_predicate(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    expr: &Expr,
) -> Result<Option<StoredExpr>> {
    let text = expr.to_string();
    check_written(cx, Some(table), expr, ("index predicates", Some("WHERE")))?;
    let bound = check_boolean(cx, table, &written(&text), "WHERE", "index predicates")?;
    if !bound.is_immutable() {
        let message = "functions in index predicate must be marked IMMUTABLE";
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    let stored = stored_expr(cx, &text, Some(table), Some(&SqlType::Bool))?;
    Ok(Some(stored).filter(|stored| stored.sql() != "true"))
}

/// The key of an index that is an expression, and its type.
pub(crate) fn index_key_expr(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    text: &str,
) -> Result<(StoredExpr, SqlType)> {
    let bound = bind_expr(cx, table, &written(text), None, "index expressions")?;
    if !bound.is_immutable() {
        let message = "functions in index expression must be marked IMMUTABLE";
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    let ty = match bound.ty() {
        SqlType::Unknown => SqlType::Text,
        ty => ty,
    };
    let stored = stored_expr(cx, text, Some(table), None)?;
    if !stored.is_identified() {
        return Err(Error::unsupported(format_args!("an index on {text}")));
    }
    Ok((stored, ty))
}

/// An expression of an object of CREATE STATISTICS, and its type. It is never evaluated, so it may
/// be volatile.
pub(crate) fn statistics_expr(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    text: &str,
) -> Result<(StoredExpr, SqlType)> {
    let ty = match bind_expr(cx, table, &written(text), None, "statistics expressions")?.ty() {
        SqlType::Unknown => SqlType::Text,
        ty => ty,
    };
    let stored = stored_expr(cx, text, Some(table), None)?;
    if !stored.is_identified() {
        return Err(Error::unsupported(format_args!("statistics on {text}")));
    }
    Ok((stored, ty))
}

/// Reads the conditions of a table again after the type of a column has changed: operators and
/// casts may be others.
pub(crate) fn restate_conditions(
    cx: &DdlContext<'_>,
    old: &Table,
    changed: &mut Table,
    column: ColumnId,
) -> Result<()> {
    let shape = Arc::new(changed.clone());
    for check in &mut changed.checks {
        let expr = restate_expr(cx, old, &check.expr);
        check_boolean(cx, &shape, &expr, "CHECK", "check constraints")?;
        if check.expr.is_identified() && check.columns.contains(&column) {
            check.expr = stored_expr(cx, expr.sql(), Some(&shape), Some(&SqlType::Bool))?;
        }
    }
    for place in 0..changed.columns.len() {
        let key = &changed.columns[place];
        let Some(expr) = key.generated.as_ref().filter(|_| key.is_key_expr) else { continue };
        if columns_used(old, expr).contains(&column) {
            let expr = restate_expr(cx, old, expr);
            let (stored, ty) = index_key_expr(cx, &shape, expr.sql())?;
            changed.columns[place].generated = Some(stored);
            changed.columns[place].ty = ty;
        }
    }
    for index in &mut changed.indexes {
        let Some(predicate) = &index.predicate else { continue };
        if predicate.is_identified() && columns_used(old, predicate).contains(&column) {
            let expr = restate_expr(cx, old, predicate);
            let text = expr.sql();
            index.predicate =
                Some(stored_condition(cx, &shape, text, "WHERE", "index predicates")?);
        }
    }
    Ok(())
}

/// 42804 unless an expression over a table's row is boolean.
pub(crate) fn check_boolean(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    expr: &StoredExpr,
    word: &str,
    clause: &'static str,
) -> Result<Bound> {
    let bound = bind_expr(cx, table, expr, None, clause)?;
    let ty = bound.ty();
    if matches!(ty, SqlType::Bool | SqlType::Unknown) {
        return Ok(bound);
    }
    let message =
        format!("argument of {word} must be type boolean, not type {}", ty.display_name());
    Err(Error::new(SqlState::DatatypeMismatch, message))
}

/// The expression of a generated column, checked: immutable, of the column's type, of no other
/// generated column.
pub(crate) fn generated_expr(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    expr: &Expr,
    column: &str,
    ty: &SqlType,
) -> Result<StoredExpr> {
    let text = expr.to_string();
    for used in columns_used(table, &written(&text)) {
        let Some(found) = table.column(used) else { continue };
        if found.generated.is_some() || found.name == column {
            let message = format!(
                "cannot use generated column \"{}\" in column generation expression",
                found.name
            );
            let start = braid_sql::offset_of(Spanned::span(expr));
            let place = braid_sql::find_token(cx.text, start, u32::MAX, &[found.name.as_str()]);
            return Err(Error::new(SqlState::InvalidObjectDefinition, message)
                .detail("A generated column cannot reference another generated column.")
                .position(place));
        }
    }
    check_written(cx, Some(table), expr, ("column generation expressions", None))?;
    let bound = bind_expr(cx, table, &written(&text), Some(ty), "column generation expressions")?;
    if !bound.is_immutable() {
        let message = "generation expression is not immutable";
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    stored_expr(cx, &text, Some(table), Some(ty))
}

/// An expression over a table's row.
pub(crate) fn bind_expr(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    expr: &StoredExpr,
    ty: Option<&SqlType>,
    clause: &'static str,
) -> Result<Bound> {
    cx.plan(|cx| bind_table_expr(cx, table, expr, ty, clause))
}

/// The value of an expression on a row.
pub(crate) fn evaluate(cx: &DdlContext<'_>, expr: &Bound, row: &[Datum]) -> Result<Datum> {
    if expr.waits() {
        let what = "a function of a user in a definition that changes or checks existing rows";
        return Err(Error::unsupported(what));
    }
    let cx = EvalContext { env: &*cx.exec.env, params: &[], outer: &[] };
    eval(expr, row, &cx)
}

/// Evaluates expressions that may call functions of users.
pub(crate) fn evaluator(cx: &DdlContext<'_>) -> Evaluator {
    let mut exec = cx.exec.renumbered(cx.exec.seq, cx.exec.cancel.clone());
    exec.catalog = cx.catalog();
    let run = Arc::new(ExecutionState::new(Arc::new(exec), Arc::default()));
    let outer = run.no_outer();
    Evaluator::new(run, outer)
}

/// A row with the keys that an index computes; `None` if the index leaves it out.
pub(crate) fn index_row<'r>(
    cx: &DdlContext<'_>,
    exprs: &IndexExprs,
    row: &'r [Datum],
) -> Result<Option<Cow<'r, [Datum]>>> {
    exprs.row(row, &EvalContext { env: &*cx.exec.env, params: &[], outer: &[] })
}

/// The value of a default, if it is the same for every row and needs no waiting.
pub(crate) fn constant_default(
    cx: &DdlContext<'_>,
    expr: &StoredExpr,
    ty: &SqlType,
) -> Result<Option<Datum>> {
    let bound = cx.plan(|cx| bind_default(cx, expr, ty))?;
    if bound.is_volatile() || bound.waits() {
        return Ok(None);
    }
    evaluate(cx, &bound, &[]).map(Some)
}
