//! `pg_trigger`. The triggers by which PostgreSQL checks foreign keys are not shown.

use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{count, flag, int, optional, text, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;
use braid_catalog::{Id, Relation, Trigger, TriggerConstraint};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    match name {
        "pg_trigger" => Some(pg_trigger),
        _ => None,
    }
}

/// The arguments, each with a zero byte behind it.
fn arguments(trigger: &Trigger) -> Datum {
    let bytes = trigger.arguments.iter().flat_map(|argument| argument.bytes().chain([0]));
    Datum::Bytes(bytes.collect())
}

/// The trigger of the partitioned table whose copy a partition's trigger is.
fn parent_trigger(cx: &VirtualContext<'_>, relation: &Relation, trigger: &Trigger) -> Option<Id> {
    let Relation::Table(table) = relation else { return None };
    let parent = cx.catalog.table(table.partition_of.as_ref()?.parent)?;
    let is_same = |upper: &&Trigger| upper.for_each_row && upper.name == trigger.name;
    parent.triggers.iter().find(is_same).map(|upper| upper.id)
}

fn pg_trigger(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_trigger",
        &[
            "oid",
            "tgrelid",
            "tgparentid",
            "tgname",
            "tgfoid",
            "tgtype",
            "tgenabled",
            "tgisinternal",
            "tgconstrrelid",
            "tgconstraint",
            "tgdeferrable",
            "tginitdeferred",
            "tgnargs",
            "tgattr",
            "tgargs",
            "tgqual",
            "tgoldtable",
            "tgnewtable",
        ],
    );
    let names = cx.names();
    for (relation, trigger) in cx.catalog.names().triggers().in_database(cx.path.database) {
        let constraint = trigger.constraint.as_ref();
        let is = |test: fn(&TriggerConstraint) -> bool| flag(constraint.is_some_and(test));
        let table = relation.row_table();
        let when = trigger.when.as_ref().zip(table.as_ref());
        builder.push([
            int(trigger.id),
            int(relation.oid()),
            int(parent_trigger(cx, &relation, trigger).unwrap_or_default()),
            text(&trigger.name),
            int(trigger.function),
            int(trigger.type_bits()),
            text(trigger.state.letter()),
            flag(false),
            int(constraint.and_then(|constraint| constraint.from).unwrap_or(0)),
            int(constraint.map_or(0, |constraint| constraint.id)),
            is(|constraint| constraint.deferrable),
            is(|constraint| constraint.initially_deferred),
            count(trigger.arguments.len()),
            vector(SqlType::Int2, trigger.columns.iter().map(|id| i64::from(*id))),
            arguments(trigger),
            optional(when.map(|(when, table)| names.when(table, when, false))),
            optional(trigger.old_table.as_ref()),
            optional(trigger.new_table.as_ref()),
        ]);
    }
    builder.rows()
}
