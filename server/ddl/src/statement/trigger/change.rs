//! RENAME, COMMENT, ENABLE and DISABLE of triggers.

use std::sync::Arc;

use braid_catalog::partitions::is_referenced;
use braid_catalog::{Id, Object, Relation, Table, Trigger, TriggerState};
use braid_sql::ast::{self, ObjectName, RenameKind, TriggerChoice};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::find::{check_owner, find_trigger, inherited_from, missing, put_triggers};
use crate::context::DdlContext;
use crate::partitions::triggers::duplicate;

/// `ALTER TRIGGER … RENAME TO`
pub(crate) fn rename(
    cx: &mut DdlContext<'_>,
    name: &str,
    table: &ObjectName,
    kind: &RenameKind,
) -> Result<()> {
    let RenameKind::To(new) = kind else {
        let message = "a trigger can only be given another name";
        return Err(Error::new(SqlState::SyntaxError, message));
    };
    let new = fold(new);
    let (relation, trigger) = find_trigger(cx, name, table)?;
    cx.check_owner(Object::from(&relation))?;
    if let Some(parent) = inherited_from(cx, &relation, name) {
        let message = format!("cannot rename trigger \"{name}\" on table \"{}\"", relation.name());
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .hint(format!("Rename the trigger on the partitioned table \"{parent}\" instead.")));
    }
    let mut triggers = relation.triggers().to_vec();
    if triggers.iter().any(|other| other.name == new) {
        return Err(duplicate(&new, relation.name()));
    }
    change(&mut triggers, trigger.id, |trigger| trigger.name.clone_from(&new));
    put_triggers(cx, &relation, triggers)
}

/// `COMMENT ON TRIGGER`
pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &str,
    table: &ObjectName,
    text: Option<String>,
) -> Result<()> {
    let (relation, trigger) = find_trigger(cx, name, table)?;
    check_owner(cx, &relation)?;
    let mut triggers = relation.triggers().to_vec();
    change(&mut triggers, trigger.id, |trigger| trigger.comment.clone_from(&text));
    put_triggers(cx, &relation, triggers)
}

fn change(triggers: &mut [Trigger], id: Id, change: impl Fn(&mut Trigger)) {
    triggers.iter_mut().filter(|trigger| trigger.id == id).for_each(change);
}

fn state_of(written: ast::TriggerState) -> TriggerState {
    match written {
        ast::TriggerState::Origin => TriggerState::Origin,
        ast::TriggerState::Disabled => TriggerState::Disabled,
        ast::TriggerState::Replica => TriggerState::Replica,
        ast::TriggerState::Always => TriggerState::Always,
    }
}

/// The same for the copies that the partitions of a table have of its triggers and, with `ALL`, of
/// its foreign keys. Triggers of their own stay as they are.
pub(crate) fn set_state_of_copies(
    cx: &mut DdlContext<'_>,
    id: Id,
    choice: &TriggerChoice,
    state: ast::TriggerState,
) -> Result<()> {
    let Some(table) = cx.catalog().table(id).cloned() else { return Ok(()) };
    let is_meant = |name: &str| match choice {
        TriggerChoice::Named(written) => fold(written) == name,
        TriggerChoice::User | TriggerChoice::All => true,
    };
    let rows = table.triggers.iter().filter(|trigger| trigger.for_each_row);
    let names: Vec<&String> =
        rows.map(|trigger| &trigger.name).filter(|name| is_meant(name)).collect();
    let partitions = table.partitioning.iter().flat_map(|keys| keys.partitions.clone());
    for partition in partitions.collect::<Vec<Id>>() {
        let Some(found) = cx.catalog().table(partition).cloned() else { continue };
        let mut changed = Table::clone(&found);
        let copies = changed.triggers.iter_mut().filter(|own| names.contains(&&own.name));
        copies.for_each(|copy| copy.state = state_of(state));
        let has_keys = !table.foreign_keys.is_empty() || is_referenced(&cx.catalog(), &table);
        if has_keys && matches!(choice, TriggerChoice::All) {
            changed.key_triggers = state_of(state);
        }
        cx.draft()?.put(changed);
        set_state_of_copies(cx, partition, choice, state)?;
    }
    Ok(())
}

/// `ENABLE` and `DISABLE TRIGGER`. `ALL` means foreign keys as well, which only a superuser may
/// switch off.
pub(crate) fn set_state(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    choice: &TriggerChoice,
    state: ast::TriggerState,
) -> Result<()> {
    let state = state_of(state);
    let mut changed = Table::clone(table);
    match choice {
        TriggerChoice::Named(name) => {
            let name = fold(name);
            let found = changed.triggers.iter_mut().find(|trigger| trigger.name == name);
            found.ok_or_else(|| missing(&name, &table.name))?.state = state;
        }
        TriggerChoice::User => changed.triggers.iter_mut().for_each(|t| t.state = state),
        TriggerChoice::All => {
            let has_keys = !table.foreign_keys.is_empty() || is_referenced(&cx.catalog(), table);
            if has_keys {
                check_superuser(cx, table)?;
                changed.key_triggers = state;
            }
            changed.triggers.iter_mut().for_each(|trigger| trigger.state = state);
        }
    }
    let triggers = changed.triggers.clone();
    put_triggers(cx, &Relation::Table(Arc::new(changed)), triggers)
}

/// 42501 unless the user is a superuser.
fn check_superuser(cx: &DdlContext<'_>, table: &Table) -> Result<()> {
    if cx.catalog().privileges().is_superuser(cx.user()) {
        return Ok(());
    }
    let own = table.foreign_keys.first().map_or(table.id, |key| key.id);
    let message = format!("permission denied: \"RI_ConstraintTrigger_{own}\" is a system trigger");
    Err(Error::new(SqlState::InsufficientPrivilege, message))
}
