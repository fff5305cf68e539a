//! Privileges of the session's user, also on the target of a change for what its expressions read.

use std::sync::Arc;

use braid_catalog::{Object, Table};
use braid_types::Result;

use crate::bind::Binder;
use crate::tree::expr::Slot;

/// Binds expressions that a change's client wrote; one that reads these slots of the target
/// needs SELECT on it.
pub(crate) fn guarding<T>(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    slots: &[Slot],
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    let before = binder.guarded.replace((table.clone(), slots.to_vec()));
    let bound = bind(binder);
    binder.guarded = before;
    bound
}

/// 42501 if the slot is the target's and its table may not be read.
pub(crate) fn check_guarded(binder: &Binder<'_>, slot: Slot) -> Result<()> {
    match &binder.guarded {
        Some((table, slots)) if slots.contains(&slot) => {
            let object = match binder.cx.catalog.views().get(table.id) {
                Some(view) => Object::View(view),
                None => Object::Table(table),
            };
            check_select(binder, object, "SELECT")
        }
        _ => Ok(()),
    }
}

/// 42501 unless the session's user has the privilege.
pub(crate) fn check_select(binder: &Binder<'_>, object: Object<'_>, privilege: &str) -> Result<()> {
    let catalog = binder.cx.catalog;
    let user = binder.cx.env.current_user();
    let role = catalog.names().role(user).map_or(0, |role| role.id);
    // A view reads its tables with its owner's privileges.
    let role = binder.view_owner.unwrap_or(role);
    catalog.privileges().check(role, object, privilege)
}
