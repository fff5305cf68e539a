//! DROP SCHEMA with everything in it.

use std::collections::BTreeSet;

use braid_catalog::{Id, Named, Object, OwnCollation, Schema, is_virtual_schema};
use braid_sql::ast::{Drop, DropBehavior};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::describe::{describe, describe_routine, describe_type};
use crate::names::lookup::last;
use crate::names::user_types::UserType;
use crate::roles::default_privileges::forget_schema;
use crate::statement::drop::dependents::{Doomed, Line, Seen, settle, take_dependents, take_owned};
use crate::statement::drop::relations::{drop_doomed, report_dependents};
use crate::statement::extension;
use crate::statement::object::collation::refuse_used;
use crate::statement::object::statistics;
use crate::statement::trigger::drop_triggers_calling;
use crate::statement::types::drop_type::{self, collation_dependents, drop_dependents, report};

pub(crate) async fn schemas(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<()> {
    for name in &statement.names {
        let name = last(name);
        if is_virtual_schema(&name) {
            let message =
                format!("cannot drop schema {name} because it is required by the database system");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message));
        }
        let catalog = cx.catalog();
        let Some(schema) = catalog.names().schema(cx.path().database, &name).cloned() else {
            let message = format!("schema \"{name}\" does not exist");
            if !statement.if_exists {
                return Err(Error::new(SqlState::InvalidSchemaName, message));
            }
            cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
            continue;
        };
        cx.check_owner(Object::Schema(&schema))?;
        let inside: Vec<Id> = catalog
            .names()
            .in_schema(schema.id)
            .filter_map(|(_, named)| match named {
                Named::Table(id) | Named::View(id) | Named::Sequence(id) => Some(id),
                Named::Composite(_) | Named::Index(..) => None,
            })
            .chain(UserType::in_schema(&catalog, schema.id))
            .chain(catalog.names().routines().in_schema(schema.id).map(|routine| routine.id))
            .collect();
        if statement.behavior == DropBehavior::Cascade {
            drop_users_of_collations(cx, &schema, &inside).await?;
        }
        refuse_used_collations(cx, &schema, &inside)?;
        let mut others = statistics::in_schema(cx, &schema);
        others.extend(extension::in_schema(cx, schema.id));
        let is_empty = inside.is_empty() && schema.collations.is_empty() && others.is_empty();
        if !is_empty && statement.behavior == DropBehavior::Restrict {
            let on = format!("schema {name}");
            let mut lines = Vec::with_capacity(inside.len());
            for id in &inside {
                let text = describe(cx, &catalog, *id);
                lines.push(format!("{text} depends on {on}"));
                if let Some(found) = UserType::by_id(&catalog, *id) {
                    let doomed = inside.iter().copied().collect();
                    lines.extend(drop_type::dependents(cx, &found, &doomed).details());
                }
            }
            let collations = collation_texts(&schema).into_iter();
            let others = collations.chain(others);
            lines.extend(others.map(|text| format!("{text} depends on {on}")));
            let message = format!("cannot drop {on} because other objects depend on it");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        drop_schema(cx, schema.id, &inside, true).await?;
    }
    Ok(())
}

/// Drops columns and views outside of a schema that use its collations, and reports them.
async fn drop_users_of_collations(
    cx: &mut DdlContext<'_>,
    schema: &Schema,
    inside: &[Id],
) -> Result<()> {
    let inside: BTreeSet<Id> = inside.iter().copied().collect();
    for collation in &schema.collations {
        let used = collation_dependents(cx, collation, &inside);
        let texts = used.cascades();
        drop_dependents(cx, used).await?;
        report(cx, &texts);
    }
    Ok(())
}

/// 2BP01 for a collation in a schema that objects outside of the schema use.
fn refuse_used_collations(cx: &DdlContext<'_>, schema: &Schema, inside: &[Id]) -> Result<()> {
    let what = format!("schema {}", schema.name);
    schema.collations.iter().try_for_each(|found| refuse_used(cx, found, (&what, "it"), inside))
}

/// The collations of a schema as messages list them.
fn collation_texts(schema: &Schema) -> Vec<String> {
    let mut own: Vec<&OwnCollation> = schema.collations.iter().collect();
    own.sort_by_key(|found| found.id);
    own.into_iter().map(|found| format!("collation {}.{}", schema.name, found.name)).collect()
}

/// Drops a schema with everything in it.
pub(crate) async fn drop_schema(
    cx: &mut DdlContext<'_>,
    schema: Id,
    inside: &[Id],
    tell: bool,
) -> Result<()> {
    let catalog = cx.catalog();
    let types = inside.iter().filter_map(|id| UserType::by_id(&catalog, *id));
    let types: Vec<_> = types.collect();
    let own = catalog.schemas().get(schema);
    let mut type_lines = own.map(|own| collation_texts(own)).unwrap_or_default();
    if let Some(own) = own {
        type_lines.extend(statistics::drop_in_schema(cx, own)?);
    }
    type_lines.extend(extension::in_schema(cx, schema));
    for found in &types {
        let dependents = drop_type::dependents(cx, found, &inside.iter().copied().collect());
        type_lines.push(describe_type(cx, found));
        type_lines.extend(dependents.texts().map(str::to_owned));
        drop_type::carry_out(cx, found.id(), dependents).await?;
    }
    let going: BTreeSet<Id> = inside.iter().copied().collect();
    for routine in inside.iter().filter_map(|id| catalog.names().routines().get(*id)) {
        type_lines.push(describe_routine(cx, routine));
        let triggers = drop_triggers_calling(cx, routine)?;
        type_lines.extend(triggers);
        let dependents = drop_type::routine_dependents(cx, routine, &going);
        type_lines.extend(dependents.texts().map(str::to_owned));
        drop_type::carry_out(cx, routine.id, dependents).await?;
    }
    let is_other = |id: &Id| {
        types.iter().any(|found| found.id() == *id) || catalog.names().routines().get(*id).is_some()
    };
    let inside: BTreeSet<Id> = inside.iter().copied().filter(|id| !is_other(id)).collect();
    let catalog = cx.catalog();
    let is_owned = |id: Id| catalog.sequences().get(id).is_some_and(|s| s.owned_by.is_some());
    let mut doomed = Doomed { relations: inside, ..Doomed::default() };
    let mut seen = Seen::default();
    for id in doomed.relations.clone().into_iter().rev() {
        if !seen.relations.insert(id) {
            continue;
        }
        take_owned(&catalog, id, &mut doomed);
        take_dependents(cx, &catalog, id, &mut doomed, &mut seen)?;
        if !is_owned(id) {
            let text = describe(cx, &catalog, id);
            seen.lines.push(Line { text, on: String::new(), part_of: None });
        }
    }
    for text in type_lines.into_iter().rev() {
        seen.lines.push(Line { text, on: String::new(), part_of: None });
    }
    settle(&mut doomed, &mut seen);
    if tell {
        report_dependents(cx, &catalog, &BTreeSet::new(), &seen.lines, DropBehavior::Cascade)?;
    }
    drop_doomed(cx, &catalog, &doomed)?;
    cx.draft()?.remove(schema);
    forget_schema(cx, schema)?;
    extension::forget_schema(cx, schema)?;
    Ok(())
}
