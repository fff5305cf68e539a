//! RENAME, COMMENT, ENABLE and DISABLE of triggers.

use std::sync::Arc;

use braid_catalog::{Object, Relation, Table, Trigger, TriggerState};
use braid_sql::ast::{self, ObjectName, RenameKind, TriggerChoice};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::find::{check_owner, duplicate, find_trigger, inherited_from, missing, put_triggers};
use crate::context::DdlContext;

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

fn change(triggers: &mut [Trigger], id: braid_catalog::Id, change: impl Fn(&mut Trigger)) {
    triggers.iter_mut().filter(|trigger| trigger.id == id).for_each(change);
}

/// `ENABLE` and `DISABLE TRIGGER`. `ALL` means foreign keys as well, which only a superuser may
/// switch off.
pub(crate) fn set_state(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    choice: &TriggerChoice,
    state: ast::TriggerState,
) -> Result<()> {
    let state = match state {
        ast::TriggerState::Origin => TriggerState::Origin,
        ast::TriggerState::Disabled => TriggerState::Disabled,
        ast::TriggerState::Replica => TriggerState::Replica,
        ast::TriggerState::Always => TriggerState::Always,
    };
    let mut changed = Table::clone(table);
    match choice {
        TriggerChoice::Named(name) => {
            let name = fold(name);
            let found = changed.triggers.iter_mut().find(|trigger| trigger.name == name);
            found.ok_or_else(|| missing(&name, &table.name))?.state = state;
        }
        TriggerChoice::User => changed.triggers.iter_mut().for_each(|t| t.state = state),
        TriggerChoice::All => {
            let has_keys = !table.foreign_keys.is_empty() || !table.referenced_by.is_empty();
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
