//! Subqueries in expressions, and functions with a syntax of their own.

use braid_sql::ast::Expr as Ast;
use braid_types::{Result, SqlType};

use super::comparisons::custom_like;
use super::exprs::{boxed, not, unnested};
use super::{Identifier, unstorable};
use crate::bind::{op_name, string_of};

impl Identifier<'_, '_> {
    /// Subqueries, quantified comparisons, and functions with a syntax of their own.
    pub(super) fn other(&mut self, e: &Ast) -> Result<Ast> {
        Ok(match e {
            Ast::Subquery(query) => Ast::Subquery(Box::new(self.query(query)?)),
            Ast::Exists { subquery, negated } => {
                let subquery = Box::new(self.query(subquery)?);
                let exists = Ast::Exists { subquery, negated: false };
                if *negated { not(exists) } else { exists }
            }
            Ast::InSubquery { expr, subquery, negated } => {
                let expr = match unnested(expr) {
                    Ast::Tuple(items) => Ast::Tuple(self.all(items)?),
                    expr => self.known(expr)?,
                };
                let subquery = Box::new(self.query(subquery)?);
                let found = Ast::InSubquery { expr: boxed(expr), subquery, negated: false };
                if *negated { not(found) } else { found }
            }
            Ast::AnyOp { left, compare_op, right, .. } => {
                let (left, right) = self.quantified(left, &op_name(compare_op), right)?;
                let compare_op = custom_like(&op_name(compare_op));
                Ast::AnyOp { left: boxed(left), compare_op, right: boxed(right), is_some: false }
            }
            Ast::AllOp { left, compare_op, right } => {
                let (left, right) = self.quantified(left, &op_name(compare_op), right)?;
                let compare_op = custom_like(&op_name(compare_op));
                Ast::AllOp { left: boxed(left), compare_op, right: boxed(right) }
            }
            Ast::Interval(interval) => {
                let text = match &*interval.value {
                    Ast::Value(value) => string_of(&value.value),
                    _ => None,
                };
                let text = text.ok_or_else(|| unstorable(e))?;
                match crate::bind::interval_modifier(interval)? {
                    None => self.literal(text, &SqlType::Interval)?,
                    Some(modifier) => self.modified_literal(text, &SqlType::Interval, modifier)?,
                }
            }
            Ast::Extract { field, syntax, expr } => {
                let expr = boxed(self.known(expr)?);
                Ast::Extract { field: field.clone(), syntax: syntax.clone(), expr }
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let mut args = self.syntax_arguments("timezone", &[time_zone, timestamp])?;
                let (Some(timestamp), Some(zone)) = (args.pop(), args.pop()) else {
                    return Err(unstorable(e));
                };
                Ast::AtTimeZone { timestamp: boxed(timestamp), time_zone: boxed(zone) }
            }
            other => self.syntax(other)?,
        })
    }

    /// Functions on strings and numbers with a syntax of their own.
    fn syntax(&mut self, e: &Ast) -> Result<Ast> {
        Ok(match e {
            Ast::Ceil { expr, .. } => self.call("ceil", &[expr])?,
            Ast::Floor { expr, .. } => self.call("floor", &[expr])?,
            Ast::Position { expr, r#in } => {
                let mut args = self.syntax_arguments("position", &[r#in, expr])?;
                let (Some(expr), Some(place)) = (args.pop(), args.pop()) else {
                    return Err(unstorable(e));
                };
                Ast::Position { expr: boxed(expr), r#in: boxed(place) }
            }
            Ast::Substring { .. } => self.substring(e)?,
            Ast::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let what = trim_what.as_deref().filter(|what| !is_blank(what));
                let what = what.map(|e| self.known(e)).transpose()?;
                let trim_what = what.map(boxed);
                let expr = boxed(self.known(expr)?);
                let trim_where = *trim_where;
                Ast::Trim { trim_where, trim_what, expr, trim_characters: None }
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => Ast::Overlay {
                expr: boxed(self.known(expr)?),
                overlay_what: boxed(self.known(overlay_what)?),
                overlay_from: boxed(self.known(overlay_from)?),
                overlay_for: match overlay_for {
                    Some(e) => Some(boxed(self.known(e)?)),
                    None => None,
                },
            },
            Ast::Collate { expr, collation } => {
                Ast::Collate { expr: boxed(self.known(expr)?), collation: collation.clone() }
            }
            other => return Err(unstorable(other)),
        })
    }

    fn substring(&mut self, e: &Ast) -> Result<Ast> {
        let Ast::Substring { expr, substring_from, substring_for, special, shorthand } = e else {
            return Err(unstorable(e));
        };
        let mut args: Vec<&Ast> = vec![expr];
        args.extend(substring_from.as_deref());
        args.extend(substring_for.as_deref());
        if *special || substring_from.is_none() {
            if substring_from.is_none() {
                return Err(unstorable(e));
            }
            return self.call("substring", &args);
        }
        let mut typed = self.syntax_arguments("substring", &args)?.into_iter();
        let expr = boxed(typed.next().ok_or_else(|| unstorable(e))?);
        Ok(Ast::Substring {
            expr,
            substring_from: typed.next().map(boxed),
            substring_for: typed.next().map(boxed),
            special: false,
            shorthand: *shorthand,
        })
    }
}

/// The blank that the parser writes where TRIM says nothing.
fn is_blank(e: &Ast) -> bool {
    match e {
        Ast::Value(value) => string_of(&value.value) == Some(" "),
        _ => false,
    }
}
