//! Calls of functions, aggregates and window functions, and the keys of sorts.

use braid_types::Result;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, ObjectName, OrderByExpr, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::expr::{print_expr, print_operand, print_subquery};
use super::extensions::function_prefix;
use super::items::print_name;
use super::parens::unnested;
use super::printer::{Printer, unprintable};
use super::query::print_sort_keys;
use super::range::relation_id;
use crate::rewrite::exclusion::FrameEnd;

/// Functions without parentheses.
const KEYWORD_VALUES: [&str; 8] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "current_user",
    "session_user",
    "current_role",
];

/// Functions without parentheses that may have a precision in parentheses.
const KEYWORD_TIMES: [&str; 4] =
    ["current_time", "current_timestamp", "localtime", "localtimestamp"];

/// A function's name, in quotes where a keyword would be read.
pub(crate) fn print_function_name(printer: &mut Printer<'_>, name: &str) {
    printer.push(&crate::quote_ident(name));
}

/// The name of a function of a user, for which a number stands in the stored form.
pub(crate) fn print_called(printer: &mut Printer<'_>, name: &ObjectName) -> Result<bool> {
    let Some(id) = relation_id(name) else { return Ok(false) };
    let shown = match printer.names {
        None => Some(name.to_string()),
        Some(names) => names.routine_name(id),
    };
    printer.push(&shown.ok_or_else(|| unprintable(name))?);
    Ok(true)
}

pub(crate) fn print_function(printer: &mut Printer<'_>, function: &Function) -> Result<()> {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let name = name.map(crate::fold).unwrap_or_default();
    match &function.args {
        FunctionArguments::None => {
            printer.push(&name.to_uppercase());
            return Ok(());
        }
        FunctionArguments::Subquery(query) => {
            return print_subquery(printer, &format!("{}(", name.to_uppercase()), query);
        }
        FunctionArguments::List(list) => match name.as_str() {
            _ if print_called(printer, &function.name)? => {
                printer.push("(");
                print_arguments(printer, list)?;
                printer.push(")");
            }
            "coalesce" | "greatest" | "least" | "nullif" | "row" | "grouping" => {
                printer.push(&format!("{}(", name.to_uppercase()));
                print_arguments(printer, list)?;
                printer.push(")");
                return Ok(());
            }
            word if list.args.is_empty() && KEYWORD_VALUES.contains(&word) => {
                printer.push(&name.to_uppercase());
                return Ok(());
            }
            _ => {
                match KEYWORD_TIMES.contains(&name.as_str()) {
                    true => printer.push(&name.to_uppercase()),
                    false => {
                        printer.push(&function_prefix(printer, &name, &list.args));
                        print_function_name(printer, &name);
                    }
                }
                printer.push("(");
                print_arguments(printer, list)?;
                printer.push(")");
            }
        },
    }
    if !function.within_group.is_empty() {
        printer.push(" WITHIN GROUP (ORDER BY ");
        print_aggregate_keys(printer, &function.within_group)?;
        printer.push(")");
    }
    if let Some(filter) = &function.filter {
        printer.push(" FILTER (WHERE ");
        print_expr(printer, filter)?;
        printer.push(")");
    }
    match &function.over {
        None => Ok(()),
        Some(WindowType::NamedWindow(name)) => {
            printer.push(" OVER ");
            print_name(printer, &crate::fold(name));
            Ok(())
        }
        Some(WindowType::WindowSpec(spec)) => {
            printer.push(" OVER ");
            print_window_spec(printer, spec)
        }
    }
}

fn print_arguments(printer: &mut Printer<'_>, list: &FunctionArgumentList) -> Result<()> {
    if matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct)) {
        printer.push("DISTINCT ");
    }
    for (place, arg) in list.args.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => print_expr(printer, e)?,
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => printer.push("*"),
            other => return Err(unprintable(other)),
        }
    }
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(order) => {
                printer.push(" ORDER BY ");
                print_aggregate_keys(printer, order)?;
            }
            other => return Err(unprintable(other)),
        }
    }
    Ok(())
}

fn print_aggregate_keys(printer: &mut Printer<'_>, order: &[OrderByExpr]) -> Result<()> {
    print_sort_keys(printer, order, &[])
}

/// A key of ORDER BY or GROUP BY.
pub(crate) fn print_sort_expr(printer: &mut Printer<'_>, e: &Expr) -> Result<()> {
    let e = unnested(e);
    let paren = match e {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => false,
        Expr::Cast { expr, .. } if matches!(unnested(expr), Expr::Value(_)) => false,
        Expr::Function(function) => {
            let name = function.name.to_string().to_lowercase();
            printer.pretty()
                || !["coalesce", "greatest", "least", "nullif", "row"].contains(&&*name)
        }
        _ => printer.pretty(),
    };
    print_operand(printer, paren, e)
}

/// `(PARTITION BY … ORDER BY … ROWS …)`
pub(crate) fn print_window_spec(printer: &mut Printer<'_>, spec: &WindowSpec) -> Result<()> {
    printer.push("(");
    let mut parts: Vec<String> = Vec::new();
    if let Some(name) = &spec.window_name {
        parts.push(printer.aside(|p| {
            print_name(p, &crate::fold(name));
            Ok(())
        })?);
    }
    if !spec.partition_by.is_empty() {
        parts.push(printer.aside(|p| {
            p.push("PARTITION BY ");
            for (place, key) in spec.partition_by.iter().enumerate() {
                if place > 0 {
                    p.push(", ");
                }
                print_sort_expr(p, key)?;
            }
            Ok(())
        })?);
    }
    if !spec.order_by.is_empty() {
        parts.push(printer.aside(|p| {
            p.push("ORDER BY ");
            print_aggregate_keys(p, &spec.order_by)
        })?);
    }
    if let Some(frame) = &spec.window_frame
        && (printer.is_stored() || !is_default(frame))
    {
        parts.push(printer.aside(|p| print_frame(p, frame))?);
    }
    printer.push(&parts.join(" "));
    printer.push(")");
    Ok(())
}

fn print_frame(printer: &mut Printer<'_>, frame: &WindowFrame) -> Result<()> {
    printer.push(match frame.units {
        WindowFrameUnits::Rows => "ROWS ",
        WindowFrameUnits::Range => "RANGE ",
        WindowFrameUnits::Groups => "GROUPS ",
    });
    let parts = crate::frame_parts(frame);
    match parts.end {
        None => print_bound(printer, parts.start)?,
        Some(end) => {
            printer.push("BETWEEN ");
            print_bound(printer, parts.start)?;
            printer.push(" AND ");
            print_bound(printer, end)?;
        }
    }
    if let Some(exclusion) = parts.exclusion {
        printer.push(" ");
        printer.push(exclusion.clause());
    }
    Ok(())
}

fn print_bound(printer: &mut Printer<'_>, bound: FrameEnd<'_>) -> Result<()> {
    let (offset, word) = match bound {
        FrameEnd::CurrentRow => {
            printer.push("CURRENT ROW");
            return Ok(());
        }
        FrameEnd::Preceding(offset) => (offset, " PRECEDING"),
        FrameEnd::Following(offset) => (offset, " FOLLOWING"),
    };
    match offset {
        Some(offset) => print_expr(printer, offset)?,
        None => printer.push("UNBOUNDED"),
    }
    printer.push(word);
    Ok(())
}

/// Whether a frame is the one that a window has without any.
fn is_default(frame: &WindowFrame) -> bool {
    frame.units == WindowFrameUnits::Range
        && matches!(frame.start_bound, WindowFrameBound::Preceding(None))
        && matches!(frame.end_bound, Some(WindowFrameBound::CurrentRow))
}
