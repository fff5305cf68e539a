//! `information_schema`: keys, checks, foreign keys and the columns they use.

use braid_types::{Datum, Result, Row};

use crate::access::may_see;
use crate::cell::{count, optional, text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::tables::database;
use crate::pg_catalog::constraints::key_constraints;
use crate::row_builder::RowBuilder;
use braid_catalog::Column;
use braid_catalog::shown_key_columns;
use braid_catalog::{ColumnId, ForeignKey, ForeignKeyAction, Id, Index, Object, Table};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "table_constraints" => table_constraints,
        "key_column_usage" => key_column_usage,
        "constraint_column_usage" => constraint_column_usage,
        "constraint_table_usage" => constraint_table_usage,
        "referential_constraints" => referential_constraints,
        "check_constraints" => check_constraints,
        _ => return None,
    })
}

fn visible_tables<'c>(cx: &'c VirtualContext<'_>) -> impl Iterator<Item = &'c Table> {
    let tables = cx.catalog.tables().in_database(cx.path.database).map(|table| &**table);
    tables.filter(|table| may_see(cx, Object::Table(table)))
}

/// A NOT NULL as `information_schema` names it.
fn not_null_name(table: &Table, column: ColumnId) -> String {
    format!("{}_{}_{column}_not_null", table.schema, table.id)
}

fn not_null_columns(table: &Table) -> impl Iterator<Item = &Column> {
    table.visible_columns().filter(|column| !column.nullable)
}

fn table_constraints(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.table_constraints",
        &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "table_catalog",
            "table_schema",
            "table_name",
            "constraint_type",
            "is_deferrable",
            "initially_deferred",
            "enforced",
            "nulls_distinct",
        ],
    );
    for table in visible_tables(cx) {
        let schema = cx.catalog.schema_name(table.schema);
        let mut add =
            |name: &str, kind: &str, (deferrable, deferred): (bool, bool), nulls: Datum| {
                builder.push([
                    database(cx),
                    text(&schema),
                    text(name),
                    database(cx),
                    text(&schema),
                    text(&table.name),
                    text(kind),
                    yes_no(deferrable),
                    yes_no(deferred),
                    yes_no(true),
                    nulls,
                ]);
            };
        for (_, index) in standard_keys(table) {
            let (kind, nulls) = match table.is_primary_key(index) {
                true => ("PRIMARY KEY", Datum::Null),
                false => ("UNIQUE", yes_no(!index.nulls_not_distinct)),
            };
            let modes = (index.deferrable, index.initially_deferred);
            add(&index.name, kind, modes, nulls);
        }
        for check in &table.checks {
            add(&check.name, "CHECK", (false, false), Datum::Null);
        }
        for key in &table.foreign_keys {
            let modes = (key.deferrable, key.initially_deferred);
            add(&key.name, "FOREIGN KEY", modes, Datum::Null);
        }
        for column in not_null_columns(table) {
            add(&not_null_name(table, column.id), "CHECK", (false, false), Datum::Null);
        }
    }
    builder.rows()
}

fn column_name(table: &Table, id: ColumnId) -> Datum {
    optional(table.column(id).map(|column| column.name.as_str()))
}

fn key_column_usage(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.key_column_usage",
        &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "ordinal_position",
            "position_in_unique_constraint",
        ],
    );
    for table in visible_tables(cx) {
        let schema = cx.catalog.schema_name(table.schema);
        let mut add = |name: &str, column: ColumnId, place: usize, target: Option<usize>| {
            builder.push([
                database(cx),
                text(&schema),
                text(name),
                database(cx),
                text(&schema),
                text(&table.name),
                column_name(table, column),
                count(place + 1),
                target.map_or(Datum::Null, |target| count(target + 1)),
            ]);
        };
        for (_, index) in standard_keys(table) {
            for (place, column) in shown_key_columns(table, index).into_iter().enumerate() {
                add(&index.name, column, place, None);
            }
        }
        for key in &table.foreign_keys {
            let parent = cx.catalog.table(key.parent);
            let index = parent.and_then(|parent| parent.index(key.parent_index));
            for (place, column) in key.columns.iter().enumerate() {
                let wanted = key.parent_columns.get(place);
                let target = index.and_then(|index| {
                    index.keys.iter().position(|key| Some(&key.column) == wanted)
                });
                add(&key.name, *column, place, target);
            }
        }
    }
    builder.rows()
}

/// The key constraints of a table; exclusion constraints are not in the standard.
fn standard_keys(table: &Table) -> impl Iterator<Item = (Id, &Index)> {
    key_constraints(table).filter(|(_, index)| index.exclusion.is_none())
}

/// Each constraint with the table and columns it uses, as `constraint_column_usage` sees it.
fn usages<'c>(
    cx: &'c VirtualContext<'_>,
    table: &'c Table,
) -> Vec<(&'c str, &'c Table, Vec<ColumnId>)> {
    let mut found = Vec::new();
    for (_, index) in standard_keys(table) {
        found.push((index.name.as_str(), table, shown_key_columns(table, index)));
    }
    for check in &table.checks {
        found.push((check.name.as_str(), table, check.columns.clone()));
    }
    for key in &table.foreign_keys {
        if let Some(parent) = cx.catalog.table(key.parent) {
            found.push((key.name.as_str(), &**parent, key.parent_columns.clone()));
        }
    }
    found
}

fn constraint_column_usage(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.constraint_column_usage",
        &[
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
        ],
    );
    for table in visible_tables(cx) {
        for (name, used, columns) in usages(cx, table) {
            for column in columns {
                builder.push([
                    database(cx),
                    text(cx.catalog.schema_name(used.schema)),
                    text(&used.name),
                    column_name(used, column),
                    database(cx),
                    text(cx.catalog.schema_name(table.schema)),
                    text(name),
                ]);
            }
        }
    }
    builder.rows()
}

fn constraint_table_usage(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.constraint_table_usage",
        &[
            "table_catalog",
            "table_schema",
            "table_name",
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
        ],
    );
    for table in visible_tables(cx) {
        for (name, used, _) in usages(cx, table) {
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(used.schema)),
                text(&used.name),
                database(cx),
                text(cx.catalog.schema_name(table.schema)),
                text(name),
            ]);
        }
    }
    builder.rows()
}

fn rule(action: ForeignKeyAction) -> Datum {
    text(match action {
        ForeignKeyAction::NoAction => "NO ACTION",
        ForeignKeyAction::Restrict => "RESTRICT",
        ForeignKeyAction::Cascade => "CASCADE",
        ForeignKeyAction::SetNull => "SET NULL",
        ForeignKeyAction::SetDefault => "SET DEFAULT",
    })
}

fn referential_constraints(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.referential_constraints",
        &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "unique_constraint_catalog",
            "unique_constraint_schema",
            "unique_constraint_name",
            "match_option",
            "update_rule",
            "delete_rule",
        ],
    );
    for table in visible_tables(cx) {
        for ForeignKey { name, parent, parent_index, match_full, on_update, on_delete, .. } in
            &table.foreign_keys
        {
            let parent = cx.catalog.table(*parent);
            let index = parent.and_then(|parent| parent.index(*parent_index));
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(table.schema)),
                text(name),
                database(cx),
                optional(parent.map(|parent| cx.catalog.schema_name(parent.schema))),
                optional(index.map(|index| index.name.as_str())),
                text(if *match_full { "FULL" } else { "NONE" }),
                rule(*on_update),
                rule(*on_delete),
            ]);
        }
    }
    builder.rows()
}

fn check_constraints(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["constraint_catalog", "constraint_schema", "constraint_name", "check_clause"];
    let mut builder = RowBuilder::new("information_schema.check_constraints", &columns);
    for table in visible_tables(cx) {
        let schema = cx.catalog.schema_name(table.schema);
        for check in &table.checks {
            let clause = cx.names().condition(table, &check.expr, false);
            let clause = text(format!("({clause})"));
            builder.push([database(cx), text(&schema), text(&check.name), clause]);
        }
        for column in not_null_columns(table) {
            let clause = text(format!("{} IS NOT NULL", column.name));
            let name = text(not_null_name(table, column.id));
            builder.push([database(cx), text(&schema), name, clause]);
        }
    }
    for domain in cx.catalog.domains().in_database(cx.path.database) {
        let schema = cx.catalog.schema_name(domain.schema);
        for check in &domain.checks {
            let clause = text(format!("({})", cx.names().domain_condition(domain, check, false)));
            builder.push([database(cx), text(&schema), text(&check.name), clause]);
        }
    }
    builder.rows()
}
