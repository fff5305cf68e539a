//! Runs the pass over a plan, or over an expression of its own.

use braid_catalog::{Id, Table};
use braid_types::{Result, SqlType};

use super::assigner::Assigner;
use super::derived::Derived;
use super::nodes::assign_node;
use super::rows::{has_collations, is_collated_row};
use crate::bind::Binder;
use crate::context::OutputColumn;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::Node;

/// Compares by collations in a plan. Its output columns get theirs.
pub(crate) fn assign_plan_collations(
    binder: &mut Binder<'_>,
    root: &mut Node,
    columns: &mut [OutputColumn],
) -> Result<()> {
    if !wants_settling(binder) {
        return Ok(());
    }
    let mut assigner = Assigner::new(binder);
    assign_node(&mut assigner, root)?;
    for (slot, column) in root.slots().into_iter().zip(columns) {
        let derived = assigner.slots.get(&slot);
        column.collation = derived.and_then(Derived::stored_name);
        column.is_undecided = matches!(derived, Some(Derived::Conflict(..)));
    }
    Ok(())
}

/// Whether a statement has `COLLATE`, or reads or changes a table whose columns have collations.
fn wants_settling(binder: &Binder<'_>) -> bool {
    let catalog = binder.context().catalog;
    let is_such_row = |ty: &SqlType| is_collated_row(catalog, ty);
    let routines = catalog.names().routines();
    let is_of_interest = |id: &Id| match catalog.table(*id) {
        Some(table) => has_collations(catalog, table),
        None => routines.get(*id).is_some_and(|own| is_such_row(own.result_type())),
    };
    binder.has_collate
        || binder.params.iter().any(is_such_row)
        || binder.tables.iter().any(is_of_interest)
}

/// Compares by collations in an expression without columns.
pub(crate) fn assign_expr_collations(binder: &mut Binder<'_>, e: &mut Expr) -> Result<()> {
    if binder.has_collate {
        Assigner::new(binder).expr(e)?;
    }
    Ok(())
}

/// Compares by collations in an expression over rows of a table, each with these slots.
pub(crate) fn assign_collations_over(
    binder: &mut Binder<'_>,
    table: &Table,
    rows: &[&[Slot]],
    e: &mut Expr,
) -> Result<()> {
    if !binder.has_collate && !has_collations(binder.context().catalog, table) {
        return Ok(());
    }
    let mut assigner = Assigner::new(binder);
    for slots in rows {
        assigner.table_slots(table, slots.iter().copied().enumerate());
    }
    assigner.expr(e).map(|_| ())
}

/// The collation of an expression over a table's row, as columns keep it, and the expression
/// without marks.
pub(crate) fn collation_over(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
    e: &mut Expr,
) -> Result<Option<String>> {
    let mut assigner = Assigner::new(binder);
    assigner.table_slots(table, slots.iter().copied().enumerate());
    Ok(assigner.expr(e)?.stored_name())
}
