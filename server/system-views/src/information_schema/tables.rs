//! `information_schema`: tables, views, schemas, sequences, and what every database has.

use braid_types::collation::{BYTE_COLLATIONS, icu_locales};
use braid_types::{Datum, Result, Row, SqlType};

use crate::access::may_see;
use crate::cell::{int, optional, text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;
use std::sync::Arc;

use braid_catalog::{
    CheckOption, Collations, ColumnId, Id, TriggerEvent, TriggerTiming, View, WritableView,
};
use braid_catalog::{Object, ROOT, is_temporary, virtual_schemas, virtual_tables};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "tables" => tables,
        "views" => views,
        "view_table_usage" => view_table_usage,
        "schemata" => schemata,
        "sequences" => sequences,
        "character_sets" => character_sets,
        "collations" => collations,
        "information_schema_catalog_name" => catalog_name,
        _ => return None,
    })
}

/// The database's name.
pub(crate) fn database(cx: &VirtualContext<'_>) -> Datum {
    text(&cx.path.database_name)
}

fn tables(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "table_catalog",
        "table_schema",
        "table_name",
        "table_type",
        "is_insertable_into",
        "is_typed",
    ];
    let mut builder = RowBuilder::new("information_schema.tables", &columns);
    let mut add = |schema: &str, name: &str, kind: &str, is_table: bool| {
        builder.push([
            database(cx),
            text(schema),
            text(name),
            text(kind),
            yes_no(is_table),
            yes_no(false),
        ]);
    };
    for table in cx.catalog.tables().in_database(cx.path.database) {
        if table.materialized.is_none() && may_see(cx, Object::Table(table)) {
            let kind = if is_temporary(table.id) { "LOCAL TEMPORARY" } else { "BASE TABLE" };
            add(&cx.catalog.schema_name(table.schema), &table.name, kind, true);
        }
    }
    for view in cx.catalog.views().in_database(cx.path.database) {
        if may_see(cx, Object::View(view)) {
            let kind = if is_temporary(view.id) { "LOCAL TEMPORARY" } else { "VIEW" };
            let schema = cx.catalog.schema_name(view.schema);
            add(&schema, &view.name, kind, is_writable(cx, view));
        }
    }
    for table in virtual_tables() {
        let kind = if table.relkind == 'v' { "VIEW" } else { "BASE TABLE" };
        add(table.schema, table.name, kind, table.relkind != 'v');
    }
    builder.rows()
}

fn views(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.views",
        &[
            "table_catalog",
            "table_schema",
            "table_name",
            "view_definition",
            "check_option",
            "is_updatable",
            "is_insertable_into",
            "is_trigger_updatable",
            "is_trigger_deletable",
            "is_trigger_insertable_into",
        ],
    );
    for view in cx.catalog.views().in_database(cx.path.database) {
        if may_see(cx, Object::View(view)) {
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(view.schema)),
                text(&view.name),
                optional(cx.lookup.view_definition(view.id, false, 0)),
                text(view.check_option.map_or("NONE", CheckOption::name)),
                yes_no(is_writable(cx, view)),
                yes_no(is_writable(cx, view)),
                yes_no(has_instead(view, TriggerEvent::Update)),
                yes_no(has_instead(view, TriggerEvent::Delete)),
                yes_no(has_instead(view, TriggerEvent::Insert)),
            ]);
        }
    }
    builder.rows()
}

/// Whether a view has a trigger that does the work of a statement.
fn has_instead(view: &View, event: TriggerEvent) -> bool {
    let mut triggers = view.triggers.iter();
    triggers.any(|found| found.timing == TriggerTiming::InsteadOf && found.is_for(event))
}

/// Whether a view's rows can be changed.
pub(super) fn is_writable(cx: &VirtualContext<'_>, view: &Arc<View>) -> bool {
    let found = WritableView::open(cx.catalog, view, &braid_builtins::makes_other_rows);
    found.is_ok_and(|found| found.check_columns().is_ok())
}

/// Whether each column of a view can be written to.
pub(super) fn writable_columns(cx: &VirtualContext<'_>, view: &Arc<View>) -> Vec<bool> {
    let found = WritableView::open(cx.catalog, view, &braid_builtins::makes_other_rows);
    found.map_or_else(|_| Vec::new(), |found| found.written.iter().map(Option::is_some).collect())
}

fn view_table_usage(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.view_table_usage",
        &[
            "view_catalog",
            "view_schema",
            "view_name",
            "table_catalog",
            "table_schema",
            "table_name",
        ],
    );
    for view in cx.catalog.views().in_database(cx.path.database) {
        for used in view.depends_on.iter().filter_map(|id| cx.catalog.relation(*id)) {
            let (_, schema) = cx.catalog.names().schema_of(&used);
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(view.schema)),
                text(&view.name),
                database(cx),
                text(schema),
                text(used.name()),
            ]);
        }
    }
    builder.rows()
}

fn schemata(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["catalog_name", "schema_name", "schema_owner"];
    let mut builder = RowBuilder::new("information_schema.schemata", &columns);
    let root = cx.catalog.role_name(ROOT);
    for (name, _) in virtual_schemas() {
        builder.push([database(cx), text(name), text(&root)]);
    }
    for schema in cx.catalog.schemas().in_database(cx.path.database) {
        if may_see(cx, Object::Schema(schema)) {
            let owner = cx.catalog.role_name(schema.owner);
            builder.push([database(cx), text(&schema.name), text(owner)]);
        }
    }
    builder.rows()
}

fn sequences(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.sequences",
        &[
            "sequence_catalog",
            "sequence_schema",
            "sequence_name",
            "data_type",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "start_value",
            "minimum_value",
            "maximum_value",
            "increment",
            "cycle_option",
        ],
    );
    let is_identity = |owner: Option<(Id, ColumnId)>| {
        let column = owner.and_then(|(table, id)| {
            cx.catalog.table(table).and_then(|table| table.column(id).cloned())
        });
        column.is_some_and(|column| column.identity.is_some())
    };
    for sequence in cx.catalog.sequences().in_database(cx.path.database) {
        // The sequences of identity columns belong to them.
        if is_identity(sequence.owned_by) || !may_see(cx, Object::Sequence(sequence)) {
            continue;
        }
        let bits = match sequence.ty {
            SqlType::Int2 => 16,
            SqlType::Int4 => 32,
            _ => 64,
        };
        builder.push([
            database(cx),
            text(cx.catalog.schema_name(sequence.schema)),
            text(&sequence.name),
            text(sequence.ty.display_name()),
            int(bits),
            int(2),
            int(0),
            text(sequence.start.to_string()),
            text(sequence.min.to_string()),
            text(sequence.max.to_string()),
            text(sequence.increment.to_string()),
            yes_no(sequence.cycle),
        ]);
    }
    builder.rows()
}

fn character_sets(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.character_sets",
        &[
            "character_set_name",
            "character_repertoire",
            "form_of_use",
            "default_collate_catalog",
            "default_collate_schema",
            "default_collate_name",
        ],
    );
    builder.push([
        text("UTF8"),
        text("UCS"),
        text("UTF8"),
        database(cx),
        text("pg_catalog"),
        text("C"),
    ]);
    builder.rows()
}

fn collations(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["collation_catalog", "collation_schema", "collation_name", "pad_attribute"];
    let mut builder = RowBuilder::new("information_schema.collations", &columns);
    let of_bytes = BYTE_COLLATIONS.iter().map(|(_, name)| (*name).to_owned());
    let of_icu = icu_locales().map(|(_, locale)| format!("{locale}-x-icu"));
    for name in of_bytes.chain(of_icu) {
        builder.push([database(cx), text("pg_catalog"), text(name), text("NO PAD")]);
    }
    let here = cx.path.database;
    for (schema, own) in Collations::of(cx.catalog).iter().filter(|(of, _)| of.database == here) {
        builder.push([database(cx), text(&schema.name), text(&own.name), text("NO PAD")]);
    }
    builder.rows()
}

fn catalog_name(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder =
        RowBuilder::new("information_schema.information_schema_catalog_name", &["catalog_name"]);
    builder.push([database(cx)]);
    builder.rows()
}
