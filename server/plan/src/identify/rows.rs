//! Row constructors, and what compares them.

use braid_sql::ast::{
    BinaryOperator, Expr as Ast, FunctionArg, FunctionArgExpr, FunctionArguments,
};
use braid_types::{Result, SqlType};

use super::comparisons::{custom, custom_like};
use super::exprs::{bound_type, boxed, identify_known, identify_value, unnested};
use super::functions::identify_syntax_arguments;
use super::identifier::{Identifier, unstorable};
use super::literals::cast;
use super::operators::operand_types;
use super::queries::{column, identify_query, use_column};
use crate::bind::StarColumn;

/// An item of a row constructor.
#[derive(Clone)]
enum RowItem<'e> {
    Written(&'e Ast),
    /// A column that `t.*` stands for.
    Column(StarColumn),
}

impl RowItem<'_> {
    fn ty(&self, identifier: &Identifier<'_, '_>) -> Result<SqlType> {
        match self {
            RowItem::Written(e) => bound_type(identifier, e),
            RowItem::Column(found) => Ok(found.ty.clone()),
        }
    }

    /// The item as a value of a type.
    fn value(&self, identifier: &mut Identifier<'_, '_>, ty: &SqlType) -> Result<Ast> {
        let found = match self {
            RowItem::Written(e) => return identify_value(identifier, e, ty),
            RowItem::Column(found) => found,
        };
        if found.column.0 == 0 || found.column.1 == 0 {
            return Err(unstorable("a row of what has no columns"));
        }
        use_column(identifier, found.column);
        match found.ty.bare() == ty.bare() {
            true => Ok(column(found.column)),
            false => cast(column(found.column), &ty.bare(), None),
        }
    }

    /// The item as a value of its own type.
    fn own_value(&self, identifier: &mut Identifier<'_, '_>) -> Result<Ast> {
        match self {
            RowItem::Written(e) => identify_known(identifier, e),
            RowItem::Column(found) => self.value(identifier, &found.ty),
        }
    }
}

/// The items of a row, with the columns of `t.*` written out.
fn expanded<'e>(
    identifier: &Identifier<'_, '_>,
    items: impl Iterator<Item = &'e Ast>,
) -> Result<Vec<RowItem<'e>>> {
    let mut result = Vec::new();
    for item in items {
        if let Ast::QualifiedWildcard(..) = item {
            let columns = identifier.notes.row_star(item).ok_or_else(|| unstorable(item))?;
            result.extend(columns.iter().cloned().map(RowItem::Column));
        } else {
            result.push(RowItem::Written(item));
        }
    }
    Ok(result)
}

/// The items of a row constructor in the stored form.
pub(super) fn identify_items<'e>(
    identifier: &mut Identifier<'_, '_>,
    items: impl Iterator<Item = &'e Ast>,
) -> Result<Vec<Ast>> {
    let items = expanded(identifier, items)?;
    items.iter().map(|item| item.own_value(identifier)).collect()
}

/// `(a, b) OVERLAPS (c, d)`
pub(super) fn identify_overlaps(
    identifier: &mut Identifier<'_, '_>,
    left: &Ast,
    right: &Ast,
) -> Result<Ast> {
    let (Ast::Tuple(a), Ast::Tuple(b)) = (left, right) else {
        return Err(unstorable("OVERLAPS of what are no rows"));
    };
    let args: Vec<&Ast> = a.iter().chain(b).collect();
    let mut first = identify_syntax_arguments(identifier, "overlaps", &args)?;
    let second = first.split_off(a.len());
    let (left, right) = (boxed(Ast::Tuple(first)), boxed(Ast::Tuple(second)));
    Ok(Ast::BinaryOp { left, op: BinaryOperator::Overlaps, right })
}

/// An operator with the casts of its operands.
pub(super) fn identify_compare(
    identifier: &mut Identifier<'_, '_>,
    op: &str,
    left: &Ast,
    right: &Ast,
) -> Result<Ast> {
    let op = if op == "!=" { "<>" } else { op };
    let left_items = row_items(identifier, left)?;
    if let (Some(left), Some(right)) = (&left_items, row_items(identifier, right)?) {
        return identify_compare_rows(identifier, op, left, &right);
    }
    if let (Some(items), Ast::Subquery(query)) = (&left_items, right) {
        // The columns of the query are compared with the items.
        let items = items.iter().map(|item| item.own_value(identifier));
        let left = boxed(Ast::Tuple(items.collect::<Result<_>>()?));
        let right = boxed(Ast::Subquery(Box::new(identify_query(identifier, query)?)));
        return Ok(Ast::BinaryOp { left, op: custom(op), right });
    }
    let (left_type, right_type) = (bound_type(identifier, left)?, bound_type(identifier, right)?);
    let is_row = |ty: &SqlType| matches!(ty, SqlType::Record(_));
    match (is_row(&left_type), is_row(&right_type)) {
        (true, true) => {
            let left = boxed(identify_known(identifier, left)?);
            let right = boxed(identify_known(identifier, right)?);
            return Ok(Ast::BinaryOp { left, op: custom(op), right });
        }
        (false, false) => {}
        _ => return Err(unstorable("a comparison of a row with what is none")),
    }
    let (left_type, right_type) = operand_types(op, &left_type, &right_type)?;
    let left = boxed(identify_value(identifier, left, &left_type)?);
    let right = boxed(identify_value(identifier, right, &right_type)?);
    Ok(Ast::BinaryOp { left, op: custom_like(op), right })
}

/// Rows are equal if their items are; other comparisons stay as they are.
fn identify_compare_rows(
    identifier: &mut Identifier<'_, '_>,
    op: &str,
    left: &[RowItem<'_>],
    right: &[RowItem<'_>],
) -> Result<Ast> {
    let connective = match op {
        "=" => BinaryOperator::And,
        "<>" => BinaryOperator::Or,
        "<" | "<=" | ">" | ">=" => {
            let (mut lefts, mut rights) = (Vec::new(), Vec::new());
            for (a, b) in left.iter().zip(right) {
                let (a_type, b_type) = operand_types(op, &a.ty(identifier)?, &b.ty(identifier)?)?;
                lefts.push(a.value(identifier, &a_type)?);
                rights.push(b.value(identifier, &b_type)?);
            }
            let (left, right) = (boxed(Ast::Tuple(lefts)), boxed(Ast::Tuple(rights)));
            return Ok(Ast::BinaryOp { left, op: custom(op), right });
        }
        _ => return Err(unstorable("an operator on rows")),
    };
    let mut parts = Vec::with_capacity(left.len());
    for (a, b) in left.iter().zip(right) {
        if let (RowItem::Written(a), RowItem::Written(b)) = (a, b) {
            parts.push(identify_compare(identifier, op, a, b)?);
            continue;
        }
        let (a_type, b_type) = operand_types(op, &a.ty(identifier)?, &b.ty(identifier)?)?;
        let left = boxed(a.value(identifier, &a_type)?);
        let right = boxed(b.value(identifier, &b_type)?);
        parts.push(Ast::BinaryOp { left, op: custom(op), right });
    }
    let several = parts.len() > 1;
    let joined = parts.into_iter().reduce(|left, right| Ast::BinaryOp {
        left: boxed(left),
        op: connective.clone(),
        right: boxed(right),
    });
    let joined = joined.ok_or_else(|| unstorable("an empty row"))?;
    Ok(if several { Ast::Nested(boxed(joined)) } else { joined })
}

/// The items of a row constructor; `None` for another expression.
fn row_items<'e>(identifier: &Identifier<'_, '_>, e: &'e Ast) -> Result<Option<Vec<RowItem<'e>>>> {
    match unnested(e) {
        Ast::Tuple(items) => expanded(identifier, items.iter()).map(Some),
        Ast::Function(function) => {
            let FunctionArguments::List(list) = &function.args else { return Ok(None) };
            let is_row = function.name.to_string().eq_ignore_ascii_case("row");
            let items = list.args.iter().map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(item)) => Some(item),
                _ => None,
            });
            let items = items.collect::<Option<Vec<_>>>();
            let items = items.filter(|items| is_row && !items.is_empty());
            items.map(|items| expanded(identifier, items.into_iter())).transpose()
        }
        _ => Ok(None),
    }
}
