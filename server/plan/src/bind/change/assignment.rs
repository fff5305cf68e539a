//! SET: the columns, or parts of columns, that get values.

use std::sync::Arc;

use braid_catalog::{Column, Table};
use braid_sql::ast::{
    AccessExpr, Assignment, AssignmentTarget, AssignmentValue, Expr as Ast, Ident, TargetColumn,
};
use braid_sql::offset_of;
use braid_types::{Error, Result, SqlState};

use crate::bind::Binder;
use crate::bind::domain::check_column;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::expr::subquery::bind_row_subquery;
use crate::bind::expr::subscript::{Part, assign_to_part, at_target, part_of, with_part};
use crate::bind::from::system_columns::is_system_column;
use crate::bind::refusals::{NotAssignable, WrongPart};
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::start_of;
use crate::bind::stored::{assign_to, default_of, refuse_generated};
use crate::tree::expr::Expr;

/// SET: places of columns and their values over a scope.
pub(crate) fn bind_assignments(
    binder: &mut Binder<'_>,
    assignments: &[Assignment],
    table: &Arc<Table>,
    scope: &Scope,
) -> Result<Vec<(usize, Expr)>> {
    let mut result: Vec<(usize, Expr)> = Vec::with_capacity(assignments.len());
    let mut in_parts: Vec<usize> = Vec::new();
    for assignment in assignments {
        for Assigned { place, value, part } in bind_assignment(binder, assignment, table, scope)? {
            let column = &table.columns[place];
            let known = result.iter().position(|(known, _)| *known == place);
            let Some(part) = part else {
                if known.is_some() {
                    return Err(assigned_twice(column));
                }
                result.push((place, value));
                continue;
            };
            // Several parts of one column are assigned one after another.
            let base = match known {
                Some(known) if in_parts.contains(&place) => result.remove(known).1,
                Some(_) => return Err(assigned_twice(column)),
                None => scope.columns.get(place).map_or_else(
                    || Err(Error::internal("an assignment without its column")),
                    |column| Ok(Expr::Column(column.slot, column.ty.clone())),
                )?,
            };
            in_parts.push(place);
            result.push((place, with_part(binder, base, part, value)?));
        }
    }
    // A domain checks the column after all of its parts have been assigned.
    let is_partial = |place: &usize| in_parts.contains(place);
    let checked = result.into_iter().map(|(place, value)| match is_partial(&place) {
        true => Ok((place, check_column(binder, value, &table.columns[place])?)),
        false => Ok((place, value)),
    });
    checked.collect()
}

/// 42601 for a second value of a column.
pub(super) fn assigned_twice(column: &Column) -> Error {
    let message = format!("multiple assignments to same column \"{}\"", column.name);
    Error::new(SqlState::SyntaxError, message)
}

/// One assignment: one value, or several of a row.
fn bind_assignment(
    binder: &mut Binder<'_>,
    assignment: &Assignment,
    table: &Arc<Table>,
    scope: &Scope,
) -> Result<Vec<Assigned>> {
    let scopes = Scopes { scope, parent: None };
    match (&assignment.target, &assignment.value) {
        (AssignmentTarget::Column(target), AssignmentValue::Expr(ast)) => {
            Ok(vec![assigned(binder, table, target, ast, scopes)?])
        }
        (AssignmentTarget::Columns(targets), AssignmentValue::Row(items)) => {
            let place = source_place(binder, targets);
            if let ([item], true) = (&items[..], is_parenthesis(binder, place)) {
                return Err(no_row(start_of(item)));
            }
            if targets.len() != items.len() {
                let message = "number of columns does not match number of values";
                return Err(Error::new(SqlState::SyntaxError, message).position(place));
            }
            let pairs = targets.iter().zip(items);
            pairs.map(|(target, ast)| assigned(binder, table, target, ast, scopes)).collect()
        }
        (AssignmentTarget::Columns(targets), AssignmentValue::Expr(Ast::Subquery(query))) => {
            let mut cx = ExprCx::plain(scopes, "UPDATE");
            let record = bind_row_subquery(binder, query, targets.len(), &mut cx);
            let record = record.map_err(|error| error.position(source_place(binder, targets)))?;
            let braid_types::SqlType::Record(fields) = record.ty() else {
                return Err(Error::internal("a row subquery that is no record"));
            };
            let mut result = Vec::with_capacity(targets.len());
            for (i, (target, (_, ty))) in targets.iter().zip(fields).enumerate() {
                let place = target_column(table, &target.name)?;
                let column = &table.columns[place];
                refuse_generated(column, true)?;
                let field = Expr::Field(Box::new(record.clone()), i, ty);
                result.push(assigned_value(binder, table, place, target, field, scopes)?);
            }
            Ok(result)
        }
        (AssignmentTarget::Columns(targets), AssignmentValue::Expr(ast)) if targets.len() == 1 => {
            Ok(vec![assigned(binder, table, &targets[0], ast, scopes)?])
        }
        (AssignmentTarget::Columns(targets), _) => Err(no_row(source_place(binder, targets))),
        (AssignmentTarget::Column(target), _) => Err(no_row(offset_of(target.name.span))),
    }
}

/// 0A000 for a source of several columns that is neither a row nor a query.
fn no_row(place: u32) -> Error {
    let message =
        "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
    Error::new(SqlState::FeatureNotSupported, message).position(place)
}

/// Where the source of several columns stands, behind `(a, b) =`.
fn source_place(binder: &Binder<'_>, targets: &[TargetColumn]) -> u32 {
    let last = targets.last().map_or(0, |target| offset_of(target.name.span));
    let text = binder.cx.text;
    match braid_sql::find_token(text, last, u32::MAX, &["="]) {
        0 => 0,
        sign => braid_sql::next_token(text, sign + 1),
    }
}

/// Whether the text has a parenthesis at this place, and not the word ROW.
fn is_parenthesis(binder: &Binder<'_>, place: u32) -> bool {
    place > 0 && binder.cx.text.chars().nth(place as usize - 1) == Some('(')
}

fn assigned(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    target: &TargetColumn,
    ast: &Ast,
    scopes: Scopes<'_>,
) -> Result<Assigned> {
    let place = target_column(table, &target.name)?;
    let column = &table.columns[place];
    if braid_sql::is_default(ast) {
        refuse_default_part(target)?;
        return Ok(Assigned { place, value: default_of(binder, column)?, part: None });
    }
    refuse_generated(column, true)?;
    let value = bind_expr(binder, ast, &mut ExprCx::plain(scopes, "UPDATE"))?;
    assigned_value(binder, table, place, target, value, scopes)
        .map_err(|error| at_start(error, ast))
}

fn assigned_value(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    place: usize,
    target: &TargetColumn,
    value: Expr,
    scopes: Scopes<'_>,
) -> Result<Assigned> {
    let column = &table.columns[place];
    if target.part.is_empty() {
        return Ok(Assigned { place, value: assign_to(binder, value, column)?, part: None });
    }
    let part = part_of(binder, column, target, &mut ExprCx::plain(scopes, "UPDATE"))?;
    let value = assign_to_part(binder, value, &part);
    let value = value.map_err(|error| at_target(error, target))?;
    Ok(Assigned { place, value, part: Some(part) })
}

/// What a column gets, or a part of it.
struct Assigned {
    /// The place of the column.
    place: usize,
    /// The value, cast.
    value: Expr,
    /// The part; `None` for the whole column.
    part: Option<Part>,
}

/// 0A000 for DEFAULT as a part of a column.
pub(crate) fn refuse_default_part(target: &TargetColumn) -> Result<()> {
    let message = match target.part.first() {
        None => return Ok(()),
        Some(AccessExpr::Dot(_)) => "cannot set a subfield to DEFAULT",
        Some(AccessExpr::Subscript(_)) => "cannot set an array element to DEFAULT",
    };
    Err(Error::new(SqlState::FeatureNotSupported, message).position(offset_of(target.name.span)))
}

/// Points at the beginning of an assigned value that is of a wrong type.
pub(crate) fn at_start(error: Error, ast: &Ast) -> Error {
    if_wrong_type(error, start_of(ast))
}

/// Gives the error of a value that is of a wrong type this place.
pub(crate) fn if_wrong_type(error: Error, place: u32) -> Error {
    let is_of_wrong_type =
        error.cause::<NotAssignable>().is_some() || error.cause::<WrongPart>().is_some();
    if is_of_wrong_type { error.position(place) } else { error }
}

fn target_column(table: &Table, ident: &Ident) -> Result<usize> {
    let name = braid_sql::fold(ident);
    table.column_by_name(&name).ok_or_else(|| {
        if is_system_column(&name) {
            let message = format!("cannot assign to system column \"{name}\"");
            return Error::new(SqlState::FeatureNotSupported, message)
                .position(offset_of(ident.span));
        }
        Error::new(
            SqlState::UndefinedColumn,
            format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
        )
        .position(offset_of(ident.span))
    })
}
