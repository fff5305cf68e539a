//! Collations of expressions, and comparisons by them.
//!
//! Binding knows no collations: it marks `COLLATE` with a call of `braid_collate`. Before the rules
//! run, this pass finds the collation of each expression as PostgreSQL does, takes the marks away,
//! and puts sort keys where a collation of ICU decides an order:
//!
//! ```text
//! a < 'ö'                      braid_sort_key(a, 'sv') < braid_sort_key('ö', 'sv')
//! ORDER BY a                   ORDER BY braid_sort_key(a, 'sv')
//! min(a)                       braid_sorted_text(min(braid_sort_key(a, 'sv')))
//! a = 'ö'   deterministic      a = 'ö'
//!           nondeterministic   braid_equality_key(a, '…') = braid_equality_key('ö', '…')
//! ```
//!
//! So the rules, the operators and the stores compare bytes only. An index whose key has a
//! collation has such a call as its key, which the rules match as any expression.
//!
//! Rules that must always hold:
//! - a plan without `COLLATE` and without columns with a collation is not looked at.
//! - each expression is looked through once: a second pass would not see `COLLATE` any more.
//! - what compares texts and is not known here must be refused, never run with bytes.

mod collation;
mod derived;
mod exprs;
mod functions;
mod groups;
mod keys;
mod mark;
mod nodes;

pub use collation::{Collation, Icu, collation_named, stored_collation};
pub(crate) use derived::Derived;
pub(crate) use mark::mark;

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Catalog, Column, Id, Table};
use braid_types::sql_type::{RowType, relation_of_row_type};
use braid_types::{Result, SqlType};

use crate::bind::Binder;
use crate::context::OutputColumn;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::Node;

/// What the pass knows while it goes through a plan, from the inputs up.
pub(crate) struct Settler<'b, 'a> {
    binder: &'b mut Binder<'a>,
    /// The collations of columns.
    slots: HashMap<Slot, Derived>,
    /// What stands for a column from here on up.
    replaced: HashMap<Slot, Expr>,
    /// The columns of select lists that are written with `COLLATE`, for set operations over them.
    explicit: HashMap<Slot, Derived>,
    /// The collations of [`Expr::Input`], inside of a comparison with an array or a subquery.
    inputs: Vec<Derived>,
    /// The collations of local values.
    locals: HashMap<u32, Derived>,
    /// The collations of the columns of WITH entries.
    ctes: HashMap<u32, Vec<Derived>>,
}

/// Compares by collations in a plan. Its output columns get theirs.
pub(crate) fn settle_plan(
    binder: &mut Binder<'_>,
    root: &mut Node,
    columns: &mut [OutputColumn],
) -> Result<()> {
    if !wants_settling(binder) {
        return Ok(());
    }
    let mut settler = Settler::new(binder);
    nodes::settle_node(&mut settler, root)?;
    for (slot, column) in root.slots().into_iter().zip(columns) {
        let derived = settler.slots.get(&slot);
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

/// Whether a type is the row type of a table whose columns have collations, or has it inside.
pub(crate) fn is_collated_row(catalog: &Catalog, ty: &SqlType) -> bool {
    let SqlType::Record(row) = ty.innermost() else { return false };
    let has_own = |table: &Arc<Table>| table.columns.iter().any(|c| c.collation.is_some());
    row_table(catalog, row).is_some_and(has_own)
        || row.iter().any(|(_, ty)| is_collated_row(catalog, ty))
}

/// The table whose row type it is.
fn row_table<'c>(catalog: &'c Catalog, row: &RowType) -> Option<&'c Arc<Table>> {
    let (relation, is_array) = relation_of_row_type(row.name()?.oid)?;
    catalog.table(relation).filter(|_| !is_array)
}

fn has_collations(catalog: &Catalog, table: &Table) -> bool {
    table
        .columns
        .iter()
        .any(|column| column.collation.is_some() || is_collated_row(catalog, &column.ty))
}

/// Compares by collations in an expression without columns.
pub(crate) fn settle_expr(binder: &mut Binder<'_>, e: &mut Expr) -> Result<()> {
    if binder.has_collate {
        Settler::new(binder).expr(e)?;
    }
    Ok(())
}

/// Compares by collations in an expression over rows of a table, each with these slots.
pub(crate) fn settle_over(
    binder: &mut Binder<'_>,
    table: &Table,
    rows: &[&[Slot]],
    e: &mut Expr,
) -> Result<()> {
    if !binder.has_collate && !has_collations(binder.context().catalog, table) {
        return Ok(());
    }
    let mut settler = Settler::new(binder);
    for slots in rows {
        settler.table_slots(table, slots.iter().copied().enumerate());
    }
    settler.expr(e).map(|_| ())
}

/// The collation of an expression over a table's row, as columns keep it, and the expression
/// without marks.
pub(crate) fn collation_over(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
    e: &mut Expr,
) -> Result<Option<String>> {
    let mut settler = Settler::new(binder);
    settler.table_slots(table, slots.iter().copied().enumerate());
    Ok(settler.expr(e)?.stored_name())
}

impl<'b, 'a> Settler<'b, 'a> {
    fn new(binder: &'b mut Binder<'a>) -> Self {
        Self {
            binder,
            slots: HashMap::new(),
            replaced: HashMap::new(),
            explicit: HashMap::new(),
            inputs: Vec::new(),
            locals: HashMap::new(),
            ctes: HashMap::new(),
        }
    }

    /// The columns of a table that have these slots.
    fn table_slots(&mut self, table: &Table, slots: impl Iterator<Item = (usize, Slot)>) {
        for (place, slot) in slots {
            let Some(column) = table.columns.get(place) else { continue };
            if let Some(derived) = of_column(self.binder.context().catalog, column, &column.ty) {
                self.slots.insert(slot, derived);
            }
        }
    }

    fn of_slot(&self, slot: Slot, ty: &SqlType) -> Derived {
        self.slots.get(&slot).cloned().unwrap_or_else(|| self.of_type(ty))
    }

    /// What a type has by itself: a row of a table has the collations of the table's columns.
    fn of_type(&self, ty: &SqlType) -> Derived {
        row_of(self.binder.context().catalog, ty).unwrap_or_else(|| Derived::of_type(ty))
    }

    /// The collation of a call's result. That of a row is known from its type, or from arguments
    /// of the same type.
    fn of_result(&self, joined: Derived, ty: &SqlType, args: &[SqlType]) -> Derived {
        if let Some(row) = row_of(self.binder.context().catalog, ty) {
            return row;
        }
        let is_row = matches!(ty.innermost(), SqlType::Record(_));
        match is_row && !args.iter().any(|arg| arg.innermost() == ty.innermost()) {
            true => Derived::None,
            false => joined.for_type(ty),
        }
    }
}

/// What the values of a column have besides what every value of their type has.
fn of_column(catalog: &Catalog, column: &Column, ty: &SqlType) -> Option<Derived> {
    match &column.collation {
        Some(stored) if is_collatable(ty) => {
            Some(Derived::Implicit(stored_collation(catalog, stored)))
        }
        _ => row_of(catalog, ty),
    }
}

/// The fields of a table's row, and of an array of such rows, if one of them has a collation.
fn row_of(catalog: &Catalog, ty: &SqlType) -> Option<Derived> {
    let SqlType::Record(row) = ty.innermost() else { return None };
    let table = row_table(catalog, row);
    let mut has_one = false;
    let mut fields = Vec::with_capacity(row.len());
    for (place, (_, ty)) in row.iter().enumerate() {
        let number = row.attributes().get(place).map(|attribute| attribute.number);
        let column = table.zip(number).and_then(|(table, number)| table.column(number));
        let own =
            column.map_or_else(|| row_of(catalog, ty), |column| of_column(catalog, column, ty));
        has_one |= own.is_some();
        fields.push(own.unwrap_or_else(|| Derived::of_type(ty)));
    }
    has_one.then_some(Derived::Row(fields))
}

/// Whether values of a type have a collation.
pub(crate) fn is_collatable(ty: &SqlType) -> bool {
    let ty = ty.innermost();
    ty.is_string() || *ty == SqlType::Citext
}
