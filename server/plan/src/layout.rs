//! The last planning step: slots become positions of each operator's input row.
//!
//! A slot that an operator's input does not have comes from outside: from the left row of a
//! lateral join, or from the row around a correlated subquery. Each such border collects what
//! crosses it, in order; inside, it is [`Expr::Outer`] with that number.
//!
//! ```text
//!   outer query row ──[what the subquery needs]──▶ Outer(0), Outer(1), … inside it
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use braid_types::{Error, Result, SqlType};

use crate::tree::access::Access;
use crate::tree::expr::{Expr, Slot, SubqueryKind};
use crate::tree::node::{
    AggregateCall, FrameBound, FunctionCall, JoinMethod, Node, OnConflict, Scan, SortKey,
};
use crate::tree::row_lock::LockRows;

/// What crosses the border into one (sub)plan.
#[derive(Default)]
struct Frame {
    needs: Vec<(Slot, SqlType)>,
}

impl Frame {
    fn place(&mut self, slot: Slot, ty: &SqlType) -> usize {
        match self.needs.iter().position(|(known, _)| *known == slot) {
            Some(place) => place,
            None => {
                self.needs.push((slot, ty.clone()));
                self.needs.len() - 1
            }
        }
    }

    /// Around a whole plan is nothing that could give what it needs.
    fn nothing_left(&self) -> Result<()> {
        match self.needs.first() {
            Some((slot, _)) => Err(Error::broken(format!("nothing gives column slot {slot}"))),
            None => Ok(()),
        }
    }
}

/// The input row of an operator: where each slot stands.
struct Input(HashMap<Slot, usize>);

impl Input {
    fn new(slots: &[Slot]) -> Self {
        // Of a slot that is there twice the first counts.
        let mut places = HashMap::with_capacity(slots.len());
        for (place, slot) in slots.iter().enumerate() {
            places.entry(*slot).or_insert(place);
        }
        Input(places)
    }
}

/// Lays out a whole plan. XX000 if it reads a slot that none of its operators gives.
pub(crate) fn assign_positions(root: &mut Node) -> Result<()> {
    let mut frame = Frame::default();
    node(root, &mut frame);
    frame.nothing_left()
}

/// Lays out one expression over a row of these slots. XX000 if it reads another slot.
pub(crate) fn layout_expr(e: &mut Expr, slots: &[Slot]) -> Result<()> {
    let mut frame = Frame::default();
    expr(e, &Input::new(slots), &mut frame);
    frame.nothing_left()
}

fn expr(e: &mut Expr, input: &Input, frame: &mut Frame) {
    match e {
        Expr::Column(slot, ty) => {
            *e = match input.0.get(slot) {
                Some(place) => Expr::Input(*place, ty.clone()),
                None => Expr::Outer(frame.place(*slot, ty), ty.clone()),
            };
        }
        Expr::Subquery(subquery) => {
            let mut inner = Frame::default();
            node(Arc::make_mut(&mut subquery.plan), &mut inner);
            subquery.outer =
                inner.needs.into_iter().map(|(slot, ty)| Expr::Column(slot, ty)).collect();
            for e in &mut subquery.outer {
                expr(e, input, frame);
            }
            if let SubqueryKind::Quantified { left, .. } = &mut subquery.kind {
                for e in left {
                    expr(e, input, frame);
                }
            }
        }
        // The comparison of ANY and ALL has a row of its own.
        Expr::Quantified(q) => {
            expr(&mut q.left, input, frame);
            expr(&mut q.array, input, frame);
        }
        other => other.for_each_child_mut(&mut |child| expr(child, input, frame)),
    }
}

fn exprs<'e>(list: impl IntoIterator<Item = &'e mut Expr>, input: &Input, frame: &mut Frame) {
    for e in list {
        expr(e, input, frame);
    }
}

fn keys(list: &mut [SortKey], input: &Input, frame: &mut Frame) {
    exprs(list.iter_mut().map(|key| &mut key.expr), input, frame);
}

fn call(function: &mut FunctionCall, input: &Input, frame: &mut Frame) {
    exprs(&mut function.args, input, frame);
}

fn aggregate(call: &mut AggregateCall, input: &Input, frame: &mut Frame) {
    exprs(&mut call.args, input, frame);
    exprs(&mut call.filter, input, frame);
    keys(&mut call.order, input, frame);
}

fn node(n: &mut Node, frame: &mut Frame) {
    let nothing = Input::new(&[]);
    match n {
        Node::Values(values) => exprs(values.rows.iter_mut().flatten(), &nothing, frame),
        Node::Scan(scan) => self::scan(scan, frame),
        Node::Virtual(scan) => {
            let slots: Vec<Slot> = scan.columns.iter().map(|(slot, _)| *slot).collect();
            exprs(&mut scan.filter, &Input::new(&slots), frame);
        }
        Node::Function(scan) => {
            for f in &mut scan.functions {
                call(f, &nothing, frame);
            }
        }
        Node::Filter(filter) => {
            node(&mut filter.input, frame);
            let input = Input::new(&filter.input.slots());
            exprs(&mut filter.predicates, &input, frame);
        }
        Node::Project(project) => {
            node(&mut project.input, frame);
            let input = Input::new(&project.input.slots());
            exprs(project.exprs.iter_mut().map(|(_, e)| e), &input, frame);
        }
        Node::ProjectSet(set) => {
            node(&mut set.input, frame);
            let input = Input::new(&set.input.slots());
            for f in &mut set.functions {
                call(f, &input, frame);
            }
        }
        Node::Join(_) => join(n, frame),
        Node::Aggregate(agg) => {
            node(&mut agg.input, frame);
            let input = Input::new(&agg.input.slots());
            exprs(agg.group.iter_mut().map(|(_, e)| e), &input, frame);
            for (_, a) in &mut agg.aggregates {
                aggregate(a, &input, frame);
            }
        }
        Node::Window(window) => {
            node(&mut window.input, frame);
            let input = Input::new(&window.input.slots());
            exprs(&mut window.partition, &input, frame);
            keys(&mut window.order, &input, frame);
            for (_, c) in &mut window.calls {
                exprs(&mut c.args, &input, frame);
                exprs(&mut c.filter, &input, frame);
                for b in [&mut c.frame.start, &mut c.frame.end] {
                    if let FrameBound::Preceding(e) | FrameBound::Following(e) = b {
                        expr(e, &input, frame);
                    }
                }
            }
        }
        Node::Sort(sort) => {
            node(&mut sort.input, frame);
            let input = Input::new(&sort.input.slots());
            keys(&mut sort.keys, &input, frame);
            exprs(sort.limit.iter_mut().chain(&mut sort.offset), &nothing, frame);
        }
        Node::LockRows(lock) => lock_rows(lock, frame),
        Node::Limit(limit) => {
            node(&mut limit.input, frame);
            let input = Input::new(&limit.input.slots());
            exprs(limit.limit.iter_mut().chain(&mut limit.offset), &nothing, frame);
            exprs(&mut limit.ties, &input, frame);
        }
        Node::Distinct(distinct) => {
            node(&mut distinct.input, frame);
            let input = Input::new(&distinct.input.slots());
            exprs(&mut distinct.on, &input, frame);
        }
        Node::SetOp(op) => {
            node(&mut op.left, frame);
            node(&mut op.right, frame);
        }
        Node::Append(append) => {
            append.inputs.iter_mut().for_each(|input| node(input, frame));
            keys(&mut append.merge, &Input::new(&append.slots), frame);
        }
        Node::With(with) => {
            for cte in &mut with.ctes {
                node(&mut cte.plan, frame);
                if let Some((term, _)) = &mut cte.recursive {
                    node(term, frame);
                }
            }
            node(&mut with.body, frame);
        }
        Node::Merge(merge) => {
            node(&mut merge.input, frame);
            let input = Input::new(&merge.input.slots());
            exprs(merge.over_input_mut(), &input, frame);
            let row = Input::new(&merge.row_slots);
            exprs(merge.over_row_mut(), &row, frame);
        }
        Node::CteScan(_) | Node::Insert(_) | Node::Update(_) | Node::Delete(_) => change(n, frame),
    }
}

fn scan(scan: &mut Scan, frame: &mut Frame) {
    let nothing = Input::new(&[]);
    let slots: Vec<Slot> = scan.columns.iter().map(|(slot, _)| *slot).collect();
    exprs(&mut scan.filter, &Input::new(&slots), frame);
    let pruning = scan.pruning.iter_mut().flat_map(|pruning| &mut pruning.bounds);
    for b in scan.access.bounds.iter_mut().chain(pruning) {
        b.for_each_expr_mut(&mut |e| expr(e, &nothing, frame));
    }
    let Access { limit, offset, .. } = &mut scan.access;
    exprs(limit.iter_mut().chain(offset), &nothing, frame);
}

fn lock_rows(lock: &mut LockRows, frame: &mut Frame) {
    node(&mut lock.input, frame);
    let output = Input::new(&lock.slots());
    for step in &mut lock.recheck {
        exprs(step.exprs_mut(), &output, frame);
    }
    exprs(lock.limit.iter_mut().chain(&mut lock.offset), &Input::new(&[]), frame);
}

fn join(n: &mut Node, frame: &mut Frame) {
    let Node::Join(join) = n else { return };
    node(&mut join.left, frame);
    let left_slots = join.left.slots();
    let left = Input::new(&left_slots);
    if join.lateral {
        let mut inner = Frame::default();
        node(&mut join.right, &mut inner);
        join.outer = inner.needs.into_iter().map(|(slot, ty)| Expr::Column(slot, ty)).collect();
        exprs(&mut join.outer, &left, frame);
    } else {
        node(&mut join.right, frame);
    }
    let right_slots = join.right.slots();
    if let JoinMethod::Hash { left: left_keys, right: right_keys, .. } = &mut join.method {
        exprs(left_keys, &left, frame);
        exprs(right_keys, &Input::new(&right_slots), frame);
    }
    let both: Vec<Slot> = left_slots.into_iter().chain(right_slots).collect();
    exprs(&mut join.on, &Input::new(&both), frame);
}

fn change(n: &mut Node, frame: &mut Frame) {
    match n {
        Node::Insert(insert) => {
            node(&mut insert.input, frame);
            let input = Input::new(&insert.input.slots());
            exprs(&mut insert.values, &input, frame);
            let row = Input::new(&insert.row_slots);
            exprs(insert.generated.iter_mut().map(|(_, e)| e), &row, frame);
            exprs(insert.checks.iter_mut().map(|(_, e)| e), &row, frame);
            exprs(insert.index_exprs.iter_mut().map(|(_, e)| e), &row, frame);
            let returned: Vec<Slot> =
                insert.row_slots.iter().copied().chain(insert.replaced).collect();
            exprs(insert.returning.iter_mut().map(|(_, e)| e), &Input::new(&returned), frame);
            if let OnConflict::Update { assignments, filter, .. } = &mut insert.on_conflict {
                let both: Vec<Slot> =
                    insert.existing_slots.iter().chain(&insert.row_slots).copied().collect();
                let both = Input::new(&both);
                exprs(assignments.iter_mut().map(|(_, e)| e), &both, frame);
                exprs(filter, &both, frame);
            }
            if let Some(routes) = &mut insert.routes {
                exprs(routes.levels.iter_mut().flat_map(|level| &mut level.keys), &row, frame);
                for leaf in &mut routes.leaves {
                    node(leaf, frame);
                }
            }
        }
        Node::Update(update) => {
            node(&mut update.input, frame);
            let slots = update.input.slots();
            let input = Input::new(&slots);
            exprs(update.assignments.iter_mut().map(|(_, e)| e), &input, frame);
            let row = Input::new(&update.row_slots);
            exprs(update.generated.iter_mut().map(|(_, e)| e), &row, frame);
            exprs(update.checks.iter_mut().map(|(_, e)| e), &row, frame);
            exprs(update.index_exprs.iter_mut().map(|(_, e)| e), &row, frame);
            exprs(update.moves.iter_mut().map(|moves| &mut moves.stays), &row, frame);
            let keys = update.destination.iter_mut().flat_map(|found| found.keys_mut());
            exprs(keys, &row, frame);
            let mut both: Vec<Slot> = update.row_slots.iter().copied().chain(slots).collect();
            both.extend(update.destination.iter().map(|found| found.slot));
            exprs(update.returning.iter_mut().map(|(_, e)| e), &Input::new(&both), frame);
        }
        Node::Delete(delete) => {
            node(&mut delete.input, frame);
            let input = Input::new(&delete.input.slots());
            exprs(delete.index_exprs.iter_mut().map(|(_, e)| e), &input, frame);
            exprs(delete.returning.iter_mut().map(|(_, e)| e), &input, frame);
        }
        _ => {}
    }
}
