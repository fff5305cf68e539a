//! Subqueries inside expressions.
//!
//! They are bound with the enclosing scopes visible; which outer columns they really need is
//! found out when positions are laid out.

use std::sync::Arc;

use braid_sql::ast::{Expr as Ast, Query};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::Binder;
use super::context::{ExprCx, OuterQuery};
use super::expr::negate_if;
use super::query::BoundQuery;
use super::scope::Scope;
use crate::expr::{CompareOp, Expr, SubqueryExpr, SubqueryKind};

/// A subquery of the select being bound, so that GROUP BY, ORDER BY and the select list mean one
/// and the same when they are written alike.
pub struct SharedSubquery {
    scope: *const Scope,
    ast: Ast,
    expr: Expr,
}

/// What a clause that is kept in a descriptor is called where it has a subquery.
fn stored_clause(clause: &str) -> Option<&'static str> {
    match clause {
        "check constraints" => Some("check constraint"),
        "column generation expressions" => Some("column generation expression"),
        "index predicates" => Some("index predicate"),
        "index expressions" => Some("index expression"),
        "DEFAULT expressions" => Some("DEFAULT expression"),
        _ => None,
    }
}

impl Binder<'_> {
    fn subquery(&mut self, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<BoundQuery> {
        if let Some(place) = stored_clause(cx.clause) {
            return Err(Error::new(
                SqlState::FeatureNotSupported,
                format!("cannot use subquery in {place}"),
            ));
        }
        self.outer_queries.push(OuterQuery::of(cx));
        let bound = self.bind_query(query, Some(&cx.scopes));
        if let Some(query) = self.outer_queries.pop() {
            query.finish(cx);
        }
        bound
    }

    /// A subquery, `EXISTS` or `IN`. In a select list and the clauses around it the same syntax
    /// gives the same expression, unless it is volatile.
    pub(super) fn shared_subquery(&mut self, ast: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let scope: *const Scope = cx.scopes.scope;
        let known = self.shared_subqueries.iter().find(|s| s.scope == scope && s.ast == *ast);
        if let Some(known) = known {
            let known = known.expr.clone();
            if self.notes.is_some() {
                // Only for the notes.
                self.unshared_subquery(ast, cx)?;
            }
            return Ok(known);
        }
        let expr = self.unshared_subquery(ast, cx)?;
        let shared = cx.collector.is_some() || cx.clause == "GROUP BY";
        if shared && !expr.is_volatile_inside() {
            let (ast, expr) = (ast.clone(), expr.clone());
            self.shared_subqueries.push(SharedSubquery { scope, ast, expr });
        }
        Ok(expr)
    }

    fn unshared_subquery(&mut self, ast: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        Ok(match ast {
            Ast::InSubquery { expr, subquery, negated } => {
                negate_if(*negated, self.in_subquery(expr, subquery, cx)?)
            }
            Ast::Exists { subquery, negated } => negate_if(*negated, self.exists(subquery, cx)?),
            Ast::Subquery(query) => self.scalar_subquery(query, cx)?,
            other => return Err(Error::internal(format!("{other} is no subquery"))),
        })
    }

    fn subquery_expr(&mut self, query: BoundQuery, kind: SubqueryKind, ty: SqlType) -> Expr {
        let id = self.id();
        Expr::Subquery(Box::new(SubqueryExpr {
            kind,
            plan: Arc::new(query.node),
            outer: Vec::new(),
            ty,
            id,
        }))
    }

    fn scalar_subquery(&mut self, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let query = self.subquery(query, cx)?;
        if query.columns.len() != 1 {
            return Err(Error::new(SqlState::SyntaxError, "subquery must return only one column"));
        }
        let ty = query.columns[0].ty.clone();
        Ok(self.subquery_expr(query, SubqueryKind::Scalar, ty))
    }

    /// A subquery of several columns as one record (`SET (a, b) = (SELECT …)`).
    pub(super) fn row_subquery(
        &mut self,
        query: &Query,
        columns: usize,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let query = self.subquery(query, cx)?;
        if query.columns.len() != columns {
            return Err(Error::new(
                SqlState::SyntaxError,
                "number of columns does not match number of values",
            ));
        }
        let fields = query.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        Ok(self.subquery_expr(query, SubqueryKind::Row, SqlType::Record(fields)))
    }

    pub(super) fn array_subquery(
        &mut self,
        query: &Query,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let query = self.subquery(query, cx)?;
        if query.columns.len() != 1 {
            return Err(Error::new(SqlState::SyntaxError, "subquery must return only one column"));
        }
        let element = query.columns[0].ty.clone();
        let ty = element.clone().array();
        Ok(self.subquery_expr(query, SubqueryKind::Array(element), ty))
    }

    fn exists(&mut self, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let query = self.subquery(query, cx)?;
        Ok(self.subquery_expr(query, SubqueryKind::Exists, SqlType::Bool))
    }

    fn in_subquery(&mut self, left: &Ast, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let left = self.expr(left, cx)?;
        self.quantified_subquery(left, "=", false, query, cx)
    }

    pub(super) fn quantified_subquery(
        &mut self,
        left: Expr,
        op: &str,
        all: bool,
        query: &Query,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let query = self.subquery(query, cx)?;
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
                SqlType::Unknown => self.coerce(e, &column.ty, CastContext::Implicit)?,
                _ => e,
            });
        }
        let width = bound.len();
        let lefts: Vec<Expr> =
            bound.iter().enumerate().map(|(i, e)| Expr::Input(i, e.ty())).collect();
        let rights: Vec<Expr> = query
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| Expr::Input(width + i, c.ty.clone()))
            .collect();
        let compare = if width == 1 {
            match (lefts.into_iter().next(), rights.into_iter().next()) {
                (Some(a), Some(b)) => self.binary(op, a, b)?,
                _ => return Err(Error::internal("a comparison without sides")),
            }
        } else {
            let Some(compare) = CompareOp::from_symbol(op) else {
                return Err(Error::unsupported(format!("operator {op} on rows")));
            };
            let (a, b) = (self.row(lefts)?, self.row(rights)?);
            self.compare(compare, a, b)?
        };
        let compare = self.coerce_bool(compare, "ANY/ALL")?;
        let hashable = width == 1
            && !all
            && matches!(&compare, Expr::Compare(CompareOp::Eq, a, b)
                if matches!((&**a, &**b), (Expr::Input(0, _), Expr::Input(1, _))));
        let kind = SubqueryKind::Quantified { all, left: bound, compare, hashable };
        Ok(self.subquery_expr(query, kind, SqlType::Bool))
    }

    /// `(a, b) = (SELECT x, y …)`
    pub(super) fn row_subquery_compare(
        &mut self,
        op: CompareOp,
        left: Vec<Expr>,
        query: &Query,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let record = self.row_subquery(query, left.len(), cx)?;
        let SqlType::Record(fields) = record.ty() else {
            return Err(Error::internal("a row subquery that is no record"));
        };
        let right = fields
            .into_iter()
            .enumerate()
            .map(|(i, (_, ty))| Expr::Field(Box::new(record.clone()), i, ty))
            .collect();
        let (left, right) = (self.row(left)?, self.row(right)?);
        self.compare(op, left, right)
    }
}
