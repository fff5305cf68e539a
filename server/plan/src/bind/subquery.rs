//! Subqueries inside expressions.
//!
//! They are bound with the enclosing scopes visible; which outer columns they really need is
//! found out when positions are laid out.

use std::sync::Arc;

use braid_sql::ast::{Expr as Ast, Query};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::Binder;
use super::expr::ExprCx;
use super::query::BoundQuery;
use crate::expr::{CompareOp, Expr, SubqueryExpr, SubqueryKind};

impl Binder<'_> {
    fn subquery(&mut self, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<BoundQuery> {
        self.bind_query(query, Some(&cx.scopes))
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

    pub(super) fn scalar_subquery(
        &mut self,
        query: &Query,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
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
        let ty = SqlType::Array(Box::new(element.clone()));
        Ok(self.subquery_expr(query, SubqueryKind::Array(element), ty))
    }

    pub(super) fn exists(&mut self, query: &Query, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let query = self.subquery(query, cx)?;
        Ok(self.subquery_expr(query, SubqueryKind::Exists, SqlType::Bool))
    }

    pub(super) fn in_subquery(
        &mut self,
        left: &Ast,
        query: &Query,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
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
