//! Privileges of the session's user, also on the target of a change for what its expressions read.

use std::sync::Arc;

use braid_catalog::{ColumnId, Id, Object, ROOT, Table};
use braid_types::Result;

use crate::bind::Binder;
use crate::bind::scope::columns::Scope;
use crate::tree::expr::Slot;

/// Binds expressions that a change's client wrote; one that reads these slots of the target
/// needs SELECT on it. The slots are those of its columns, and then those of EXCLUDED.
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

/// 42501 if the slot is that of a column which the role may not read.
pub(crate) fn check_guarded(binder: &Binder<'_>, slot: Slot) -> Result<()> {
    if let Some((relation, column)) = binder.narrowed.get(&slot) {
        let relation = binder.cx.catalog.relation(*relation);
        if let Some(relation) = &relation {
            check_column(binder, Object::from(relation), *column, "SELECT")?;
        }
        if binder.computed.iter().any(|(known, _)| *known == slot) {
            binder.reads_target.set(true);
        }
    }
    let Some((table, slots)) = &binder.guarded else { return Ok(()) };
    let Some(place) = slots.iter().position(|known| *known == slot) else { return Ok(()) };
    // The slots of EXCLUDED come after those of the target's own row.
    let width = table.columns.len().max(1);
    if place < width {
        binder.reads_target.set(true);
    }
    let place = place % width;
    match binder.cx.catalog.views().get(table.id) {
        Some(view) => {
            let column = table.columns.get(place);
            let names = view.columns.iter().map(|(name, _)| name);
            let number =
                (1..).zip(names).find(|(_, name)| column.is_some_and(|c| c.name == **name));
            check_column(binder, Object::View(view), number.map_or(0, |(id, _)| id), "SELECT")
        }
        None => {
            let column = table.columns.get(place).map_or(0, |column| column.id);
            check_column(binder, Object::Table(table), column, "SELECT")
        }
    }
}

/// 42501 unless the role has a privilege on a column, or on all of its relation.
pub(crate) fn check_column(
    binder: &Binder<'_>,
    object: Object<'_>,
    column: ColumnId,
    privilege: &str,
) -> Result<()> {
    let role = reader_of(binder);
    let privileges = binder.cx.catalog.privileges();
    match privileges.has_on_column(role, object, column, privilege) {
        true => Ok(()),
        false => Err(privileges.denied(object)),
    }
}

/// 42501 unless the role has a privilege on a relation, or on some column of it.
pub(crate) fn check_some_column(
    binder: &Binder<'_>,
    object: Object<'_>,
    privilege: &str,
) -> Result<()> {
    let role = reader_of(binder);
    let privileges = binder.cx.catalog.privileges();
    match privileges.has_on_some_column(role, object, privilege) {
        true => Ok(()),
        false => Err(privileges.denied(object)),
    }
}

/// Notes the columns of a relation in FROM, each of which is looked at when it is read, unless the
/// role may read all of them.
pub(crate) fn narrow(binder: &mut Binder<'_>, object: Object<'_>, relation: Id, scope: &Scope) {
    let role = reader_of(binder);
    if !binder.cx.catalog.privileges().has(role, object, "SELECT") {
        let columns = scope.columns.iter().filter(|column| column.origin.0 == relation);
        binder.narrowed.extend(columns.map(|column| (column.slot, column.origin)));
    }
}

/// 42501 unless the session's user has the privilege.
pub(crate) fn check_select(binder: &Binder<'_>, object: Object<'_>, privilege: &str) -> Result<()> {
    binder.cx.catalog.privileges().check(reader_of(binder), object, privilege)
}

/// The role that needs the privileges: the owner of the view around, else the session's user. The
/// query of a view that is being defined needs none before somebody reads the view.
pub(crate) fn reader_of(binder: &Binder<'_>) -> Id {
    match (binder.is_definition, binder.view_owner) {
        (true, _) => ROOT,
        (false, Some(owner)) => owner,
        (false, None) => role_of(binder),
    }
}

/// Whether this is the body of a routine that is not run, so that nobody needs privileges.
pub(crate) fn is_only_checked(binder: &Binder<'_>) -> bool {
    binder.cx.variables.is_some_and(|variables| variables.is_only_checked)
}

/// The session's user; a superuser for the body of a routine that is only checked.
pub(crate) fn role_of(binder: &Binder<'_>) -> Id {
    if is_only_checked(binder) {
        return ROOT;
    }
    let user = binder.cx.env.current_user();
    binder.cx.catalog.names().role(user).map_or(0, |role| role.id)
}
