//! How a plan locks rows: the operator that does, and what it looks at again afterwards.
//!
//! Not here: where locking clauses may stand and what they reach (`bind`), and the locks (`kv`).

use std::sync::Arc;

use braid_catalog::Table;
use braid_sql::ast::LockStrength;
use braid_types::SqlType;

use super::expr::{Expr, Slot};
use super::node::Node;

/// How rows are locked while they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLock {
    /// How strongly.
    pub strength: LockStrength,
    /// What to do when another transaction holds the lock.
    pub wait: LockWait,
}

impl RowLock {
    /// Whether nobody else may lock the row: FOR UPDATE and FOR NO KEY UPDATE.
    pub fn is_exclusive(self) -> bool {
        self.strength >= LockStrength::NoKeyUpdate
    }
}

/// What to do when another transaction holds a lock. Of several clauses the last one here wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockWait {
    /// Wait for it.
    Block,
    /// Leave the row out.
    SkipLocked,
    /// 55P03
    NoWait,
}

/// Rows locked as they are given, after filters, joins and sorts.
///
/// Its output is the input without the locked tables' columns, followed by those columns as they
/// are now. Of a locked table the input needs the primary key only.
#[derive(Clone)]
pub struct LockRows {
    /// The input.
    pub input: Node,
    /// The tables whose rows are locked.
    pub targets: Vec<LockedTable>,
    /// What is looked at again once a row is locked, over the output, in this order.
    pub recheck: Vec<Recheck>,
    /// No more than this plus `offset` rows are wanted.
    pub limit: Option<Expr>,
    /// See `limit`.
    pub offset: Option<Expr>,
}

/// A table whose rows are locked.
#[derive(Clone)]
pub struct LockedTable {
    /// The table.
    pub table: Arc<Table>,
    /// Its name in the query.
    pub alias: String,
    /// The columns given as they are under the lock: slots and places among the table's columns.
    pub columns: Vec<(Slot, usize)>,
    /// The primary key's slots in the input, in key order. Of a partitioned table: all slots that
    /// lead to a row.
    pub key: Vec<Slot>,
    /// Of a partitioned table: its partitions, and where the oid of a row's partition is.
    pub parts: Option<(Slot, Vec<LockedPart>)>,
    /// The lock.
    pub lock: RowLock,
    /// The lock comes from UPDATE or DELETE and can be switched off.
    pub implicit: bool,
    /// The families to be locked and read, by place; `None`: all.
    pub families: Option<Vec<usize>>,
}

/// A step of looking at a row again that has changed before it was locked.
#[derive(Clone)]
pub enum Recheck {
    /// The row is dropped unless all of these hold.
    Holds(Vec<Expr>),
    /// An outer join: unless all of these hold, the other side's columns are NULL.
    NullUnless(Vec<Expr>, Vec<Slot>),
    /// Columns that are computed below are computed again.
    Compute(Vec<(Slot, Expr)>),
}

impl Recheck {
    /// The expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (list, computed) = match self {
            Recheck::Holds(list) | Recheck::NullUnless(list, _) => (&list[..], &[][..]),
            Recheck::Compute(computed) => (&[][..], &computed[..]),
        };
        list.iter().chain(computed.iter().map(|(_, e)| e))
    }

    /// The expressions.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (list, computed) = match self {
            Recheck::Holds(list) | Recheck::NullUnless(list, _) => (&mut list[..], &mut [][..]),
            Recheck::Compute(computed) => (&mut [][..], &mut computed[..]),
        };
        list.iter_mut().chain(computed.iter_mut().map(|(_, e)| e))
    }
}

/// A partition whose rows are locked.
#[derive(Clone)]
pub struct LockedPart {
    /// The partition.
    pub table: Arc<Table>,
    /// The primary key's slots in the input, in key order.
    pub key: Vec<Slot>,
    /// For each column of the table above, its place in the partition.
    pub places: Vec<Option<usize>>,
}

/// In the place of a column's place: the oid of the row's table.
pub const OID_PLACE: usize = usize::MAX;

impl LockRows {
    /// The output.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = self.passed();
        slots.extend(self.targets.iter().flat_map(|t| t.columns.iter().map(|c| c.0)));
        slots
    }

    /// The slots that are passed on from the input as they are.
    pub fn passed(&self) -> Vec<Slot> {
        let mut slots = self.input.slots();
        slots.retain(|slot| self.targets.iter().all(|target| !target.gives(*slot)));
        slots
    }
}

impl LockedTable {
    /// The type of the column at a place of [`LockedTable::columns`].
    pub fn column_type(&self, place: usize) -> SqlType {
        let own = |table: &Table, place: usize| table.columns.get(place).map(|c| c.ty.clone());
        let ty = match &self.parts {
            None => own(&self.table, place),
            Some((_, parts)) => parts
                .iter()
                .find_map(|part| own(&part.table, part.places.get(place).copied().flatten()?)),
        };
        ty.unwrap_or(SqlType::Unknown)
    }

    /// Whether a slot is a column of the table (given or not: keys are given by no one else).
    pub fn gives(&self, slot: Slot) -> bool {
        self.columns.iter().any(|(known, _)| *known == slot) || self.key.contains(&slot)
    }
}
