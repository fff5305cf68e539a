//! What depends on a column that is dropped.

use braid_catalog::{Column, ForeignKey, Id, Queries, Table};
use braid_sql::ast::DropBehavior;
use braid_sql::quote_ident;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::statement::drop::dependents::Doomed;
use crate::statement::drop::relations::drop_all;
use crate::statement::object::statistics::{drop_found, reading_field};
use crate::statement::object::view::view_reads;
use crate::statement::policy::{describe_policy, policies_reading};
use crate::statement::trigger::triggers_reading;
use crate::table::descriptor::{change_table, referring_to};
use crate::table::expr_text::expr_reads;

fn is_needed(on: &str, lines: &[String]) -> Error {
    let message = format!("cannot drop {on} because other objects depend on it");
    let detail: Vec<String> = lines.iter().map(|line| format!("{line} depends on {on}")).collect();
    Error::new(SqlState::DependentObjectsStillExist, message)
        .detail(detail.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// What uses a column: 2BP01, or with CASCADE drops it. It returns the generated columns, which the
/// caller has to drop.
pub(crate) fn check_column_dependents(
    cx: &mut DdlContext<'_>,
    table: &Table,
    column: &Column,
    behavior: DropBehavior,
) -> Result<Vec<String>> {
    let catalog = cx.catalog();
    let views: Vec<Id> = Queries::of(&catalog)
        .iter()
        .filter(|view| view.database == table.database && view_reads(view, table.id, column))
        .map(|view| view.id)
        .collect();
    let is_generated = |other: &&Column| {
        other.id != column.id
            && !other.is_key_expr
            && expr_reads(table, other.generated.as_ref(), column.id)
    };
    let generated: Vec<&Column> = table.columns.iter().filter(is_generated).collect();
    let relation = quote_ident(&table.name);
    let on = format!("column {} of table {relation}", column.name);
    let triggers = triggers_reading(table, column.id);
    let trigger_lines = triggers.iter().map(|t| format!("trigger {} on table {relation}", t.name));
    let policies = policies_reading(&catalog, table, column.id);
    let policy_lines: Vec<String> =
        policies.iter().map(|(table, policy)| describe_policy(cx, table, policy)).collect();
    let statistics = reading_field(cx, table.database, (table.id, column.id));
    let statistics_lines = statistics.iter().map(|(.., name)| format!("statistics object {name}"));
    let view_lines = views.iter().map(|id| describe(cx, &catalog, *id));
    let column_lines =
        generated.iter().map(|other| format!("column {} of table {relation}", other.name));
    // With CASCADE foreign keys go with the index that they need.
    let keys = match behavior {
        // Keys of the table over the column itself go with it.
        DropBehavior::Restrict => referring_to(&catalog, table, |key| {
            let is_own = |own: &ForeignKey| own.id == key.id && own.columns.contains(&column.id);
            key.parent_columns.contains(&column.id) && !table.foreign_keys.iter().any(is_own)
        }),
        DropBehavior::Cascade => Vec::new(),
    };
    let lines = keys.into_iter().chain(view_lines).chain(column_lines).chain(trigger_lines);
    let lines: Vec<String> = lines.chain(policy_lines).chain(statistics_lines).collect();
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    if behavior == DropBehavior::Restrict {
        return Err(is_needed(&on, &lines));
    }
    for line in &lines {
        cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {line}"));
    }
    let generated = generated.iter().map(|column| column.name.clone()).collect();
    let gone_triggers: Vec<Id> = triggers.iter().map(|trigger| trigger.id).collect();
    change_table(cx, table.id, |table| {
        table.triggers.retain(|trigger| !gone_triggers.contains(&trigger.id));
    })?;
    drop_found(cx, &statistics)?;
    for (of, policy) in &policies {
        change_table(cx, of.id, |of| {
            of.security.policies.retain(|other| other.id != policy.id);
        })?;
    }
    let doomed = Doomed { relations: views.iter().copied().collect(), ..Doomed::default() };
    let named = doomed.relations.clone();
    drop_all(cx, doomed, &named, DropBehavior::Cascade)?;
    Ok(generated)
}
