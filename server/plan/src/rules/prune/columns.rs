//! Columns that nobody reads are neither read nor computed.
//!
//! ```text
//!   SELECT count(*) FROM (SELECT 1 / b, a FROM t) s      the division is never made
//! ```
//!
//! PostgreSQL does the same, so an expression that would fail does not. What is volatile stays.
//! Where rows are read by place (UNION ALL, WITH), a NULL takes the place of the column.

use std::collections::HashSet;

use crate::Slot;
use crate::rules::conditions::cannot_fail;
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{AggregateCall, Cte, LockRows, Node, Project, Recheck, SetOp, SetOpKind};

/// The same before indexes are chosen, for queries that only read. What locks or changes rows reads
/// them by rules of its own, which need every column until the end.
pub(crate) fn before_choices(root: &mut Node) {
    if !changes_or_locks(root) {
        apply(root);
    }
}

/// Whether an operator of a plan changes or locks rows.
pub(crate) fn changes_or_locks(node: &Node) -> bool {
    let mut found = matches!(
        node,
        Node::LockRows(_) | Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_)
    );
    node.for_each_child(&mut |child| found = found || changes_or_locks(child));
    found
}

/// Drops the columns.
pub(crate) fn apply(root: &mut Node) {
    // What was read only by a dropped expression goes in the next pass.
    while pass(root) {}
}

/// One pass; whether an expression was dropped.
fn pass(root: &mut Node) -> bool {
    let mut changed = blank_entries(root);
    let used = used_slots(root);
    prune(root, &used, &mut changed);
    changed
}

/// Drops the projections that only say whether a row is there, where nobody asks. For a whole plan
/// and the plans of its subqueries, before anything else looks at joins.
pub(crate) fn drop_unread_markers(root: &mut Node) {
    if has_marker(root) {
        let used = used_slots(root);
        unmark(root, &used);
    }
    walk::subplans(root, &mut drop_unread_markers);
}

/// Whether a projection passes its input on and adds constants.
fn is_marker(project: &Project) -> bool {
    let mut adds = false;
    project.exprs.iter().all(|(slot, e)| match e {
        Expr::Column(from, _) => from == slot,
        Expr::Const(..) => {
            adds = true;
            true
        }
        _ => false,
    }) && adds
}

fn has_marker(node: &Node) -> bool {
    let mut found = matches!(node, Node::Project(project) if is_marker(project));
    node.for_each_child(&mut |child| found = found || has_marker(child));
    found
}

fn unmark(node: &mut Node, used: &HashSet<Slot>) {
    if let Node::Join(join) = node {
        for side in [&mut join.left, &mut join.right] {
            if let Node::Project(project) = side
                && is_marker(project)
                && !project
                    .exprs
                    .iter()
                    .any(|(slot, e)| matches!(e, Expr::Const(..)) && used.contains(slot))
            {
                *side = std::mem::replace(&mut project.input, Node::one_row());
            }
        }
    }
    walk::children_mut(node, &mut |child| unmark(child, used));
}

/// The slots of a plan that are read, by its own expressions or from outside.
fn used_slots(root: &mut Node) -> HashSet<Slot> {
    let mut used: HashSet<Slot> = root.slots().into_iter().collect();
    let mut read = Vec::new();
    slots_read(root, &mut read);
    used.extend(read);
    required(root, &mut used);
    walk::subplans(root, &mut |plan| {
        used.extend(plan.slots());
        required(plan, &mut used);
    });
    used
}

/// The slots that the expressions of a plan read. A column that a projection only passes on is read
/// by those who read it above.
fn slots_read(node: &mut Node, into: &mut Vec<Slot>) {
    if let Node::Project(project) = node {
        let passes = |slot: &Slot, e: &Expr| matches!(e, Expr::Column(from, _) if from == slot);
        let computed = project.exprs.iter_mut().filter(|(slot, e)| !passes(slot, e));
        computed.for_each(|(_, e)| walk::expr_slots(e, into));
    } else {
        walk::exprs_mut(node, &mut |e| walk::expr_slots(e, into));
    }
    walk::children_mut(node, &mut |child| slots_read(child, into));
}

/// Outputs that are read by place instead of by slot.
fn required(node: &mut Node, used: &mut HashSet<Slot>) {
    match node {
        Node::SetOp(op) => required_of_branches(op, used),
        Node::Distinct(distinct) if distinct.on.is_empty() => used.extend(distinct.input.slots()),
        Node::With(with) => {
            for cte in &with.ctes {
                used.extend(cte.plan.slots());
                if let Some((term, _)) = &cte.recursive {
                    used.extend(term.slots());
                }
            }
        }
        // The changed table's columns come first.
        Node::Update(update) => {
            used.extend(update.input.slots().into_iter().take(update.table.columns.len()));
        }
        Node::Delete(delete) => {
            used.extend(delete.input.slots().into_iter().take(delete.table.columns.len()));
        }
        Node::Merge(merge) => used.extend(merge.input.slots()),
        _ => {}
    }
    walk::children_mut(node, &mut |child| required(child, used));
}

/// UNION ALL needs of a branch that computes its columns only those that are read.
fn required_of_branches(op: &SetOp, used: &mut HashSet<Slot>) {
    for branch in [&op.left, &op.right] {
        let slots = branch.slots();
        match can_blank(op, branch) {
            false => used.extend(slots),
            true => {
                let read = op.slots.iter().zip(slots).filter(|(slot, _)| used.contains(slot));
                let read: Vec<Slot> = read.map(|(_, slot)| slot).collect();
                used.extend(read);
            }
        }
    }
}

/// Whether columns of a branch that nobody reads may be NULL instead.
fn can_blank(op: &SetOp, branch: &Node) -> bool {
    let is_union_all = |op: &SetOp| op.kind == SetOpKind::Union && op.all;
    is_union_all(op)
        && match branch {
            Node::Project(_) => true,
            Node::SetOp(inner) => is_union_all(inner),
            _ => false,
        }
}

/// Puts NULL in the place of columns that nobody reads; whether there was one to replace.
fn blank(project: &mut Project, is_read: impl Fn(usize, &Expr) -> bool) -> bool {
    let mut changed = false;
    for (place, (_, e)) in project.exprs.iter_mut().enumerate() {
        let is_blank = matches!(e, Expr::Const(..));
        if !is_blank && !is_read(place, e) && !e.is_volatile_inside() {
            *e = Expr::null(e.ty());
            changed = true;
        }
    }
    changed
}

/// Blanks columns of entries of WITH. An entry with one reader is part of its query in PostgreSQL;
/// another one is computed as it is, so that what may fail there fails.
fn blank_entries(root: &mut Node) -> bool {
    let mut entries: Vec<u32> = Vec::new();
    entries_of(root, &mut entries);
    let mut changed = false;
    for id in entries {
        let mut readers = Readers::default();
        readers.count(root, id);
        with_entry(root, id, &mut |cte| {
            if cte.recursive.is_some() || cte.changes_data {
                return;
            }
            let Node::Project(project) = &mut cte.plan else { return };
            let is_merged = cte.materialized.map_or(readers.scans == 1, |kept| !kept);
            let is_alone = is_merged && !project.input.is_volatile();
            changed |= blank(project, |place, e| {
                readers.places.contains(&place) || !(is_alone || cannot_fail::cannot_fail(e))
            });
        });
    }
    changed
}

fn entries_of(node: &Node, into: &mut Vec<u32>) {
    if let Node::With(with) = node {
        into.extend(with.ctes.iter().map(|cte| cte.id));
    }
    node.for_each_child(&mut |child| entries_of(child, into));
}

fn with_entry(node: &mut Node, id: u32, f: &mut dyn FnMut(&mut Cte)) {
    if let Node::With(with) = node {
        with.ctes.iter_mut().filter(|cte| cte.id == id).for_each(&mut *f);
    }
    walk::children_mut(node, &mut |child| with_entry(child, id, f));
}

/// The scans of an entry of WITH, and the places that they read.
#[derive(Default)]
struct Readers {
    scans: usize,
    places: HashSet<usize>,
}

impl Readers {
    fn count(&mut self, node: &Node, id: u32) {
        if let Node::CteScan(scan) = node
            && scan.id == id
        {
            self.scans += 1;
            self.places.extend(scan.columns.iter().map(|(_, place)| *place));
        }
        node.for_each_expr(&mut |e| self.count_in(e, id));
        node.for_each_child(&mut |child| self.count(child, id));
    }

    fn count_in(&mut self, e: &Expr, id: u32) {
        if let Expr::Subquery(subquery) = e {
            self.count(&subquery.plan, id);
        }
        e.for_each_child(&mut |child| self.count_in(child, id));
    }
}

/// Below a lock the locked tables give their keys and what is read there; all else comes from the
/// rows as they are under the lock.
fn prune_locked(lock: &mut LockRows, used: &HashSet<Slot>, changed: &mut bool) {
    for step in &mut lock.recheck {
        if let Recheck::Compute(computed) = step {
            computed.retain(|(slot, _)| used.contains(slot));
        }
    }
    let mut below: Vec<Slot> = Vec::new();
    walk::slots_read(&mut lock.input, &mut below);
    let mut inside = used.clone();
    for target in &mut lock.targets {
        target.columns.retain(|(slot, _)| used.contains(slot));
        below.extend(&target.key);
        inside.retain(|slot| below.contains(slot) || !target.gives(*slot));
        inside.extend(&target.key);
    }
    prune(&mut lock.input, &inside, changed);
}

fn is_volatile_call(call: &AggregateCall) -> bool {
    let keys = call.order.iter().map(|key| &key.expr);
    call.args.iter().chain(&call.filter).chain(keys).any(Expr::is_volatile_inside)
}

fn prune(node: &mut Node, used: &HashSet<Slot>, changed: &mut bool) {
    match node {
        Node::Scan(scan) => scan.columns.retain(|(slot, _)| used.contains(slot)),
        Node::Virtual(scan) => scan.columns.retain(|(slot, _)| used.contains(slot)),
        Node::CteScan(scan) => scan.columns.retain(|(slot, _)| used.contains(slot)),
        Node::LockRows(lock) => return prune_locked(lock, used, changed),
        Node::Project(project) => {
            let before = project.exprs.len();
            project.exprs.retain(|(slot, e)| used.contains(slot) || e.is_volatile_inside());
            *changed |= project.exprs.len() < before;
        }
        Node::Aggregate(aggregate) => {
            let before = aggregate.aggregates.len();
            aggregate
                .aggregates
                .retain(|(slot, call)| used.contains(slot) || is_volatile_call(call));
            *changed |= aggregate.aggregates.len() < before;
        }
        Node::Window(window) => {
            let before = window.calls.len();
            window.calls.retain(|(slot, call)| {
                let is_volatile =
                    call.args.iter().chain(&call.filter).any(Expr::is_volatile_inside);
                used.contains(slot) || is_volatile
            });
            *changed |= window.calls.len() < before;
            // PostgreSQL computes what the window is sorted by all the same.
            let order = window.order.iter().map(|key| &key.expr);
            let mut keys = window.partition.iter().chain(order);
            if window.calls.is_empty() && keys.all(cannot_fail::cannot_fail) {
                *node = std::mem::replace(&mut window.input, Node::one_row());
                return prune(node, used, changed);
            }
        }
        Node::SetOp(op) => return prune_branches(op, used, changed),
        Node::Append(append) => {
            append.inputs.iter_mut().for_each(|input| prune(input, used, changed));
            match append.inputs.first() {
                Some(first) => append.slots = first.slots(),
                None => append.slots.retain(|slot| used.contains(slot)),
            }
            return;
        }
        _ => {}
    }
    walk::children_mut(node, &mut |child| prune(child, used, changed));
}

fn prune_branches(op: &mut SetOp, used: &HashSet<Slot>, changed: &mut bool) {
    let read: Vec<bool> = op.slots.iter().map(|slot| used.contains(slot)).collect();
    let blanks = [can_blank(op, &op.left), can_blank(op, &op.right)];
    for (branch, can_blank) in [&mut op.left, &mut op.right].into_iter().zip(blanks) {
        match branch {
            Node::Project(project) if can_blank => {
                *changed |= blank(project, |place, _| read.get(place) != Some(&false));
                prune(&mut project.input, used, changed);
            }
            branch => prune(branch, used, changed),
        }
    }
}
