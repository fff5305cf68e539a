//! The entry points: queries and expressions in the stored form, or with today's names.

use std::collections::HashMap;

use braid_types::Result;
use sqlparser::ast::{Expr, Query};

use super::expr::{print_cast_operand, print_expr};
use super::printer::{Entry, INDENT_STEP, Layout, Names, Printer};
use super::query::print_query;
use super::stored_form::TABLE_ROW;

/// The stored form of a query whose names are already ids.
pub fn stored_text(query: &Query) -> Result<String> {
    let mut printer = Printer::new(None, Layout::STORED);
    print_query(&mut printer, query, None, true)?;
    Ok(printer.out)
}

/// The stored form of an expression over the row of a table, which is item 1.
pub fn stored_expr_text(expr: &Expr) -> Result<String> {
    let mut printer = Printer::new(None, Layout::STORED);
    print_expr(&mut printer, expr)?;
    Ok(printer.out)
}

/// The row of a table: what item 1 of a stored expression is shown as.
#[derive(Clone, Debug, Default)]
pub struct RowNames {
    /// The table as it has to be written.
    pub table: String,
    /// The table's bare name, for columns inside of subqueries.
    pub name: String,
    /// The names of its columns by number.
    pub columns: HashMap<u16, String>,
    /// The types of its columns by number.
    pub types: HashMap<u16, String>,
}

/// The text of a stored expression with today's names. `is_cast`: a cast that is not shown stands
/// around it, for which the form without spare parentheses keeps some.
pub fn shown_expr_text(
    expr: &Expr,
    names: &dyn Names,
    row: RowNames,
    (pretty, is_cast): (bool, bool),
) -> Result<String> {
    let mut printer = Printer::new(Some(names), Layout { pretty, wrap: -1 });
    let (relation, columns, name_inside) = (row.table, row.columns, Some(row.name));
    let types = row.types;
    let entry = Entry { relation, columns, types, name_inside, ..Entry::default() };
    printer.entries.insert(TABLE_ROW, entry);
    match is_cast {
        true => print_cast_operand(&mut printer, expr)?,
        false => print_expr(&mut printer, expr)?,
    }
    Ok(printer.out)
}

/// The text of a trigger's condition with today's names: item 1 is the old row, item 2 the new one.
pub fn shown_condition_text(
    expr: &Expr,
    names: &dyn Names,
    rows: [HashMap<u16, String>; 2],
    pretty: bool,
) -> Result<String> {
    let mut printer = Printer::new(Some(names), Layout { pretty, wrap: -1 });
    printer.indent = INDENT_STEP;
    for ((label, name), columns) in (TABLE_ROW..).zip(["old", "new"]).zip(rows) {
        let entry = Entry { name: Some(name.to_owned()), columns, ..Entry::default() };
        printer.entries.insert(label, entry);
    }
    print_expr(&mut printer, expr)?;
    Ok(printer.out)
}

/// Whether an index key of this expression needs no parentheses: a call of a function.
pub fn is_call(expr: &Expr) -> bool {
    match expr {
        Expr::Function(_)
        | Expr::Extract { .. }
        | Expr::Position { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Overlay { .. } => true,
        Expr::Nested(inner) => is_call(inner),
        _ => false,
    }
}

/// The text of a stored query with today's names. `columns` are the names of the view's columns.
pub fn shown_text(
    query: &Query,
    names: &dyn Names,
    columns: &[String],
    layout: Layout,
) -> Result<String> {
    let mut printer = Printer::new(Some(names), layout);
    print_query(&mut printer, query, Some(columns), true)?;
    Ok(printer.out)
}
