//! Partitioned tables in plans: which rows a partition has, and where new rows go.

use std::sync::Arc;

use braid_catalog::{Id, PartitionMap, Table};

use super::access::Bound;
use super::expr::{Expr, Slot};
use super::node::{Node, SortKey};

/// The rows of several inputs: one after the other, or merged. All inputs give the same slots.
#[derive(Clone)]
pub struct Append {
    /// The inputs.
    pub inputs: Vec<Node>,
    /// The output.
    pub slots: Vec<Slot>,
    /// Of scans: the table above, and where the oid of a row's partition is.
    pub scanned: Option<(Arc<Table>, Slot)>,
    /// The order in which the inputs are merged, if they are: each of them has this order.
    pub merge: Vec<SortKey>,
}

impl Append {
    /// The rows of these inputs, one after the other.
    pub fn of(inputs: Vec<Node>, slots: Vec<Slot>) -> Self {
        Self { inputs, slots, scanned: None, merge: Vec::new() }
    }
}

/// A scanned table as a partition: a level for each partitioned table above it.
#[derive(Debug)]
pub struct ScannedPartition {
    /// The levels.
    pub levels: Vec<KeyedLevel>,
}

/// A partitioned table above a scanned one.
#[derive(Debug)]
pub struct KeyedLevel {
    /// The partitions of the upper table.
    pub map: Arc<PartitionMap>,
    /// The place of the one that has the scanned table's rows.
    pub place: usize,
    /// The places of the first keys among the scanned table's columns, up to the first key that is
    /// an expression.
    pub keys: Vec<usize>,
}

/// What a scan's conditions say of the keys of one partitioned table above it.
#[derive(Clone)]
pub struct Pruning {
    /// The partitions of the upper table.
    pub map: Arc<PartitionMap>,
    /// The place of the one that has the scanned table's rows.
    pub place: usize,
    /// The conditions on the first keys.
    pub bounds: Vec<Bound>,
}

/// Where the rows that are inserted into a partitioned table go.
#[derive(Clone)]
pub struct Routes {
    /// The partitioned tables; the first one is the target.
    pub levels: Vec<RouteLevel>,
    /// The INSERT of each partition that has rows. Its input gives the target's columns.
    pub leaves: Vec<Node>,
    /// The rows are those that UPDATEs of the same statement have taken from other partitions.
    pub of_moved: bool,
}

/// A partitioned table on the way of a row.
#[derive(Clone)]
pub struct RouteLevel {
    /// The table.
    pub table: Arc<Table>,
    /// Its partitions.
    pub map: Arc<PartitionMap>,
    /// Its keys over the target's row.
    pub keys: Vec<Expr>,
    /// What each of the partitions is.
    pub targets: Vec<RouteTarget>,
}

/// What a partition is on the way of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteTarget {
    /// Another partitioned table, by its place among the levels.
    Level(usize),
    /// A table with rows, by its place among the leaves.
    Leaf(usize),
}

/// Finds the partition that an UPDATE leaves a row in, for the `tableoid` of RETURNING.
#[derive(Clone)]
pub struct Destination {
    /// The column of the partition's oid, behind those of the new row and of the input.
    pub slot: Slot,
    /// The partitioned tables, with their keys over the row of the partition that had it.
    pub levels: Vec<RouteLevel>,
    /// The partitions that have rows.
    pub leaves: Vec<Id>,
}

impl Destination {
    /// The keys of all levels.
    pub(crate) fn keys_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.levels.iter_mut().flat_map(|level| &mut level.keys)
    }
}

/// What an UPDATE of a partition does with rows that no longer belong to it.
#[derive(Clone)]
pub struct Moves {
    /// The partitioned table that the statement names.
    pub root: Id,
    /// Whether a new row stays, over the partition's row.
    pub stays: Expr,
    /// For each column of the root its place in the partition, if it has the column.
    pub places: Vec<Option<usize>>,
}
