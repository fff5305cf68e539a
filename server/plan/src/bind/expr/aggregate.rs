//! Aggregate functions and `GROUPING`.

use std::borrow::Cow;

use braid_builtins::ResolvedAggregate;
use braid_sql::ast::{Expr as Ast, Function, OrderByExpr};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::arguments::{Arguments, bind_arguments};
use super::function::bind_sort_keys;
use super::operators::{check_equality, coerce_argument, compare_exprs, unify};
use crate::aggregate::AggregateKind;
use crate::bind::Binder;
use crate::bind::routine::{find_aggregate, name_parts, names_function, undefined};
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::{
    AGGREGATES, ExprCx, GroupingCall, IN_AGGREGATE, OuterQuery, misplaced,
};
use crate::bind::scope::places::{bind_condition, start_of};
use crate::rules::walk;
use crate::tree::expr::{CaseExpr, CompareOp, Expr, Slot};
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
    let is_hypothetical =
        !function.within_group.is_empty() && braid_builtins::hypothetical(name).is_some();
    if !braid_builtins::is_aggregate(name) && !is_hypothetical {
        return Ok(None);
    }
    if cx.clause == IN_AGGREGATE {
        return Err(misplaced(AGGREGATES, cx.clause));
    }
    let Some((call, direct)) = bind_aggregate(binder, name, function, arguments, cx)? else {
        return Ok(None);
    };
    collect(binder, call, direct, cx).map(Some)
}

/// A call of an aggregate of a user; `None` if the name means none for these arguments.
pub(crate) fn user_aggregate(
    binder: &mut Binder<'_>,
    function: &Function,
    arguments: &Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    let mut inner = ExprCx::plain(cx.scopes, IN_AGGREGATE);
    let args = match bind_arguments(binder, &arguments.list, &mut inner) {
        Ok(args) => args,
        // A function of that name may take them.
        Err(_) if names_function(binder, &function.name) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(found) = find_aggregate(binder, &function.name, arguments, &args)? else {
        return Ok(None);
    };
    if cx.clause == IN_AGGREGATE {
        return Err(misplaced(AGGREGATES, cx.clause));
    }
    if !function.within_group.is_empty() {
        // It would have to take what is sorted as an argument.
        let within: Vec<&OrderByExpr> = function.within_group.iter().collect();
        let keys = bind_sort_keys(binder, &within, &mut inner)?;
        let sorted = keys.iter().map(|key| key.expr.ty());
        let types: Vec<SqlType> = args.iter().map(Expr::ty).chain(sorted).collect();
        return Err(undefined(&name_parts(&function.name).join("."), &types, false));
    }
    let order = bind_sort_keys(binder, &arguments.order, &mut inner)?;
    check_distinct(arguments, &args, &order)?;
    let filter = bind_filter(binder, function, cx)?;
    let call = AggregateCall {
        aggregate: found.kind,
        types: found.args.iter().map(Expr::ty).collect(),
        args: found.args,
        returns: found.returns,
        distinct: arguments.distinct,
        filter,
        order,
    };
    collect(binder, call, Vec::new(), cx).map(Some)
}

/// Gives a call to the query that it belongs to. The result is a column of its groups.
fn collect(
    binder: &mut Binder<'_>,
    call: AggregateCall,
    direct: Vec<Expr>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let slot = binder.slot();
    let returns = call.returns.clone();
    let mut parts: Vec<&Expr> = call.args.iter().chain(&call.filter).collect();
    parts.extend(call.order.iter().map(|key| &key.expr));
    if let Some(query) = binder.outer_query(&parts, &cx.scopes, AGGREGATES)? {
        query.take_aggregate(slot, call);
        return Ok(Expr::Column(slot, returns));
    }
    let clause = cx.clause;
    let Some(collector) = cx.collector.as_deref_mut().filter(|c| c.allow_aggregates) else {
        return Err(misplaced(AGGREGATES, clause));
    };
    collector.direct_args.extend(direct);
    let known = collector.aggregates.iter().find(|(_, known)| same_aggregate(known, &call));
    if let Some((slot, _)) = known {
        return Ok(Expr::Column(*slot, returns));
    }
    collector.aggregates.push((slot, call));
    Ok(Expr::Column(slot, returns))
}

/// 42809 for an aggregate without arguments that is called without `*`.
pub(super) fn check_star(name: &str, arguments: &Arguments<'_>) -> Result<()> {
    if arguments.star || !arguments.list.is_empty() {
        return Ok(());
    }
    let message = format!("{name}(*) must be used to call a parameterless aggregate function");
    Err(Error::new(SqlState::WrongObjectType, message))
}

/// 42601 for what the arguments of an aggregate with WITHIN GROUP cannot have.
fn check_only_within(arguments: &Arguments<'_>) -> Result<()> {
    let message = match (arguments.distinct, arguments.order.is_empty()) {
        (_, false) => "cannot use multiple ORDER BY clauses with WITHIN GROUP",
        (true, _) => "cannot use DISTINCT with WITHIN GROUP",
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::SyntaxError, message))
}

/// 42809 for WITHIN GROUP where an aggregate has none, or none where it needs one.
fn check_within_group(name: &str, function: &Function) -> Result<()> {
    let message = match (function.within_group.is_empty(), braid_builtins::is_ordered_set(name)) {
        (true, true) => format!("WITHIN GROUP is required for ordered-set aggregate {name}"),
        (false, false) => {
            format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP")
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::WrongObjectType, message))
}

/// The call with its arguments, which see the rows before grouping, and the direct arguments of an
/// ordered-set aggregate.
fn bind_aggregate(
    binder: &mut Binder<'_>,
    name: &str,
    function: &Function,
    arguments: &Arguments<'_>,
    cx: &ExprCx<'_, '_>,
) -> Result<Option<(AggregateCall, Vec<Expr>)>> {
    let mut inner = ExprCx::plain(cx.scopes, IN_AGGREGATE);
    if !function.within_group.is_empty() {
        check_only_within(arguments)?;
    }
    let mut args = bind_arguments(binder, &arguments.list, &mut inner)?;
    let mut order = bind_sort_keys(binder, &arguments.order, &mut inner)?;
    let direct = match function.within_group.is_empty() {
        true => Vec::new(),
        false => args.clone(),
    };
    if !function.within_group.is_empty() {
        // An ordered-set aggregate takes the sorted expression behind its own arguments.
        let within: Vec<&OrderByExpr> = function.within_group.iter().collect();
        order = bind_sort_keys(binder, &within, &mut inner)?;
        if let Some((aggregate, returns)) = braid_builtins::hypothetical(name) {
            let filter = bind_filter(binder, function, cx)?;
            let call = hypothetical_call(binder, (aggregate, returns), args, order)?;
            return Ok(Some((AggregateCall { filter, ..call }, direct)));
        }
        args.extend(order.iter().map(|key| key.expr.clone()));
    }
    check_distinct(arguments, &args, &order)?;
    let filter = bind_filter(binder, function, cx)?;
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
    check_within_group(name, function)?;
    if function.within_group.is_empty() {
        check_star(name, arguments)?;
    }
    let call = aggregate_call(binder, resolved, args, arguments.distinct, filter, order)?;
    Ok(Some((call, direct)))
}

/// 42P10 for DISTINCT with a sort key that is no argument.
fn check_distinct(arguments: &Arguments<'_>, args: &[Expr], order: &[SortKey]) -> Result<()> {
    if !arguments.distinct {
        return Ok(());
    }
    for (arg, ast) in args.iter().zip(&arguments.list) {
        check_equality(&arg.ty()).map_err(|error| error.position(start_of(ast)))?;
    }
    // Two subqueries that are written alike are the same.
    let is_arg = |(key, written): (&SortKey, &&OrderByExpr)| {
        args.iter().any(|arg| arg.alike(&key.expr))
            || arguments.list.iter().any(|arg| **arg == written.expr)
    };
    let Some(place) = order.iter().zip(&arguments.order).position(|key| !is_arg(key)) else {
        return Ok(());
    };
    let message =
        "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
    let error = Error::new(SqlState::InvalidColumnReference, message);
    let at = arguments.order.get(place).map_or(0, |key| start_of(&key.expr));
    Err(error.position(at))
}

fn bind_filter(
    binder: &mut Binder<'_>,
    function: &Function,
    cx: &ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    let Some(ast) = &function.filter else { return Ok(None) };
    bind_condition(binder, ast, &mut ExprCx::plain(cx.scopes, "FILTER"), "FILTER").map(Some)
}

/// A call of a hypothetical-set aggregate: it is told of each row whether that is before the
/// hypothetical one (-1), its peer (0) or after it (1).
fn hypothetical_call(
    binder: &mut Binder<'_>,
    (aggregate, returns): (&'static braid_builtins::Aggregate, SqlType),
    values: Vec<Expr>,
    mut keys: Vec<SortKey>,
) -> Result<AggregateCall> {
    let name = aggregate.name;
    if values.len() != keys.len() {
        let mut shown: Vec<String> = values.iter().map(|e| e.ty().bare().display_name()).collect();
        shown.extend(keys.iter().map(|key| key.expr.ty().bare().display_name()));
        let message = format!("function {name}({}) does not exist", shown.join(", "));
        return Err(Error::new(SqlState::UndefinedFunction, message).hint(format!(
            "To use the hypothetical-set aggregate {name}, the number of hypothetical direct \
             arguments (here {}) must match the number of ordering columns (here {}).",
            values.len(),
            keys.len()
        )));
    }
    let mut place = int4(0);
    for (value, key) in values.into_iter().zip(&mut keys).rev() {
        let sorted = std::mem::replace(&mut key.expr, Expr::bool(true));
        let (pair, _) = unify(binder, vec![sorted, value], "WITHIN GROUP")?;
        let [sorted, value] = &pair[..] else { return Err(Error::broken("a pair of two")) };
        key.expr = sorted.clone();
        place = place_beside(binder, sorted, value, key, place)?;
    }
    let ordered = name == "dense_rank";
    let mut args = vec![place];
    args.extend(keys.iter().filter(|_| ordered).map(|key| key.expr.clone()));
    let types = args.iter().map(Expr::ty).collect();
    let order = if ordered { keys } else { Vec::new() };
    let aggregate = AggregateKind::BuiltIn(aggregate);
    Ok(AggregateCall { aggregate, args, types, returns, distinct: false, filter: None, order })
}

/// -1, 1, or `peers` where both are equal: where a value is sorted, seen from another one.
fn place_beside(
    binder: &mut Binder<'_>,
    sorted: &Expr,
    value: &Expr,
    key: &SortKey,
    peers: Expr,
) -> Result<Expr> {
    let is_null = |e: &Expr| Expr::IsNull(Box::new(e.clone()));
    let compare =
        |binder: &mut Binder<'_>, op| compare_exprs(binder, op, sorted.clone(), value.clone());
    let (less, greater) = (compare(binder, CompareOp::Lt)?, compare(binder, CompareOp::Gt)?);
    let of = |first: bool| int4(if first { -1 } else { 1 });
    let whens = vec![
        (Expr::And(vec![is_null(sorted), is_null(value)]), peers.clone()),
        (is_null(sorted), of(key.nulls_first)),
        (is_null(value), of(!key.nulls_first)),
        (less, of(!key.descending)),
        (greater, of(key.descending)),
    ];
    Ok(Expr::Case(Box::new(CaseExpr { whens, otherwise: peers, ty: SqlType::Int4 })))
}

fn int4(number: i64) -> Expr {
    Expr::Const(Datum::Int(number), SqlType::Int4)
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
        aggregate: AggregateKind::BuiltIn(resolved.aggregate),
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
    a.aggregate.is(&b.aggregate)
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
