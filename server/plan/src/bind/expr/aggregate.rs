//! Aggregate functions and `GROUPING`.

use std::borrow::Cow;

use braid_builtins::ResolvedAggregate;
use braid_sql::ast::{Expr as Ast, Function, OrderByExpr};
use braid_types::{Error, Result, SqlState, SqlType};

use super::arguments::{Arguments, bind_arguments};
use super::function::bind_sort_keys;
use super::operators::{coerce_argument, coerce_bool};
use super::scalar::bind_expr;
use crate::bind::Binder;
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::{
    AGGREGATES, ExprCx, GroupingCall, IN_AGGREGATE, OuterQuery, misplaced,
};
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{AggregateCall, SortKey};

/// How messages call `GROUPING`.
const GROUPINGS: &str = "grouping operations";

/// An aggregate call; `None` if there is no aggregate of that name.
pub(crate) fn aggregate_function(
    binder: &mut Binder<'_>,
    name: &str,
    function: &Function,
    arguments: &Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    if !braid_builtins::is_aggregate(name) {
        return Ok(None);
    }
    if cx.clause == IN_AGGREGATE {
        return Err(misplaced(AGGREGATES, cx.clause));
    }
    let Some(call) = bind_aggregate(binder, name, function, arguments, cx)? else {
        return Ok(None);
    };
    let slot = binder.slot();
    let returns = call.returns.clone();
    let mut parts: Vec<&Expr> = call.args.iter().chain(&call.filter).collect();
    parts.extend(call.order.iter().map(|key| &key.expr));
    if let Some(query) = binder.outer_query(&parts, &cx.scopes, AGGREGATES)? {
        query.take_aggregate(slot, call);
        return Ok(Some(Expr::Column(slot, returns)));
    }
    let clause = cx.clause;
    let Some(collector) = cx.collector.as_deref_mut().filter(|c| c.allow_aggregates) else {
        return Err(misplaced(AGGREGATES, clause));
    };
    let known = collector.aggregates.iter().find(|(_, known)| same_aggregate(known, &call));
    if let Some((slot, _)) = known {
        return Ok(Some(Expr::Column(*slot, returns)));
    }
    collector.aggregates.push((slot, call));
    Ok(Some(Expr::Column(slot, returns)))
}

/// The call with its arguments, which see the rows before grouping.
fn bind_aggregate(
    binder: &mut Binder<'_>,
    name: &str,
    function: &Function,
    arguments: &Arguments<'_>,
    cx: &ExprCx<'_, '_>,
) -> Result<Option<AggregateCall>> {
    let mut inner = ExprCx::plain(cx.scopes, IN_AGGREGATE);
    let mut args = bind_arguments(binder, &arguments.list, &mut inner)?;
    let mut order = bind_sort_keys(binder, &arguments.order, &mut inner)?;
    if !function.within_group.is_empty() {
        // An ordered-set aggregate takes the sorted expression behind its own arguments.
        let within: Vec<&OrderByExpr> = function.within_group.iter().collect();
        order = bind_sort_keys(binder, &within, &mut inner)?;
        args.extend(order.iter().map(|key| key.expr.clone()));
    }
    let filter = match &function.filter {
        Some(ast) => {
            let e = bind_expr(binder, ast, &mut ExprCx::plain(cx.scopes, "FILTER"))?;
            Some(coerce_bool(binder, e, "FILTER")?)
        }
        None => None,
    };
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let Some(resolved) = braid_builtins::resolve_aggregate(name, &types)? else {
        return Ok(None);
    };
    if arguments.star && name != "count" {
        return Err(Error::new(
            SqlState::WrongObjectType,
            format!("{name}(*) must be used to call a parameterless aggregate function"),
        ));
    }
    aggregate_call(binder, resolved, args, arguments.distinct, filter, order).map(Some)
}

pub(crate) fn aggregate_call(
    binder: &mut Binder<'_>,
    resolved: ResolvedAggregate,
    args: Vec<Expr>,
    distinct: bool,
    filter: Option<Expr>,
    order: Vec<SortKey>,
) -> Result<AggregateCall> {
    let args = args
        .into_iter()
        .zip(&resolved.arg_types)
        .map(|(arg, ty)| coerce_argument(binder, arg, ty))
        .collect::<Result<Vec<_>>>()?;
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    Ok(AggregateCall {
        aggregate: resolved.aggregate,
        args,
        types,
        returns: resolved.returns,
        distinct,
        filter,
        order,
    })
}

/// `GROUPING (…)`: a bit mask of the arguments that this row is not grouped by.
pub(crate) fn bind_grouping(
    binder: &mut Binder<'_>,
    list: &[Cow<'_, Ast>],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut inner = ExprCx::plain(cx.scopes, "GROUPING");
    let args = bind_arguments(binder, list, &mut inner)?;
    let slot = binder.slot();
    let parts: Vec<&Expr> = args.iter().collect();
    if let Some(query) = binder.outer_query(&parts, &cx.scopes, GROUPINGS)? {
        query.take_grouping(GroupingCall { slot, args });
        return Ok(Expr::Column(slot, SqlType::Int4));
    }
    let clause = cx.clause;
    let Some(collector) = cx.collector.as_deref_mut().filter(|c| c.allow_aggregates) else {
        return Err(misplaced(GROUPINGS, clause));
    };
    collector.groupings.push(GroupingCall { slot, args });
    Ok(Expr::Column(slot, SqlType::Int4))
}

fn same_aggregate(a: &AggregateCall, b: &AggregateCall) -> bool {
    std::ptr::eq(a.aggregate, b.aggregate)
        && a.distinct == b.distinct
        && a.types == b.types
        && a.order.is_empty()
        && b.order.is_empty()
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| a.same(b))
        && match (&a.filter, &b.filter) {
            (None, None) => true,
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        }
}

impl Binder<'_> {
    /// The query around this one to which an aggregate over these arguments belongs. `None`: it
    /// belongs to the query that it is written in. 42803 if that may not have `what`.
    pub(crate) fn outer_query(
        &mut self,
        args: &[&Expr],
        scopes: &Scopes<'_>,
        what: &str,
    ) -> Result<Option<&mut OuterQuery>> {
        let read: Vec<Slot> =
            args.iter().flat_map(|e| walk::columns_read(e)).map(|(slot, _)| slot).collect();
        let owns = |scope: &Scope| scope.columns.iter().any(|c| read.contains(&c.slot));
        if owns(scopes.scope) {
            return Ok(None);
        }
        let mut next = scopes.parent;
        while let Some(level) = next {
            if owns(level.scope) {
                let scope: *const Scope = level.scope;
                let known = self.outer_queries.iter_mut().rev().find(|q| q.scope == scope);
                let query =
                    known.ok_or_else(|| misplaced(what, "FROM clause of their own query level"))?;
                query.check(what)?;
                query.refuse_nested(&read)?;
                return Ok(Some(query));
            }
            next = level.parent;
        }
        Ok(None)
    }
}
