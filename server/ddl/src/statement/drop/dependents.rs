//! What depends on a relation, and on that, in the order in which PostgreSQL lists it.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::partitions::{origin_of_key, references_to};
use braid_catalog::{Catalog, ForeignKey, Id, Mentioning, Relation, Table, View};
use braid_sql::quote_ident;
use braid_types::sql_type::{row_name, row_type_oid};
use braid_types::{Result, SqlType};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::statement::object::sequence::owned_sequences;
use crate::statement::policy::{describe_policy, policies_using};

/// What is to go.
#[derive(Default)]
pub(crate) struct Doomed {
    /// Named by the statement or taken along: tables, views, sequences.
    pub relations: BTreeSet<Id>,
    /// Foreign keys of tables that stay: table and constraint.
    pub foreign_keys: BTreeSet<(Id, Id)>,
    /// Defaults of columns that stay: table and column.
    pub defaults: BTreeSet<(Id, u16)>,
    /// Interleaved indexes of tables that stay: table and number.
    pub indexes: BTreeSet<(Id, u16)>,
    /// Functions of rows of a relation that goes.
    pub routines: BTreeSet<Id>,
    /// Policies of tables that stay: table and policy.
    pub policies: BTreeSet<(Id, Id)>,
    /// Columns of rows of a relation that goes: table or composite type, and column.
    pub columns: BTreeSet<(Id, u16)>,
}

/// A dependent object, and the line that reports it.
enum Dependent {
    Relation(Id),
    ForeignKey(Id, Id),
    Default(Id, u16),
    Index(Id, u16),
    Routine(Id),
    Policy(Id, Id),
    /// A column, or an attribute of a composite type, that holds rows of the relation.
    Column(Id, u16),
}

impl Dependent {
    /// The table that it is a part of.
    fn table(&self) -> Option<Id> {
        match self {
            Dependent::Relation(_) | Dependent::Routine(_) => None,
            Dependent::ForeignKey(table, _)
            | Dependent::Column(table, _)
            | Dependent::Default(table, _)
            | Dependent::Policy(table, _)
            | Dependent::Index(table, _) => Some(*table),
        }
    }

    /// What newer ones have more of.
    fn age(&self, catalog: &Catalog) -> Id {
        match self {
            Dependent::Relation(id)
            | Dependent::ForeignKey(_, id)
            | Dependent::Routine(id)
            | Dependent::Policy(_, id) => *id,
            Dependent::Default(table, _) | Dependent::Column(table, _) => *table,
            Dependent::Index(table, number) => {
                let index = catalog.table(*table).and_then(|table| table.index(*number));
                index.map_or(*table, |index| index.id)
            }
        }
    }
}

/// Whether it is a column of arrays.
fn is_array_column(catalog: &Catalog, dependent: &Dependent) -> bool {
    let Dependent::Column(relation, column) = dependent else { return false };
    let columns = match catalog.relation(*relation) {
        Some(Relation::Table(table)) => table.columns.clone(),
        Some(Relation::Composite(found)) => found.columns.clone(),
        _ => return false,
    };
    columns.iter().any(|known| known.id == *column && known.ty.is_array())
}

/// The foreign keys that point at a table, or at a table above it that stays.
fn add_foreign_keys(
    catalog: &Catalog,
    table: &Arc<Table>,
    doomed: &Doomed,
    found: &mut Vec<(Dependent, String)>,
) -> Result<()> {
    let id = table.id;
    for reference in references_to(catalog, table)? {
        let (child, key) = (&reference.child, &reference.key);
        let of_upper = reference.named != id && doomed.relations.contains(&reference.named);
        if child.id == id || of_upper {
            continue;
        }
        let named = ForeignKey { parent: reference.named, ..key.clone() };
        // A key that a partition has from its parent goes with it, without a word.
        let text = match origin_of_key(catalog, child, &named).id == child.id {
            true => format!("constraint {} on table {}", key.name, quote_ident(&child.name)),
            false => String::new(),
        };
        found.push((Dependent::ForeignKey(child.id, key.id), text));
    }
    Ok(())
}

/// What directly needs a relation, with a description of each.
fn dependents(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    id: Id,
    doomed: &Doomed,
) -> Result<Vec<(Dependent, String)>> {
    let mut found = Vec::new();
    if let Some(table) = catalog.table(id) {
        for (child, number) in &table.primary.below {
            let Some(child) = catalog.table(*child) else { continue };
            found.push(match child.index(*number) {
                Some(index) if *number != child.primary.number => {
                    let text = format!("index {}", index.name);
                    (Dependent::Index(child.id, *number), text)
                }
                _ => (Dependent::Relation(child.id), format!("table {}", child.name)),
            });
        }
        add_foreign_keys(catalog, table, doomed, &mut found)?;
    }
    let mentioning = Mentioning::of(catalog, id);
    let reads = |view: &Arc<View>| view.id != id && view.depends_on.contains(&id);
    for view in mentioning.queries().filter(reads) {
        found.push((Dependent::Relation(view.id), format!("view {}", view.name)));
    }
    let is_of_row = |ty: &SqlType| row_name(ty).is_some_and(|row| row.oid == row_type_oid(id));
    for routine in mentioning.routines() {
        if routine.uses_type(is_of_row) {
            found.push((Dependent::Routine(routine.id), "type".to_owned()));
        } else if routine.uses.contains(&id) {
            found.push((Dependent::Routine(routine.id), String::new()));
        }
    }
    for (table, policy) in policies_using(catalog, id) {
        let text = describe_policy(cx, &table, &policy);
        found.push((Dependent::Policy(table.id, policy.id), text));
    }
    let holders = catalog.names().type_users(row_type_oid(id)).collect::<BTreeSet<Id>>();
    for holder in holders.into_iter().filter_map(|id| catalog.relation(id)) {
        let (what, columns) = match &holder {
            // The column of a materialized view goes with what its query reads.
            Relation::Table(table) if table.materialized.is_none() => ("table", &table.columns),
            Relation::Composite(found) => ("composite type", &found.columns),
            _ => continue,
        };
        for column in columns.iter().filter(|column| is_of_row(&column.ty)) {
            let text = format!("column {} of {what} {}", column.name, quote_ident(holder.name()));
            found.push((Dependent::Column(holder.oid(), column.id), text));
        }
    }
    if catalog.sequences().get(id).is_some() {
        for table in mentioning.tables() {
            for column in &table.columns {
                let default = column.default.as_ref();
                if default.is_some_and(|expr| expr.sequences().contains(&id)) {
                    let (column_name, table_name) = (&column.name, quote_ident(&table.name));
                    let text =
                        format!("default value for column {column_name} of table {table_name}");
                    found.push((Dependent::Default(table.id, column.id), text));
                }
            }
        }
    }
    Ok(found)
}

/// A dependent as it is reported.
pub(crate) struct Line {
    pub text: String,
    /// What it depends on.
    pub on: String,
    /// The table that it is a part of, if it is no relation itself.
    pub part_of: Option<Id>,
}

/// What has been found so far.
#[derive(Default)]
pub(crate) struct Seen {
    pub relations: BTreeSet<Id>,
    pub lines: Vec<Line>,
}

/// Takes along the sequences of a table's columns, and its partitions with theirs.
pub(crate) fn take_owned(catalog: &Catalog, id: Id, doomed: &mut Doomed) -> Vec<Id> {
    let Some(table) = catalog.table(id) else { return Vec::new() };
    let owned = owned_sequences(catalog, id, None);
    let mut taken: Vec<Id> = owned.filter(|sequence| doomed.relations.insert(*sequence)).collect();
    for partition in table.partitioning.iter().flat_map(|keys| &keys.partitions) {
        if doomed.relations.insert(*partition) {
            taken.push(*partition);
        }
        taken.extend(take_owned(catalog, *partition, doomed));
    }
    taken
}

/// Takes along the aggregates that a routine is a part of.
fn take_aggregates(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    routine: Id,
    doomed: &mut Doomed,
    seen: &mut Seen,
) {
    for other in Mentioning::of(catalog, routine).routines() {
        if other.is_aggregate_of(routine) && doomed.routines.insert(other.id) {
            let text = describe(cx, catalog, other.id);
            let on = describe(cx, catalog, routine);
            seen.lines.push(Line { text, on, part_of: None });
        }
    }
}

/// Takes along what needs a relation, and what needs that. As in PostgreSQL the newest is followed
/// first and noted behind what needs it; the list is then read from its end.
pub(crate) fn take_dependents(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    id: Id,
    doomed: &mut Doomed,
    seen: &mut Seen,
) -> Result<()> {
    let mut found = dependents(cx, catalog, id, doomed)?;
    found.sort_by_key(|(dependent, _)| std::cmp::Reverse(dependent.age(catalog)));
    for (dependent, text) in found {
        let part_of = dependent.table();
        let is_new = match dependent {
            Dependent::Relation(other) => {
                let is_new = seen.relations.insert(other);
                if is_new {
                    doomed.relations.insert(other);
                    for owned in take_owned(catalog, other, doomed) {
                        take_dependents(cx, catalog, owned, doomed, seen)?;
                    }
                    take_dependents(cx, catalog, other, doomed, seen)?;
                }
                is_new
            }
            Dependent::Routine(routine) => {
                let is_new = doomed.routines.insert(routine);
                if is_new {
                    take_aggregates(cx, catalog, routine, doomed, seen);
                }
                is_new
            }
            Dependent::ForeignKey(table, key) => {
                !doomed.relations.contains(&table) && doomed.foreign_keys.insert((table, key))
            }
            Dependent::Index(table, number) => {
                !doomed.relations.contains(&table) && doomed.indexes.insert((table, number))
            }
            Dependent::Policy(table, policy) => {
                !doomed.relations.contains(&table) && doomed.policies.insert((table, policy))
            }
            Dependent::Column(table, column) => {
                !doomed.relations.contains(&table) && doomed.columns.insert((table, column))
            }
            Dependent::Default(table, column) => {
                !doomed.relations.contains(&table) && doomed.defaults.insert((table, column))
            }
        };
        let is_copy = matches!(dependent, Dependent::ForeignKey(..)) && text.is_empty();
        if is_new && !is_copy {
            let is_by_type = text == "type" || matches!(dependent, Dependent::Column(..));
            let brackets = if is_array_column(catalog, &dependent) { "[]" } else { "" };
            let text = match dependent {
                Dependent::Relation(other) | Dependent::Routine(other) => {
                    describe(cx, catalog, other)
                }
                _ => text,
            };
            let mut on = describe(cx, catalog, id);
            if let (true, Some((_, name))) = (is_by_type, on.split_once(' ')) {
                on = format!("type {name}{brackets}");
            }
            seen.lines.push(Line { text, on, part_of });
        }
    }
    Ok(())
}

/// Leaves out parts of tables that go themselves, and puts the list in the order of the report.
pub(crate) fn settle(doomed: &mut Doomed, seen: &mut Seen) {
    let relations = &doomed.relations;
    let stays = |table: &Id| !relations.contains(table);
    doomed.foreign_keys.retain(|(table, _)| stays(table));
    doomed.defaults.retain(|(table, _)| stays(table));
    doomed.columns.retain(|(table, _)| stays(table));
    doomed.indexes.retain(|(table, _)| stays(table));
    doomed.policies.retain(|(table, _)| stays(table));
    seen.lines.retain(|line| line.part_of.as_ref().is_none_or(stays));
    seen.lines.reverse();
}
