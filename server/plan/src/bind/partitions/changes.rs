//! UPDATE and DELETE of a partitioned table, bound once for each partition.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{Table, TriggerEvent};
use braid_types::Result;

use super::leaves::leaves_of;
use super::routes::bind_routes;
use crate::bind::Binder;
use crate::bind::bound_statement::BoundStatement;
use crate::bind::change::triggers::{has_statement_triggers, may_rewrite};
use crate::bind::change::view::ChangeTarget;
use crate::bind::from::security::Secured;
use crate::bind::partitions::condition::partition_condition;
use crate::bind::partitions::leaves::place_in;
use crate::bind::stored::{bind_generated, default_of, index_exprs};
use crate::context::StatementKind;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Append, Insert, Moves, Node, OnConflict, RowCheck, TableTriggers, Values};

/// A change of each partition. `change` binds it for one of them, and says whether it reads rows
/// that it changes.
pub(crate) fn bind_for_each<'a>(
    binder: &mut Binder<'a>,
    root: &Arc<Table>,
    mut change: impl FnMut(&mut Binder<'a>, &ChangeTarget) -> Result<(BoundStatement, bool)>,
) -> Result<BoundStatement> {
    binder.fires_triggers = true;
    let leaves = leaves_of(binder, root)?;
    let mut targets = Vec::with_capacity(leaves.len() + 1);
    // Triggers of the statement fire even if no partition is left to be changed.
    let has_triggers = has_statement_triggers(root);
    if has_triggers {
        targets.push(ChangeTarget::of_partition(root, root, None));
    }
    for leaf in &leaves {
        targets.push(ChangeTarget::of_partition(root, &leaf.table, Some(leaf.scanned())));
    }
    if has_triggers || targets.is_empty() {
        // It has no rows. What it says is looked at all the same.
        targets.push(ChangeTarget::of_partition(root, root, None));
    }
    let mut inputs: Vec<Node> = Vec::with_capacity(targets.len());
    let mut first: Option<BoundStatement> = None;
    let (mut moves, mut reads) = (false, false);
    for target in &targets {
        let known = binder.range.last().map_or(0, Vec::len);
        let (mut bound, reads_rows) = change(binder, target)?;
        reads |= reads_rows;
        if let Some(entries) = binder.range.last_mut() {
            entries.truncate(known);
        }
        let slots = inputs.first().map(Node::slots);
        if let (Some(slots), Some(own)) = (slots, returning(&mut bound.root)) {
            // All inputs give the same slots.
            own.iter_mut().zip(slots).for_each(|((own, _), slot)| *own = slot);
        }
        moves |= matches!(&bound.root, Node::Update(update) if update.moves.is_some());
        inputs.push(std::mem::replace(&mut bound.root, Node::one_row()));
        first.get_or_insert(bound);
    }
    let slots = inputs.first().map(Node::slots).unwrap_or_default();
    if moves {
        let last = if has_triggers { inputs.pop() } else { None };
        inputs.push(moved_rows(binder, root, reads)?);
        inputs.extend(last);
    }
    let root = Node::Append(Box::new(Append::of(inputs, slots)));
    let bound = first.unwrap_or(BoundStatement {
        kind: StatementKind::Update,
        root: Node::one_row(),
        columns: Vec::new(),
        is_write: true,
        returning_nothing: false,
    });
    Ok(BoundStatement { root, ..bound })
}

fn returning(node: &mut Node) -> Option<&mut Vec<(Slot, Expr)>> {
    match node {
        Node::Update(update) => Some(&mut update.returning),
        Node::Delete(delete) => Some(&mut delete.returning),
        _ => None,
    }
}

/// What an UPDATE of a partition does with rows that leave it; `None` if none can. `checks` loses
/// the condition of the partition.
pub(crate) fn moves_of(
    binder: &mut Binder<'_>,
    target: &ChangeTarget,
    checks: &mut Vec<(RowCheck, Expr)>,
    written: &BTreeSet<usize>,
) -> Result<Option<Box<Moves>>> {
    let Some(root) = &target.through else { return Ok(None) };
    let Some(place) = checks.iter().position(|(check, _)| *check == RowCheck::Partition) else {
        return Ok(None);
    };
    let (_, stays) = checks.remove(place);
    if !may_move(binder, target, written)? {
        return Ok(None);
    }
    let columns = root.columns.iter();
    let places = columns.map(|column| place_in(&target.table, &column.name)).collect();
    Ok(Some(Box::new(Moves { root: root.id, stays, places })))
}

/// Whether a change of these columns may move rows of a partition to another one.
fn may_move(
    binder: &mut Binder<'_>,
    target: &ChangeTarget,
    written: &BTreeSet<usize>,
) -> Result<bool> {
    if may_rewrite(&target.table) {
        return Ok(true);
    }
    let slots: Vec<Slot> = target.table.columns.iter().map(|_| binder.slot()).collect();
    let condition = partition_condition(binder, &target.table, &slots)?;
    let mut read = Vec::new();
    if let Some(mut condition) = condition {
        crate::rules::walk::expr_slots(&mut condition, &mut read);
    }
    Ok(written.iter().any(|place| read.contains(&slots[*place])))
}

/// The INSERT of rows that cascades have taken from their partitions, laid out. It asks no
/// policies, and the statement's triggers do not fire for its rows.
pub(crate) fn cascaded_rows(binder: &mut Binder<'_>, root: &Arc<Table>) -> Result<Node> {
    let mut node = insert_of_moved(binder, root, &|_, _, _| Ok(Vec::new()))?;
    if let Node::Insert(insert) = &mut node
        && let Some(routes) = &mut insert.routes
    {
        for leaf in &mut routes.leaves {
            let Node::Insert(leaf) = leaf else { continue };
            let TableTriggers { list, adjusted, .. } = &*leaf.triggers;
            let (list, adjusted) = (list.clone(), adjusted.clone());
            leaf.triggers = Arc::new(TableTriggers { list, adjusted, of_root: None });
        }
    }
    crate::collate::assign_plan_collations(binder, &mut node, &mut [])?;
    crate::layout::assign_positions(&mut node)?;
    Ok(node)
}

/// The INSERT of rows that UPDATEs of the same statement have taken from their partitions.
fn moved_rows<'a>(binder: &mut Binder<'a>, root: &Arc<Table>, reads: bool) -> Result<Node> {
    let policies: &PolicyChecks<'_, 'a> =
        &|secured, binder, slots| secured.moved(binder, reads, slots);
    insert_of_moved(binder, root, policies)
}

/// The INSERT of rows that have left their partitions.
fn insert_of_moved<'a>(
    binder: &mut Binder<'a>,
    root: &Arc<Table>,
    policies: &PolicyChecks<'_, 'a>,
) -> Result<Node> {
    let row_slots: Vec<Slot> = root.columns.iter().map(|_| binder.slot()).collect();
    let slots: Vec<Slot> = root.columns.iter().map(|_| binder.slot()).collect();
    let mut values = Vec::with_capacity(root.columns.len());
    for (column, slot) in root.columns.iter().zip(&slots) {
        values.push(match column.hidden && !column.is_key_expr {
            true => default_of(binder, column)?,
            false => Expr::Column(*slot, column.ty.clone()),
        });
    }
    let input = Node::Values(Values { slots, rows: Vec::new(), repeats: None });
    // For triggers of the statement the rows are updated ones.
    let event = TriggerEvent::Update;
    let mut insert = routed_insert(binder, root, (input, values), (row_slots, policies), event)?;
    if let Some(routes) = &mut insert.routes {
        routes.of_moved = true;
    }
    Ok(Node::Insert(Box::new(insert)))
}

/// What policies say of rows that are put into a partition, whose columns have these slots.
pub(crate) type PolicyChecks<'f, 'a> =
    dyn Fn(&Secured, &mut Binder<'a>, &[Slot]) -> Result<Vec<(RowCheck, Expr)>> + 'f;

/// An INSERT of rows into the partitions of a table, from an input and the values over it. `event`
/// is what it is for triggers of the statement.
pub(crate) fn routed_insert<'a>(
    binder: &mut Binder<'a>,
    root: &Arc<Table>,
    (input, values): (Node, Vec<Expr>),
    (row_slots, policies): (Vec<Slot>, &PolicyChecks<'_, 'a>),
    event: TriggerEvent,
) -> Result<Insert> {
    let routes = bind_routes(binder, root, &row_slots, &mut |binder, leaf, input, values| {
        let target = ChangeTarget::of_partition(root, &leaf, None);
        plain_insert(binder, &target, (input, values), policies, event)
    })?;
    let mut checks = Vec::new();
    if let Some(condition) = partition_condition(binder, root, &row_slots)? {
        checks.push((RowCheck::Partition, condition));
    }
    Ok(Insert {
        checks,
        routes: Some(routes),
        ..bare_insert(root.clone(), input, values, row_slots)
    })
}

/// An INSERT of whole rows into a partition.
fn plain_insert<'a>(
    binder: &mut Binder<'a>,
    target: &ChangeTarget,
    (input, values): (Node, Vec<Expr>),
    policies: &PolicyChecks<'_, 'a>,
    event: TriggerEvent,
) -> Result<Insert> {
    let table = &target.table;
    let row_slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let all: BTreeSet<usize> = (0..table.columns.len()).collect();
    let triggers = target.own_triggers(binder, &[TriggerEvent::Insert], &all, &[event])?;
    let mut checks = target.routed_checks(binder, &row_slots, &triggers, &OnConflict::Error)?;
    if let Some(secured) = target.secured(binder)? {
        checks.extend(policies(&secured, binder, &row_slots)?);
    }
    Ok(Insert {
        generated: bind_generated(binder, table, &row_slots)?,
        checks,
        index_exprs: index_exprs(binder, table, &row_slots)?,
        triggers,
        ..bare_insert(table.clone(), input, values, row_slots)
    })
}

/// An INSERT without checks, indexes and triggers.
fn bare_insert(table: Arc<Table>, input: Node, values: Vec<Expr>, row_slots: Vec<Slot>) -> Insert {
    Insert {
        table,
        input,
        values,
        row_slots,
        replaced: None,
        existing_slots: Vec::new(),
        generated: Vec::new(),
        checks: Vec::new(),
        on_conflict: OnConflict::Error,
        index_exprs: Vec::new(),
        cascades: Arc::default(),
        triggers: Arc::new(TableTriggers::default()),
        instead: false,
        routes: None,
        returning: Vec::new(),
    }
}
