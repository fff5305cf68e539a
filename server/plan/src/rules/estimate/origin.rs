//! From a slot of an operator's output to the column of a table that it comes from.

use braid_catalog::{Catalog, ColumnId, Id};

use crate::Slot;
use crate::tree::expr::Expr;
use crate::tree::node::{Node, Scan};

use super::facts::Facts;

/// A column of a scan.
pub(super) struct Origin<'a> {
    /// The scan.
    pub scan: &'a Scan,
    /// The column's place in the table.
    pub place: usize,
}

impl Origin<'_> {
    /// What is known of the column.
    pub(crate) fn facts(&self, catalog: &Catalog) -> Facts {
        Facts::of(&self.scan.table, self.place, catalog)
    }

    /// The column's number.
    pub(crate) fn column(&self) -> ColumnId {
        self.scan.table.columns[self.place].id
    }

    /// Which scan of which table it is.
    pub(crate) fn relation(&self) -> (Id, usize) {
        (self.scan.table.id, std::ptr::from_ref(self.scan) as usize)
    }
}

/// Whether the values of a slot are those of a column of this scan.
pub(crate) fn is_column_of(node: &Node, slot: Slot, scan: &Scan, place: usize) -> bool {
    of(node, slot).is_some_and(|found| std::ptr::eq(found.scan, scan) && found.place == place)
}

/// Where the values of a slot come from, if they are those of a column.
pub(super) fn of(node: &Node, slot: Slot) -> Option<Origin<'_>> {
    let through = |e: &Expr| match e {
        Expr::Column(slot, _) => Some(*slot),
        _ => None,
    };
    match node {
        Node::Scan(scan) => {
            let (_, place) = scan.columns.iter().find(|(known, _)| *known == slot)?;
            Some(Origin { scan, place: *place })
        }
        Node::Filter(filter) => of(&filter.input, slot),
        Node::Project(project) => {
            let (_, e) = project.exprs.iter().find(|(known, _)| *known == slot)?;
            of(&project.input, through(e)?)
        }
        Node::ProjectSet(set) => of(&set.input, slot),
        Node::Join(join) => of(&join.left, slot).or_else(|| of(&join.right, slot)),
        Node::Aggregate(aggregate) => {
            let (_, e) = aggregate.group.iter().find(|(known, _)| *known == slot)?;
            of(&aggregate.input, through(e)?)
        }
        Node::Window(window) => of(&window.input, slot),
        Node::Sort(sort) => of(&sort.input, slot),
        Node::LockRows(lock) => of(&lock.input, slot),
        Node::Limit(limit) => of(&limit.input, slot),
        Node::Distinct(distinct) => of(&distinct.input, slot),
        Node::With(with) => of(&with.body, slot),
        _ => None,
    }
}
