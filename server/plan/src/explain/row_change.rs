//! INSERT, UPDATE, DELETE and MERGE in words.

use std::sync::Arc;

use braid_catalog::{IndexNumber, Table};
use braid_sql::quote_ident;

use crate::tree::cascades::{CascadeStep, Cascades};
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Delete, Insert, Merge, MergeAction, Node, OnConflict, Update};
use crate::tree::row_change::{PlannedTrigger, TableTriggers};

use super::deparse::{Name, Rows, name_of, show_expr, shown_output};
use super::describe::{
    Described, Describer, Operator, describe_input, plain_operator, shown_table_name,
};

/// Describes an INSERT.
pub(crate) fn describe_insert<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    insert: &'a Insert,
    outer: &[Name],
) -> Described {
    let table = &insert.table;
    let word = match insert.on_conflict {
        OnConflict::Upsert(_) => "Upsert",
        _ => "Insert",
    };
    let mut operator = plain_operator(
        describer,
        node,
        format!("{word} on {}", shown_table_name(describer, table)),
    );
    let input = describe_input(describer, &mut operator, &insert.input, outer);
    // Subqueries among the values are shown below.
    for e in insert.values.iter().filter(|e| e.waits()) {
        show_expr(describer, e, Rows { input: &input, outer });
    }
    let row = columns(table, &table.name);
    match &insert.on_conflict {
        OnConflict::Error | OnConflict::Upsert(_) => {}
        OnConflict::Nothing(indexes) => {
            operator.line("Conflict Resolution", "NOTHING");
            operator.list("Conflict Arbiter Indexes", index_names(table, indexes));
        }
        OnConflict::Update { indexes, assignments, filter } => {
            operator.line("Conflict Resolution", "UPDATE");
            operator.list("Conflict Arbiter Indexes", index_names(table, indexes));
            let mut both = row.clone();
            both.extend(columns(table, "excluded").into_iter().map(|name| match name {
                Name::Column(relation, column) => {
                    Name::Bare(format!("{}.{}", quote_ident(&relation), quote_ident(&column)))
                }
                other => other,
            }));
            let rows = Rows { input: &both, outer };
            describe_assignments(describer, &mut operator, table, assignments, rows);
            if let Some(filter) = filter {
                operator.line("Conflict Filter", show_expr(describer, filter, rows));
            }
        }
    }
    cascades(&mut operator, &insert.cascades);
    triggers(&mut operator, &insert.triggers);
    let mut returned = row;
    returned.extend(insert.replaced.map(|_| Name::Bare("xmax".to_owned())));
    let rows = Rows { input: &returned, outer };
    let names = describe_returning(describer, &mut operator, &insert.returning, rows);
    (operator, names)
}

/// Describes an UPDATE.
pub(crate) fn describe_update<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    update: &'a Update,
    outer: &[Name],
) -> Described {
    let table = &update.table;
    let mut operator = plain_operator(
        describer,
        node,
        format!("Update on {}", shown_table_name(describer, table)),
    );
    let input = describe_input(describer, &mut operator, &update.input, outer);
    let rows = Rows { input: &input, outer };
    describe_assignments(describer, &mut operator, table, &update.assignments, rows);
    let mut both = columns(table, &table.name);
    both.extend(input);
    both.extend(update.destination.iter().map(|_| Name::Bare("tableoid".to_owned())));
    cascades(&mut operator, &update.cascades);
    triggers(&mut operator, &update.triggers);
    let names = describe_returning(
        describer,
        &mut operator,
        &update.returning,
        Rows { input: &both, outer },
    );
    (operator, names)
}

/// Describes a DELETE.
pub(crate) fn describe_delete<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    delete: &'a Delete,
    outer: &[Name],
) -> Described {
    let title = format!("Delete on {}", shown_table_name(describer, &delete.table));
    let mut operator = plain_operator(describer, node, title);
    let input = describe_input(describer, &mut operator, &delete.input, outer);
    let rows = Rows { input: &input, outer };
    cascades(&mut operator, &delete.cascades);
    triggers(&mut operator, &delete.triggers);
    let names = describe_returning(describer, &mut operator, &delete.returning, rows);
    (operator, names)
}

/// Describes a MERGE.
pub(crate) fn describe_merge<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    merge: &'a Merge,
    outer: &[Name],
) -> Described {
    let title = format!("Merge on {}", shown_table_name(describer, &merge.table));
    let mut operator = plain_operator(describer, node, title);
    let input = describe_input(describer, &mut operator, &merge.input, outer);
    let rows = Rows { input: &input, outer };
    let mut whens = Vec::with_capacity(merge.whens.len());
    for when in &merge.whens {
        let mut text = if when.matched { "MATCHED" } else { "NOT MATCHED" }.to_owned();
        if let Some(condition) = &when.condition {
            text.push_str(" AND ");
            text.push_str(&show_expr(describer, condition, rows));
        }
        text.push_str(match &when.action {
            MergeAction::Update(_) => " THEN UPDATE",
            MergeAction::Delete => " THEN DELETE",
            MergeAction::Insert(_) => " THEN INSERT",
            MergeAction::Nothing => " THEN DO NOTHING",
        });
        whens.push(text);
    }
    operator.list("When", whens);
    cascades(&mut operator, &merge.cascades);
    triggers(&mut operator, &merge.triggers);
    (operator, Vec::new())
}

fn describe_assignments<'a>(
    describer: &mut Describer<'a>,
    operator: &mut Operator,
    table: &Table,
    assignments: &'a [(usize, Expr)],
    rows: Rows<'_>,
) {
    let mut list = Vec::with_capacity(assignments.len());
    for (place, e) in assignments {
        let column = table.columns.get(*place).map_or("?column?", |column| &column.name);
        list.push(format!("{} = {}", quote_ident(column), show_expr(describer, e, rows)));
    }
    operator.list("Set", list);
}

fn describe_returning<'a>(
    describer: &mut Describer<'a>,
    operator: &mut Operator,
    returning: &'a [(Slot, Expr)],
    rows: Rows<'_>,
) -> Vec<Name> {
    let names: Vec<Name> = returning.iter().map(|(_, e)| name_of(describer, e, rows)).collect();
    if describer.cx.verbose {
        operator.list("Output", shown_output(describer, &names));
    }
    names
}

/// What foreign keys may do to other tables' rows, in words.
fn cascades(operator: &mut Operator, cascades: &Cascades) {
    if !cascades.steps.is_empty() {
        operator.list("Cascades", cascades.steps.iter().map(CascadeStep::describe).collect());
    }
}

/// The triggers that may fire.
fn triggers(operator: &mut Operator, triggers: &TableTriggers) {
    if !triggers.is_empty() {
        let name = |planned: &Arc<PlannedTrigger>| quote_ident(&planned.trigger.name);
        let of_root = triggers.of_root.iter().flat_map(|root| &root.list);
        operator.list("Triggers", triggers.list.iter().chain(of_root).map(name).collect());
    }
}

fn columns(table: &Table, relation: &str) -> Vec<Name> {
    let name =
        |column: &braid_catalog::Column| Name::Column(relation.to_owned(), column.name.clone());
    table.columns.iter().map(name).collect()
}

fn index_names(table: &Table, indexes: &[IndexNumber]) -> Vec<String> {
    table
        .all_indexes()
        .filter(|index| indexes.contains(&index.number))
        .map(|index| quote_ident(&index.name))
        .collect()
}
