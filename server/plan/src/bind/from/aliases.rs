//! Aliases of the items of FROM, and the names that they give to columns.

use braid_catalog::View;
use braid_sql::ast::TableAlias;
use braid_types::{Error, Result, SqlState};

use crate::bind::Binder;
use crate::bind::scope::columns::Scope;
use crate::context::OutputColumn;
use crate::tree::expr::Slot;

/// The name that columns of an item have before them.
pub(crate) fn shown_name(binder: &Binder<'_>, alias: &TableAlias) -> String {
    match braid_sql::split_label(&alias.name.value) {
        Some((label, _)) if binder.is_stored => label.to_string(),
        _ => braid_sql::fold(&alias.name),
    }
}

/// `AS t (a, b)`; a stored query has these names only for being shown.
pub(crate) fn rename_item_columns(
    binder: &Binder<'_>,
    scope: &mut Scope,
    alias: &TableAlias,
) -> Result<()> {
    if binder.is_stored {
        let names = braid_sql::listed_columns(alias);
        for (column, name) in scope.columns.iter_mut().filter(|c| !c.hidden).zip(names) {
            column.name = name;
        }
        return Ok(());
    }
    rename_columns(scope, alias)
}

/// `AS t (a, b)`
pub(crate) fn rename_columns(scope: &mut Scope, alias: &TableAlias) -> Result<()> {
    let visible = scope.columns.iter().filter(|c| !c.hidden).count();
    if alias.columns.len() > visible {
        let name = braid_sql::fold(&alias.name);
        return Err(Error::new(
            SqlState::InvalidColumnReference,
            format!(
                "table \"{name}\" has {visible} columns available but {} columns specified",
                alias.columns.len()
            ),
        ));
    }
    let targets = scope.columns.iter_mut().filter(|c| !c.hidden);
    for (column, name) in targets.zip(&alias.columns) {
        column.name = braid_sql::fold(&name.name);
    }
    Ok(())
}

/// The columns of a view among those that its query gives. A query that is kept as it was written
/// gives more once a table has got another column: then names show which the view has.
pub(super) fn kept_slots(columns: &[OutputColumn], slots: Vec<Slot>, view: &View) -> Vec<Slot> {
    if view.stored.is_some() || slots.len() <= view.columns.len() {
        return slots;
    }
    let mut kept = Vec::with_capacity(view.columns.len());
    // A table's new column stands behind its others, so the last one of a name is the old one.
    let mut found = columns.iter().zip(&slots).rev();
    for (name, _) in view.columns.iter().rev() {
        match found.find(|(column, _)| column.name == *name) {
            Some((_, slot)) => kept.push(*slot),
            // The view's columns have names of their own.
            None => return slots,
        }
    }
    kept.reverse();
    kept
}
