//! Expressions kept as text in descriptors: defaults, checks, generated columns, predicates.

use std::sync::Arc;

use braid_catalog::{Column, Identity, Index, IndexNumber, IndexState, StoredExpr, Table};
use braid_sql::TABLE_ROW;
use braid_sql::ast::Expr as Ast;
use braid_types::cast::{CastContext, NoCast};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::Binder;
use super::domain::{check_column, domain_default};
use super::expr::modified::coerce_modified;
use super::expr::operators::{coerce, coerce_bool};
use super::expr::scalar::{bind_expr, call_function};
use super::from::system_columns::table_source;
use super::query::ordered::plain_column;
use super::refusals::{NestsTooDeep, NotAssignable, UnknownColumn};
use super::scope::columns::{Scope, ScopeTable, Scopes};
use super::scope::context::ExprCx;
use super::scope::places::{bind_condition, without_places};
use crate::collate::{assign_collations_over, assign_expr_collations, collation_over};
use crate::context::PlanContext;
use crate::layout;
use crate::tree::expr::{Expr, Slot};
use crate::tree::row_change::{IndexPart, RowCheck};

/// An expression over no columns (a SET value), cast to `ty` as an assignment.
pub fn bind_scalar(cx: &PlanContext<'_>, text: &str, ty: &SqlType) -> Result<Expr> {
    bind_default(cx, &StoredExpr::Written(text.to_owned()), ty)
}

/// A DEFAULT, cast to `ty` as an assignment.
pub fn bind_default(cx: &PlanContext<'_>, expr: &StoredExpr, ty: &SqlType) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    let expr = bind_stored_expr(&mut binder, expr, &Scope::default(), "DEFAULT expressions");
    let expr = expr.map_err(|error| match error.cause() {
        Some(UnknownColumn) => Error::new(
            SqlState::FeatureNotSupported,
            "cannot use column reference in DEFAULT expression",
        ),
        None => error,
    })?;
    let mut expr = without_places(&mut binder, |this| assign(this, expr, ty, ""))?;
    assign_expr_collations(&mut binder, &mut expr)?;
    layout::layout_expr(&mut expr, &[])?;
    Ok(expr)
}

/// An expression over a table's columns, in their order ([`Expr::Input`]); with `ty` it is cast
/// to that type as an assignment. `clause` names its place in messages.
pub fn bind_table_expr(
    cx: &PlanContext<'_>,
    table: &Arc<Table>,
    expr: &StoredExpr,
    ty: Option<&SqlType>,
    clause: &'static str,
) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut expr = bind_stored_table_expr(&mut binder, table, &slots, expr, clause)?;
    if let Some(ty) = ty {
        expr = assign(&mut binder, expr, ty, "")?;
    }
    assign_collations_over(&mut binder, table, &[&slots], &mut expr)?;
    layout::layout_expr(&mut expr, &slots)?;
    Ok(expr)
}

/// Binds an expression, over a table's columns or none, as the client has written it, so that an
/// error has its place. `word` names the clause of a condition, which has to be boolean.
pub fn check_written_expr(
    cx: &PlanContext<'_>,
    table: Option<&Table>,
    ast: &Ast,
    (clause, word): (&'static str, Option<&str>),
) -> Result<()> {
    let mut binder = Binder::new(cx);
    let mut scope = Scope::default();
    if let Some(table) = table {
        let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
        scope = target_row(&binder, table, None, &slots)?;
    }
    let mut at = ExprCx::plain(Scopes { scope: &scope, parent: None }, clause);
    match word {
        Some(word) => bind_condition(&mut binder, ast, &mut at, word).map(drop),
        None => bind_expr(&mut binder, ast, &mut at).map(drop),
    }
}

/// The collation of an expression over a table's columns as columns keep it, if it is not that of
/// the database.
pub fn expr_collation(
    cx: &PlanContext<'_>,
    table: &Arc<Table>,
    expr: &StoredExpr,
) -> Result<Option<String>> {
    let mut binder = Binder::new(cx);
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut bound = bind_stored_table_expr(&mut binder, table, &slots, expr, "expressions")?;
    collation_over(&mut binder, table, &slots, &mut bound)
}

/// The assignment cast from one type to another over an input of one column; 42804 if there is
/// none. For COPY and ALTER COLUMN TYPE.
pub fn bind_assignment_cast(
    cx: &PlanContext<'_>,
    from: &SqlType,
    to: &SqlType,
    column: &str,
) -> Result<Expr> {
    assign(&mut Binder::new(cx), Expr::Input(0, from.clone()), to, column)
}

/// The expressions that a table's row gives to an index, in the order of its columns
/// ([`Expr::Input`]).
pub fn bind_index_exprs(
    cx: &PlanContext<'_>,
    table: &Arc<Table>,
    index: &Index,
) -> Result<Vec<(IndexPart, Expr)>> {
    let mut binder = Binder::new(cx);
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut exprs = index_exprs(&mut binder, table, &slots)?;
    exprs.retain(|(part, _)| match part {
        IndexPart::Predicate(number) => *number == index.number,
        IndexPart::Key(place) => {
            index.keys.iter().any(|key| key.column == table.columns[*place].id)
        }
    });
    for (_, e) in &mut exprs {
        assign_collations_over(&mut binder, table, &[&slots], e)?;
        layout::layout_expr(e, &slots)?;
    }
    Ok(exprs)
}

/// The keys of a table's indexes that are expressions: their places, and expressions over the
/// table's columns in order.
pub(crate) fn key_exprs(binder: &mut Binder<'_>, table: &Table) -> Result<Arc<[(usize, Expr)]>> {
    if table.key_exprs().next().is_none() {
        return Ok(Arc::default());
    }
    let notes = binder.notes.take();
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut found = Vec::new();
    for (place, column) in table.key_exprs() {
        let expr = key_expr(table, column)?;
        let bound = bind_stored_table_expr(binder, table, &slots, expr, "index expressions")
            .and_then(|e| over_inputs(binder, table, &slots, e));
        found.push((place, bound.map_err(|error| unbindable(table, expr, error))?));
    }
    binder.notes = notes;
    Ok(found.into())
}

/// The predicates of a table's public partial indexes, over the table's columns in order.
pub(crate) fn index_predicates(
    binder: &mut Binder<'_>,
    table: &Table,
) -> Result<Arc<[(IndexNumber, Expr)]>> {
    let is_public = |index: &&Index| index.state == IndexState::Public;
    let partial = table.indexes.iter().filter(is_public);
    let mut partial =
        partial.filter_map(|index| Some((index.number, index.predicate.as_ref()?))).peekable();
    if partial.peek().is_none() {
        return Ok(Arc::default());
    }
    let notes = binder.notes.take();
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut found = Vec::new();
    for (number, predicate) in partial {
        let bound = bind_stored_table_expr(binder, table, &slots, predicate, "index predicates")
            .and_then(|e| coerce_bool(binder, e, "WHERE"))
            .and_then(|e| over_inputs(binder, table, &slots, e));
        found.push((number, bound.map_err(|error| unbindable(table, predicate, error))?));
    }
    binder.notes = notes;
    Ok(found.into())
}

/// A stored expression over the table's columns in order ([`Expr::Input`]).
fn over_inputs(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
    mut e: Expr,
) -> Result<Expr> {
    assign_collations_over(binder, table, &[slots], &mut e)?;
    layout::layout_expr(&mut e, slots)?;
    Ok(e)
}

/// The expression of a column that is the key of an index.
fn key_expr<'t>(table: &Table, column: &'t Column) -> Result<&'t StoredExpr> {
    let missing = || {
        let (table, column) = (&table.name, &column.name);
        Error::broken(format!("index key \"{column}\" of table \"{table}\" has no expression"))
    };
    column.generated.as_ref().ok_or_else(missing)
}

/// XX000 for a stored expression that cannot be bound: its index would silently not be used.
/// The limit of complexity stays what it is, since the statement around it may exceed it.
fn unbindable(table: &Table, expr: &StoredExpr, error: Error) -> Error {
    if error.cause::<NestsTooDeep>().is_some() {
        return error;
    }
    let (table, expr) = (&table.name, expr.sql());
    let message = error.message();
    Error::broken(format!("expression \"{expr}\" of table \"{table}\" cannot be bound: {message}"))
}

/// A row of the table that a statement changes, as a scope, system columns included. An alias
/// hides the table's name.
pub(crate) fn target_row(
    binder: &Binder<'_>,
    table: &Table,
    alias: Option<&str>,
    slots: &[Slot],
) -> Result<Scope> {
    let schema = binder.cx.catalog.schema_name(table.schema);
    let shown = alias.unwrap_or(&table.name);
    let mut scope = row_scope(table, shown, slots);
    scope.sources.push(table_source(table, shown, slots)?);
    Ok(scope.of_relation(&schema, &table.name, alias.is_some()))
}

/// A stored expression over a table's row.
pub(crate) fn bind_stored_table_expr(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
    expr: &StoredExpr,
    clause: &'static str,
) -> Result<Expr> {
    let scope = match expr.is_identified() {
        true => numbered_row(table, slots),
        false => target_row(binder, table, None, slots)?,
    };
    bind_stored_expr(binder, expr, &scope, clause)
}

/// A stored expression; names mean what `scope` says.
fn bind_stored_expr(
    binder: &mut Binder<'_>,
    expr: &StoredExpr,
    scope: &Scope,
    clause: &'static str,
) -> Result<Expr> {
    let ast = braid_sql::parse_expr(expr.sql())?;
    let scopes = Scopes { scope, parent: None };
    let before = std::mem::replace(&mut binder.is_stored, expr.is_identified());
    let variables = binder.cx.variables.take();
    let bound =
        without_places(binder, |this| bind_expr(this, &ast, &mut ExprCx::plain(scopes, clause)));
    binder.is_stored = before;
    binder.cx.variables = variables;
    bound
}

/// Binds an expression that is to be stored, whose columns get the numbers of the stored form.
pub(crate) fn bind_to_store(
    binder: &mut Binder<'_>,
    ast: &Ast,
    table: Option<&Table>,
    clause: &'static str,
) -> Result<Expr> {
    let mut scope = Scope::default();
    if let Some(table) = table {
        let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
        scope = target_row(binder, table, None, &slots)?;
        for (entry, column) in scope.columns.iter_mut().zip(&table.columns) {
            entry.item = (TABLE_ROW, column.id);
        }
    }
    let scopes = Scopes { scope: &scope, parent: None };
    without_places(binder, |this| bind_expr(this, ast, &mut ExprCx::plain(scopes, clause)))
}

/// The type of an expression in its stored form.
pub(crate) fn stored_type(
    binder: &mut Binder<'_>,
    expr: &StoredExpr,
    table: Option<&Table>,
    clause: &'static str,
) -> Result<SqlType> {
    let bound = match table {
        None => bind_stored_expr(binder, expr, &Scope::default(), clause)?,
        Some(table) => {
            let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
            bind_stored_table_expr(binder, table, &slots, expr, clause)?
        }
    };
    Ok(bound.ty())
}

/// Casts a value to a column's type as an assignment; 42804 names the column.
fn assign(binder: &mut Binder<'_>, expr: Expr, to: &SqlType, column: &str) -> Result<Expr> {
    assign_modified(binder, expr, to, None, column)
}

/// The assignment cast to a column's type, with its modifier.
pub(crate) fn assign_to(binder: &mut Binder<'_>, expr: Expr, column: &Column) -> Result<Expr> {
    let value = assign_modified(binder, expr, &column.ty, column.modifier, &column.name)?;
    check_column(binder, value, column)
}

fn assign_modified(
    binder: &mut Binder<'_>,
    expr: Expr,
    to: &SqlType,
    modifier: Option<i32>,
    column: &str,
) -> Result<Expr> {
    let given = expr.ty().bare().display_name();
    match coerce_modified(binder, expr, to, modifier, CastContext::Assignment) {
        Err(error) if NoCast::is_cause_of(&error) => Err(Error::new(
            SqlState::DatatypeMismatch,
            if column.is_empty() {
                error.message().to_owned()
            } else {
                let wanted = to.bare().display_name();
                format!("column \"{column}\" is of type {wanted} but expression is of type {given}")
            },
        )
        .hint("You will need to rewrite or cast the expression.")
        .routine("transformAssignedExpr")
        .caused_by(NotAssignable { wanted: to.bare().display_name(), given })),
        other => other,
    }
}

/// A column's default: the expression, the next value of its sequence, or NULL.
pub(crate) fn default_of(binder: &mut Binder<'_>, column: &Column) -> Result<Expr> {
    if let (Some(_), Some(sequence)) = (&column.identity, column.owned_sequence) {
        let oid = Expr::Const(Datum::Int(i64::from(sequence)), SqlType::Regclass);
        let value = call_function(binder, "nextval", vec![oid])?;
        return assign_to(binder, value, column);
    }
    let of_domain = domain_default(binder, column)?;
    let Some(expr) = column.default.as_ref().or(of_domain.as_ref()) else {
        return check_column(binder, Expr::null(column.ty.clone()), column);
    };
    let value = bind_stored_expr(binder, expr, &Scope::default(), "DEFAULT expressions")?;
    without_places(binder, |this| assign_to(this, value, column))
}

/// Generated columns over the row written: place and expression.
pub(crate) fn bind_generated(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
) -> Result<Vec<(usize, Expr)>> {
    let mut result = Vec::new();
    let columns = table.columns.iter().enumerate();
    for (place, column) in columns.filter(|(_, column)| !column.is_key_expr) {
        if let Some(expr) = &column.generated {
            let value = bind_stored_table_expr(
                binder,
                table,
                slots,
                expr,
                "column generation expressions",
            )?;
            result.push((place, assign_to(binder, value, column)?));
        }
    }
    Ok(result)
}

/// CHECK constraints over the row written: name and condition.
pub(crate) fn bind_checks(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
) -> Result<Vec<(RowCheck, Expr)>> {
    let mut result = Vec::with_capacity(table.checks.len());
    for check in &table.checks {
        let e = bind_stored_table_expr(binder, table, slots, &check.expr, "check constraints")?;
        let name = RowCheck::Constraint(check.name.clone());
        result.push((name, coerce_bool(binder, e, "CHECK")?));
    }
    Ok(result)
}

/// Predicates of partial indexes and keys that are expressions, over the row written.
pub(crate) fn index_exprs(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
) -> Result<Vec<(IndexPart, Expr)>> {
    let mut result = Vec::new();
    for (place, column) in table.key_exprs() {
        let expr = key_expr(table, column)?;
        let e = bind_stored_table_expr(binder, table, slots, expr, "index expressions")?;
        let e = coerce(binder, e, &column.ty, CastContext::Implicit)?;
        result.push((IndexPart::Key(place), e));
    }
    for index in &table.indexes {
        if let Some(predicate) = &index.predicate {
            let e = bind_stored_table_expr(binder, table, slots, predicate, "index predicates")?;
            let e = coerce_bool(binder, e, "WHERE")?;
            result.push((IndexPart::Predicate(index.number), e));
        }
    }
    Ok(result)
}

/// A table's row as a scope; its schema is not known there.
pub(super) fn row_scope(table: &Table, alias: &str, slots: &[Slot]) -> Scope {
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    for (slot, column) in slots.iter().zip(&table.columns) {
        let mut entry = plain_column(alias, &column.name, *slot, column.ty.clone());
        entry.hidden = column.hidden;
        entry.origin = (table.id, column.id);
        scope.columns.push(entry);
    }
    scope
}

/// A table's row as stored expressions name it: by numbers.
pub(crate) fn numbered_row(table: &Table, slots: &[Slot]) -> Scope {
    let mut scope = row_scope(table, &TABLE_ROW.to_string(), slots);
    for (entry, column) in scope.columns.iter_mut().zip(&table.columns) {
        entry.item = (TABLE_ROW, column.id);
    }
    scope
}

/// 428C9 for a value given to a column that does not take one.
pub(super) fn refuse_generated(column: &Column, updating: bool) -> Result<()> {
    let always = column.identity == Some(Identity::Always);
    if column.generated.is_none() && !always {
        return Ok(());
    }
    let name = &column.name;
    let error = if updating {
        Error::new(
            SqlState::GeneratedAlways,
            format!("column \"{name}\" can only be updated to DEFAULT"),
        )
    } else {
        Error::new(
            SqlState::GeneratedAlways,
            format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        )
    };
    if always {
        let error = error.detail(format!(
            "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
        ));
        return Err(if updating {
            error
        } else {
            error.hint("Use OVERRIDING SYSTEM VALUE to override.")
        });
    }
    Err(error.detail(format!("Column \"{name}\" is a generated column.")))
}
