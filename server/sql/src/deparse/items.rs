//! FROM: items, joins, aliases.

use braid_types::Result;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint,
    JoinOperator, ObjectName, Select, TableFactor, TableSampleKind, TableWithJoins,
};

use super::calls::{print_called, print_function_name};
use super::expr::print_expr;
use super::printer::{Entry, INDENT_STEP, Printer, unprintable};
use super::query::{JOIN_INDENT, print_query};
use super::range::{constraint, using_of};
use super::stored_form::split_label;
use crate::lex::strings::double_quoted;

pub(crate) fn print_from(printer: &mut Printer<'_>, select: &Select) -> Result<()> {
    for (place, item) in select.from.iter().enumerate() {
        if place == 0 {
            printer.clause(" FROM ", -INDENT_STEP, INDENT_STEP, 2);
            print_joins(printer, &item.relation, &item.joins)?;
        } else {
            printer.push(", ");
            let text =
                printer.aside(|printer| print_joins(printer, &item.relation, &item.joins))?;
            printer.wrapped(&text, false, false);
        }
    }
    Ok(())
}

/// An item and the joins on its right, the last of which is the outermost.
fn print_joins(printer: &mut Printer<'_>, first: &TableFactor, joins: &[Join]) -> Result<()> {
    let Some((join, inner)) = joins.split_last() else { return print_factor(printer, first) };
    if !printer.pretty() && !printer.is_stored() {
        printer.push("(");
    }
    print_joins(printer, first, inner)?;
    let Some(constraint) = constraint(&join.join_operator) else {
        return Err(unprintable("this kind of join"));
    };
    let using = using_of(join);
    let on = match constraint {
        JoinConstraint::On(condition) => Some(condition),
        _ => None,
    };
    let word = match &join.join_operator {
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => " LEFT JOIN ",
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => " RIGHT JOIN ",
        JoinOperator::FullOuter(_) => " FULL JOIN ",
        _ if using.is_empty() && on.is_none() => " CROSS JOIN ",
        _ => " JOIN ",
    };
    printer.clause(word, -INDENT_STEP, INDENT_STEP, JOIN_INDENT);
    let nested = match &join.relation {
        TableFactor::NestedJoin { table_with_joins, .. } => !table_with_joins.joins.is_empty(),
        _ => false,
    };
    let paren = printer.pretty() && nested;
    if paren {
        printer.push("(");
    }
    print_factor(printer, &join.relation)?;
    if paren {
        printer.push(")");
    }
    if !using.is_empty() {
        printer.push(" USING ");
        let names: Vec<String> = using
            .into_iter()
            .flat_map(|column| match printer.is_stored() {
                true => column.to_names().to_vec(),
                false => vec![column.name],
            })
            .collect();
        print_name_list(printer, &names);
        if let JoinConstraint::Using(names) = constraint
            && let Some(alias) = crate::split_using(names).1
        {
            printer.push(" AS ");
            printer.push(&crate::quote_ident(&crate::fold(alias)));
        }
    } else if let Some(condition) = on {
        printer.push(" ON ");
        if !printer.pretty() {
            printer.push("(");
        }
        print_expr(printer, condition)?;
        if !printer.pretty() {
            printer.push(")");
        }
    } else if word != " CROSS JOIN " {
        printer.push(" ON TRUE");
    }
    if !printer.pretty() && !printer.is_stored() {
        printer.push(")");
    }
    Ok(())
}

fn print_factor(printer: &mut Printer<'_>, factor: &TableFactor) -> Result<()> {
    match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => {
            let TableWithJoins { relation, joins } = &**table_with_joins;
            if printer.is_stored() {
                printer.push("(");
                print_joins(printer, relation, joins)?;
                printer.push(")");
                return Ok(());
            }
            return print_joins(printer, relation, joins);
        }
        TableFactor::Table { name, args: None, .. } => match entry_of(printer, factor) {
            Some(entry) => {
                let relation = entry.relation.clone();
                printer.push(&relation);
            }
            None => printer.push(&name.to_string()),
        },
        TableFactor::Derived { lateral, subquery, .. } => {
            printer.push(if *lateral { "LATERAL (" } else { "(" });
            print_query(printer, subquery, None, true)?;
            printer.push(")");
        }
        TableFactor::Table { name, args: Some(args), with_ordinality, .. } => {
            print_table_call(printer, name, &args.args, *with_ordinality)?;
        }
        TableFactor::Function { lateral, name, args, with_ordinality, .. } => {
            if *lateral {
                printer.push("LATERAL ");
            }
            print_table_call(printer, name, args, *with_ordinality)?;
        }
        TableFactor::UNNEST { array_exprs, with_ordinality, .. } => {
            let wrap =
                |e: &sqlparser::ast::Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(e.clone()));
            let args: Vec<FunctionArg> = array_exprs.iter().map(wrap).collect();
            let name = ObjectName::from(vec![Ident::new("unnest")]);
            print_table_call(printer, &name, &args, *with_ordinality)?;
        }
        other => return Err(unprintable(other)),
    }
    print_alias(printer, factor)?;
    match factor {
        TableFactor::Table { sample: Some(sample), .. } => print_sample(printer, sample),
        _ => Ok(()),
    }
}

fn print_sample(printer: &mut Printer<'_>, sample: &TableSampleKind) -> Result<()> {
    let Some(sample) = crate::table_sample(sample) else { return Err(unprintable("TABLESAMPLE")) };
    printer.push(" TABLESAMPLE ");
    printer.push(sample.method);
    printer.push(" (");
    for (place, e) in sample.args.into_iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        print_expr(printer, e)?;
    }
    printer.push(")");
    if let Some(seed) = sample.seed {
        printer.push(" REPEATABLE (");
        print_expr(printer, seed)?;
        printer.push(")");
    }
    Ok(())
}

fn print_table_call(
    printer: &mut Printer<'_>,
    name: &ObjectName,
    args: &[FunctionArg],
    ordinality: bool,
) -> Result<()> {
    if crate::is_rows_from(name) {
        return print_rows_from(printer, args, ordinality);
    }
    if !print_called(printer, name)? {
        let name = name.0.last().and_then(|part| part.as_ident());
        print_function_name(printer, name.map_or("", |ident| &ident.value));
    }
    printer.push("(");
    for (place, arg) in args.iter().enumerate() {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else {
            return Err(unprintable(arg));
        };
        if place > 0 {
            printer.push(", ");
        }
        print_expr(printer, arg)?;
    }
    printer.push(")");
    if ordinality {
        printer.push(" WITH ORDINALITY");
    }
    Ok(())
}

/// `ROWS FROM(f(…), g(…))`
fn print_rows_from(
    printer: &mut Printer<'_>,
    calls: &[FunctionArg],
    ordinality: bool,
) -> Result<()> {
    printer.push("ROWS FROM(");
    for (place, call) in calls.iter().enumerate() {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function))) = call else {
            return Err(unprintable(call));
        };
        let FunctionArguments::List(list) = &function.args else {
            return Err(unprintable(call));
        };
        if place > 0 {
            printer.push(", ");
        }
        print_table_call(printer, &function.name, &list.args, false)?;
    }
    printer.push(if ordinality { ") WITH ORDINALITY" } else { ")" });
    Ok(())
}

/// The name behind an item, if it must be shown.
fn print_alias(printer: &mut Printer<'_>, factor: &TableFactor) -> Result<()> {
    if let Some(entry) = entry_of(printer, factor).cloned() {
        if let Some(name) = entry.name.filter(|_| entry.shows_alias) {
            printer.push(" ");
            print_name(printer, &name);
            if !entry.aliases.is_empty() {
                print_name_list(printer, &entry.aliases);
            }
        }
        return Ok(());
    }
    let alias = match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.as_ref(),
        _ => None,
    };
    let alias = alias.ok_or_else(|| unprintable(factor))?;
    printer.push(" AS ");
    print_name(printer, &alias.name.value);
    if !alias.columns.is_empty() {
        let names: Vec<String> =
            alias.columns.iter().map(|column| column.name.value.clone()).collect();
        print_name_list(printer, &names);
    }
    Ok(())
}

fn entry_of<'p>(printer: &'p Printer<'_>, factor: &TableFactor) -> Option<&'p Entry> {
    let alias = match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.as_ref()?,
        _ => return None,
    };
    printer.entries.get(&split_label(&alias.name.value)?.0)
}

/// A name in quotes where it needs them; in the stored form it always has them.
pub(crate) fn print_name(printer: &mut Printer<'_>, name: &str) {
    if printer.is_stored() {
        printer.push(&double_quoted(name));
    } else {
        printer.push(&crate::quote_ident(name));
    }
}

/// `(a, b)`
pub(crate) fn print_name_list(printer: &mut Printer<'_>, names: &[String]) {
    printer.push("(");
    for (place, name) in names.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        print_name(printer, name);
    }
    printer.push(")");
}
