//! Operators: the collations of their columns, and the orders by which they work.

use braid_types::{Error, Result, SqlState, SqlType};

use super::derived::Derived;
use super::functions::{check_function, check_routine, refuse_nondeterministic};
use super::groups::{settle_aggregate, settle_window};
use super::rows::row_of;
use super::settler::Settler;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    Append, Cte, CteScan, Distinct, FunctionCall, Node, Scan, SetOp, SetOpKind, Sort, SortKey,
    Values,
};

/// Looks through an operator, after its inputs.
pub(super) fn settle_node(settler: &mut Settler<'_, '_>, node: &mut Node) -> Result<()> {
    match node {
        Node::Values(values) => settle_values(settler, values),
        Node::Scan(scan) => settle_scan(settler, scan),
        Node::Virtual(scan) => settle_exprs(settler, &mut scan.filter),
        Node::Function(scan) => settle_functions(settler, &mut scan.functions),
        Node::Filter(filter) => {
            settle_node(settler, &mut filter.input)?;
            settle_exprs(settler, &mut filter.predicates)
        }
        Node::Project(project) => {
            settle_node(settler, &mut project.input)?;
            settle_columns(settler, &mut project.exprs)
        }
        Node::ProjectSet(set) => {
            settle_node(settler, &mut set.input)?;
            settle_functions(settler, &mut set.functions)
        }
        Node::Join(join) => {
            settle_node(settler, &mut join.left)?;
            settle_node(settler, &mut join.right)?;
            settle_exprs(settler, &mut join.on)?;
            settle_exprs(settler, &mut join.outer)
        }
        Node::Aggregate(aggregate) => {
            settle_node(settler, &mut aggregate.input)?;
            settle_aggregate(settler, aggregate)
        }
        Node::Window(window) => {
            settle_node(settler, &mut window.input)?;
            settle_window(settler, window)
        }
        Node::Sort(sort) => {
            settle_node(settler, &mut sort.input)?;
            settler.sort_keys(&mut sort.keys)?;
            settle_bounds(settler, &mut sort.limit, &mut sort.offset)
        }
        Node::Limit(limit) => {
            settle_node(settler, &mut limit.input)?;
            for e in &mut limit.ties {
                settler.ordered(e)?;
            }
            settle_bounds(settler, &mut limit.limit, &mut limit.offset)
        }
        Node::Distinct(distinct) => settle_distinct(settler, distinct),
        Node::SetOp(_) => settle_set_op(settler, node),
        Node::Append(append) => settle_append(settler, append),
        Node::With(with) => {
            for cte in &mut with.ctes {
                settle_cte(settler, cte)?;
            }
            settle_node(settler, &mut with.body)
        }
        Node::CteScan(scan) => {
            read_cte(settler, scan);
            Ok(())
        }
        Node::LockRows(lock) => {
            settle_node(settler, &mut lock.input)?;
            settle_others(settler, node)
        }
        Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_) => {
            settle_change(settler, node)
        }
    }
}

fn settle_append(settler: &mut Settler<'_, '_>, append: &mut Append) -> Result<()> {
    for input in &mut append.inputs {
        settle_node(settler, input)?;
    }
    let first = append.inputs.first().map(Node::slots).unwrap_or_default();
    for (slot, from) in append.slots.iter().zip(first) {
        let derived = settler.output(from);
        settler.slots.insert(*slot, derived);
    }
    Ok(())
}

/// The columns of a WITH entry where it is read.
fn read_cte(settler: &mut Settler<'_, '_>, scan: &CteScan) {
    for (slot, place) in &scan.columns {
        let known = settler.ctes.get(&scan.id).and_then(|list| list.get(*place));
        if let Some(derived) = known.cloned() {
            settler.slots.insert(*slot, derived);
        }
    }
}

fn settle_exprs(settler: &mut Settler<'_, '_>, list: &mut [Expr]) -> Result<()> {
    list.iter_mut().try_for_each(|e| settler.expr(e).map(|_| ()))
}

/// LIMIT and OFFSET, which may hold subqueries.
fn settle_bounds(
    settler: &mut Settler<'_, '_>,
    limit: &mut Option<Expr>,
    offset: &mut Option<Expr>,
) -> Result<()> {
    limit.iter_mut().chain(offset).try_for_each(|e| settler.expr(e).map(|_| ()))
}

/// The columns of a projection.
fn settle_columns(settler: &mut Settler<'_, '_>, columns: &mut [(Slot, Expr)]) -> Result<()> {
    for (slot, e) in columns {
        let derived = settler.expr(e)?;
        if matches!(derived, Derived::Explicit(_)) {
            settler.explicit.insert(*slot, derived.clone());
        }
        settler.slots.insert(*slot, derived.of_column());
    }
    Ok(())
}

/// Looks through the expressions of an operator that has no order of its own.
fn settle_others(settler: &mut Settler<'_, '_>, node: &mut Node) -> Result<()> {
    let mut result = Ok(());
    walk::exprs_mut(node, &mut |e| {
        if result.is_ok() {
            result = settler.expr(e).map(|_| ());
        }
    });
    result
}

fn settle_values(settler: &mut Settler<'_, '_>, values: &mut Values) -> Result<()> {
    let mut columns = vec![Derived::None; values.slots.len()];
    for row in &mut values.rows {
        for (column, e) in columns.iter_mut().zip(row) {
            let derived = settler.expr(e)?;
            *column = std::mem::replace(column, Derived::None).join(derived)?;
        }
    }
    for (slot, derived) in values.slots.iter().zip(columns) {
        settler.slots.insert(*slot, derived.of_column());
    }
    Ok(())
}

fn settle_scan(settler: &mut Settler<'_, '_>, scan: &mut Scan) -> Result<()> {
    settler.table_slots(&scan.table, scan.columns.iter().map(|(slot, place)| (*place, *slot)));
    settle_exprs(settler, &mut scan.filter)
}

fn settle_functions(settler: &mut Settler<'_, '_>, functions: &mut [FunctionCall]) -> Result<()> {
    for call in functions {
        let derived = settler.join_all(&mut call.args)?;
        if let Some(routine) = &call.routine {
            check_routine(&routine.routine, &derived)?;
        }
        if let Some(function) = call.function {
            check_function(function.name, &call.types, &derived)?;
        }
        let derived = derived.of_column();
        let mut fields = spread_fields(settler, call).into_iter();
        for (slot, ty) in &call.columns {
            let own = fields.next();
            let own = own.unwrap_or_else(|| settler.of_result(derived.clone(), ty, &call.types));
            settler.slots.insert(*slot, own);
        }
    }
    Ok(())
}

/// The collations of the columns of a function that gives rows of a table; empty for any other.
fn spread_fields(settler: &Settler<'_, '_>, call: &FunctionCall) -> Vec<Derived> {
    let ty = match &call.routine {
        Some(routine) if routine.spreads => Some(routine.routine.result_type()),
        _ => call.row.as_ref(),
    };
    let Some(mut ty) = ty.cloned() else { return Vec::new() };
    settler.binder.context().catalog.enums().refresh(&mut ty);
    match row_of(settler.binder.context().catalog, &ty) {
        Some(Derived::Row(fields)) => fields,
        _ => Vec::new(),
    }
}

fn settle_cte(settler: &mut Settler<'_, '_>, cte: &mut Cte) -> Result<()> {
    settle_node(settler, &mut cte.plan)?;
    let columns: Vec<Derived> = cte.plan.slots().iter().map(|slot| settler.output(*slot)).collect();
    let is_nondeterministic = columns.iter().any(Derived::is_nondeterministic);
    settler.ctes.insert(cte.id, columns);
    if let Some((term, distinct)) = &mut cte.recursive {
        if *distinct && is_nondeterministic {
            return Err(refuse_nondeterministic("a recursive UNION"));
        }
        settle_node(settler, term)?;
    }
    let term = cte.recursive.as_ref().map(|(term, _)| term.slots()).unwrap_or_default();
    for (place, slot) in term.into_iter().enumerate() {
        check_recursive(settler, cte, place, slot)?;
    }
    Ok(())
}

/// 42P21 for a column of a recursive query that has another collation after a step.
fn check_recursive(settler: &Settler<'_, '_>, cte: &Cte, place: usize, slot: Slot) -> Result<()> {
    let first = settler.ctes.get(&cte.id).and_then(|list| list.get(place)).cloned();
    let Some(first) = first else { return Ok(()) };
    let Some(own) = first.collation().cloned() else { return Ok(()) };
    let overall = settler.output(slot);
    match overall.collation().filter(|other| !other.is_default() && other.stored != own.stored) {
        Some(overall) => {
            let message = format!(
                "recursive query \"{}\" column {} has collation \"{}\" in non-recursive term \
                 but collation \"{}\" overall",
                cte.name,
                place + 1,
                own.name,
                overall.name
            );
            Err(Error::new(SqlState::CollationMismatch, message)
                .hint("Use the COLLATE clause to set the collation of the non-recursive term."))
        }
        None => Ok(()),
    }
}

/// DISTINCT over texts that may be equal without having the same bytes becomes DISTINCT ON
/// their keys.
fn settle_distinct(settler: &mut Settler<'_, '_>, distinct: &mut Distinct) -> Result<()> {
    settle_node(settler, &mut distinct.input)?;
    for e in &mut distinct.on {
        settler.equal(e)?;
    }
    if !distinct.on.is_empty() {
        return Ok(());
    }
    let slots = distinct.input.slots();
    slots.iter().try_for_each(|slot| settler.output(*slot).check_decided())?;
    if slots.iter().any(|slot| settler.output(*slot).is_nondeterministic()) {
        let input = std::mem::replace(&mut distinct.input, Node::one_row());
        let (input, on) = sorted_by_keys(settler, input, &distinct.types)?;
        (distinct.input, distinct.on) = (input, on);
        distinct.types.clear();
    }
    Ok(())
}

/// Rows sorted by what they are equal by.
fn sorted_by_keys(
    settler: &mut Settler<'_, '_>,
    input: Node,
    types: &[SqlType],
) -> Result<(Node, Vec<Expr>)> {
    let mut on = Vec::with_capacity(types.len());
    for (slot, ty) in input.slots().into_iter().zip(types) {
        let mut e = Expr::Column(slot, ty.clone());
        settler.equal(&mut e)?;
        on.push(e);
    }
    let key = |e: &Expr| SortKey { expr: e.clone(), descending: false, nulls_first: false };
    let keys = on.iter().map(key).collect();
    Ok((Node::Sort(Box::new(Sort { input, keys, limit: None, offset: None })), on))
}

fn settle_set_op(settler: &mut Settler<'_, '_>, node: &mut Node) -> Result<()> {
    let Node::SetOp(op) = node else { return Ok(()) };
    settle_node(settler, &mut op.left)?;
    settle_node(settler, &mut op.right)?;
    let is_union_all = op.all && op.kind == SetOpKind::Union;
    let sides = op.left.slots().into_iter().zip(op.right.slots());
    let mut is_nondeterministic = false;
    for ((left, right), slot) in sides.zip(&op.slots) {
        // `COLLATE` in one branch decides for the column. A set operation around this one takes
        // the result for a column like any other.
        let side = |slot: Slot| {
            settler.explicit.get(&slot).cloned().unwrap_or_else(|| settler.output(slot))
        };
        let derived = side(left).join(side(right))?;
        if !is_union_all {
            derived.check_decided()?;
            is_nondeterministic |= derived.is_nondeterministic();
        }
        settler.slots.insert(*slot, derived.of_column());
    }
    if !is_nondeterministic {
        return Ok(());
    }
    let SetOp { kind, types, .. } = &mut **op;
    if *kind != SetOpKind::Union {
        return Err(refuse_nondeterministic("INTERSECT or EXCEPT"));
    }
    let types = types.clone();
    op.all = true;
    let union = std::mem::replace(node, Node::one_row());
    let (input, on) = sorted_by_keys(settler, union, &types)?;
    *node = Node::Distinct(Box::new(Distinct { input, on, types: Vec::new() }));
    Ok(())
}

/// A change: the rows of its table stand for themselves.
fn settle_change(settler: &mut Settler<'_, '_>, node: &mut Node) -> Result<()> {
    let mut result = Ok(());
    walk::children_mut(node, &mut |child| {
        if result.is_ok() {
            result = settle_node(settler, child);
        }
    });
    result?;
    let (table, rows) = match node {
        Node::Insert(n) => (n.table.clone(), vec![n.row_slots.clone(), n.existing_slots.clone()]),
        Node::Update(n) => (n.table.clone(), vec![n.row_slots.clone()]),
        Node::Merge(n) => (n.table.clone(), vec![n.row_slots.clone()]),
        Node::Delete(n) => (n.table.clone(), Vec::new()),
        _ => return Ok(()),
    };
    for slots in rows {
        settler.table_slots(&table, slots.into_iter().enumerate());
    }
    // Each expression is looked through once.
    let mut returning = returning_of(node).map(std::mem::take).unwrap_or_default();
    settle_columns(settler, &mut returning)?;
    settle_others(settler, node)?;
    if let Some(place) = returning_of(node) {
        *place = returning;
    }
    Ok(())
}

fn returning_of(node: &mut Node) -> Option<&mut Vec<(Slot, Expr)>> {
    match node {
        Node::Insert(n) => Some(&mut n.returning),
        Node::Update(n) => Some(&mut n.returning),
        Node::Delete(n) => Some(&mut n.returning),
        _ => None,
    }
}
