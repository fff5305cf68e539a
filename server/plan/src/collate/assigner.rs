//! What the pass has learnt of a plan so far, and what follows for columns and results.

use std::collections::HashMap;

use braid_catalog::Table;
use braid_types::SqlType;

use super::derived::Derived;
use super::rows::{of_column, row_of};
use crate::bind::Binder;
use crate::tree::expr::{Expr, Slot};

/// What the pass knows while it goes through a plan, from the inputs up.
pub(crate) struct Assigner<'b, 'a> {
    pub(super) binder: &'b mut Binder<'a>,
    /// The collations of columns.
    pub(super) slots: HashMap<Slot, Derived>,
    /// What stands for a column from here on up.
    pub(super) replaced: HashMap<Slot, Expr>,
    /// The columns of select lists that are written with `COLLATE`, for set operations over them.
    pub(super) explicit: HashMap<Slot, Derived>,
    /// The collations of [`Expr::Input`], inside of a comparison with an array or a subquery.
    pub(super) inputs: Vec<Derived>,
    /// The collations of local values.
    pub(super) locals: HashMap<u32, Derived>,
    /// The collations of the columns of WITH entries.
    pub(super) ctes: HashMap<u32, Vec<Derived>>,
}

impl<'b, 'a> Assigner<'b, 'a> {
    pub(super) fn new(binder: &'b mut Binder<'a>) -> Self {
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
    pub(super) fn table_slots(
        &mut self,
        table: &Table,
        slots: impl Iterator<Item = (usize, Slot)>,
    ) {
        for (place, slot) in slots {
            let Some(column) = table.columns.get(place) else { continue };
            if let Some(derived) = of_column(self.binder.context().catalog, column, &column.ty) {
                self.slots.insert(slot, derived);
            }
        }
    }

    pub(super) fn of_slot(&self, slot: Slot, ty: &SqlType) -> Derived {
        self.slots.get(&slot).cloned().unwrap_or_else(|| self.of_type(ty))
    }

    /// What a type has by itself: a row of a table has the collations of the table's columns.
    pub(super) fn of_type(&self, ty: &SqlType) -> Derived {
        row_of(self.binder.context().catalog, ty).unwrap_or_else(|| Derived::of_type(ty))
    }

    /// The collation of a call's result. That of a row is known from its type, or from arguments
    /// of the same type.
    pub(super) fn of_result(&self, joined: Derived, ty: &SqlType, args: &[SqlType]) -> Derived {
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
