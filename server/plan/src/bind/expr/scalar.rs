//! Scalar expressions: one arm a syntactic form; functions and subqueries have files of their own.

use std::borrow::Cow;

use braid_sql::ast::{
    self, AccessExpr, BinaryOperator, CaseWhen, Expr as Ast, Ident, TrimWhereField, UnaryOperator,
};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::arguments::{bind_row_items, call_on, call_syntax_function, call_syntax_on};
use super::function::{bind_function, check_operator_schema, keyword_value, refuse_sets};
use super::literal::bind_value;
use super::modified::{bind_interval, cast_to, unify_at};
use super::operators::{
    call_operator, call_prefix_operator, call_resolved, check_equality, coerce, coerce_bool,
    compare_exprs, in_set, once, record, unify, without_blanks,
};
use super::subquery::{bind_quantified, bind_shared_subquery, is_row, row_subquery_compare};
use super::subscript::{bind_access, bind_array, bind_subscripts, cast_operand};
use crate::bind::from::privileges::check_guarded;
use crate::bind::from::range_table::{
    missing_column, missing_table, read_stored_column, table_name, table_row,
};
use crate::bind::from::system_columns::{
    note_system_column, refuse_own_row, source_named, system_column, system_column_of,
};
use crate::bind::routine::{computed_field, may_compute_field};
use crate::bind::scope::columns::ScopeColumn;
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::notes::Reference;
use crate::bind::scope::places::{bind_condition, placed, start_of, type_of_cast};
use crate::bind::scope::rows::whole_row;
use crate::bind::scope::variables::{refuse_ambiguous, variable};
use crate::bind::{Binder, literal_type_of, mark};
use crate::tree::expr::{CaseExpr, CompareOp, Expr};

/// Binds an expression; errors get the position of the innermost part that has one.
pub(crate) fn bind_expr(
    binder: &mut Binder<'_>,
    ast: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    binder.enter_expr()?;
    let result = bind_expr_form(binder, ast, cx);
    binder.leave_expr();
    if let Ok(e) = &result {
        binder.note_type(ast, || e.ty());
    }
    result.map_err(|error| placed(binder, error, ast))
}

fn bind_between(
    binder: &mut Binder<'_>,
    value: &Ast,
    (low, high): (&Ast, &Ast),
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut value = bind_expr(binder, value, cx)?;
    let low = bind_expr(binder, low, cx)?;
    let high = bind_expr(binder, high, cx)?;
    let from = compare_exprs(binder, CompareOp::Ge, value.clone(), low)?;
    // The first comparison may have given a parameter its type.
    if let Expr::Param(place, ty @ SqlType::Unknown) = &mut value {
        *ty = binder.params[*place].clone();
    }
    let to = compare_exprs(binder, CompareOp::Le, value, high)?;
    Ok(Expr::And(vec![from, to]))
}

fn bind_expr_form(binder: &mut Binder<'_>, ast: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
    match ast {
        Ast::Identifier(ident) => bind_identifier(binder, ast, ident, cx),
        Ast::CompoundIdentifier(parts) => bind_compound_identifier(binder, ast, parts, cx),
        Ast::Value(value) => bind_value(binder, value),
        Ast::Nested(inner) => bind_expr(binder, inner, cx),
        Ast::BinaryOp { left, op, right } => bind_binary_op(binder, left, op, right, cx),
        Ast::UnaryOp { op, expr } => bind_unary_op(binder, op, expr, cx),
        Ast::IsNull(e) => bind_is_null(binder, e, true, cx),
        Ast::IsNotNull(e) => bind_is_null(binder, e, false, cx),
        Ast::IsTrue(e) => bind_is_bool(binder, e, (Some(true), false), "IS TRUE", cx),
        Ast::IsNotTrue(e) => bind_is_bool(binder, e, (Some(true), true), "IS NOT TRUE", cx),
        Ast::IsFalse(e) => bind_is_bool(binder, e, (Some(false), false), "IS FALSE", cx),
        Ast::IsNotFalse(e) => bind_is_bool(binder, e, (Some(false), true), "IS NOT FALSE", cx),
        Ast::IsUnknown(e) => bind_is_bool(binder, e, (None, false), "IS UNKNOWN", cx),
        Ast::IsNotUnknown(e) => bind_is_bool(binder, e, (None, true), "IS NOT UNKNOWN", cx),
        Ast::IsDistinctFrom(a, b) => bind_is_distinct(binder, a, b, cx),
        Ast::IsNotDistinctFrom(a, b) => {
            Ok(Expr::Not(Box::new(bind_is_distinct(binder, a, b, cx)?)))
        }
        Ast::InList { expr, list, negated } => bind_in_list(binder, expr, list, *negated, cx),
        Ast::InSubquery { .. } | Ast::Exists { .. } | Ast::Subquery(_) => {
            bind_shared_subquery(binder, ast, cx)
        }
        Ast::Between { expr, negated, low, high } => {
            Ok(negate_if(*negated, bind_between(binder, expr, (low, high), cx)?))
        }
        Ast::Like { negated, expr, pattern, escape_char, any: false } => bind_like(
            binder,
            if *negated { "!~~" } else { "~~" },
            expr,
            pattern,
            escape_char.as_deref(),
            cx,
        ),
        Ast::ILike { negated, expr, pattern, escape_char, any: false } => bind_like(
            binder,
            if *negated { "!~~*" } else { "~~*" },
            expr,
            pattern,
            escape_char.as_deref(),
            cx,
        ),
        Ast::Like { negated, expr, pattern, escape_char: None, any: true } => {
            bind_quantified(binder, expr, &like_operator("~~", *negated), pattern, false, cx)
        }
        Ast::ILike { negated, expr, pattern, escape_char: None, any: true } => {
            bind_quantified(binder, expr, &like_operator("~~*", *negated), pattern, false, cx)
        }
        Ast::SimilarTo { negated, expr, pattern, escape_char } => {
            bind_similar(binder, *negated, expr, pattern, escape_char.as_deref(), cx)
        }
        Ast::AnyOp { left, compare_op, right, .. } => {
            bind_quantified(binder, left, compare_op, right, false, cx)
        }
        Ast::AllOp { left, compare_op, right } => {
            bind_quantified(binder, left, compare_op, right, true, cx)
        }
        Ast::Cast { expr, data_type, .. } => {
            let to = type_of_cast(binder, ast, data_type)?;
            let expr = cast_operand(binder, expr, &to, cx)?;
            cast_to(binder, expr, &to, data_type)
        }
        Ast::TypedString(typed) => {
            let to = literal_type_of(&typed.data_type, binder.cx.types())?;
            let expr = bind_value(binder, &typed.value)?;
            cast_to(binder, expr, &to, &typed.data_type)
        }
        Ast::Interval(interval) => bind_interval(binder, interval, cx),
        Ast::Case { operand, conditions, else_result, .. } => {
            let sets = cx.sets();
            let case =
                bind_case(binder, operand.as_deref(), conditions, else_result.as_deref(), cx)?;
            refuse_sets(binder, cx, sets, "CASE")?;
            Ok(case)
        }
        Ast::Function(function) => bind_function(binder, function, cx),
        Ast::QualifiedWildcard(name, _) => table_row(binder, (ast, name), cx),
        Ast::Tuple(items) => {
            let items: Vec<Cow<'_, Ast>> = items.iter().map(Cow::Borrowed).collect();
            bind_row(bind_row_items(binder, &items, cx)?)
        }
        Ast::Array(array) => bind_array(binder, &array.elem, cx),
        Ast::Collate { expr, collation } => mark(bind_expr(binder, expr, cx)?, binder, collation),
        Ast::CompoundFieldAccess { root, access_chain } => {
            bind_field_access(binder, root, access_chain, cx)
        }
        other => bind_keyword_function(binder, other, cx),
    }
}

/// Binds several.
pub(crate) fn bind_exprs<'q>(
    binder: &mut Binder<'_>,
    list: impl IntoIterator<Item = &'q Ast>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<Expr>> {
    list.into_iter().map(|ast| bind_expr(binder, ast, cx)).collect()
}

pub(crate) fn bind_row(items: Vec<Expr>) -> Result<Expr> {
    let fields = items.iter().enumerate().map(|(i, e)| (format!("f{}", i + 1), e.ty())).collect();
    record(items, fields)
}

fn bind_identifier(
    binder: &mut Binder<'_>,
    ast: &Ast,
    ident: &Ident,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let name = braid_sql::fold(ident);
    if braid_sql::is_default(ast) {
        let message = "DEFAULT is not allowed in this context";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let mut scopes = Some(&cx.scopes).filter(|_| !binder.is_stored);
    while let Some(level) = scopes {
        if let Some(column) = level.scope.find(&name)? {
            binder.places.note_column(column.slot, ident.span);
            binder.note_name(ast, Reference::Column(column.item));
            refuse_ambiguous(binder, &name)?;
            return read_column(binder, column);
        }
        if let Some(expr) = system_column(binder, ast, &name, (level.scope, cx.clause))? {
            return Ok(expr);
        }
        scopes = level.parent;
    }
    // A table's name alone is its whole row.
    let mut scopes = Some(&cx.scopes);
    while let Some(level) = scopes {
        if level.scope.has_table(None, &name)? {
            if let Some(column) = level.scope.columns.iter().find(|c| c.table == name) {
                binder.note_name(ast, Reference::Row(column.item.0));
            }
            refuse_own_row(cx.clause)?;
            return whole_row(binder, level.scope, (None, &name));
        }
        scopes = level.parent;
    }
    if ident.quote_style.is_none()
        && let Some(expr) = keyword_value(binder, &name)?
    {
        return Ok(expr);
    }
    let variable = variable(binder, std::slice::from_ref(&name));
    variable.unwrap_or_else(|| Err(missing_column(binder, None, &name)))
}

/// A column that the client named; 42501 if it may not read the target of its change.
pub(crate) fn read_column(binder: &Binder<'_>, column: &ScopeColumn) -> Result<Expr> {
    check_guarded(binder, column.slot)?;
    Ok(Expr::Column(column.slot, column.ty.clone()))
}

fn bind_compound_identifier(
    binder: &mut Binder<'_>,
    ast: &Ast,
    parts: &[Ident],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    if binder.is_stored {
        return read_stored_column(binder, parts, cx);
    }
    let names: Vec<String> = parts.iter().map(braid_sql::fold).collect();
    let Some((name, qualifier)) = names.split_last() else {
        return Err(Error::internal("a column reference without a name"));
    };
    let (schema, table) = table_name(binder, qualifier, Some(name))?;
    let mut scopes = Some(&cx.scopes);
    while let Some(level) = scopes {
        let found = level.scope.has_table(schema, table)?;
        if let Some(column) = level.scope.find_in(schema, table, name)? {
            binder.places.note_column(column.slot, parts[0].span);
            binder.note_name(ast, Reference::Column(column.item));
            return read_column(binder, column);
        }
        if let Some(expr) = system_column_of(binder, schema, table, name, (level.scope, cx.clause))?
        {
            if let Some(source) = source_named(schema, table, level.scope) {
                note_system_column(binder, ast, name, source);
            }
            return Ok(expr);
        }
        if found {
            if may_compute_field(binder, name) {
                let row = whole_row(binder, level.scope, (schema, table))?;
                if let Some(value) = computed_field(binder, &row, name, cx)? {
                    return Ok(value);
                }
            }
            return Err(missing_column(binder, Some(table), name));
        }
        scopes = level.parent;
    }
    let variable = variable(binder, &names);
    variable.unwrap_or_else(|| Err(missing_table(binder, schema, table, &cx.scopes)))
}

fn bind_binary_op(
    binder: &mut Binder<'_>,
    left: &Ast,
    op: &BinaryOperator,
    right: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        return bind_connective(binder, left, op, right, cx);
    }
    // A comparison with a subquery of several columns is one of rows.
    if let Some(compare) = CompareOp::from_symbol(&op_name(op))
        && let Ast::Subquery(query) = right
        && is_row(left)
        && let Expr::Row(left, _) = bind_expr(binder, left, cx)?
    {
        return row_subquery_compare(binder, compare, left, query, cx);
    }
    if let (BinaryOperator::Overlaps, Ast::Tuple(a), Ast::Tuple(b)) = (op, left, right)
        && a.len() == 2
        && b.len() == 2
    {
        return call_syntax_on(binder, "overlaps", &[&a[0], &a[1], &b[0], &b[1]], cx);
    }
    let left = bind_expr(binder, left, cx)?;
    let right = bind_expr(binder, right, cx)?;
    check_operator_schema(&binder.cx, op)?;
    call_operator(binder, &op_name(op), left, right)
}

/// AND and OR: long chains lean to the left, so they are walked instead of recursed into.
fn bind_connective(
    binder: &mut Binder<'_>,
    left: &Ast,
    op: &BinaryOperator,
    right: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let is_and = *op == BinaryOperator::And;
    let clause = if is_and { "AND" } else { "OR" };
    let mut operands = vec![right];
    let mut next = left;
    while let Ast::BinaryOp { left, op: inner, right } = next {
        if inner != op {
            break;
        }
        operands.push(right);
        next = left;
    }
    operands.push(next);
    let mut list = Vec::with_capacity(operands.len());
    for operand in operands.into_iter().rev() {
        let e = bind_condition(binder, operand, cx, clause)?;
        match e {
            Expr::And(inner) if is_and => list.extend(inner),
            Expr::Or(inner) if !is_and => list.extend(inner),
            e => list.push(e),
        }
    }
    Ok(if is_and { Expr::And(list) } else { Expr::Or(list) })
}

fn bind_unary_op(
    binder: &mut Binder<'_>,
    op: &UnaryOperator,
    operand: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    match op {
        UnaryOperator::Not => Ok(Expr::Not(Box::new(bind_condition(binder, operand, cx, "NOT")?))),
        UnaryOperator::Minus => {
            // -9223372036854775808 is one literal.
            if let Ast::Value(value) = operand
                && let ast::Value::Number(text, _) = &value.value
            {
                return super::literal::number(&format!("-{text}"));
            }
            let e = bind_expr(binder, operand, cx)?;
            call_prefix_operator(binder, "-", e)
        }
        UnaryOperator::Plus => {
            let e = bind_expr(binder, operand, cx)?;
            call_prefix_operator(binder, "+", e)
        }
        other => {
            let e = bind_expr(binder, operand, cx)?;
            call_prefix_operator(binder, &other.to_string(), e)
        }
    }
}

/// `IS NULL` (`wanted`) and `IS NOT NULL`. A record is asked for all its fields, so that the
/// two are not opposites of each other.
pub(crate) fn bind_is_null(
    binder: &mut Binder<'_>,
    e: &Ast,
    wanted: bool,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let test = |e: Expr| negate_if(!wanted, Expr::IsNull(Box::new(e)));
    Ok(match bind_expr(binder, e, cx)? {
        Expr::Row(items, _) => Expr::And(items.into_iter().map(test).collect()),
        e if matches!(e.ty(), SqlType::Record(_)) => Expr::IsNullRow(Box::new(e), wanted),
        e => test(e),
    })
}

fn bind_is_bool(
    binder: &mut Binder<'_>,
    e: &Ast,
    (wanted, negated): (Option<bool>, bool),
    what: &str,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let e = bind_condition(binder, e, cx, what)?;
    Ok(negate_if(negated, Expr::IsBool(Box::new(e), wanted)))
}

fn bind_is_distinct(
    binder: &mut Binder<'_>,
    a: &Ast,
    b: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let a = bind_expr(binder, a, cx)?;
    let b = bind_expr(binder, b, cx)?;
    distinct(binder, a, b)
}

/// `IS DISTINCT FROM`, of row constructors field by field.
fn distinct(binder: &mut Binder<'_>, a: Expr, b: Expr) -> Result<Expr> {
    let (a, b) = match (a, b) {
        (Expr::Row(left, SqlType::Record(x)), Expr::Row(right, SqlType::Record(y)))
            if x.name().is_none() && y.name().is_none() =>
        {
            return distinct_rows(binder, left, right);
        }
        others => others,
    };
    let unified = unify(binder, vec![a.clone(), b.clone()], "IS DISTINCT FROM");
    let (pair, common) = match unified {
        Ok(pair) => pair,
        // It is the negation of `=`, which does not exist.
        Err(error) => {
            return compare_exprs(binder, CompareOp::Eq, a, b).and_then(|_| Err(error));
        }
    };
    let has_equality = check_equality(&common).is_ok();
    let stripped = pair.into_iter().map(|e| without_blanks(binder, e));
    let mut pair = stripped.collect::<Result<Vec<_>>>()?;
    let b = pair.pop().unwrap_or_else(|| Expr::bool(true));
    let a = pair.pop().unwrap_or_else(|| Expr::bool(true));
    if has_equality {
        return Ok(Expr::IsDistinct(Box::new(a), Box::new(b)));
    }
    once(binder, a, |binder, a| once(binder, b, |binder, b| differ(binder, a, b)))
}

/// Whether some field is distinct; 42601 for rows of different lengths.
fn distinct_rows(binder: &mut Binder<'_>, left: Vec<Expr>, right: Vec<Expr>) -> Result<Expr> {
    if left.len() != right.len() {
        let message = "unequal number of entries in row expressions";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let fields = left.into_iter().zip(right).map(|(a, b)| distinct(binder, a, b));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(if fields.is_empty() { Expr::bool(false) } else { Expr::Or(fields) })
}

/// `IS DISTINCT FROM` of values that only their type's operator can compare.
fn differ(binder: &mut Binder<'_>, a: Expr, b: Expr) -> Result<Expr> {
    let equal = compare_exprs(binder, CompareOp::Eq, a.clone(), b.clone())?;
    let (left, right) = (Expr::IsNull(Box::new(a)), Expr::IsNull(Box::new(b)));
    let whens = vec![(left, Expr::Not(Box::new(right.clone()))), (right, Expr::bool(true))];
    let otherwise = Expr::Not(Box::new(equal));
    Ok(Expr::Case(Box::new(CaseExpr { whens, otherwise, ty: SqlType::Bool })))
}

pub(super) fn bind_in_list(
    binder: &mut Binder<'_>,
    expr: &Ast,
    list: &[Ast],
    negated: bool,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let value = bind_expr(binder, expr, cx)?;
    let items = bind_exprs(binder, list, cx)?;
    let rows = matches!(value, Expr::Row(..));
    let types: Vec<SqlType> =
        std::iter::once(value.ty()).chain(items.iter().map(Expr::ty)).collect();
    let common = if rows { None } else { super::common_type::common_type(&types, "IN").ok() };
    let result = match common {
        // Integers of all sizes compare as they are, and so do floats: an index on the value stays
        // of use.
        Some(_)
            if [SqlType::is_integer, SqlType::is_float].iter().any(|is| types.iter().all(is)) =>
        {
            in_set(value, items)
        }
        Some(common) if !matches!(common, SqlType::Char(_)) && check_equality(&common).is_ok() => {
            let value = coerce(binder, value, &common, CastContext::Implicit)?;
            let items = items
                .into_iter()
                .map(|item| coerce(binder, item, &common, CastContext::Implicit))
                .collect::<Result<Vec<_>>>()?;
            in_set(value, items)
        }
        _ => {
            let mut any = Vec::with_capacity(items.len());
            for item in items {
                any.push(compare_exprs(binder, CompareOp::Eq, value.clone(), item)?);
            }
            if any.len() == 1 { any.remove(0) } else { Expr::Or(any) }
        }
    };
    Ok(negate_if(negated, result))
}

fn bind_like(
    binder: &mut Binder<'_>,
    op: &str,
    expr: &Ast,
    pattern: &Ast,
    escape: Option<&Ast>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let value = bind_expr(binder, expr, cx)?;
    let mut pattern = bind_expr(binder, pattern, cx)?;
    if let Some(escape) = escape {
        let escape = bind_expr(binder, escape, cx)?;
        pattern = call_function(binder, "like_escape", vec![pattern, escape])?;
    }
    call_operator(binder, op, value, pattern)
}

fn bind_similar(
    binder: &mut Binder<'_>,
    negated: bool,
    expr: &Ast,
    pattern: &Ast,
    escape: Option<&Ast>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let value = bind_expr(binder, expr, cx)?;
    let mut args = vec![bind_expr(binder, pattern, cx)?];
    if let Some(escape) = escape {
        args.push(bind_expr(binder, escape, cx)?);
    }
    let pattern = call_syntax_function(binder, "similar_to_escape", args)?;
    call_operator(binder, if negated { "!~" } else { "~" }, value, pattern)
}

fn bind_case(
    binder: &mut Binder<'_>,
    operand: Option<&Ast>,
    conditions: &[CaseWhen],
    otherwise: Option<&Ast>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    match operand.map(|ast| bind_expr(binder, ast, cx)).transpose()? {
        Some(operand) => once(binder, operand, |binder, operand| {
            bind_branches(binder, Some(operand), conditions, otherwise, cx)
        }),
        None => bind_branches(binder, None, conditions, otherwise, cx),
    }
}

fn bind_branches(
    binder: &mut Binder<'_>,
    operand: Option<Expr>,
    conditions: &[CaseWhen],
    otherwise: Option<&Ast>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut whens = Vec::with_capacity(conditions.len());
    let mut results = Vec::with_capacity(conditions.len() + 1);
    for when in conditions {
        let condition = bind_expr(binder, &when.condition, cx)?;
        whens.push(match &operand {
            Some(operand) => compare_exprs(binder, CompareOp::Eq, operand.clone(), condition)
                .map_err(|error| error.position(when_place(binder, when)))?,
            None => coerce_bool(binder, condition, "CASE/WHEN")
                .map_err(|error| error.position(start_of(&when.condition)))?,
        });
        results.push(bind_expr(binder, &when.result, cx)?);
    }
    results.push(match otherwise {
        Some(ast) => bind_expr(binder, ast, cx)?,
        None => Expr::null(SqlType::Unknown),
    });
    // The ELSE decides first, as in PostgreSQL.
    results.rotate_right(1);
    let mut places = vec![otherwise.map_or(0, start_of)];
    places.extend(conditions.iter().map(|when| start_of(&when.result)));
    let (mut results, ty) = unify_at(binder, (results, &places), "CASE")?;
    let otherwise = results.remove(0);
    let whens = whens.into_iter().zip(results).collect();
    Ok(Expr::Case(Box::new(CaseExpr { whens, otherwise, ty })))
}

/// Where a branch of CASE begins.
fn when_place(binder: &Binder<'_>, when: &CaseWhen) -> u32 {
    braid_sql::last_token(binder.cx.text, start_of(&when.condition), "when")
}

fn bind_field_access(
    binder: &mut Binder<'_>,
    root: &Ast,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut names = Vec::new();
    let mut chain = chain;
    // `schema.table.column[1]` comes as a chain of names.
    let mut value = if let Ast::Identifier(first) = root {
        names.push(first.clone());
        while let [AccessExpr::Dot(Ast::Identifier(name)), rest @ ..] = chain {
            names.push(name.clone());
            chain = rest;
        }
        if names.len() == 1 {
            bind_expr(binder, root, cx)?
        } else {
            bind_compound_identifier(binder, root, &names, cx)?
        }
    } else {
        bind_expr(binder, root, cx)?
    };
    while let [access, rest @ ..] = chain {
        let is_subscript = |access: &&AccessExpr| matches!(access, AccessExpr::Subscript(_));
        let run = chain.iter().take_while(is_subscript).count();
        (value, chain) = match run {
            0 => (bind_access(binder, value, access, cx)?, rest),
            run => (bind_subscripts(binder, value, &chain[..run], cx)?, &chain[run..]),
        };
    }
    Ok(value)
}

/// The forms that are functions with a syntax of their own.
fn bind_keyword_function(
    binder: &mut Binder<'_>,
    ast: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    match ast {
        Ast::Extract { field, expr, .. } => {
            let field = field.to_string().trim_matches(['\'', '"']).to_lowercase();
            let value = bind_expr(binder, expr, cx)?;
            let field = Expr::Const(Datum::text(field), SqlType::Text);
            call_syntax_function(binder, "extract", vec![field, value])
        }
        Ast::AtTimeZone { timestamp, time_zone } => {
            let zone = bind_expr(binder, time_zone, cx)?;
            let value = bind_expr(binder, timestamp, cx)?;
            call_syntax_function(binder, "timezone", vec![zone, value])
        }
        Ast::Ceil { expr, .. } => call_on(binder, "ceil", &[expr], cx),
        Ast::Floor { expr, .. } => call_on(binder, "floor", &[expr], cx),
        Ast::Position { expr, r#in } => call_syntax_on(binder, "position", &[r#in, expr], cx),
        Ast::Substring { expr, substring_from, substring_for, special, .. } => {
            let mut args = vec![bind_expr(binder, expr, cx)?];
            match (substring_from, substring_for) {
                (None, Some(length)) => {
                    args.push(Expr::Const(Datum::Int(1), SqlType::Int4));
                    args.push(bind_expr(binder, length, cx)?);
                }
                (from, length) => {
                    for part in from.iter().chain(length) {
                        args.push(bind_expr(binder, part, cx)?);
                    }
                }
            }
            match special {
                true => call_function(binder, "substring", args),
                false => call_syntax_function(binder, "substring", args),
            }
        }
        Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
            let name = match trim_where {
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
                _ => "btrim",
            };
            let mut args = vec![bind_expr(binder, expr, cx)?];
            let what = trim_what.as_deref().into_iter();
            for part in what.chain(trim_characters.iter().flatten()) {
                args.push(bind_expr(binder, part, cx)?);
            }
            call_syntax_function(binder, name, args)
        }
        Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let mut parts: Vec<&Ast> = vec![expr, overlay_what, overlay_from];
            parts.extend(overlay_for.as_deref());
            call_syntax_on(binder, "overlay", &parts, cx)
        }
        Ast::RLike { negated, expr, pattern, .. } => {
            let value = bind_expr(binder, expr, cx)?;
            let pattern = bind_expr(binder, pattern, cx)?;
            call_operator(binder, if *negated { "!~" } else { "~" }, value, pattern)
        }
        other => Err(Error::unsupported(format!("the expression {other}"))),
    }
}

/// Calls a function by name.
pub(crate) fn call_function(binder: &mut Binder<'_>, name: &str, args: Vec<Expr>) -> Result<Expr> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let resolved = braid_builtins::resolve_function(name, &types)?;
    call_resolved(binder, resolved, args)
}

/// The operator's name as the registry knows it.
pub(crate) fn op_name(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        BinaryOperator::NotEq => "<>".to_owned(),
        other => other.to_string(),
    }
}

fn like_operator(op: &str, negated: bool) -> BinaryOperator {
    BinaryOperator::PGCustomBinaryOperator(vec![format!("{}{op}", if negated { "!" } else { "" })])
}

pub(crate) fn negate_if(negated: bool, e: Expr) -> Expr {
    if negated { Expr::Not(Box::new(e)) } else { e }
}
