//! DROP, and what depends on what.
//!
//! RESTRICT refuses while something else needs the object (2BP01, with the list as detail);
//! CASCADE takes it along and says so.

use std::collections::BTreeSet;

use braid_catalog::{
    Catalog, Column, Id, Index, Named, Object, Relation, Table, is_virtual_schema,
};
use braid_sql::ast::{Drop, DropBehavior, DropKind, ObjectName};
use braid_types::{Error, Result, SqlState};

use super::dependents::{Doomed, Line, Seen, settle, take_dependents, take_owned};
use super::exprs::reads;
use super::lookup::{content, lacks_schema, last, parts, skip, undefined, wrong_kind};
use super::{DdlContext, drop_enum};

pub(super) async fn run(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<String> {
    let tag = match statement.kind {
        DropKind::Table => relations(cx, statement, "table")?,
        DropKind::View => relations(cx, statement, "view")?,
        DropKind::MaterializedView => relations(cx, statement, "materialized view")?,
        DropKind::Sequence => relations(cx, statement, "sequence")?,
        DropKind::Index => {
            indexes(cx, statement)?;
            "DROP INDEX".to_owned()
        }
        DropKind::Schema => {
            schemas(cx, statement).await?;
            "DROP SCHEMA".to_owned()
        }
        DropKind::Database => {
            super::database::drop(cx, statement).await?;
            "DROP DATABASE".to_owned()
        }
        DropKind::Extension => missing(cx, statement, "extension", "DROP EXTENSION")?,
    };
    Ok(tag)
}

/// Objects of kinds that there are none of.
fn missing(cx: &mut DdlContext<'_>, statement: &Drop, kind: &str, tag: &str) -> Result<String> {
    for name in &statement.names {
        let message = format!("{kind} \"{}\" does not exist", parts(name).join("."));
        skip(cx, SqlState::UndefinedObject, message, statement.if_exists)?;
    }
    Ok(tag.to_owned())
}

fn relations(cx: &mut DdlContext<'_>, statement: &Drop, kind: &str) -> Result<String> {
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
    let what = format!("column {} of table {}", column.name, table.name);
    let message = format!("cannot drop sequence {} because {what} requires it", sequence.name);
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .hint(format!("You can drop {what} instead.")))
}

/// The relation of `kind` that is to be dropped; a NOTICE and `None` if it may be missing.
pub(super) fn find_to_drop(
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
                other => format!("Use DROP {} to remove a {other}.", other.to_uppercase()),
            };
            Err(wrong_kind(found.name(), kind).hint(hint))
        }
        None => {
            if lacks_schema(cx, &written, if_exists)? {
                return Ok(None);
            }
            let message = format!("{kind} \"{}\" does not exist", written.join("."));
            skip(cx, undefined(kind, &written).state(), message, if_exists)?;
            Ok(None)
        }
    }
}

/// Drops relations that no statement has named one by one.
pub(super) fn drop_relations(
    cx: &mut DdlContext<'_>,
    relations: BTreeSet<Id>,
    behavior: DropBehavior,
) -> Result<()> {
    let named = relations.clone();
    drop_all(cx, Doomed { relations, ..Doomed::default() }, &named, behavior)
}

/// Drops relations with what they own, and, with CASCADE, what needs them.
fn drop_all(
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
        take_dependents(cx, &catalog, id, &mut doomed, &mut seen);
    }
    settle(&mut doomed, &mut seen);
    report(cx, &catalog, named, &seen.lines, behavior)?;
    carry_out(cx, &catalog, &doomed)
}

/// 2BP01 for RESTRICT; a NOTICE for CASCADE.
fn report(
    cx: &mut DdlContext<'_>,
    catalog: &Catalog,
    named: &BTreeSet<Id>,
    lines: &[Line],
    behavior: DropBehavior,
) -> Result<()> {
    let Some(first) = lines.first() else { return Ok(()) };
    if behavior == DropBehavior::Restrict {
        let mut targets = named.iter().map(|id| super::lookup::describe(cx, catalog, *id));
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

fn carry_out(cx: &mut DdlContext<'_>, catalog: &Catalog, doomed: &Doomed) -> Result<()> {
    for (table, key) in &doomed.foreign_keys {
        change_table(cx, *table, |table| table.foreign_keys.retain(|other| other.id != *key))?;
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
        cx.delete_index(&table, index)?;
        cx.draft()?.put_table(changed);
    }
    for id in &doomed.relations {
        if let Some(table) = catalog.table(*id) {
            cx.refuse_if_owed(table, "DROP TABLE")?;
            cx.delete_rows(table, |id| doomed.relations.contains(&id))?;
            for index in table.all_indexes() {
                cx.forget_interleaving(table, index)?;
            }
            for key in &table.foreign_keys {
                if key.parent != *id && !doomed.relations.contains(&key.parent) {
                    change_table(cx, key.parent, |parent| {
                        parent.referenced_by.retain(|child| child != id);
                    })?;
                }
            }
            cx.draft()?.drop_table(*id);
        } else if catalog.view(*id).is_some() {
            cx.draft()?.drop_view(*id);
        } else if let Some(sequence) = catalog.sequence(*id) {
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
            cx.draft()?.drop_sequence(*id);
        }
    }
    Ok(())
}

/// Changes a table's descriptor in the draft.
pub(super) fn change_table(
    cx: &mut DdlContext<'_>,
    id: Id,
    change: impl FnOnce(&mut Table),
) -> Result<()> {
    if let Some(table) = cx.catalog().table(id) {
        let mut table = Table::clone(table);
        change(&mut table);
        cx.draft()?.put_table(table);
    }
    Ok(())
}

fn indexes(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<()> {
    if statement.concurrently && !cx.implicit {
        let message = "DROP INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(Error::new(SqlState::ActiveSqlTransaction, message));
    }
    for (place, name) in statement.names.iter().enumerate() {
        let at = statement.at_names.get(place).and_then(Option::as_ref);
        let found = match at {
            // table@index
            Some(index) => {
                let table = cx.table(name)?;
                let index = braid_sql::fold(index);
                let found = table.all_indexes().find(|found| found.name == index);
                found.map(|found| Relation::Index(table.clone(), found.number))
            }
            None => cx.find(name)?,
        };
        let (table, number) = match found {
            Some(Relation::Index(table, number)) => (table, number),
            Some(other) => return Err(wrong_kind(other.name(), "index")),
            None => {
                let written = parts(name);
                if !lacks_schema(cx, &written, statement.if_exists)? {
                    let message = format!("index \"{}\" does not exist", written.join("."));
                    skip(cx, SqlState::UndefinedObject, message, statement.if_exists)?;
                }
                continue;
            }
        };
        drop_index(cx, &table, number, statement.behavior)?;
    }
    Ok(())
}

fn drop_index(
    cx: &mut DdlContext<'_>,
    table: &Table,
    number: braid_catalog::IndexNumber,
    behavior: DropBehavior,
) -> Result<()> {
    cx.check_owner(Object::Table(table))?;
    let Some(index) = table.index(number).cloned() else { return Ok(()) };
    if index.constraint.is_some() || number == table.primary.number {
        let (name, relation) = (&index.name, &table.name);
        let message = format!(
            "cannot drop index {name} because constraint {name} on table {relation} requires it"
        );
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop constraint {name} on table {relation} instead.")));
    }
    let mut changed = Table::clone(table);
    free_index(cx, &mut changed, &index, behavior)?;
    changed.indexes.retain(|other| other.number != number);
    cx.delete_index(table, &index)?;
    cx.draft()?.put_table(changed);
    Ok(())
}

/// Drops an index that nothing needs.
pub(super) fn drop_index_of(
    cx: &mut DdlContext<'_>,
    table: Id,
    number: braid_catalog::IndexNumber,
) -> Result<()> {
    match cx.catalog().table(table).cloned() {
        Some(table) => drop_index(cx, &table, number, DropBehavior::Cascade),
        None => Ok(()),
    }
}

/// Makes sure that no foreign key needs an index of `table`: 2BP01, or with CASCADE drops them.
pub(super) fn free_index(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    index: &Index,
    behavior: DropBehavior,
) -> Result<()> {
    if behavior == DropBehavior::Restrict {
        return super::alter_table::refuse_if_referenced(cx, table, index);
    }
    let (id, number) = (table.id, index.number);
    let catalog = cx.catalog();
    let needs = |key: &braid_catalog::ForeignKey| key.parent == id && key.parent_index == number;
    for child in table.referenced_by.clone().iter().filter_map(|child| catalog.table(*child)) {
        for key in child.foreign_keys.iter().filter(|key| needs(key)) {
            let message =
                format!("drop cascades to constraint {} on table {}", key.name, child.name);
            cx.notice(SqlState::SuccessfulCompletion, message);
        }
        if child.id != id {
            change_table(cx, child.id, |child| child.foreign_keys.retain(|key| !needs(key)))?;
        }
    }
    table.foreign_keys.retain(|key| !needs(key));
    let catalog = cx.catalog();
    let own_refers = table.foreign_keys.iter().any(|key| key.parent == id);
    table.referenced_by.retain(|child| {
        let refers = catalog.table(*child);
        let refers = refers.is_some_and(|child| child.foreign_keys.iter().any(|k| k.parent == id));
        if *child == id { own_refers } else { refers }
    });
    Ok(())
}

/// The foreign keys that point at a table and fit, the oldest first: `constraint k on table c`.
pub(super) fn referring_to(
    catalog: &Catalog,
    table: &Table,
    fits: impl Fn(&braid_catalog::ForeignKey) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for child in table.referenced_by.iter().filter_map(|id| catalog.table(*id)) {
        for key in child.foreign_keys.iter().filter(|key| key.parent == table.id && fits(key)) {
            found.push((key.id, format!("constraint {} on table {}", key.name, child.name)));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, text)| text).collect()
}

/// Views and generated columns that use a column: 2BP01, or with CASCADE drops them.
pub(super) fn check_column_dependents(
    cx: &mut DdlContext<'_>,
    table: &Table,
    column: &Column,
    behavior: DropBehavior,
) -> Result<()> {
    let catalog = cx.catalog();
    let views: Vec<Id> = catalog
        .views_of(table.database)
        .filter(|view| super::view::reads(view, table.id, column))
        .map(|view| view.id)
        .collect();
    let generated: Vec<&Column> = table
        .columns
        .iter()
        .filter(|other| {
            other.id != column.id
                && !other.is_key_expr
                && reads(table, other.generated.as_ref(), column.id)
        })
        .collect();
    let on = format!("column {} of table {}", column.name, table.name);
    let view_lines = views.iter().map(|id| super::lookup::describe(cx, &catalog, *id));
    let column_lines =
        generated.iter().map(|other| format!("column {} of table {}", other.name, table.name));
    // With CASCADE foreign keys go with the index that they need.
    let keys = match behavior {
        DropBehavior::Restrict => {
            referring_to(&catalog, table, |key| key.parent_columns.contains(&column.id))
        }
        DropBehavior::Cascade => Vec::new(),
    };
    let lines: Vec<String> = keys.into_iter().chain(view_lines).chain(column_lines).collect();
    if lines.is_empty() {
        return Ok(());
    }
    if behavior == DropBehavior::Restrict {
        let message = format!("cannot drop {on} because other objects depend on it");
        let detail: Vec<String> =
            lines.iter().map(|line| format!("{line} depends on {on}")).collect();
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(detail.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for line in &lines {
        cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {line}"));
    }
    let gone: Vec<u16> = generated.iter().map(|column| column.id).collect();
    change_table(cx, table.id, |table| {
        table.columns.retain(|column| !gone.contains(&column.id));
    })?;
    let doomed = Doomed { relations: views.iter().copied().collect(), ..Doomed::default() };
    let named = doomed.relations.clone();
    drop_all(cx, doomed, &named, DropBehavior::Cascade)
}

async fn schemas(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<()> {
    for name in &statement.names {
        let name = last(name);
        if is_virtual_schema(&name) {
            let message =
                format!("cannot drop schema {name} because it is required by the database system");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message));
        }
        let catalog = cx.catalog();
        let Some(schema) = catalog.schema_by_name(cx.path().database, &name).cloned() else {
            let message = format!("schema \"{name}\" does not exist");
            if !statement.if_exists {
                return Err(Error::new(SqlState::InvalidSchemaName, message));
            }
            cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
            continue;
        };
        cx.check_owner(Object::Schema(&schema))?;
        let inside: Vec<Id> = catalog
            .names_of(schema.id)
            .filter_map(|(_, named)| match named {
                Named::Table(id) | Named::View(id) | Named::Sequence(id) => Some(id),
                Named::Index(..) => None,
            })
            .chain(catalog.enums().filter(|e| e.schema == schema.id).map(|e| e.id))
            .collect();
        if !inside.is_empty() && statement.behavior == DropBehavior::Restrict {
            let on = format!("schema {name}");
            let mut lines = Vec::with_capacity(inside.len());
            for id in &inside {
                let text = super::lookup::describe(cx, &catalog, *id);
                lines.push(format!("{text} depends on {on}"));
                if let Some(found) = catalog.enum_by_id(*id) {
                    let doomed = inside.iter().copied().collect();
                    lines.extend(drop_enum::dependents(cx, found, &doomed).details());
                }
            }
            let message = format!("cannot drop {on} because other objects depend on it");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        drop_schema(cx, schema.id, &inside, true).await?;
    }
    Ok(())
}

/// Drops a schema with everything in it.
pub(super) async fn drop_schema(
    cx: &mut DdlContext<'_>,
    schema: Id,
    inside: &[Id],
    tell: bool,
) -> Result<()> {
    let enums = inside.iter().filter_map(|id| cx.catalog().enum_by_id(*id).cloned());
    let enums: Vec<_> = enums.collect();
    let mut enum_lines = Vec::new();
    for found in &enums {
        let dependents = drop_enum::dependents(cx, found, &inside.iter().copied().collect());
        enum_lines.push(super::lookup::describe_enum(cx, found));
        enum_lines.extend(dependents.texts().map(str::to_owned));
        drop_enum::carry_out(cx, found, dependents).await?;
    }
    let is_enum = |id: &Id| enums.iter().any(|found| found.id == *id);
    let inside: BTreeSet<Id> = inside.iter().copied().filter(|id| !is_enum(id)).collect();
    let catalog = cx.catalog();
    let is_owned = |id: Id| catalog.sequence(id).is_some_and(|s| s.owned_by.is_some());
    let mut doomed = Doomed { relations: inside, ..Doomed::default() };
    let mut seen = Seen::default();
    for id in doomed.relations.clone().into_iter().rev() {
        if !seen.relations.insert(id) {
            continue;
        }
        take_owned(&catalog, id, &mut doomed);
        take_dependents(cx, &catalog, id, &mut doomed, &mut seen);
        if !is_owned(id) {
            let text = super::lookup::describe(cx, &catalog, id);
            seen.lines.push(Line { text, on: String::new(), part_of: None });
        }
    }
    for text in enum_lines.into_iter().rev() {
        seen.lines.push(Line { text, on: String::new(), part_of: None });
    }
    settle(&mut doomed, &mut seen);
    if tell {
        report(cx, &catalog, &BTreeSet::new(), &seen.lines, DropBehavior::Cascade)?;
    }
    carry_out(cx, &catalog, &doomed)?;
    cx.draft()?.drop_schema(schema);
    Ok(())
}

/// Everything that a schema holds, by id.
pub(super) fn schema_content(catalog: &Catalog, schema: Id) -> Vec<Id> {
    let (tables, views, sequences) = content(catalog, schema);
    let tables = tables.iter().map(|table| table.id);
    let views = views.iter().map(|view| view.id);
    let enums = catalog.enums().filter(|found| found.schema == schema).map(|found| found.id);
    let sequences = sequences.iter().map(|sequence| sequence.id);
    tables.chain(views).chain(sequences).chain(enums).collect()
}
