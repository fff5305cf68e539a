//! Subqueries in expressions, and functions with a syntax of their own.

use braid_catalog::COLLATION_MARK;
use braid_sql::ast::{Expr as Ast, Ident, ObjectName, ObjectNamePart};
use braid_types::{Result, SqlType};

use super::comparisons::{custom_like, identify_quantified};
use super::exprs::{boxed, identify_all, identify_known, identify_name, not, unnested};
use super::functions::{identify_call, identify_syntax_arguments};
use super::identifier::{Identifier, unstorable};
use super::literals::{identify_literal, identify_modified_literal};
use super::queries::identify_query;
use crate::bind::{op_name, string_of};
use crate::collate::collation_named;

/// Subqueries, quantified comparisons, and functions with a syntax of their own.
pub(crate) fn identify_other(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    Ok(match e {
        Ast::QualifiedWildcard(..) => identify_name(identifier, e)?,
        Ast::Subquery(query) => Ast::Subquery(Box::new(identify_query(identifier, query)?)),
        Ast::Exists { subquery, negated } => {
            let subquery = Box::new(identify_query(identifier, subquery)?);
            let exists = Ast::Exists { subquery, negated: false };
            if *negated { not(exists) } else { exists }
        }
        Ast::InSubquery { expr, subquery, negated } => {
            let expr = match unnested(expr) {
                Ast::Tuple(items) => Ast::Tuple(identify_all(identifier, items)?),
                expr => identify_known(identifier, expr)?,
            };
            let subquery = Box::new(identify_query(identifier, subquery)?);
            let found = Ast::InSubquery { expr: boxed(expr), subquery, negated: false };
            if *negated { not(found) } else { found }
        }
        Ast::AnyOp { left, compare_op, right, .. } => {
            let (left, right) = identify_quantified(identifier, left, &op_name(compare_op), right)?;
            let compare_op = custom_like(&op_name(compare_op));
            Ast::AnyOp { left: boxed(left), compare_op, right: boxed(right), is_some: false }
        }
        Ast::AllOp { left, compare_op, right } => {
            let (left, right) = identify_quantified(identifier, left, &op_name(compare_op), right)?;
            let compare_op = custom_like(&op_name(compare_op));
            Ast::AllOp { left: boxed(left), compare_op, right: boxed(right) }
        }
        Ast::Like { negated, expr, pattern, escape_char: None, any: true } => {
            identify_like_any(identifier, if *negated { "!~~" } else { "~~" }, expr, pattern)?
        }
        Ast::ILike { negated, expr, pattern, escape_char: None, any: true } => {
            identify_like_any(identifier, if *negated { "!~~*" } else { "~~*" }, expr, pattern)?
        }
        Ast::Interval(interval) => {
            let text = match &*interval.value {
                Ast::Value(value) => string_of(&value.value),
                _ => None,
            };
            let text = text.ok_or_else(|| unstorable(e))?;
            match crate::bind::interval_modifier(interval)? {
                None => identify_literal(identifier, text, &SqlType::Interval)?,
                Some(modifier) => {
                    identify_modified_literal(identifier, text, &SqlType::Interval, modifier)?
                }
            }
        }
        Ast::Extract { field, syntax, expr } => {
            let expr = boxed(identify_known(identifier, expr)?);
            Ast::Extract { field: field.clone(), syntax: syntax.clone(), expr }
        }
        Ast::AtTimeZone { timestamp, time_zone } => {
            let mut args =
                identify_syntax_arguments(identifier, "timezone", &[time_zone, timestamp])?;
            let (Some(timestamp), Some(zone)) = (args.pop(), args.pop()) else {
                return Err(unstorable(e));
            };
            Ast::AtTimeZone { timestamp: boxed(timestamp), time_zone: boxed(zone) }
        }
        other => identify_syntax(identifier, other)?,
    })
}

/// `LIKE ANY (…)` as its operator with ANY.
fn identify_like_any(
    identifier: &mut Identifier<'_, '_>,
    op: &str,
    left: &Ast,
    pattern: &Ast,
) -> Result<Ast> {
    let (left, right) = identify_quantified(identifier, left, op, unnested(pattern))?;
    let compare_op = custom_like(op);
    Ok(Ast::AnyOp { left: boxed(left), compare_op, right: boxed(right), is_some: false })
}

/// Functions on strings and numbers with a syntax of their own.
fn identify_syntax(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    Ok(match e {
        Ast::Ceil { expr, .. } => identify_call(identifier, "ceil", &[expr])?,
        Ast::Floor { expr, .. } => identify_call(identifier, "floor", &[expr])?,
        Ast::Position { expr, r#in } => {
            let mut args = identify_syntax_arguments(identifier, "position", &[r#in, expr])?;
            let (Some(expr), Some(place)) = (args.pop(), args.pop()) else {
                return Err(unstorable(e));
            };
            Ast::Position { expr: boxed(expr), r#in: boxed(place) }
        }
        Ast::Substring { .. } => identify_substring(identifier, e)?,
        Ast::Trim { trim_where, trim_what, expr, trim_characters: None } => {
            let what = trim_what.as_deref().filter(|what| !is_blank(what));
            let what = what.map(|e| identify_known(identifier, e)).transpose()?;
            let trim_what = what.map(boxed);
            let expr = boxed(identify_known(identifier, expr)?);
            let trim_where = *trim_where;
            Ast::Trim { trim_where, trim_what, expr, trim_characters: None }
        }
        Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => Ast::Overlay {
            expr: boxed(identify_known(identifier, expr)?),
            overlay_what: boxed(identify_known(identifier, overlay_what)?),
            overlay_from: boxed(identify_known(identifier, overlay_from)?),
            overlay_for: match overlay_for {
                Some(e) => Some(boxed(identify_known(identifier, e)?)),
                None => None,
            },
        },
        Ast::Collate { expr, collation } => Ast::Collate {
            expr: boxed(identify_known(identifier, expr)?),
            collation: identify_collation(identifier, collation)?,
        },
        other => return Err(unstorable(other)),
    })
}

/// A collation of users by its id; a built-in one by its name.
fn identify_collation(identifier: &Identifier<'_, '_>, name: &ObjectName) -> Result<ObjectName> {
    let found = collation_named(identifier.cx.catalog, identifier.cx.path, name)?;
    match found.stored.starts_with(COLLATION_MARK) {
        true => {
            let ident = Ident::with_quote('"', &*found.stored);
            Ok(ObjectName(vec![ObjectNamePart::Identifier(ident)]))
        }
        false => Ok(name.clone()),
    }
}

fn identify_substring(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
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
        return identify_call(identifier, "substring", &args);
    }
    let mut typed = identify_syntax_arguments(identifier, "substring", &args)?.into_iter();
    let expr = boxed(typed.next().ok_or_else(|| unstorable(e))?);
    Ok(Ast::Substring {
        expr,
        substring_from: typed.next().map(boxed),
        substring_for: typed.next().map(boxed),
        special: false,
        shorthand: *shorthand,
    })
}

/// The blank that the parser writes where TRIM says nothing.
fn is_blank(e: &Ast) -> bool {
    match e {
        Ast::Value(value) => string_of(&value.value) == Some(" "),
        _ => false,
    }
}
