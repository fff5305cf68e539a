//! A scalar subquery of aggregates as groups that the outer row is joined with.
//!
//! ```text
//!   (SELECT 0.2 * avg(s.v) FROM s WHERE s.k = o.k AND s.w > 3)
//!
//!   node    SELECT s.k AS g1, avg(s.v) AS g2 FROM s WHERE s.w > 3 GROUP BY s.k
//!   on      o.k = g1
//!   value   0.2 * g2              evaluated where the subquery was
//! ```
//!
//! An outer row without a group reads NULL in all columns of the groups. That is what aggregates
//! of no rows give, except for `count`, which gives 0.
//!
//! Groups are made that no outer row asks for. So nothing may be in the subquery that can fail:
//!
//! - Its conditions, and what its aggregates read, have a value on every row.
//! - `sum` and `avg` of integers and of `numeric` with few digits cannot overflow. A sum of
//!   `float8` or `interval` can, and so can one of `numeric` without a precision.
//! - `count`, `min`, `max`, and those of booleans and bits never fail.
//!
//! What `value` does with the aggregates may fail, as any other expression may: it stands where the
//! subquery was. In WHERE it is a condition like others, whose order is free.

use braid_builtins::{AggregateMeaning, RowOrder};
use braid_types::{Datum, SqlType};

use super::semi_joins::below;
use crate::Slot;
use crate::bind::Binder;
use crate::rules::conditions::cannot_fail::{cannot_fail, has_few_digits};
use crate::rules::push_filters::{needs, substitute};
use crate::rules::{order_joins, walk};
use crate::tree::expr::{CompareOp, Expr, SubqueryExpr, SubqueryKind, conjuncts};
use crate::tree::node::{AggregateCall, AggregateNode, Filter, Node};

/// The groups of a subquery.
pub(super) struct Grouped {
    /// The aggregation by the correlated columns.
    pub node: Node,
    /// The equalities that lead from the outer row to its group.
    pub on: Vec<Expr>,
    /// What the subquery gives, over the outer row and its group.
    pub value: Expr,
}

impl Grouped {
    /// The groups of a subquery that reads these slots of the row around it. `None` if it is of
    /// another form, or if it may fail for a group that nobody asks for.
    pub(crate) fn of(
        subquery: &SubqueryExpr,
        outer: &[Slot],
        binder: &mut Binder<'_>,
    ) -> Option<Self> {
        if !matches!(subquery.kind, SubqueryKind::Scalar) || subquery.plan.is_volatile() {
            return None;
        }
        let mut node = &*subquery.plan;
        let mut value = Expr::Column(*node.slots().first()?, subquery.ty.clone());
        while let Node::Project(project) = node {
            value = below(&value, &project.exprs)?;
            node = &project.input;
        }
        let Node::Aggregate(aggregate) = node else { return None };
        let is_plain = aggregate.group.is_empty()
            && aggregate.sets.is_empty()
            && aggregate.grouping.is_none()
            && aggregate.aggregates.iter().all(|(_, call)| is_safe(call));
        if !is_plain || value.waits() {
            return None;
        }
        let Correlation { input, pairs } = Correlation::of(&aggregate.input, outer)?;
        let mut group = Vec::new();
        let mut on = Vec::new();
        for (outer, inner) in pairs {
            let (slot, ty) = (binder.slot(), inner.ty());
            let key = Expr::Column(slot, ty);
            group.push((slot, inner));
            on.push(Expr::Compare(CompareOp::Eq, Box::new(outer), Box::new(key)));
        }
        // The plan may have the subquery elsewhere, too: its slots would be there twice.
        let mut aggregates = Vec::new();
        let mut results = Vec::new();
        for (known, call) in &aggregate.aggregates {
            let slot = binder.slot();
            let result = Expr::Column(slot, call.returns.clone());
            results.push((*known, of_no_rows(call, result)));
            aggregates.push((slot, call.clone()));
        }
        substitute(&mut value, &results);
        let (sets, grouping) = (Vec::new(), None);
        let node = AggregateNode { input, group, sets, grouping, aggregates, parallel: None };
        let mut node = Node::Aggregate(Box::new(node));
        walk::is_closed(&mut node).then_some(Self { node, on, value })
    }
}

/// What an aggregate gives, if its column is NULL wherever there is no row.
fn of_no_rows(call: &AggregateCall, result: Expr) -> Expr {
    match call.aggregate.meaning() {
        AggregateMeaning::Count => {
            let zero = Expr::Const(Datum::Int(0), call.returns.clone());
            Expr::Coalesce(vec![result, zero])
        }
        _ => result,
    }
}

/// Whether an aggregate never fails, is NULL (`count`: 0) without rows, and does not depend on the
/// order of its rows.
fn is_safe(call: &AggregateCall) -> bool {
    let sums = call.aggregate.meaning() == AggregateMeaning::Total;
    let is_bounded = |e: &Expr| match e.ty() {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => true,
        SqlType::Numeric(_) => has_few_digits(e),
        _ => false,
    };
    call.aggregate.row_order() != RowOrder::Matters
        && call.args.iter().chain(&call.filter).all(cannot_fail)
        && call.order.iter().all(|key| cannot_fail(&key.expr))
        && (!sums || call.args.iter().all(is_bounded))
}

/// The input of a subquery's aggregation, and its equalities with the row around it.
struct Correlation {
    /// The input without the conditions that read the outer row.
    input: Node,
    /// Expressions over the outer row, and over the input, that must be equal.
    pairs: Vec<(Expr, Expr)>,
}

impl Correlation {
    fn of(node: &Node, outer: &[Slot]) -> Option<Self> {
        let (mut input, mut conditions) = (node, Vec::new());
        while let Node::Filter(filter) = input {
            conditions.extend(filter.predicates.iter().cloned());
            input = &filter.input;
        }
        if !never_fails(input) {
            return None;
        }
        let inner = input.slots();
        let mut flat = Vec::new();
        conditions.into_iter().for_each(|e| conjuncts(e, &mut flat));
        let (mut own, mut pairs) = (Vec::new(), Vec::new());
        for e in flat {
            if !cannot_fail(&e) {
                return None;
            }
            match needs(&e).iter().all(|slot| inner.contains(slot)) {
                true => own.push(e),
                false => pairs.push(pair(e, outer, &inner)?),
            }
        }
        let input = match own.is_empty() {
            true => input.clone(),
            false => Node::Filter(Filter::of(input.clone(), own)),
        };
        (!pairs.is_empty()).then_some(Self { input, pairs })
    }
}

/// The outer and the inner side of an equality. Equality must be transitive among their types: an
/// outer row may have one group only.
fn pair(e: Expr, outer: &[Slot], inner: &[Slot]) -> Option<(Expr, Expr)> {
    let Expr::Compare(CompareOp::Eq, a, b) = e else { return None };
    let is_of = |e: &Expr, side: &[Slot]| {
        let slots = needs(e);
        !slots.is_empty() && slots.iter().all(|slot| side.contains(slot))
    };
    let (a, b) = match is_of(&a, outer) {
        true => (*a, *b),
        false => (*b, *a),
    };
    let is_pair = is_of(&a, outer)
        && is_of(&b, inner)
        && order_joins::is_transitive(&without_modifier(&a.ty()), &without_modifier(&b.ty()));
    is_pair.then_some((a, b))
}

/// A type without a modifier, unless values of another modifier look different.
fn without_modifier(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Char(_) => ty.clone(),
        ty => ty.bare(),
    }
}

/// Whether a plan can be run to its end without an error of an expression.
fn never_fails(node: &Node) -> bool {
    let is_known = match node {
        Node::Scan(scan) => scan.lock.is_none(),
        Node::Join(join) => !join.lateral,
        Node::Aggregate(node) => node.aggregates.iter().all(|(_, call)| is_safe(call)),
        Node::Values(_) | Node::Filter(_) | Node::Project(_) => true,
        Node::Distinct(_) | Node::SetOp(_) | Node::Append(_) => true,
        _ => false,
    };
    let mut is_safe = is_known;
    node.for_each_expr(&mut |e| is_safe = is_safe && cannot_fail(e));
    node.for_each_child(&mut |child| is_safe = is_safe && never_fails(child));
    is_safe
}
