//! Functions with a syntax of their own.

use braid_types::Result;
use sqlparser::ast::{Expr, TrimWhereField, Value};

use super::expr::{print_arg, print_expr};
use super::printer::{Printer, unprintable};

/// Functions with a syntax of their own.
pub(crate) fn print_special(printer: &mut Printer<'_>, e: &Expr) -> Result<()> {
    match e {
        Expr::AtTimeZone { timestamp, time_zone } => {
            printer.push("(");
            print_arg(printer, timestamp, e)?;
            printer.push(" AT TIME ZONE ");
            print_arg(printer, time_zone, e)?;
            printer.push(")");
        }
        Expr::Extract { field, expr, .. } => {
            let field = field.to_string().trim_matches(['\'', '"']).to_lowercase();
            printer.push(&format!("EXTRACT({field} FROM "));
            print_expr(printer, expr)?;
            printer.push(")");
        }
        Expr::Position { expr, r#in } => {
            printer.push("POSITION((");
            print_expr(printer, expr)?;
            printer.push(") IN (");
            print_expr(printer, r#in)?;
            printer.push("))");
        }
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            printer.push("SUBSTRING(");
            print_expr(printer, expr)?;
            for (word, part) in [(" FROM ", substring_from), (" FOR ", substring_for)] {
                if let Some(part) = part {
                    printer.push(word);
                    print_expr(printer, part)?;
                }
            }
            printer.push(")");
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
            printer.push(match trim_where {
                Some(TrimWhereField::Leading) => "TRIM(LEADING ",
                Some(TrimWhereField::Trailing) => "TRIM(TRAILING ",
                _ => "TRIM(BOTH ",
            });
            if let Some(what) = trim_what.as_deref().filter(|what| !is_blank(what)) {
                print_expr(printer, what)?;
                printer.push(" ");
            }
            printer.push("FROM ");
            print_expr(printer, expr)?;
            printer.push(")");
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            printer.push("OVERLAY(");
            print_expr(printer, expr)?;
            printer.push(" PLACING ");
            print_expr(printer, overlay_what)?;
            printer.push(" FROM ");
            print_expr(printer, overlay_from)?;
            if let Some(part) = overlay_for {
                printer.push(" FOR ");
                print_expr(printer, part)?;
            }
            printer.push(")");
        }
        Expr::Collate { expr, collation } => {
            printer.push("(");
            print_arg(printer, expr, e)?;
            printer.push(&format!(" COLLATE {collation})"));
        }
        other => return Err(unprintable(other)),
    }
    Ok(())
}

/// The blank that the parser writes where TRIM says nothing.
fn is_blank(e: &Expr) -> bool {
    match e {
        Expr::Value(value) => {
            matches!(&value.value, Value::SingleQuotedString(text) if text == " ")
        }
        _ => false,
    }
}
