//! Functions with a syntax of their own.

use braid_types::Result;
use sqlparser::ast::{Expr, TrimWhereField, Value};

use super::{Printer, unprintable};

impl Printer<'_> {
    /// Functions with a syntax of their own.
    pub(super) fn special(&mut self, e: &Expr) -> Result<()> {
        match e {
            Expr::AtTimeZone { timestamp, time_zone } => {
                self.push("(");
                self.arg(timestamp, e)?;
                self.push(" AT TIME ZONE ");
                self.arg(time_zone, e)?;
                self.push(")");
            }
            Expr::Extract { field, expr, .. } => {
                let field = field.to_string().trim_matches(['\'', '"']).to_lowercase();
                self.push(&format!("EXTRACT({field} FROM "));
                self.expr(expr)?;
                self.push(")");
            }
            Expr::Position { expr, r#in } => {
                self.push("POSITION((");
                self.expr(expr)?;
                self.push(") IN (");
                self.expr(r#in)?;
                self.push("))");
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                self.push("SUBSTRING(");
                self.expr(expr)?;
                for (word, part) in [(" FROM ", substring_from), (" FOR ", substring_for)] {
                    if let Some(part) = part {
                        self.push(word);
                        self.expr(part)?;
                    }
                }
                self.push(")");
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                self.push(match trim_where {
                    Some(TrimWhereField::Leading) => "TRIM(LEADING ",
                    Some(TrimWhereField::Trailing) => "TRIM(TRAILING ",
                    _ => "TRIM(BOTH ",
                });
                if let Some(what) = trim_what.as_deref().filter(|what| !is_blank(what)) {
                    self.expr(what)?;
                    self.push(" ");
                }
                self.push("FROM ");
                self.expr(expr)?;
                self.push(")");
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                self.push("OVERLAY(");
                self.expr(expr)?;
                self.push(" PLACING ");
                self.expr(overlay_what)?;
                self.push(" FROM ");
                self.expr(overlay_from)?;
                if let Some(part) = overlay_for {
                    self.push(" FOR ");
                    self.expr(part)?;
                }
                self.push(")");
            }
            Expr::Collate { expr, collation } => {
                self.push("(");
                self.arg(expr, e)?;
                self.push(&format!(" COLLATE {collation})"));
            }
            other => return Err(unprintable(other)),
        }
        Ok(())
    }
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
