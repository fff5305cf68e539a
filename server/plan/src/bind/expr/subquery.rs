//! Subqueries inside expressions.
//!
//! They are bound with the enclosing scopes visible; which outer columns they really need is
//! found out when positions are laid out.

use std::cmp::Ordering;
use std::sync::Arc;

use braid_sql::ast::{BinaryOperator, Expr as Ast, Query};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::operators::{call_operator, coerce, coerce_bool, compare_exprs, once};
use super::scalar::{bind_expr, bind_in_list, bind_row, negate_if, op_name};
use crate::bind::from::system_columns::with_keys;
use crate::bind::query::ordered::{BoundQuery, bind_query};
use crate::bind::scope::columns::Scope;
use crate::bind::scope::context::{ExprCx, IN_INDEX_FUNCTION, OuterQuery, SharedSubquery};
use crate::bind::scope::names::begins_with_star;
use crate::bind::{Binder, TypeNames, sql_type_of};
use crate::tree::expr::{CompareOp, Expr, QuantifiedExpr, SubqueryExpr, SubqueryKind};

/// What a clause that is kept in a descriptor is called where it has a subquery.
pub(crate) fn stored_clause(clause: &str) -> Option<&'static str> {
    match clause {
        "check constraints" => Some("check constraint"),
        "column generation expressions" => Some("column generation expression"),
        "index predicates" => Some("index predicate"),
        "index expressions" => Some("index expression"),
        "statistics expressions" => Some("statistics expression"),
        IN_INDEX_FUNCTION => Some("function of an index"),
        "DEFAULT expressions" => Some("DEFAULT expression"),
        "trigger WHEN conditions" => Some("trigger WHEN condition"),
        "COPY FROM WHERE conditions" => Some("COPY FROM WHERE condition"),
        _ => None,
    }
}

fn bind_subquery(
    binder: &mut Binder<'_>,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<BoundQuery> {
    if let Some(place) = stored_clause(cx.clause) {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("cannot use subquery in {place}"),
        ));
    }
    binder.outer_queries.push(OuterQuery::of(cx));
    let bound = bind_query(binder, query, Some(&cx.scopes));
    if let Some(query) = binder.outer_queries.pop() {
        query.finish(cx);
    }
    bound
}

/// A subquery, `EXISTS` or `IN`. In a select list and the clauses around it the same syntax
/// gives the same expression, unless it is volatile.
pub(crate) fn bind_shared_subquery(
    binder: &mut Binder<'_>,
    ast: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let scope: *const Scope = cx.scopes.scope;
    let known = binder.shared_subqueries.iter().find(|s| s.scope == scope && s.ast == *ast);
    if let Some(known) = known {
        let known = known.expr.clone();
        if binder.notes.is_some() {
            // Only for the notes.
            bind_unshared_subquery(binder, ast, cx)?;
        }
        return Ok(known);
    }
    let expr = bind_unshared_subquery(binder, ast, cx)?;
    let shared = cx.collector.is_some() || cx.clause == "GROUP BY";
    if shared && !expr.is_volatile_inside() {
        let (ast, expr) = (ast.clone(), expr.clone());
        binder.shared_subqueries.push(SharedSubquery { scope, ast, expr });
    }
    Ok(expr)
}

fn bind_unshared_subquery(
    binder: &mut Binder<'_>,
    ast: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    Ok(match ast {
        Ast::InSubquery { expr, subquery, negated } => {
            negate_if(*negated, bind_in_subquery(binder, expr, subquery, cx)?)
        }
        Ast::Exists { subquery, negated } => {
            negate_if(*negated, bind_exists(binder, subquery, cx)?)
        }
        Ast::Subquery(query) => bind_scalar_subquery(binder, query, cx)?,
        other => return Err(Error::internal(format!("{other} is no subquery"))),
    })
}

fn subquery_expr(
    binder: &mut Binder<'_>,
    query: BoundQuery,
    kind: SubqueryKind,
    ty: SqlType,
) -> Expr {
    let id = binder.id();
    Expr::Subquery(Box::new(SubqueryExpr {
        kind,
        plan: Arc::new(query.node),
        outer: Vec::new(),
        ty,
        id,
    }))
}

fn bind_scalar_subquery(
    binder: &mut Binder<'_>,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let syntax = query;
    let query = bind_subquery(binder, query, cx)?;
    if query.columns.len() != 1 {
        return Err(Error::new(SqlState::SyntaxError, "subquery must return only one column"));
    }
    if begins_with_star(&syntax.body) {
        binder.star_names.insert(syntax.to_string(), query.columns[0].name.clone());
    }
    let ty = query.columns[0].ty.clone();
    Ok(subquery_expr(binder, query, SubqueryKind::Scalar, ty))
}

/// A subquery of several columns as one record (`SET (a, b) = (SELECT …)`).
pub(crate) fn bind_row_subquery(
    binder: &mut Binder<'_>,
    query: &Query,
    columns: usize,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let query = bind_subquery(binder, query, cx)?;
    if query.columns.len() != columns {
        return Err(Error::new(
            SqlState::SyntaxError,
            "number of columns does not match number of values",
        ));
    }
    let fields = query.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
    Ok(subquery_expr(binder, query, SubqueryKind::Row, SqlType::Record(fields)))
}

pub(crate) fn bind_array_subquery(
    binder: &mut Binder<'_>,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let query = bind_subquery(binder, query, cx)?;
    if query.columns.len() != 1 {
        return Err(Error::new(SqlState::SyntaxError, "subquery must return only one column"));
    }
    let element = query.columns[0].ty.clone();
    let ty = element.clone().array();
    Ok(subquery_expr(binder, query, SubqueryKind::Array(element), ty))
}

fn bind_exists(binder: &mut Binder<'_>, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
    let query = bind_subquery(binder, query, cx)?;
    Ok(subquery_expr(binder, query, SubqueryKind::Exists, SqlType::Bool))
}

fn bind_in_subquery(
    binder: &mut Binder<'_>,
    left: &Ast,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let left = bind_expr(binder, left, cx)?;
    bind_quantified_subquery(binder, left, "=", false, query, cx)
}

pub(crate) fn bind_quantified_subquery(
    binder: &mut Binder<'_>,
    left: Expr,
    op: &str,
    all: bool,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let query = bind_subquery(binder, query, cx)?;
    let left = match left {
        // The whole row of a table is one value.
        Expr::Row(items, SqlType::Record(row)) if row.name().is_none() => items,
        other => vec![other],
    };
    check_columns(&query, left.len())?;
    let mut bound = Vec::with_capacity(left.len());
    for (e, column) in left.into_iter().zip(&query.columns) {
        bound.push(match e.ty() {
            SqlType::Unknown => coerce(binder, e, &column.ty, CastContext::Implicit)?,
            _ => e,
        });
    }
    let width = bound.len();
    let lefts: Vec<Expr> = bound.iter().enumerate().map(|(i, e)| Expr::Input(i, e.ty())).collect();
    let rights: Vec<Expr> = query
        .columns
        .iter()
        .enumerate()
        .map(|(i, c)| Expr::Input(width + i, c.ty.clone()))
        .collect();
    let compare = if width == 1 {
        match (lefts.into_iter().next(), rights.into_iter().next()) {
            (Some(a), Some(b)) => call_operator(binder, op, a, b)?,
            _ => return Err(Error::internal("a comparison without sides")),
        }
    } else {
        let Some(compare) = CompareOp::from_symbol(op) else {
            return Err(Error::unsupported(format!("operator {op} on rows")));
        };
        let (a, b) = (bind_row(lefts)?, bind_row(rights)?);
        compare_exprs(binder, compare, a, b)?
    };
    let compare = coerce_bool(binder, compare, "ANY/ALL")?;
    let hashable = width == 1
        && !all
        && matches!(&compare, Expr::Compare(CompareOp::Eq, a, b)
            if matches!((&**a, &**b), (Expr::Input(0, _), Expr::Input(1, _))));
    let kind = SubqueryKind::Quantified { all, left: bound, compare, hashable };
    Ok(subquery_expr(binder, query, kind, SqlType::Bool))
}

/// 42601 unless a subquery has as many columns as it is compared with.
fn check_columns(query: &BoundQuery, wanted: usize) -> Result<()> {
    let message = match query.columns.len().cmp(&wanted) {
        Ordering::Greater => "subquery has too many columns",
        Ordering::Less => "subquery has too few columns",
        Ordering::Equal => return Ok(()),
    };
    Err(Error::new(SqlState::SyntaxError, message))
}

/// `(a, b) = (SELECT x, y …)`
pub(crate) fn row_subquery_compare(
    binder: &mut Binder<'_>,
    op: CompareOp,
    left: Vec<Expr>,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let query = bind_subquery(binder, query, cx)?;
    check_columns(&query, left.len())?;
    let fields: Vec<_> = query.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
    let record =
        subquery_expr(binder, query, SubqueryKind::Row, SqlType::Record(fields.clone().into()));
    let left = bind_row(left)?;
    let compare = |binder: &mut Binder<'_>, record: Expr| {
        let right = fields.into_iter().enumerate();
        let right = right.map(|(i, (_, ty))| Expr::Field(Box::new(record.clone()), i, ty));
        let right = bind_row(right.collect())?;
        compare_exprs(binder, op, left, right)
    };
    // An equality is one of each column, by which an index may be read.
    match op {
        CompareOp::Eq => compare(binder, record),
        _ => once(binder, record, compare),
    }
}

/// Whether a record is written out: `(a, b)` or `ROW (a, b)`.
pub(super) fn is_row(ast: &Ast) -> bool {
    match ast {
        Ast::Tuple(_) => true,
        Ast::Function(function) => match &function.name.0[..] {
            [name] => name.as_ident().is_some_and(|name| {
                name.quote_style.is_none() && name.value.eq_ignore_ascii_case("row")
            }),
            _ => false,
        },
        _ => false,
    }
}

/// The type of the elements of a literal without a type: what the operator takes on its right.
fn element_for(left: &SqlType, op: &str) -> SqlType {
    if *left == SqlType::Unknown {
        return SqlType::Text;
    }
    let found = match CompareOp::from_symbol(op) {
        Some(_) => None,
        None => braid_builtins::resolve_operator(op, Some(left), &SqlType::Unknown).ok(),
    };
    let wanted = found.and_then(|found| found.arg_types.get(1).cloned());
    wanted.unwrap_or_else(|| left.bare())
}

/// `x op ANY (…)` or `ALL`, of a subquery or an array.
pub(super) fn bind_quantified(
    binder: &mut Binder<'_>,
    left: &Ast,
    op: &BinaryOperator,
    right: &Ast,
    all: bool,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut right = right;
    while let Ast::Nested(inner) = right {
        right = inner;
    }
    if let Ast::Subquery(query) = right {
        let left = bind_expr(binder, left, cx)?;
        return bind_quantified_subquery(binder, left, &op_name(op), all, query, cx);
    }
    // A view has its IN lists in this form.
    if let (true, Ast::Array(array)) = (binder.is_stored, plain_array(right, binder.cx.types()))
        && matches!((op_name(op).as_str(), all), ("=", false) | ("<>", true))
    {
        return bind_in_list(binder, left, &array.elem, all, cx);
    }
    let left = bind_expr(binder, left, cx)?;
    let mut array = bind_expr(binder, right, cx)?;
    if array.ty() == SqlType::Unknown {
        let element = element_for(&left.ty(), &op_name(op));
        array = coerce(binder, array, &SqlType::Array(Box::new(element)), CastContext::Implicit)?;
    }
    let Some(element) = array.ty().element().cloned() else {
        return Err(Error::new(
            SqlState::WrongObjectType,
            "op ANY/ALL (array) requires array on right side",
        ));
    };
    let left = match left.ty() {
        SqlType::Unknown => coerce(binder, left, &element, CastContext::Implicit)?,
        _ => left,
    };
    let compare =
        call_operator(binder, &op_name(op), Expr::Input(0, left.ty()), Expr::Input(1, element))?;
    if compare.ty() != SqlType::Bool {
        let message = "op ANY/ALL (array) requires operator to yield boolean";
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    with_keys(binder, QuantifiedExpr { all, left, array, compare })
}

/// An array constructor without a cast around it.
fn plain_array<'a>(ast: &'a Ast, names: TypeNames<'_>) -> &'a Ast {
    match ast {
        Ast::Nested(inner) => plain_array(inner, names),
        Ast::Cast { expr, data_type, .. }
            if sql_type_of(data_type, names).is_ok_and(|ty| ty.is_array()) =>
        {
            plain_array(expr, names)
        }
        other => other,
    }
}
