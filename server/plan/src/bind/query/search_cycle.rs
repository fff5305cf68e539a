//! SEARCH and CYCLE of a recursive query: columns that both of its terms compute beside their own.
//!
//! ```text
//!              SEARCH DEPTH FIRST      SEARCH BREADTH FIRST     CYCLE
//!   first      ARRAY[ROW(by)]          ROW(0, by)               DEFAULT,  ARRAY[ROW(by)]
//!   recursive  old || ROW(by)          ROW(old.depth + 1, by)   ROW(by) = ANY (old),
//!                                                               old || ROW(by)
//! ```
//!
//! The recursive term reads the columns of the row that it comes from, and leaves out rows that
//! are marked as a cycle. It cannot name these columns: they are added behind its own.
//!
//! Here: which columns are added, and how the recursive term gets at the row before. Their
//! expressions are bound with the terms (`with.rs`).

use braid_sql::{CycleClause, SearchClause};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::tree::expr::{Expr, Slot};
use crate::tree::node::Node;

/// A column that is added.
pub(super) struct Added {
    pub name: String,
    /// Its value in the first term.
    pub first: Expr,
    /// Its value in the recursive term, from that in the row before.
    pub next: Next,
}

/// How a column goes on.
pub(super) enum Next {
    /// The array gets the row of these columns.
    Append(Vec<usize>),
    /// The number is one more, and the row is of these columns.
    Deeper(Vec<usize>),
    /// Whether the row of these columns is in the last column that is added: both values.
    Mark(Vec<usize>, Box<(Expr, Expr)>),
}

/// The columns of a term.
pub(super) fn outputs(node: &Node, columns: &[(String, SqlType)]) -> Vec<Expr> {
    let slots = node.slots().into_iter().zip(columns);
    slots.map(|(slot, (_, ty))| Expr::Column(slot, ty.clone())).collect()
}

/// Columns that the scan of a query's own rows is to give, with their places there.
pub(super) struct Given<'c> {
    pub id: u32,
    pub columns: &'c [(Expr, usize)],
}

impl Given<'_> {
    fn slots(&self) -> impl Iterator<Item = (Slot, &Expr, usize)> {
        self.columns.iter().filter_map(|(e, place)| match e {
            Expr::Column(slot, _) => Some((*slot, e, *place)),
            _ => None,
        })
    }

    /// Lets the scan give them, and all above it pass them on. False if the scan is below more
    /// projections than these, as in a subquery.
    pub(crate) fn expose(&self, node: &mut Node, projections: u32) -> bool {
        match node {
            Node::CteScan(scan) if scan.id == self.id && scan.working => {
                scan.columns.extend(self.slots().map(|(slot, _, place)| (slot, place)));
                true
            }
            Node::Project(project) => {
                let Some(left) = projections.checked_sub(1) else { return false };
                let found = self.expose(&mut project.input, left);
                if found {
                    project.exprs.extend(self.slots().map(|(slot, e, _)| (slot, e.clone())));
                }
                found
            }
            Node::Filter(filter) => self.expose(&mut filter.input, projections),
            Node::ProjectSet(set) => self.expose(&mut set.input, projections),
            Node::Window(window) => self.expose(&mut window.input, projections),
            Node::Join(join) => {
                self.expose(&mut join.left, projections)
                    || self.expose(&mut join.right, projections)
            }
            _ => false,
        }
    }
}

/// 42601 if two of the columns that are added have one name.
pub(super) fn check_names(cycle: &CycleClause, search: Option<&SearchClause>) -> Result<()> {
    let search = search.map(|search| search.set.as_str());
    let what = if cycle.set == cycle.using {
        "cycle mark column name and cycle path column name are the same"
    } else if search == Some(&cycle.set) {
        "search sequence column name and cycle mark column name are the same"
    } else if search == Some(&cycle.using) {
        "search sequence column name and cycle path column name are the same"
    } else {
        return Ok(());
    };
    Err(Error::new(SqlState::SyntaxError, what))
}

/// The places of named columns. 42601 for an unknown one, 42701 for one that is there twice.
pub(super) fn places(
    what: &str,
    names: &[String],
    columns: &[(String, SqlType)],
) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let Some(place) = columns.iter().position(|(known, _)| known == name) else {
            let message = format!("{what} column \"{name}\" not in WITH query column list");
            return Err(Error::new(SqlState::SyntaxError, message));
        };
        if found.contains(&place) {
            let message = format!("{what} column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        found.push(place);
    }
    Ok(found)
}

/// 42601 if a column that is added has the name of another one.
pub(super) fn refuse_known(what: &str, name: &str, columns: &[(String, SqlType)]) -> Result<()> {
    if columns.iter().all(|(known, _)| known != name) {
        return Ok(());
    }
    let message = format!("{what} name \"{name}\" already used in WITH query column list");
    Err(Error::new(SqlState::SyntaxError, message))
}
