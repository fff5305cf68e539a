//! UNION, INTERSECT and EXCEPT.
//!
//! Set operations lean to the left: chains are walked, not recursed into. A long run of the same
//! operation becomes a balanced tree, which is run and dropped with little stack.

use braid_sql::ast::{SetExpr, SetOperator, SetQuantifier};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::ordered::{BoundQuery, bind_set_expr, cast_columns};
use crate::bind::Binder;
use crate::bind::expr::common_type::common_type;
use crate::bind::expr::operators::{check_equality, coerce};
use crate::bind::scope::columns::Scopes;
use crate::bind::scope::places::{ColumnPlaces, start_of};
use crate::bind::scope::untyped::Untyped;
use crate::context::OutputColumn;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Node, SetOp, SetOpKind};

/// Runs of more branches than these become balanced trees.
const BALANCE_FROM: usize = 8;

/// The same for statements with `COLLATE`, which decides only for the operation that it is in.
const BALANCE_COLLATED_FROM: usize = 64;

pub(crate) fn bind_set_operation(
    binder: &mut Binder<'_>,
    body: &SetExpr,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    let mut chain = Vec::new();
    let mut next = body;
    while let SetExpr::SetOperation { left, op, set_quantifier, right } = next {
        chain.push((set_operator(*op, *set_quantifier)?, right));
        next = left;
    }
    let mut run = vec![(bind_branch(binder, next, parent)?, ColumnPlaces::of(next))];
    let mut operator = None;
    for (next, right) in chain.into_iter().rev() {
        refuse_into(right)?;
        let right = (bind_branch(binder, right, parent)?, ColumnPlaces::of(right));
        // EXCEPT is the only one for which it matters what is computed first.
        if let Some((kind, all)) = operator
            && (operator != Some(next) || kind == SetOpKind::Except)
        {
            let places = run.first().map(|(_, places)| places.clone()).unwrap_or_default();
            run = vec![(combine_branches(binder, run, kind, all)?, places)];
        }
        operator = Some(next);
        run.push(right);
    }
    match operator {
        Some((kind, all)) => combine_branches(binder, run, kind, all),
        None => Err(Error::internal("a set operation without operator")),
    }
}

/// 42601 for INTO in a branch behind the first.
fn refuse_into(body: &SetExpr) -> Result<()> {
    let SetExpr::Select(select) = body else { return Ok(()) };
    let Some(into) = &select.into else { return Ok(()) };
    let message = "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT";
    Err(Error::new(SqlState::SyntaxError, message)
        .position(into.targets.first().map_or(0, start_of)))
}

/// A branch of a set operation: its literals take their types from the other branches.
fn bind_branch(
    binder: &mut Binder<'_>,
    body: &SetExpr,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    let is_select = matches!(body, SetExpr::Select(_));
    binder.untyped = if is_select { Untyped::SetOperation } else { Untyped::default() };
    let bound = bind_set_expr(binder, body, parent);
    binder.untyped = Untyped::default();
    bound
}

/// Gives literals of no type in a branch's select list the type of the whole.
pub(crate) fn type_literals(
    binder: &mut Binder<'_>,
    query: &mut BoundQuery,
    types: &[SqlType],
) -> Result<()> {
    let mut node = &mut query.node;
    if let Node::Limit(limit) = node {
        node = &mut limit.input;
    }
    if let Node::Distinct(distinct) = node {
        node = &mut distinct.input;
    }
    let Node::Project(project) = node else { return Ok(()) };
    for (place, ty) in types.iter().enumerate() {
        if query.columns[place].ty != SqlType::Unknown {
            continue;
        }
        let e = std::mem::replace(&mut project.exprs[place].1, Expr::bool(true));
        project.exprs[place].1 = coerce(binder, e, ty, CastContext::Implicit)?;
        query.columns[place].ty = ty.clone();
    }
    Ok(())
}

/// Branches joined by one operator, from left to right, with the places of their columns.
fn combine_branches(
    binder: &mut Binder<'_>,
    branches: Vec<(BoundQuery, ColumnPlaces)>,
    kind: SetOpKind,
    all: bool,
) -> Result<BoundQuery> {
    let name = match kind {
        SetOpKind::Union => "UNION",
        SetOpKind::Intersect => "INTERSECT",
        SetOpKind::Except => "EXCEPT",
    };
    let mut types: Vec<SqlType> = Vec::new();
    let first_starts = branches.first().map(|(_, starts)| starts.clone()).unwrap_or_default();
    for (place, (branch, starts)) in branches.iter().enumerate() {
        let columns = branch.columns.iter().map(|column| column.ty.clone());
        if place == 0 {
            types = columns.collect();
            continue;
        }
        if branch.columns.len() != types.len() {
            return Err(Error::new(
                SqlState::SyntaxError,
                format!("each {name} query must have the same number of columns"),
            )
            .position(starts.at(0)));
        }
        for (number, (ty, other)) in types.iter_mut().zip(columns).enumerate() {
            let common = common_type(&[ty.clone(), other], name);
            *ty = common.map_err(|error| error.position(starts.at(number)))?;
            if !(all && kind == SetOpKind::Union) {
                let start = first_starts.at(number);
                check_equality(ty).map_err(|error| error.position(start))?;
            }
        }
    }
    let mut branches: Vec<BoundQuery> = branches.into_iter().map(|(branch, _)| branch).collect();
    let mut nodes = Vec::with_capacity(branches.len());
    for branch in &mut branches {
        type_literals(binder, branch, &types)?;
        nodes.push(cast_columns(binder, branch, &types)?);
    }
    let Some((first, others)) = branches.split_first() else {
        return Err(Error::broken("a set operation without branches"));
    };
    let column = |(place, (first, ty)): (usize, (&OutputColumn, &SqlType))| {
        // Only what is a domain in every branch stays one.
        let is_same = |other: &BoundQuery| other.columns[place].domain == first.domain;
        let domain = first.domain.filter(|_| others.iter().all(is_same));
        OutputColumn { domain, ..OutputColumn::computed(first.name.clone(), ty.clone()) }
    };
    let columns = first.columns.iter().zip(&types).enumerate().map(column).collect();
    Ok(BoundQuery { node: set_node(binder, nodes, (kind, all), types), columns })
}

fn set_node(
    binder: &mut Binder<'_>,
    nodes: Vec<Node>,
    (kind, all): (SetOpKind, bool),
    types: Vec<SqlType>,
) -> Node {
    let limit = if binder.has_collate { BALANCE_COLLATED_FROM } else { BALANCE_FROM };
    let balanced = nodes.len() > limit;
    let mut join = |left: Node, right: Node| {
        let slots: Vec<Slot> = types.iter().map(|_| binder.slot()).collect();
        Node::SetOp(Box::new(SetOp { kind, all, left, right, slots, types: types.clone() }))
    };
    let mut level = nodes;
    while balanced && level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut rest = level.into_iter();
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        level = next;
    }
    level.into_iter().reduce(join).unwrap_or_else(Node::one_row)
}

fn set_operator(op: SetOperator, quantifier: SetQuantifier) -> Result<(SetOpKind, bool)> {
    let kind = match op {
        SetOperator::Union => SetOpKind::Union,
        SetOperator::Intersect => SetOpKind::Intersect,
        SetOperator::Except | SetOperator::Minus => SetOpKind::Except,
    };
    match quantifier {
        SetQuantifier::All => Ok((kind, true)),
        SetQuantifier::None | SetQuantifier::Distinct => Ok((kind, false)),
        other => Err(Error::unsupported(format!("{op} {other}"))),
    }
}
