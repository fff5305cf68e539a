//! What triggers depend on: functions, columns, and the table of FROM.

use braid_catalog::{Catalog, ColumnId, Id, Mentioning, Relation, Routine, Table, Trigger};
use braid_sql::ast::DropBehavior;
use braid_types::{Error, Result, SqlState};

use super::find::put_triggers;
use crate::context::DdlContext;
use crate::names::describe::{describe, describe_routine};
use crate::statement::policy::{describe_policy, drop_policies_using, policies_using};
use crate::table::expr_text::columns_used;

/// `trigger t on table u`.
fn describe_trigger(cx: &DdlContext<'_>, relation: &Relation, trigger: &Trigger) -> String {
    let on = describe(cx, &cx.catalog(), relation.oid());
    format!("trigger {} on {on}", trigger.name)
}

/// 2BP01 if triggers or policies call a function; with CASCADE they go, and a NOTICE says so.
pub(crate) fn refuse_drop_of_function(
    cx: &mut DdlContext<'_>,
    routine: &Routine,
    behavior: DropBehavior,
) -> Result<()> {
    let catalog = cx.catalog();
    let calling = catalog.names().triggers().calling(routine.id);
    let describe =
        |(relation, trigger): &(Relation, &Trigger)| describe_trigger(cx, relation, trigger);
    let mut lines: Vec<String> = calling.iter().map(describe).collect();
    let policies = policies_using(&catalog, routine.id);
    lines.extend(policies.iter().map(|(table, policy)| describe_policy(cx, table, policy)));
    if lines.is_empty() {
        return Ok(());
    }
    let on = describe_routine(cx, routine);
    if behavior == DropBehavior::Restrict {
        let message = format!("cannot drop {on} because other objects depend on it");
        let detail: Vec<String> =
            lines.iter().map(|line| format!("{line} depends on {on}")).collect();
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(detail.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    match lines.as_slice() {
        [only] => {
            cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {only}"));
        }
        several => {
            let message = format!("drop cascades to {} other objects", several.len());
            let detail: Vec<String> =
                several.iter().map(|line| format!("drop cascades to {line}")).collect();
            let notice = Error::new(SqlState::SuccessfulCompletion, message);
            cx.notices.push(notice.detail(detail.join("\n")));
        }
    }
    drop_triggers_calling(cx, routine).map(drop)
}

/// Drops the triggers and policies that call a function; their descriptions.
pub(crate) fn drop_triggers_calling(
    cx: &mut DdlContext<'_>,
    routine: &Routine,
) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let catalog = cx.catalog();
        let calling = catalog.names().triggers().calling(routine.id);
        let Some((relation, trigger)) = calling.into_iter().next() else {
            lines.extend(drop_policies_using(cx, routine.id)?);
            return Ok(lines);
        };
        lines.push(describe_trigger(cx, &relation, trigger));
        let id = trigger.id;
        let left = relation.triggers().iter().filter(|other| other.id != id).cloned().collect();
        put_triggers(cx, &relation, left)?;
    }
}

/// The triggers of a table that name a column, in UPDATE OF or in WHEN.
pub(crate) fn triggers_reading(table: &Table, column: ColumnId) -> Vec<&Trigger> {
    let reads = |trigger: &&Trigger| {
        let when = trigger.when.as_ref();
        trigger.columns.contains(&column)
            || when.is_some_and(|when| columns_used(table, when).contains(&column))
    };
    table.triggers.iter().filter(reads).collect()
}

/// The tables with constraint triggers whose FROM names a table that goes, without these triggers.
pub(crate) fn without_triggers(catalog: &Catalog, gone: Id) -> Vec<Table> {
    let names = |trigger: &Trigger| {
        trigger.constraint.as_ref().is_some_and(|constraint| constraint.from == Some(gone))
    };
    let concerned = |table: &&std::sync::Arc<Table>| table.triggers.iter().any(names);
    let mentioning = Mentioning::of(catalog, gone);
    let tables = mentioning.tables().filter(concerned);
    tables
        .map(|table| {
            let mut table = Table::clone(table);
            table.triggers.retain(|trigger| !names(trigger));
            table
        })
        .collect()
}
