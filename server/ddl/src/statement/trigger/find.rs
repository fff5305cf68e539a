//! The trigger that a statement names, and its removal.

use braid_catalog::{Object, Relation, Table, Trigger, View};
use braid_sql::ast::{DropOther, ObjectName};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{lacks_schema, parts, skip, undefined};
use crate::partitions::triggers::spread_triggers;

/// The relation of that name, which can have triggers. 42P01 if there is none, 42809 for one that
/// has none.
pub(super) fn with_triggers(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Relation> {
    let Some(found) = cx.find(name)? else { return Err(undefined("relation", &parts(name))) };
    let kinds = match &found {
        Relation::Table(table) if table.materialized.is_some() => "materialized views",
        Relation::Table(_) | Relation::View(_) => return Ok(found),
        Relation::Sequence(_) => "sequences",
        Relation::Composite(_) => "composite types",
        Relation::Index(_, index) => {
            let message = format!("\"{}\" is an index", index.name);
            return Err(Error::new(SqlState::WrongObjectType, message));
        }
        Relation::Virtual(table) => {
            let message = format!("permission denied: \"{}\" is a system catalog", table.name);
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
    };
    let message = format!("relation \"{}\" cannot have triggers", found.name());
    Err(Error::new(SqlState::WrongObjectType, message)
        .detail(format!("This operation is not supported for {kinds}.")))
}

/// 42704: a relation has no such trigger.
pub(super) fn missing(name: &str, relation: &str) -> Error {
    let message = format!("trigger \"{name}\" for table \"{relation}\" does not exist");
    Error::new(SqlState::UndefinedObject, message)
}

/// 42501 unless the user owns the relation of a trigger.
pub(super) fn check_owner(cx: &DdlContext<'_>, relation: &Relation) -> Result<()> {
    cx.check_owner(Object::from(relation)).map_err(|error| {
        let message = format!("must be owner of relation {}", relation.name());
        Error::new(error.state(), message)
    })
}

/// Gives a relation other triggers, which are kept by name.
pub(super) fn put_triggers(
    cx: &mut DdlContext<'_>,
    relation: &Relation,
    mut triggers: Vec<Trigger>,
) -> Result<()> {
    triggers.sort_by(|a, b| a.name.cmp(&b.name));
    match relation {
        Relation::Table(table) => {
            let changed = Table { triggers, ..Table::clone(table) };
            cx.draft()?.put(changed.clone());
            spread_triggers(cx, &changed, relation.triggers())?;
        }
        Relation::View(view) => cx.draft()?.put(View { triggers, ..View::clone(view) }),
        other => {
            let message = format!("relation \"{}\" has triggers", other.name());
            return Err(Error::internal(message));
        }
    }
    Ok(())
}

/// The relation that a statement names, with its trigger. Who may go on is up to the caller.
pub(super) fn find_trigger(
    cx: &DdlContext<'_>,
    name: &str,
    table: &ObjectName,
) -> Result<(Relation, Trigger)> {
    let Some(relation) = cx.find(table)? else {
        return Err(undefined("relation", &parts(table)));
    };
    let found = relation.triggers().iter().find(|trigger| trigger.name == name).cloned();
    let trigger = found.ok_or_else(|| missing(name, relation.name()))?;
    Ok((relation, trigger))
}

/// The partitioned table whose row trigger a partition's trigger is.
pub(super) fn inherited_from(
    cx: &DdlContext<'_>,
    relation: &Relation,
    name: &str,
) -> Option<String> {
    let Relation::Table(table) = relation else { return None };
    let parent = cx.catalog().table(table.partition_of.as_ref()?.parent).cloned()?;
    let is_same = |trigger: &Trigger| trigger.for_each_row && trigger.name == name;
    parent.triggers.iter().any(is_same).then(|| parent.name.clone())
}

/// `DROP TRIGGER`
pub(crate) fn drop_trigger(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    name: &str,
    table: &ObjectName,
) -> Result<()> {
    let if_exists = statement.if_exists;
    let written = parts(table);
    let Some(relation) = cx.find(table)? else {
        if lacks_schema(cx, &written, if_exists)? {
            return Ok(());
        }
        let error = undefined("relation", &written);
        return skip(cx, error.state(), error.message().to_owned(), if_exists);
    };
    let mut triggers = relation.triggers().to_vec();
    if !triggers.iter().any(|trigger| trigger.name == name) {
        if !if_exists {
            return Err(missing(name, relation.name()));
        }
        let message =
            format!("trigger \"{name}\" for relation \"{}\" does not exist", written.join("."));
        return skip(cx, SqlState::UndefinedObject, message, true);
    }
    check_owner(cx, &relation)?;
    if let Some(parent) = inherited_from(cx, &relation, name) {
        let upper = format!("trigger {name} on table {parent}");
        let relation = relation.name();
        let message =
            format!("cannot drop trigger {name} on table {relation} because {upper} requires it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop {upper} instead.")));
    }
    triggers.retain(|trigger| trigger.name != name);
    put_triggers(cx, &relation, triggers)
}
