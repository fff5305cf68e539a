//! Subqueries inside expressions.
//!
//! They are bound with the enclosing scopes visible; which outer columns they really need is
//! found out when positions are laid out.

use std::sync::Arc;

use braid_sql::ast::{Expr as Ast, Query};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::operators::{call_operator, coerce, coerce_bool, compare_exprs};
use super::scalar::{bind_expr, bind_row, negate_if};
use crate::bind::Binder;
use crate::bind::query::ordered::{BoundQuery, bind_query};
use crate::bind::scope::columns::Scope;
use crate::bind::scope::context::{ExprCx, OuterQuery, SharedSubquery};
use crate::tree::expr::{CompareOp, Expr, SubqueryExpr, SubqueryKind};

/// What a clause that is kept in a descriptor is called where it has a subquery.
pub(crate) fn stored_clause(clause: &str) -> Option<&'static str> {
    match clause {
        "check constraints" => Some("check constraint"),
        "column generation expressions" => Some("column generation expression"),
        "index predicates" => Some("index predicate"),
        "index expressions" => Some("index expression"),
        "DEFAULT expressions" => Some("DEFAULT expression"),
        "trigger WHEN conditions" => Some("trigger WHEN condition"),
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
    let query = bind_subquery(binder, query, cx)?;
    if query.columns.len() != 1 {
        return Err(Error::new(SqlState::SyntaxError, "subquery must return only one column"));
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
        Expr::Row(items, _) => items,
        other => vec![other],
    };
    if query.columns.len() != left.len() {
        let message = if query.columns.len() > left.len() {
            "subquery has too many columns"
        } else {
            "subquery has too few columns"
        };
        return Err(Error::new(SqlState::SyntaxError, message));
    }
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

/// `(a, b) = (SELECT x, y …)`
pub(crate) fn row_subquery_compare(
    binder: &mut Binder<'_>,
    op: CompareOp,
    left: Vec<Expr>,
    query: &Query,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let record = bind_row_subquery(binder, query, left.len(), cx)?;
    let SqlType::Record(fields) = record.ty() else {
        return Err(Error::internal("a row subquery that is no record"));
    };
    let right = fields
        .into_iter()
        .enumerate()
        .map(|(i, (_, ty))| Expr::Field(Box::new(record.clone()), i, ty))
        .collect();
    let (left, right) = (bind_row(left)?, bind_row(right)?);
    compare_exprs(binder, op, left, right)
}
