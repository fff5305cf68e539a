//! The scan of one stored table, and its row as a scope.

use std::sync::Arc;

use braid_catalog::Table;
use braid_types::Result;

use super::system_columns::table_source;
use crate::bind::Binder;
use crate::bind::scope::columns::{Scope, ScopeColumn, ScopeTable};
use crate::bind::stored::{index_predicates, key_exprs};
use crate::memo::Memo;
use crate::tree::expr::Slot;
use crate::tree::node::{Access, Scan};

/// A scan of all of a table's columns by its primary key.
pub(crate) fn plain_scan(binder: &mut Binder<'_>, table: &Arc<Table>, alias: &str) -> Result<Scan> {
    binder.tables.insert(table.id);
    let places = 0..table.columns.len();
    let access = Access::new(1, Vec::new());
    Ok(Scan {
        table: table.clone(),
        alias: alias.to_owned(),
        columns: places.map(|place| (binder.slot(), place)).collect(),
        key_exprs: key_exprs(binder, table)?,
        predicates: index_predicates(binder, table)?,
        wants_literals: false,
        wants_values: false,
        guesses: Arc::default(),
        members: Vec::new(),
        filter: Vec::new(),
        bounded_by: Vec::new(),
        union: Vec::new(),
        access,
        lock: None,
        implicit_lock: false,
        families: None,
        unrecorded: false,
        rows: 0.0,
        gap_keys: None,
        partition: None,
        pruning: Vec::new(),
        memo: Memo::default(),
    })
}

/// The row of a table in FROM, whose columns have these slots.
pub(crate) fn table_row(table: &Table, alias: &str, slots: &[Slot]) -> Result<Scope> {
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    for (column, slot) in table.columns.iter().zip(slots) {
        scope.columns.push(ScopeColumn {
            table: alias.to_owned(),
            schema: None,
            name: column.name.clone(),
            slot: *slot,
            ty: column.ty.clone(),
            hidden: column.hidden,
            merged: false,
            is_row: false,
            domain: None,
            origin: (table.id, column.id),
            item: (0, 0),
        });
    }
    scope.sources.push(table_source(table, alias, slots)?);
    Ok(scope)
}
