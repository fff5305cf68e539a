//! INSERT into a partitioned table: an INSERT for each partition, and the keys that choose one.

use std::sync::Arc;

use braid_catalog::{PartitionMap, Table};
use braid_types::Result;

use super::condition::keys_over;
use super::leaves::{child_of, place_in};
use crate::bind::Binder;
use crate::bind::stored::default_of;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Destination, Insert, Node, RouteLevel, RouteTarget, Routes, Values};

/// Makes the INSERT of a partition over an input that gives the root's columns: the partition, the
/// input, and the value of each of the partition's columns.
pub(crate) type LeafInsert<'f, 'a> =
    dyn FnMut(&mut Binder<'a>, Arc<Table>, Node, Vec<Expr>) -> Result<Insert> + 'f;

/// The routes of rows into a partitioned table, whose columns have these slots.
pub(crate) fn bind_routes<'a>(
    binder: &mut Binder<'a>,
    root: &Arc<Table>,
    row_slots: &[Slot],
    leaf: &mut LeafInsert<'_, 'a>,
) -> Result<Box<Routes>> {
    let (levels, children) = bind_levels(binder, root, (root, row_slots))?;
    let mut leaves = Vec::with_capacity(children.len());
    for child in children {
        let (input, values) = leaf_values(binder, root, &child)?;
        leaves.push(Node::Insert(Box::new(leaf(binder, child, input, values)?)));
    }
    // Which partition a row goes to shows only while the statement runs.
    binder.fires_triggers = true;
    Ok(Box::new(Routes { levels, leaves, of_moved: false }))
}

/// Where an UPDATE leaves rows of a partition, whose columns have these slots. `slot` is that of
/// the oid.
pub(crate) fn bind_destination(
    binder: &mut Binder<'_>,
    root: &Arc<Table>,
    row: (&Table, &[Slot]),
    slot: Slot,
) -> Result<Destination> {
    let (levels, children) = bind_levels(binder, root, row)?;
    let leaves = children.iter().map(|child| child.id).collect();
    Ok(Destination { slot, levels, leaves })
}

/// The partitioned tables from a root on, with their keys over a row whose columns have these
/// slots, and the partitions that have rows.
fn bind_levels(
    binder: &mut Binder<'_>,
    root: &Arc<Table>,
    row: (&Table, &[Slot]),
) -> Result<(Vec<RouteLevel>, Vec<Arc<Table>>)> {
    let (mut levels, mut leaves) = (Vec::new(), Vec::new());
    let mut waiting = vec![root.clone()];
    let mut known = 1;
    while let Some(table) = (!waiting.is_empty()).then(|| waiting.remove(0)) {
        binder.tables.insert(table.id);
        let map = Arc::new(PartitionMap::of(binder.context().catalog, &table)?);
        let keys = keys_over(binder, &table, row)?;
        let mut targets = Vec::with_capacity(map.entries.len());
        for (id, _) in &map.entries {
            let child = child_of(binder, &table, *id)?;
            if child.partitioning.is_some() {
                targets.push(RouteTarget::Level(known));
                known += 1;
                waiting.push(child);
                continue;
            }
            binder.tables.insert(child.id);
            targets.push(RouteTarget::Leaf(leaves.len()));
            leaves.push(child);
        }
        levels.push(RouteLevel { table, map, keys, targets });
    }
    Ok((levels, leaves))
}

/// An input of rows of the root, and the values of a partition's columns over it.
fn leaf_values(binder: &mut Binder<'_>, root: &Table, leaf: &Table) -> Result<(Node, Vec<Expr>)> {
    let slots: Vec<Slot> = root.columns.iter().map(|_| binder.slot()).collect();
    let mut values = Vec::with_capacity(leaf.columns.len());
    for column in &leaf.columns {
        let place = if column.is_key_expr { None } else { place_in(root, &column.name) };
        values.push(match place {
            Some(place) => Expr::Column(slots[place], column.ty.clone()),
            None if column.is_key_expr => Expr::null(column.ty.clone()),
            None => default_of(binder, column)?,
        });
    }
    Ok((Node::Values(Values { slots, rows: Vec::new(), repeats: None }), values))
}
