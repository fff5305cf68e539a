//! `triggers` and `triggered_update_columns`.

use braid_types::{Result, Row};

use crate::access::may_change;
use crate::cell::{count, optional, text};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::tables::database;
use crate::row_builder::RowBuilder;
use braid_catalog::{Object, Relation, Trigger, TriggerEvent};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    match name {
        "triggers" => Some(triggers),
        "triggered_update_columns" => Some(triggered_update_columns),
        _ => None,
    }
}

/// The triggers of relations on which the user may do more than read.
fn visible<'c>(cx: &VirtualContext<'c>) -> Vec<(Relation, &'c Trigger)> {
    let all = cx.catalog.names().triggers().in_database(cx.path.database);
    all.filter(|(relation, _)| may_change(cx, Object::from(relation))).collect()
}

/// The place of a trigger among those that fire at the same moment.
fn order(relation: &Relation, trigger: &Trigger, event: TriggerEvent) -> usize {
    let fires_with = |other: &&Trigger| {
        other.is_for(event)
            && other.for_each_row == trigger.for_each_row
            && other.timing == trigger.timing
    };
    let before = relation.triggers().iter().filter(fires_with);
    1 + before.take_while(|other| other.id != trigger.id).count()
}

fn triggers(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "trigger_catalog",
        "trigger_schema",
        "trigger_name",
        "event_manipulation",
        "event_object_catalog",
        "event_object_schema",
        "event_object_table",
        "action_order",
        "action_condition",
        "action_statement",
        "action_orientation",
        "action_timing",
        "action_reference_old_table",
        "action_reference_new_table",
    ];
    let mut builder = RowBuilder::new("information_schema.triggers", &columns);
    let names = cx.names();
    for (relation, trigger) in visible(cx) {
        let schema = relation.schema_name(cx.catalog);
        let table = relation.row_table();
        let when = trigger.when.as_ref().zip(table.as_ref());
        let when = when.map(|(when, table)| names.when(table, when, false));
        for event in [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update] {
            if !trigger.is_for(event) {
                continue;
            }
            builder.push([
                database(cx),
                text(&schema),
                text(&trigger.name),
                text(event.word()),
                database(cx),
                text(&schema),
                text(relation.name()),
                count(order(&relation, trigger, event)),
                optional(when.as_ref()),
                text(format!("EXECUTE FUNCTION {}", names.trigger_call(trigger))),
                text(if trigger.for_each_row { "ROW" } else { "STATEMENT" }),
                text(trigger.timing.words()),
                optional(trigger.old_table.as_ref()),
                optional(trigger.new_table.as_ref()),
            ]);
        }
    }
    builder.rows()
}

fn triggered_update_columns(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "trigger_catalog",
        "trigger_schema",
        "trigger_name",
        "event_object_catalog",
        "event_object_schema",
        "event_object_table",
        "event_object_column",
    ];
    let mut builder = RowBuilder::new("information_schema.triggered_update_columns", &columns);
    for (relation, trigger) in visible(cx) {
        let schema = text(relation.schema_name(cx.catalog));
        let Some(table) = relation.row_table() else { continue };
        for column in trigger.columns.iter().filter_map(|id| table.column(*id)) {
            builder.push([
                database(cx),
                schema.clone(),
                text(&trigger.name),
                database(cx),
                schema.clone(),
                text(relation.name()),
                text(&column.name),
            ]);
        }
    }
    builder.rows()
}
