//! DROP, and what depends on what.
//!
//! RESTRICT refuses while something else needs the object (2BP01, with the list as detail);
//! CASCADE takes it along and says so.

use std::collections::BTreeSet;

use braid_catalog::{Catalog, Id, Object, Relation, Table};
use braid_sql::ast::{Drop, DropBehavior, ObjectName};
use braid_sql::quote_ident;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::names::lookup::{lacks_schema, parts, skip, undefined, wrong_kind};
use crate::partitions::create::current;
use crate::partitions::detach::forget_partition;
use crate::rows::delete::{delete_index_entries, delete_rows, forget_interleaving};
use crate::statement::drop::dependents::{Doomed, Line, Seen, settle, take_dependents, take_owned};
use crate::statement::trigger::without_triggers;
use crate::statement::types::row_users::forget_attribute;
use crate::table::descriptor::{change_table, forget_reference, free_index};

pub(crate) fn drop_named_relations(
    cx: &mut DdlContext<'_>,
    statement: &Drop,
    kind: &str,
) -> Result<String> {
    let mut doomed = Doomed::default();
    for name in &statement.names {
        let Some(found) = find_to_drop(cx, name, kind, statement.if_exists)? else { continue };
        cx.check_owner(Object::from(&found))?;
        if let Relation::Sequence(sequence) = &found {
            refuse_identity_sequence(&cx.catalog(), sequence)?;
        }
        doomed.relations.insert(found.oid());
    }
    let named = doomed.relations.clone();
    drop_all(cx, doomed, &named, statement.behavior)?;
    Ok(format!("DROP {}", kind.to_uppercase()))
}

fn refuse_identity_sequence(catalog: &Catalog, sequence: &braid_catalog::Sequence) -> Result<()> {
    let Some((table, column)) = sequence.owned_by else { return Ok(()) };
    let Some(table) = catalog.table(table) else { return Ok(()) };
    let Some(column) = table.column(column).filter(|column| column.identity.is_some()) else {
        return Ok(());
    };
    let what = format!("column {} of table {}", column.name, quote_ident(&table.name));
    let message =
        format!("cannot drop sequence {} because {what} requires it", quote_ident(&sequence.name));
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .hint(format!("You can drop {what} instead.")))
}

/// The relation of `kind` that is to be dropped; a NOTICE and `None` if it may be missing.
pub(crate) fn find_to_drop(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    kind: &str,
    if_exists: bool,
) -> Result<Option<Relation>> {
    let written = parts(name);
    match cx.find(name)? {
        Some(found) if found.kind() == kind => Ok(Some(found)),
        Some(found) => {
            let hint = match found.kind() {
                "index" => "Use DROP INDEX to remove an index.".to_owned(),
                "composite type" => "Use DROP TYPE to remove a type.".to_owned(),
                other => format!("Use DROP {} to remove a {other}.", other.to_uppercase()),
            };
            Err(wrong_kind(found.name(), kind).hint(hint))
        }
        None => {
            if lacks_schema(cx, &written, if_exists)? {
                return Ok(None);
            }
            // The schema exists: PostgreSQL names the relation alone.
            let name = written.last().map_or("", String::as_str);
            let message = format!("{kind} \"{name}\" does not exist");
            skip(cx, undefined(kind, &written).state(), message, if_exists)?;
            Ok(None)
        }
    }
}

/// Drops relations that no statement has named one by one.
pub(crate) fn drop_relations(
    cx: &mut DdlContext<'_>,
    relations: BTreeSet<Id>,
    behavior: DropBehavior,
) -> Result<()> {
    let named = relations.clone();
    drop_all(cx, Doomed { relations, ..Doomed::default() }, &named, behavior)
}

/// Drops relations with what they own, and, with CASCADE, what needs them.
pub(crate) fn drop_all(
    cx: &mut DdlContext<'_>,
    mut doomed: Doomed,
    named: &BTreeSet<Id>,
    behavior: DropBehavior,
) -> Result<()> {
    let catalog = cx.catalog();
    for id in &doomed.relations.clone() {
        take_owned(&catalog, *id, &mut doomed);
    }
    let mut seen = Seen { relations: doomed.relations.clone(), lines: Vec::new() };
    for id in doomed.relations.clone() {
        take_dependents(cx, &catalog, id, &mut doomed, &mut seen)?;
    }
    settle(&mut doomed, &mut seen);
    report_dependents(cx, &catalog, named, &seen.lines, behavior)?;
    drop_doomed(cx, &catalog, &doomed)
}

/// 2BP01 for RESTRICT; a NOTICE for CASCADE.
pub(crate) fn report_dependents(
    cx: &mut DdlContext<'_>,
    catalog: &Catalog,
    named: &BTreeSet<Id>,
    lines: &[Line],
    behavior: DropBehavior,
) -> Result<()> {
    let Some(first) = lines.first() else { return Ok(()) };
    if behavior == DropBehavior::Restrict {
        let mut targets = named.iter().map(|id| describe(cx, catalog, *id));
        let message = match (targets.next(), targets.next()) {
            (Some(target), None) => {
                format!("cannot drop {target} because other objects depend on it")
            }
            _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
        };
        let detail: Vec<String> =
            lines.iter().map(|line| format!("{} depends on {}", line.text, line.on)).collect();
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(detail.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    if lines.len() == 1 {
        cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {}", first.text));
    } else {
        let detail: Vec<String> =
            lines.iter().map(|line| format!("drop cascades to {}", line.text)).collect();
        let message = format!("drop cascades to {} other objects", lines.len());
        cx.notices
            .push(Error::new(SqlState::SuccessfulCompletion, message).detail(detail.join("\n")));
    }
    Ok(())
}

/// Drops the attributes that hold rows of what goes. 0A000 for such a column of a table.
fn drop_columns_of_rows(cx: &mut DdlContext<'_>, catalog: &Catalog, doomed: &Doomed) -> Result<()> {
    for (holder, column) in &doomed.columns {
        if catalog.table(*holder).is_some() {
            let what = "DROP ... CASCADE of a table whose rows are kept in a column of another one";
            return Err(Error::unsupported(what));
        }
        forget_attribute(cx, *holder, *column)?;
    }
    Ok(())
}

pub(crate) fn drop_doomed(
    cx: &mut DdlContext<'_>,
    catalog: &Catalog,
    doomed: &Doomed,
) -> Result<()> {
    for (id, key) in &doomed.foreign_keys {
        let Some(table) = cx.catalog().table(*id).cloned() else { continue };
        let named = table.foreign_keys.iter().find(|other| other.id == *key);
        let parent = named.map(|key| key.parent);
        change_table(cx, *id, |table| table.foreign_keys.retain(|other| other.id != *key))?;
        // Only the partition that it points at may go: then its parent stays.
        let mut table = Table::clone(&*current(cx, *id)?);
        if let Some(parent) = parent {
            forget_reference(cx, &mut table, parent)?;
            if parent == *id {
                cx.draft()?.put(table);
            }
        }
    }
    drop_columns_of_rows(cx, catalog, doomed)?;
    for routine in &doomed.routines {
        cx.draft()?.remove(*routine);
    }
    for (table, policy) in &doomed.policies {
        change_table(cx, *table, |table| {
            table.security.policies.retain(|other| other.id != *policy);
        })?;
    }
    for (table, column) in &doomed.defaults {
        change_table(cx, *table, |table| {
            if let Some(found) = table.columns.iter_mut().find(|found| found.id == *column) {
                found.default = None;
                found.owned_sequence = None;
            }
        })?;
    }
    for (table, number) in &doomed.indexes {
        let Some(table) = cx.catalog().table(*table).cloned() else { continue };
        let Some(index) = table.index(*number) else { continue };
        let mut changed = Table::clone(&table);
        free_index(cx, &mut changed, index, DropBehavior::Cascade)?;
        changed.indexes.retain(|other| other.number != *number);
        delete_index_entries(cx, &table, index)?;
        cx.draft()?.put(changed);
    }
    for id in &doomed.relations {
        drop_relation(cx, catalog, doomed, *id)?;
    }
    Ok(())
}

fn drop_relation(
    cx: &mut DdlContext<'_>,
    catalog: &Catalog,
    doomed: &Doomed,
    id: Id,
) -> Result<()> {
    if let Some(table) = catalog.table(id) {
        cx.refuse_if_owed(table, "DROP TABLE")?;
        delete_rows(cx, table, |id| doomed.relations.contains(&id))?;
        for index in table.all_indexes() {
            forget_interleaving(cx, table, index)?;
        }
        for key in &table.foreign_keys {
            if key.parent != id && !doomed.relations.contains(&key.parent) {
                change_table(cx, key.parent, |parent| {
                    parent.referenced_by.retain(|child| *child != id);
                })?;
            }
        }
        if let Some(part) = &table.partition_of
            && !doomed.relations.contains(&part.parent)
        {
            forget_partition(cx, part.parent, id)?;
        }
        for other in without_triggers(&cx.catalog(), id) {
            cx.draft()?.put(other);
        }
        cx.draft()?.remove(id);
    } else if catalog.views().get(id).is_some() {
        cx.draft()?.remove(id);
    } else if let Some(sequence) = catalog.sequences().get(id) {
        if let Some((table, column)) = sequence.owned_by
            && !doomed.relations.contains(&table)
        {
            change_table(cx, table, |table| {
                let found = table.columns.iter_mut().find(|found| found.id == column);
                if let Some(found) = found {
                    found.owned_sequence = None;
                }
            })?;
        }
        cx.draft()?.remove(id);
    }
    Ok(())
}
