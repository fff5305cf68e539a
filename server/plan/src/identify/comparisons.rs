//! Operators, comparisons of rows, IN, LIKE and the quantified comparisons.

use braid_sql::ast::{Array, BinaryOperator, Expr as Ast};
use braid_types::{Result, SqlType};

use super::exprs::{
    bound_type, boxed, identify_condition, identify_known, identify_value, unnested,
};
use super::functions::identify_call;
use super::identifier::{Identifier, unstorable};
use super::literals::cast;
use super::operators::operand_types;
use super::queries::identify_query;
use super::rows::{identify_compare, identify_overlaps};
use crate::bind::{common_type, op_name};

pub(crate) fn identify_binary(
    identifier: &mut Identifier<'_, '_>,
    left: &Ast,
    op: &BinaryOperator,
    right: &Ast,
) -> Result<Ast> {
    if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        let (left, right) =
            (identify_condition(identifier, left)?, identify_condition(identifier, right)?);
        return Ok(Ast::BinaryOp { left: boxed(left), op: op.clone(), right: boxed(right) });
    }
    if matches!(op, BinaryOperator::Overlaps) {
        return identify_overlaps(identifier, left, right);
    }
    identify_compare(identifier, &op_name(op), left, right)
}

pub(crate) fn identify_distinct(
    identifier: &mut Identifier<'_, '_>,
    a: &Ast,
    b: &Ast,
) -> Result<Ast> {
    let (left, right) = (bound_type(identifier, a)?, bound_type(identifier, b)?);
    let (left, right) = operand_types("=", &left, &right)?;
    Ok(Ast::IsDistinctFrom(
        boxed(identify_value(identifier, a, &left)?),
        boxed(identify_value(identifier, b, &right)?),
    ))
}

/// Items that read no column go into one array; the others are compared one by one.
pub(crate) fn identify_in_list(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    list: &[Ast],
    negated: bool,
) -> Result<Ast> {
    let (op, connective) = match negated {
        true => ("<>", BinaryOperator::And),
        false => ("=", BinaryOperator::Or),
    };
    let own = bound_type(identifier, e)?;
    let (mut plain, mut others) = (Vec::new(), Vec::new());
    for item in list {
        if reads_columns(item) { others.push(item) } else { plain.push(item) }
    }
    let mut parts = Vec::new();
    let mut types = vec![own.clone()];
    for item in &plain {
        types.push(bound_type(identifier, item)?);
    }
    match common_type(&types, "IN") {
        Ok(common) if plain.len() > 1 && !matches!(own, SqlType::Record(_)) => {
            let common = common.bare();
            let items = plain.iter().map(|item| identify_value(identifier, item, &common));
            let elem = items.collect::<Result<Vec<_>>>()?;
            let (left, right) = operand_types("=", &own, &common)?;
            let mut array = Ast::Array(Array { elem, named: true });
            if right != common {
                array = cast(array, &SqlType::Array(Box::new(right)), None)?;
            }
            let (left, right) = (boxed(identify_value(identifier, e, &left)?), boxed(array));
            let compare_op = custom(op);
            parts.push(match negated {
                true => Ast::AllOp { left, compare_op, right },
                false => Ast::AnyOp { left, compare_op, right, is_some: false },
            });
        }
        _ => others.splice(0..0, plain).for_each(drop),
    }
    for item in others {
        parts.push(identify_compare(identifier, op, e, item)?);
    }
    let several = parts.len() > 1;
    let joined = parts.into_iter().reduce(|left, right| Ast::BinaryOp {
        left: boxed(left),
        op: connective.clone(),
        right: boxed(right),
    });
    let joined = joined.ok_or_else(|| unstorable("IN ()"))?;
    Ok(if several { Ast::Nested(boxed(joined)) } else { joined })
}

pub(crate) fn identify_like(
    identifier: &mut Identifier<'_, '_>,
    op: &str,
    e: &Ast,
    pattern: &Ast,
    escape: Option<&Ast>,
) -> Result<Ast> {
    let Some(escape) = escape else { return identify_compare(identifier, op, e, pattern) };
    let left = boxed(identify_value(identifier, e, &SqlType::Text)?);
    let right = boxed(identify_call(identifier, "like_escape", &[pattern, escape])?);
    Ok(Ast::BinaryOp { left, op: custom(op), right })
}

pub(crate) fn identify_quantified(
    identifier: &mut Identifier<'_, '_>,
    left: &Ast,
    op: &str,
    right: &Ast,
) -> Result<(Ast, Ast)> {
    if let Ast::Subquery(query) = unnested(right) {
        return Ok((
            identify_known(identifier, left)?,
            Ast::Subquery(Box::new(identify_query(identifier, query)?)),
        ));
    }
    let own = bound_type(identifier, left)?;
    let element = match bound_type(identifier, right)? {
        SqlType::Array(element) => *element,
        SqlType::Unknown => own.bare(),
        _ => return Err(unstorable(right)),
    };
    let (wanted, of_element) = operand_types(op, &own, &element)?;
    let left = identify_value(identifier, left, &wanted)?;
    let right = identify_value(identifier, right, &SqlType::Array(Box::new(of_element)))?;
    Ok((left, right))
}

pub(super) fn custom(op: &str) -> BinaryOperator {
    match op {
        "=" => BinaryOperator::Eq,
        "<>" => BinaryOperator::NotEq,
        ">=" => BinaryOperator::GtEq,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        "<" => BinaryOperator::Lt,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "~" => BinaryOperator::PGRegexMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        other => BinaryOperator::PGCustomBinaryOperator(vec![other.to_owned()]),
    }
}

/// An operator by its name, in the form that the parser gives it.
pub(super) fn custom_like(op: &str) -> BinaryOperator {
    match op {
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "||" => BinaryOperator::StringConcat,
        other => custom(other),
    }
}

/// Whether an item of an IN list may read a column.
fn reads_columns(e: &Ast) -> bool {
    match unnested(e) {
        Ast::Value(_) | Ast::TypedString(_) | Ast::Interval(_) => false,
        Ast::Cast { expr, .. } | Ast::UnaryOp { expr, .. } => reads_columns(expr),
        Ast::BinaryOp { left, right, .. } => reads_columns(left) || reads_columns(right),
        _ => true,
    }
}
