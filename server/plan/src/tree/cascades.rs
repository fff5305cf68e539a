//! What foreign keys do to other tables when rows of one are deleted or change: found out once
//! while planning, so that the run binds no expression.
//!
//! The tables are those that may be written, each once, however often a cycle comes by. What a
//! row at hand leads to is decided by the run (`dml::foreign_keys`); what it may lead
//! to at most is here, for the prediction of spans and for EXPLAIN.

use std::sync::Arc;

use braid_catalog::{Id, Table};
use braid_sql::quote_ident;

use super::expr::Expr;
use super::node::Node;
use super::partitions::Moves;
use super::row_change::{IndexPart, RowCheck, TableTriggers};

/// Everything that foreign keys may change beside a statement's own rows.
#[derive(Default)]
pub struct Cascades {
    /// The tables that may be written.
    pub tables: Vec<Arc<CascadeTable>>,
    /// What each foreign key may do, nearest first.
    pub steps: Vec<CascadeStep>,
}

/// A table that a cascade may write, with what its rows need.
pub struct CascadeTable {
    /// The table.
    pub table: Arc<Table>,
    /// Generated columns over the table's row.
    pub generated: Vec<(usize, Expr)>,
    /// CHECK constraints over the table's row.
    pub checks: Vec<(RowCheck, Expr)>,
    /// Predicates of partial indexes and keys that are expressions, over the table's row.
    pub index_exprs: Vec<(IndexPart, Expr)>,
    /// Defaults of the columns that SET DEFAULT may set, by place.
    pub defaults: Vec<(usize, Expr)>,
    /// The triggers that its changes fire.
    pub triggers: Arc<TableTriggers>,
    /// Of a partition: where rows go that leave it.
    pub moves: Vec<CascadeMoves>,
}

/// Where rows of a partition go that a cascade takes out of it.
pub struct CascadeMoves {
    /// The foreign keys that may move them.
    pub foreign_keys: Vec<Id>,
    /// Which rows leave, and their form in the partitioned table that has these foreign keys.
    pub moves: Moves,
    /// The INSERT of moved rows into that table.
    pub insert: Arc<Node>,
}

/// What one foreign key may do to the rows that have it.
pub struct CascadeStep {
    /// The foreign key's number.
    pub foreign_key: Id,
    /// Its name.
    pub name: String,
    /// The table whose rows it changes.
    pub child: Arc<Table>,
    /// What it does to them.
    pub effect: CascadeEffect,
}

/// What happens to a row that points at one that goes or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CascadeEffect {
    /// It is deleted.
    Delete,
    /// Columns at these places change.
    Update(Vec<usize>),
}

impl Cascades {
    /// The entry of a table.
    pub fn table(&self, id: Id) -> Option<&Arc<CascadeTable>> {
        self.tables.iter().find(|entry| entry.table.id == id)
    }
}

impl CascadeTable {
    /// Whether changes of its rows may fire triggers: its own, or those of tables to which they
    /// move.
    pub fn may_fire(&self) -> bool {
        !self.triggers.is_empty() || self.moves.iter().any(CascadeMoves::may_fire)
    }

    /// Where rows go that a foreign key moves.
    pub fn moves_by(&self, foreign_key: Id) -> Option<&CascadeMoves> {
        self.moves.iter().find(|moves| moves.foreign_keys.contains(&foreign_key))
    }
}

impl CascadeMoves {
    /// Whether the INSERT of moved rows may fire triggers.
    fn may_fire(&self) -> bool {
        let Node::Insert(insert) = &*self.insert else { return false };
        let fires = |node: &Node| matches!(node, Node::Insert(n) if !n.triggers.is_empty());
        let mut leaves = insert.routes.iter().flat_map(|routes| &routes.leaves);
        !insert.triggers.is_empty() || leaves.any(fires)
    }
}

impl CascadeStep {
    /// `delete from c (c_p_fkey)`, `update c set p (c_p_fkey)`.
    pub fn describe(&self) -> String {
        let (child, name) = (quote_ident(&self.child.name), quote_ident(&self.name));
        match &self.effect {
            CascadeEffect::Delete => format!("delete from {child} ({name})"),
            CascadeEffect::Update(places) => {
                let columns = places.iter().filter_map(|place| self.child.columns.get(*place));
                let names: Vec<String> = columns.map(|column| quote_ident(&column.name)).collect();
                format!("update {child} set {} ({name})", names.join(", "))
            }
        }
    }
}
