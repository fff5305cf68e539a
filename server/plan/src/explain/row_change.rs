//! INSERT, UPDATE and DELETE in words.

use braid_catalog::{IndexNumber, Table};
use braid_sql::quote_ident;

use crate::cascades::{CascadeStep, Cascades};
use crate::expr::{Expr, Slot};
use crate::node::{Delete, Insert, Node, OnConflict, Update};

use super::deparse::{Name, Rows};
use super::describe::{Described, Describer, Operator};

impl<'a> Describer<'a> {
    /// Describes an INSERT.
    pub fn insert(&mut self, node: &'a Node, insert: &'a Insert, outer: &[Name]) -> Described {
        let table = &insert.table;
        let word = match insert.on_conflict {
            OnConflict::Upsert(_) => "Upsert",
            _ => "Insert",
        };
        let mut operator = self.plain(node, format!("{word} on {}", self.table_name(table)));
        let input = self.input(&mut operator, &insert.input, outer);
        // Subqueries among the values are shown below.
        for e in insert.values.iter().filter(|e| e.waits()) {
            self.expr(e, Rows { input: &input, outer });
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
                self.assignments(&mut operator, table, assignments, rows);
                if let Some(filter) = filter {
                    operator.line("Conflict Filter", self.expr(filter, rows));
                }
            }
        }
        cascades(&mut operator, &insert.cascades);
        let mut returned = row;
        returned.extend(insert.replaced.map(|_| Name::Bare("xmax".to_owned())));
        let rows = Rows { input: &returned, outer };
        let names = self.returning(&mut operator, &insert.returning, rows);
        (operator, names)
    }

    /// Describes an UPDATE.
    pub fn update(&mut self, node: &'a Node, update: &'a Update, outer: &[Name]) -> Described {
        let table = &update.table;
        let mut operator = self.plain(node, format!("Update on {}", self.table_name(table)));
        let input = self.input(&mut operator, &update.input, outer);
        let rows = Rows { input: &input, outer };
        self.assignments(&mut operator, table, &update.assignments, rows);
        let mut both = columns(table, &table.name);
        both.extend(input);
        cascades(&mut operator, &update.cascades);
        let names = self.returning(&mut operator, &update.returning, Rows { input: &both, outer });
        (operator, names)
    }

    /// Describes a DELETE.
    pub fn delete(&mut self, node: &'a Node, delete: &'a Delete, outer: &[Name]) -> Described {
        let title = format!("Delete on {}", self.table_name(&delete.table));
        let mut operator = self.plain(node, title);
        let input = self.input(&mut operator, &delete.input, outer);
        let rows = Rows { input: &input, outer };
        cascades(&mut operator, &delete.cascades);
        let names = self.returning(&mut operator, &delete.returning, rows);
        (operator, names)
    }

    fn assignments(
        &mut self,
        operator: &mut Operator,
        table: &Table,
        assignments: &'a [(usize, Expr)],
        rows: Rows<'_>,
    ) {
        let mut list = Vec::with_capacity(assignments.len());
        for (place, e) in assignments {
            let column = table.columns.get(*place).map_or("?column?", |column| &column.name);
            list.push(format!("{} = {}", quote_ident(column), self.expr(e, rows)));
        }
        operator.list("Set", list);
    }

    fn returning(
        &mut self,
        operator: &mut Operator,
        returning: &'a [(Slot, Expr)],
        rows: Rows<'_>,
    ) -> Vec<Name> {
        let names: Vec<Name> = returning.iter().map(|(_, e)| self.name_of(e, rows)).collect();
        if self.cx.verbose {
            operator.list("Output", self.output(&names));
        }
        names
    }
}

/// What foreign keys may do to other tables' rows, in words.
fn cascades(operator: &mut Operator, cascades: &Cascades) {
    if !cascades.steps.is_empty() {
        operator.list("Cascades", cascades.steps.iter().map(CascadeStep::describe).collect());
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
