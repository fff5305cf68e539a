//! Operators: the collations of their columns, and the orders by which they work.

use braid_types::{Error, Result, SqlState, SqlType};

use super::assigner::Assigner;
use super::derived::Derived;
use super::functions::{check_function, check_routine, refuse_nondeterministic};
use super::groups::{assign_aggregate, assign_window};
use super::rows::row_of;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    Append, Cte, CteScan, Distinct, FunctionCall, Node, Scan, SetOp, SetOpKind, Sort, SortKey,
    Values,
};

/// Looks through an operator, after its inputs.
pub(super) fn assign_node(assigner: &mut Assigner<'_, '_>, node: &mut Node) -> Result<()> {
    match node {
        Node::Values(values) => assign_values(assigner, values),
        Node::Scan(scan) => assign_scan(assigner, scan),
        Node::Virtual(scan) => assign_exprs(assigner, &mut scan.filter),
        Node::Function(scan) => assign_functions(assigner, &mut scan.functions),
        Node::Filter(filter) => {
            assign_node(assigner, &mut filter.input)?;
            assign_exprs(assigner, &mut filter.predicates)
        }
        Node::Project(project) => {
            assign_node(assigner, &mut project.input)?;
            assign_columns(assigner, &mut project.exprs)
        }
        Node::ProjectSet(set) => {
            assign_node(assigner, &mut set.input)?;
            assign_functions(assigner, &mut set.functions)
        }
        Node::Join(join) => {
            assign_node(assigner, &mut join.left)?;
            assign_node(assigner, &mut join.right)?;
            assign_exprs(assigner, &mut join.on)?;
            assign_exprs(assigner, &mut join.outer)
        }
        Node::Aggregate(aggregate) => {
            assign_node(assigner, &mut aggregate.input)?;
            assign_aggregate(assigner, aggregate)
        }
        Node::Window(window) => {
            assign_node(assigner, &mut window.input)?;
            assign_window(assigner, window)
        }
        Node::Sort(sort) => {
            assign_node(assigner, &mut sort.input)?;
            assigner.sort_keys(&mut sort.keys)?;
            assign_bounds(assigner, &mut sort.limit, &mut sort.offset)
        }
        Node::Limit(limit) => {
            assign_node(assigner, &mut limit.input)?;
            for e in &mut limit.ties {
                assigner.ordered(e)?;
            }
            assign_bounds(assigner, &mut limit.limit, &mut limit.offset)
        }
        Node::Distinct(distinct) => assign_distinct(assigner, distinct),
        Node::SetOp(_) => assign_set_op(assigner, node),
        Node::Append(append) => assign_append(assigner, append),
        Node::With(with) => {
            for cte in &mut with.ctes {
                assign_cte(assigner, cte)?;
            }
            assign_node(assigner, &mut with.body)
        }
        Node::CteScan(scan) => {
            read_cte(assigner, scan);
            Ok(())
        }
        Node::LockRows(lock) => {
            assign_node(assigner, &mut lock.input)?;
            assign_others(assigner, node)
        }
        Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_) => {
            assign_change(assigner, node)
        }
    }
}

fn assign_append(assigner: &mut Assigner<'_, '_>, append: &mut Append) -> Result<()> {
    for input in &mut append.inputs {
        assign_node(assigner, input)?;
    }
    let first = append.inputs.first().map(Node::slots).unwrap_or_default();
    for (slot, from) in append.slots.iter().zip(first) {
        let derived = assigner.output(from);
        assigner.slots.insert(*slot, derived);
    }
    Ok(())
}

/// The columns of a WITH entry where it is read.
fn read_cte(assigner: &mut Assigner<'_, '_>, scan: &CteScan) {
    for (slot, place) in &scan.columns {
        let known = assigner.ctes.get(&scan.id).and_then(|list| list.get(*place));
        if let Some(derived) = known.cloned() {
            assigner.slots.insert(*slot, derived);
        }
    }
}

fn assign_exprs(assigner: &mut Assigner<'_, '_>, list: &mut [Expr]) -> Result<()> {
    list.iter_mut().try_for_each(|e| assigner.expr(e).map(|_| ()))
}

/// LIMIT and OFFSET, which may hold subqueries.
fn assign_bounds(
    assigner: &mut Assigner<'_, '_>,
    limit: &mut Option<Expr>,
    offset: &mut Option<Expr>,
) -> Result<()> {
    limit.iter_mut().chain(offset).try_for_each(|e| assigner.expr(e).map(|_| ()))
}

/// The columns of a projection.
fn assign_columns(assigner: &mut Assigner<'_, '_>, columns: &mut [(Slot, Expr)]) -> Result<()> {
    for (slot, e) in columns {
        let derived = assigner.expr(e)?;
        if matches!(derived, Derived::Explicit(_)) {
            assigner.explicit.insert(*slot, derived.clone());
        }
        assigner.slots.insert(*slot, derived.of_column());
    }
    Ok(())
}

/// Looks through the expressions of an operator that has no order of its own.
fn assign_others(assigner: &mut Assigner<'_, '_>, node: &mut Node) -> Result<()> {
    let mut result = Ok(());
    walk::exprs_mut(node, &mut |e| {
        if result.is_ok() {
            result = assigner.expr(e).map(|_| ());
        }
    });
    result
}

fn assign_values(assigner: &mut Assigner<'_, '_>, values: &mut Values) -> Result<()> {
    let mut columns = vec![Derived::None; values.slots.len()];
    for row in &mut values.rows {
        for (column, e) in columns.iter_mut().zip(row) {
            let derived = assigner.expr(e)?;
            *column = std::mem::replace(column, Derived::None).join(derived)?;
        }
    }
    for (slot, derived) in values.slots.iter().zip(columns) {
        assigner.slots.insert(*slot, derived.of_column());
    }
    Ok(())
}

fn assign_scan(assigner: &mut Assigner<'_, '_>, scan: &mut Scan) -> Result<()> {
    assigner.table_slots(&scan.table, scan.columns.iter().map(|(slot, place)| (*place, *slot)));
    assign_exprs(assigner, &mut scan.filter)
}

fn assign_functions(assigner: &mut Assigner<'_, '_>, functions: &mut [FunctionCall]) -> Result<()> {
    for call in functions {
        let derived = assigner.join_all(&mut call.args)?;
        if let Some(routine) = &call.routine {
            check_routine(&routine.routine, &derived)?;
        }
        if let Some(function) = call.function {
            check_function(function.name, &call.types, &derived)?;
        }
        let derived = derived.of_column();
        let mut fields = spread_fields(assigner, call).into_iter();
        for (slot, ty) in &call.columns {
            let own = fields.next();
            let own = own.unwrap_or_else(|| assigner.of_result(derived.clone(), ty, &call.types));
            assigner.slots.insert(*slot, own);
        }
    }
    Ok(())
}

/// The collations of the columns of a function that gives rows of a table; empty for any other.
fn spread_fields(assigner: &Assigner<'_, '_>, call: &FunctionCall) -> Vec<Derived> {
    let ty = match &call.routine {
        Some(routine) if routine.spreads => Some(routine.routine.result_type()),
        _ => call.row.as_ref(),
    };
    let Some(mut ty) = ty.cloned() else { return Vec::new() };
    assigner.binder.context().catalog.enums().refresh(&mut ty);
    match row_of(assigner.binder.context().catalog, &ty) {
        Some(Derived::Row(fields)) => fields,
        _ => Vec::new(),
    }
}

fn assign_cte(assigner: &mut Assigner<'_, '_>, cte: &mut Cte) -> Result<()> {
    assign_node(assigner, &mut cte.plan)?;
    let columns: Vec<Derived> =
        cte.plan.slots().iter().map(|slot| assigner.output(*slot)).collect();
    let is_nondeterministic = columns.iter().any(Derived::is_nondeterministic);
    assigner.ctes.insert(cte.id, columns);
    if let Some((term, distinct)) = &mut cte.recursive {
        if *distinct && is_nondeterministic {
            return Err(refuse_nondeterministic("a recursive UNION"));
        }
        assign_node(assigner, term)?;
    }
    let term = cte.recursive.as_ref().map(|(term, _)| term.slots()).unwrap_or_default();
    for (place, slot) in term.into_iter().enumerate() {
        check_recursive(assigner, cte, place, slot)?;
    }
    Ok(())
}

/// 42P21 for a column of a recursive query that has another collation after a step.
fn check_recursive(assigner: &Assigner<'_, '_>, cte: &Cte, place: usize, slot: Slot) -> Result<()> {
    let first = assigner.ctes.get(&cte.id).and_then(|list| list.get(place)).cloned();
    let Some(first) = first else { return Ok(()) };
    let Some(own) = first.collation().cloned() else { return Ok(()) };
    let overall = assigner.output(slot);
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
fn assign_distinct(assigner: &mut Assigner<'_, '_>, distinct: &mut Distinct) -> Result<()> {
    assign_node(assigner, &mut distinct.input)?;
    for e in &mut distinct.on {
        assigner.equal(e)?;
    }
    if !distinct.on.is_empty() {
        return Ok(());
    }
    let slots = distinct.input.slots();
    slots.iter().try_for_each(|slot| assigner.output(*slot).check_decided())?;
    if slots.iter().any(|slot| assigner.output(*slot).is_nondeterministic()) {
        let input = std::mem::replace(&mut distinct.input, Node::one_row());
        let (input, on) = sorted_by_keys(assigner, input, &distinct.types)?;
        (distinct.input, distinct.on) = (input, on);
        distinct.types.clear();
    }
    Ok(())
}

/// Rows sorted by what they are equal by.
fn sorted_by_keys(
    assigner: &mut Assigner<'_, '_>,
    input: Node,
    types: &[SqlType],
) -> Result<(Node, Vec<Expr>)> {
    let mut on = Vec::with_capacity(types.len());
    for (slot, ty) in input.slots().into_iter().zip(types) {
        let mut e = Expr::Column(slot, ty.clone());
        assigner.equal(&mut e)?;
        on.push(e);
    }
    let key = |e: &Expr| SortKey { expr: e.clone(), descending: false, nulls_first: false };
    let keys = on.iter().map(key).collect();
    Ok((Node::Sort(Box::new(Sort { input, keys, limit: None, offset: None })), on))
}

fn assign_set_op(assigner: &mut Assigner<'_, '_>, node: &mut Node) -> Result<()> {
    let Node::SetOp(op) = node else { return Ok(()) };
    assign_node(assigner, &mut op.left)?;
    assign_node(assigner, &mut op.right)?;
    let is_union_all = op.all && op.kind == SetOpKind::Union;
    let sides = op.left.slots().into_iter().zip(op.right.slots());
    let mut is_nondeterministic = false;
    for ((left, right), slot) in sides.zip(&op.slots) {
        // `COLLATE` in one branch decides for the column. A set operation around this one takes
        // the result for a column like any other.
        let side = |slot: Slot| {
            assigner.explicit.get(&slot).cloned().unwrap_or_else(|| assigner.output(slot))
        };
        let derived = side(left).join(side(right))?;
        if !is_union_all {
            derived.check_decided()?;
            is_nondeterministic |= derived.is_nondeterministic();
        }
        assigner.slots.insert(*slot, derived.of_column());
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
    let (input, on) = sorted_by_keys(assigner, union, &types)?;
    *node = Node::Distinct(Box::new(Distinct { input, on, types: Vec::new() }));
    Ok(())
}

/// A change: the rows of its table stand for themselves.
fn assign_change(assigner: &mut Assigner<'_, '_>, node: &mut Node) -> Result<()> {
    let mut result = Ok(());
    walk::children_mut(node, &mut |child| {
        if result.is_ok() {
            result = assign_node(assigner, child);
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
        assigner.table_slots(&table, slots.into_iter().enumerate());
    }
    // Each expression is looked through once.
    let mut returning = returning_of(node).map(std::mem::take).unwrap_or_default();
    assign_columns(assigner, &mut returning)?;
    assign_others(assigner, node)?;
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
