//! CREATE VIEW.

use std::collections::BTreeSet;

use braid_catalog::{Id, Object, Relation, View};
use braid_plan::{OutputColumn, plan};
use braid_sql::ast::{CreateView, Statement};
use braid_types::{Error, Result, SqlState, SqlType};

use super::DdlContext;
use super::lookup::{duplicate, folded, wrong_kind};

pub(super) fn create(cx: &mut DdlContext<'_>, create: &CreateView) -> Result<()> {
    let not_yet = [
        (create.materialized, "materialized views are"),
        (create.temporary, "temporary views are"),
        (create.recursive, "CREATE RECURSIVE VIEW is"),
        (create.check_option, "WITH CHECK OPTION is"),
    ];
    if let Some((_, what)) = not_yet.iter().find(|(wanted, _)| *wanted) {
        let message = format!("{what} not supported yet");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let (schema, name) = cx.target(&create.name)?;
    let catalog = cx.catalog();
    let existing = catalog.named(schema.id, &name).and_then(|named| catalog.relation_named(named));
    if existing.is_some() && create.if_not_exists {
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        return Ok(());
    }
    let existing = match existing {
        None => None,
        Some(_) if !create.or_replace => return Err(duplicate(&name)),
        Some(Relation::View(view)) => Some(view),
        Some(other) => return Err(wrong_kind(other.name(), "view")),
    };
    if let Some(view) = &existing {
        cx.check_owner(Object::View(view))?;
    }
    let statement = Statement::Query(create.query.clone());
    let planned = cx.plan(|context| plan(&statement, context))?;
    if !planned.params.is_empty() {
        let message = "there is no parameter $1";
        return Err(Error::new(SqlState::UndefinedParameter, message));
    }
    let columns = columns(&planned.columns, &folded(&create.columns))?;
    if let Some(view) = &existing {
        check_replacement(view, &columns)?;
    }
    let query = match cx.text.get(create.query_text.clone()) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => create.query.to_string(),
    };
    let depends_on = dependencies(cx, &query, &planned.tables);
    let view = View {
        id: match &existing {
            Some(view) => view.id,
            None => cx.draft()?.allocate_id(),
        },
        database: schema.database,
        schema: schema.id,
        name,
        owner: existing.as_ref().map_or_else(|| cx.user(), |view| view.owner),
        columns,
        query,
        search_path: cx.path().names(false).map(str::to_owned).collect(),
        depends_on,
        grants: existing.as_ref().map(|view| view.grants.clone()).unwrap_or_default(),
        comment: existing.as_ref().and_then(|view| view.comment.clone()),
    };
    cx.draft()?.put_view(view);
    Ok(())
}

fn columns(output: &[OutputColumn], names: &[String]) -> Result<Vec<(String, SqlType)>> {
    if names.len() > output.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let mut columns: Vec<(String, SqlType)> = Vec::with_capacity(output.len());
    for (place, column) in output.iter().enumerate() {
        let name = names.get(place).unwrap_or(&column.name);
        if columns.iter().any(|(other, _)| other == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        // A literal of no type is text, as in PostgreSQL.
        let ty = if column.ty == SqlType::Unknown { SqlType::Text } else { column.ty.clone() };
        columns.push((name.clone(), ty));
    }
    Ok(columns)
}

/// OR REPLACE may only add columns at the end.
fn check_replacement(view: &View, columns: &[(String, SqlType)]) -> Result<()> {
    let invalid = |message: String| Err(Error::new(SqlState::InvalidTableDefinition, message));
    if columns.len() < view.columns.len() {
        return invalid("cannot drop columns from view".to_owned());
    }
    for ((old, old_type), (new, new_type)) in view.columns.iter().zip(columns) {
        if old != new {
            let message = format!("cannot change name of view column \"{old}\" to \"{new}\"");
            return Err(Error::new(SqlState::InvalidTableDefinition, message).hint(
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
            ));
        }
        if old_type != new_type {
            return invalid(format!(
                "cannot change data type of view column \"{old}\" from {} to {}",
                old_type.display_name(),
                new_type.display_name()
            ));
        }
    }
    Ok(())
}

/// The relations that the query reads: the tables that its plan has, and the views and sequences
/// among the names in its text.
fn dependencies(cx: &DdlContext<'_>, query: &str, tables: &[Id]) -> Vec<Id> {
    let mut found: BTreeSet<Id> = BTreeSet::new();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"');
    for word in query.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
        let Ok(parts) = braid_catalog::names::split_name(word) else { continue };
        if let Ok(Some(relation)) = cx.catalog().resolve(cx.path(), &parts) {
            match relation {
                Relation::Table(table) if tables.contains(&table.id) => {
                    found.insert(table.id);
                }
                Relation::View(view) => {
                    found.insert(view.id);
                }
                Relation::Sequence(sequence) => {
                    found.insert(sequence.id);
                }
                _ => {}
            }
        }
    }
    found.into_iter().collect()
}
