//! Where errors point: at literals, columns, operators, and the beginnings of expressions.
//!
//! The syntax tree has the places of names and values; an operator's is looked for in the text. An
//! error gets a place only if PostgreSQL would find it while it analyses the statement: what fails
//! when it is computed has none.

use braid_sql::ast::{BinaryOperator, CastKind, DataType, Expr as Ast, UnaryOperator};
use braid_sql::{find_token, last_token, next_token, offset_of};
use braid_types::{Error, Result, SqlType};

use super::context::ExprCx;
use super::text_places::end_of;
pub(crate) use super::text_places::{ColumnPlaces, first_part, start_of};
use crate::bind::expr::operators::coerce_bool;
use crate::bind::expr::scalar::{bind_expr, op_name};
use crate::bind::{Binder, sql_type_of};
use crate::tree::expr::Expr;

/// Binds an expression that the catalog keeps: its places are not those of the client's text.
pub(crate) fn without_places<T>(
    binder: &mut Binder<'_>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    binder.places.stored += 1;
    let result = bind(binder);
    binder.places.stored -= 1;
    result.map_err(Error::without_position)
}

/// Binds a condition; 42804 at its beginning if it is not boolean.
pub(crate) fn bind_condition(
    binder: &mut Binder<'_>,
    ast: &Ast,
    cx: &mut ExprCx<'_, '_>,
    clause: &str,
) -> Result<Expr> {
    let e = bind_expr(binder, ast, cx)?;
    coerce_bool(binder, e, clause).map_err(|error| error.position(start_of(ast)))
}

/// Gives an error of an expression the place of its operator or name.
pub(crate) fn placed(binder: &Binder<'_>, error: Error, ast: &Ast) -> Error {
    let code = error.state().code();
    let is_found_early = ["42", "0A", "3F"].iter().any(|class| code.starts_with(class));
    if error.fields().position.is_some() || !is_found_early || binder.places.stored > 0 {
        return error;
    }
    error.position(error_place(binder, ast))
}

fn error_place(binder: &Binder<'_>, ast: &Ast) -> u32 {
    match ast {
        Ast::Identifier(ident) => offset_of(ident.span),
        Ast::CompoundIdentifier(parts) => parts.first().map_or(0, |part| offset_of(part.span)),
        Ast::Value(value) => offset_of(value.span),
        Ast::QualifiedWildcard(name, _) => first_part(name),
        Ast::Function(function) => first_part(&function.name),
        Ast::BinaryOp { left, op, right } => operator_place(binder, left, op, right),
        Ast::UnaryOp { op, expr } => sign_place(binder, *op, expr),
        Ast::Cast { expr, kind: CastKind::DoubleColon, .. } => {
            find_token(binder.cx.text, end_of(expr), u32::MAX, &["::"])
        }
        Ast::InList { expr, .. } | Ast::InSubquery { expr, .. } => {
            keyword_place(binder, expr, &["in", "not"])
        }
        Ast::Between { expr, .. } => keyword_place(binder, expr, &["between", "not"]),
        Ast::Like { expr, .. } => keyword_place(binder, expr, &["like", "not", "~~", "!~~"]),
        Ast::ILike { expr, .. } => keyword_place(binder, expr, &["ilike", "not", "~~", "!~~"]),
        Ast::SimilarTo { expr, .. } => keyword_place(binder, expr, &["similar", "not"]),
        Ast::Collate { expr, .. } => keyword_place(binder, expr, &["collate"]),
        Ast::AtTimeZone { timestamp, .. } => keyword_place(binder, timestamp, &["at"]),
        Ast::IsDistinctFrom(left, _) | Ast::IsNotDistinctFrom(left, _) => {
            keyword_place(binder, left, &["is"])
        }
        Ast::AnyOp { left, compare_op, right, .. } | Ast::AllOp { left, compare_op, right } => {
            operator_place(binder, left, compare_op, right)
        }
        // PostgreSQL points at the parenthesis before the query.
        Ast::Subquery(_) => {
            let before = binder.cx.text.chars().take(start_of(ast) as usize).collect::<Vec<_>>();
            before.iter().rposition(|c| *c == '(').map_or(0, |at| at as u32 + 1)
        }
        Ast::Nested(_) => 0,
        other => written_start(binder, other),
    }
}

/// The type that is cast to; its faults point at it.
pub(crate) fn type_of_cast(
    binder: &Binder<'_>,
    cast: &Ast,
    data_type: &DataType,
) -> Result<SqlType> {
    let found = sql_type_of(data_type, binder.cx.types());
    found.map_err(|error| error.position(type_place(binder, cast)))
}

/// Where the type of a cast stands; the number of a `float`.
fn type_place(binder: &Binder<'_>, cast: &Ast) -> u32 {
    let Ast::Cast { expr, kind, data_type, .. } = cast else { return 0 };
    let text = binder.cx.text;
    let sign = if *kind == CastKind::DoubleColon { "::" } else { "as" };
    let before = match end_of(expr) {
        0 => 0,
        after => find_token(text, after, u32::MAX, &[sign]),
    };
    if before == 0 || binder.places.stored > 0 {
        return 0;
    }
    let start = next_token(text, before + 2);
    match data_type {
        DataType::Float(_) => next_token(text, next_token(text, start + 1) + 1),
        _ => start,
    }
}

/// Where a form begins that starts with a keyword, whose place the syntax tree does not have.
fn written_start(binder: &Binder<'_>, ast: &Ast) -> u32 {
    let (word, inner) = match ast {
        Ast::Cast { expr, kind: CastKind::Cast, .. } => ("cast", expr),
        Ast::Extract { expr, .. } => ("extract", expr),
        Ast::Position { expr, .. } => ("position", expr),
        Ast::Substring { expr, .. } => ("substring", expr),
        Ast::Trim { expr, .. } => ("trim", expr),
        Ast::Overlay { expr, .. } => ("overlay", expr),
        Ast::Ceil { expr, .. } => ("ceil", expr),
        Ast::Floor { expr, .. } => ("floor", expr),
        Ast::Exists { .. } => return last_token(binder.cx.text, start_of(ast), "exists"),
        other => return start_of(other),
    };
    last_token(binder.cx.text, written_start(binder, inner), word)
}

fn operator_place(binder: &Binder<'_>, left: &Ast, op: &BinaryOperator, right: &Ast) -> u32 {
    let name = op_name(op);
    // `!=` is written for `<>` as well.
    let is_qualified =
        matches!(op, BinaryOperator::PGCustomBinaryOperator(parts) if parts.len() > 1);
    let written: &[&str] = match name.as_str() {
        _ if is_qualified => &["operator"],
        "<>" => &["<>", "!="],
        name => &[name],
    };
    let before = match start_of(right) {
        0 => u32::MAX,
        start => start,
    };
    match end_of(left) {
        0 => 0,
        after => find_token(binder.cx.text, after, before, written),
    }
}

fn keyword_place(binder: &Binder<'_>, left: &Ast, words: &[&str]) -> u32 {
    match end_of(left) {
        0 => 0,
        after => find_token(binder.cx.text, after, u32::MAX, words),
    }
}

/// A prefix operator stands before its operand: the last one there.
fn sign_place(binder: &Binder<'_>, op: UnaryOperator, operand: &Ast) -> u32 {
    let start = start_of(operand) as usize;
    let symbol = op.to_string();
    let before: String =
        binder.cx.text.chars().take(start.saturating_sub(1)).collect::<String>().to_lowercase();
    let found = before.rfind(&symbol.to_lowercase());
    found.map_or(0, |at| before[..at].chars().count() as u32 + 1)
}
