//! Expressions: names become numbers, sugar becomes what PostgreSQL shows, casts are written out.

use braid_sql::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, CastKind, DataType, Expr as Ast, Subscript,
    UnaryOperator, Value,
};
use braid_types::sql_type::relation_of_row_type;
use braid_types::{Error, Result, SqlType};

use super::comparisons::{
    custom, identify_binary, identify_distinct, identify_in_list, identify_like,
};
use super::functions::{identify_call, identify_function};
use super::identifier::{Identifier, unstorable};
use super::literals::{
    cast, identify_literal, identify_modified_literal, identify_number_literal, null,
};
use super::operators::operand_types;
use super::queries::{column, quoted, use_column};
use super::rows::{identify_compare, identify_items};
use super::syntax::identify_other;
use crate::bind::{
    Reference, domain_of, literal_type_of, sql_type_of, string_of, time_modifier_of,
};

pub(super) fn boxed(e: Ast) -> Box<Ast> {
    Box::new(e)
}

pub(super) fn not(e: Ast) -> Ast {
    Ast::UnaryOp { op: UnaryOperator::Not, expr: boxed(e) }
}

/// The type of an expression; of a string literal it is unknown.
pub(crate) fn bound_type(identifier: &Identifier<'_, '_>, e: &Ast) -> Result<SqlType> {
    match (identifier.notes.ty(e), e) {
        (Some(ty), _) => Ok(ty.clone()),
        (None, Ast::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }) => {
            Ok(SqlType::Bool)
        }
        (None, e) if braid_sql::row_expansion(e).is_some() => Err(unstorable("(row).*")),
        (None, e) => Err(unstorable(e)),
    }
}

/// The digits of a bit string, as its type reads them.
fn bit_digits(value: &Value) -> Option<String> {
    match value {
        Value::SingleQuotedByteStringLiteral(digits) => Some(digits.clone()),
        Value::HexStringLiteral(digits) => Some(format!("x{digits}")),
        _ => None,
    }
}

/// An expression as a value of a type.
pub(crate) fn identify_value(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    ty: &SqlType,
) -> Result<Ast> {
    let e = unnested(e);
    if let Ast::Value(value) = e {
        match &value.value {
            Value::Null => return null(&ty.bare()),
            other => {
                if let Some(text) = string_of(other) {
                    return identify_literal(identifier, text, ty);
                }
                if let Some(digits) = bit_digits(other) {
                    let literal = identify_literal(identifier, &digits, &SqlType::Bit(0))?;
                    return match ty.bare() {
                        SqlType::Varbit(_) => cast(literal, &SqlType::Varbit(None), None),
                        _ => Ok(literal),
                    };
                }
            }
        }
    }
    let own = bound_type(identifier, e)?;
    let e = identify_expr(identifier, e)?;
    if own.bare() == ty.bare() || matches!(ty, SqlType::Unknown | SqlType::Record(_)) {
        return Ok(e);
    }
    cast(e, &ty.bare(), None)
}

/// An expression as a value of its own type; literals without one are text.
pub(crate) fn identify_known(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    match bound_type(identifier, e)? {
        SqlType::Unknown => identify_value(identifier, e, &SqlType::Text),
        _ => identify_expr(identifier, e),
    }
}

pub(crate) fn identify_condition(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    identify_value(identifier, e, &SqlType::Bool)
}

/// A number of rows: its cast is not shown.
pub(crate) fn identify_bare(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    match bound_type(identifier, e)? {
        SqlType::Unknown => identify_value(identifier, e, &SqlType::Int8),
        _ => identify_expr(identifier, e),
    }
}

pub(crate) fn identify_all(identifier: &mut Identifier<'_, '_>, list: &[Ast]) -> Result<Vec<Ast>> {
    list.iter().map(|e| identify_known(identifier, e)).collect()
}

pub(crate) fn identify_expr(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    Ok(match e {
        Ast::Nested(inner) => identify_expr(identifier, inner)?,
        Ast::Identifier(_) | Ast::CompoundIdentifier(_) => identify_name(identifier, e)?,
        Ast::Value(value) => match &value.value {
            Value::Number(text, _) => {
                let ty = bound_type(identifier, e)?;
                identify_number_literal(identifier, text, &ty)?
            }
            Value::Boolean(_) => e.clone(),
            Value::Placeholder(_) => return Err(unstorable("a parameter")),
            _ => identify_value(identifier, e, &SqlType::Text)?,
        },
        Ast::BinaryOp { left, op, right } => identify_binary(identifier, left, op, right)?,
        Ast::UnaryOp { op, expr } => identify_unary(identifier, e, op, expr)?,
        Ast::IsNull(x) => Ast::IsNull(boxed(identify_known(identifier, x)?)),
        Ast::IsNotNull(x) => Ast::IsNotNull(boxed(identify_known(identifier, x)?)),
        Ast::IsTrue(x) => Ast::IsTrue(boxed(identify_condition(identifier, x)?)),
        Ast::IsNotTrue(x) => Ast::IsNotTrue(boxed(identify_condition(identifier, x)?)),
        Ast::IsFalse(x) => Ast::IsFalse(boxed(identify_condition(identifier, x)?)),
        Ast::IsNotFalse(x) => Ast::IsNotFalse(boxed(identify_condition(identifier, x)?)),
        Ast::IsUnknown(x) => Ast::IsUnknown(boxed(identify_condition(identifier, x)?)),
        Ast::IsNotUnknown(x) => Ast::IsNotUnknown(boxed(identify_condition(identifier, x)?)),
        Ast::IsDistinctFrom(a, b) => identify_distinct(identifier, a, b)?,
        Ast::IsNotDistinctFrom(a, b) => not(identify_distinct(identifier, a, b)?),
        Ast::InList { expr, list, negated } => identify_in_list(identifier, expr, list, *negated)?,
        Ast::Between { expr, negated, low, high } => {
            let ops = if *negated { ["<", ">"] } else { [">=", "<="] };
            let low = identify_compare(identifier, ops[0], expr, low)?;
            let high = identify_compare(identifier, ops[1], expr, high)?;
            let op = if *negated { BinaryOperator::Or } else { BinaryOperator::And };
            let both = Ast::BinaryOp { left: boxed(low), op, right: boxed(high) };
            Ast::Nested(boxed(both))
        }
        Ast::Like { negated, expr, pattern, escape_char, any: false } => {
            let op = if *negated { "!~~" } else { "~~" };
            identify_like(identifier, op, expr, pattern, escape_char.as_deref())?
        }
        Ast::ILike { negated, expr, pattern, escape_char, any: false } => {
            let op = if *negated { "!~~*" } else { "~~*" };
            identify_like(identifier, op, expr, pattern, escape_char.as_deref())?
        }
        Ast::SimilarTo { negated, expr, pattern, escape_char } => {
            let mut args: Vec<&Ast> = vec![pattern];
            args.extend(escape_char.as_deref());
            let right = boxed(identify_call(identifier, "similar_to_escape", &args)?);
            let left = boxed(identify_value(identifier, expr, &SqlType::Text)?);
            Ast::BinaryOp { left, op: custom(if *negated { "!~" } else { "~" }), right }
        }
        Ast::Cast { expr, data_type, .. } => identify_cast(identifier, expr, data_type)?,
        Ast::TypedString(typed) => {
            let Some(text) = string_of(&typed.value.value) else {
                return Err(Error::broken("a typed literal without its text"));
            };
            identify_typed_string(identifier, text, &typed.data_type)?
        }
        Ast::Case { .. } => identify_case(identifier, e)?,
        Ast::Function(function) => identify_function(identifier, e, function)?,
        Ast::Tuple(items) => Ast::Tuple(identify_items(identifier, items.iter())?),
        Ast::Array(array) => {
            let ty = bound_type(identifier, e)?;
            let elem = identify_array_items(identifier, &array.elem, &ty)?;
            Ast::Array(Array { elem, named: true })
        }
        Ast::CompoundFieldAccess { root, access_chain } => {
            identify_access(identifier, root, access_chain)?
        }
        other => identify_other(identifier, other)?,
    })
}

/// The items of an array constructor of that type; inner arrays have the same type.
fn identify_array_items(
    identifier: &mut Identifier<'_, '_>,
    items: &[Ast],
    ty: &SqlType,
) -> Result<Vec<Ast>> {
    let SqlType::Array(element) = ty else {
        return Err(Error::internal("an array constructor that is no array"));
    };
    let is_inner = |item: &Ast| {
        let known = identifier.notes.ty(item);
        matches!(unnested(item), Ast::Array(_)) || matches!(known, Some(SqlType::Array(_)))
    };
    let has_inner = items.iter().any(is_inner);
    let wanted = if has_inner { ty } else { &**element };
    let item = |item: &Ast| match unnested(item) {
        Ast::Array(inner) if inner.elem.is_empty() => {
            cast(Ast::Array(Array { elem: Vec::new(), named: true }), ty, None)
        }
        _ => identify_value(identifier, item, wanted),
    };
    items.iter().map(item).collect()
}

/// A column, a whole row, or a value that is a keyword.
pub(super) fn identify_name(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    match (identifier.notes.name(e), e) {
        (Some(Reference::Column(found)), _) => {
            if found.1 == 0 || found.0 == 0 {
                return Err(unstorable(e));
            }
            use_column(identifier, found);
            Ok(column(found))
        }
        (Some(Reference::Row(label)), _) if label > 0 => {
            // The row of a function that gives plain values is its column.
            if !matches!(bound_type(identifier, e)?, SqlType::Record(_)) {
                return match identifier.notes.only_column(label) {
                    Some(only) => Ok(column(only)),
                    None => Err(unstorable(e)),
                };
            }
            Ok(Ast::Identifier(quoted(label.to_string())))
        }
        (None, Ast::Identifier(ident))
            if ident.quote_style.is_none() && identifier.notes.ty(e).is_some() =>
        {
            Ok(e.clone())
        }
        _ => Err(unstorable(e)),
    }
}

fn identify_unary(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    op: &UnaryOperator,
    operand: &Ast,
) -> Result<Ast> {
    if *op == UnaryOperator::Not {
        return Ok(not(identify_condition(identifier, operand)?));
    }
    if let (UnaryOperator::Minus, Ast::Value(value)) = (op, unnested(operand))
        && let Value::Number(text, _) = &value.value
    {
        let ty = bound_type(identifier, e)?;
        return identify_number_literal(identifier, &format!("-{text}"), &ty);
    }
    let resolved =
        braid_builtins::resolve_operator(&op.to_string(), None, &bound_type(identifier, operand)?)?;
    let Some(wanted) = resolved.arg_types.first().map(SqlType::bare) else {
        return Err(Error::broken(format!("operator {op} without an operand")));
    };
    Ok(Ast::UnaryOp { op: *op, expr: boxed(identify_value(identifier, operand, &wanted)?) })
}

fn identify_typed_literal(
    identifier: &mut Identifier<'_, '_>,
    text: &str,
    ty: &SqlType,
    modifier: Option<i32>,
) -> Result<Ast> {
    if let Some(modifier) = modifier {
        return identify_modified_literal(identifier, text, ty, modifier);
    }
    let literal = identify_literal(identifier, text, ty)?;
    if *ty == ty.bare() {
        return Ok(literal);
    }
    // The length of a literal's type takes the place of its own.
    match literal {
        Ast::Cast { expr, .. } => cast(*expr, ty, None),
        other => cast(other, ty, None),
    }
}

/// `type 'text'`
fn identify_typed_string(
    identifier: &mut Identifier<'_, '_>,
    text: &str,
    data_type: &DataType,
) -> Result<Ast> {
    let text = Ast::value(Value::SingleQuotedString(text.to_owned()));
    match literal_type_of(data_type, identifier.cx.types())? {
        ty @ (SqlType::Bit(0) | SqlType::Char(0)) => {
            identify_plain_cast(identifier, &text, &ty, None)
        }
        _ => identify_cast(identifier, &text, data_type),
    }
}

/// A cast; one to a domain is the cast to the type below and a second one.
fn identify_cast(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    data_type: &DataType,
) -> Result<Ast> {
    let e = unnested(e);
    let types = identifier.cx.types();
    let ty = sql_type_of(data_type, types)?;
    let Some(domain) = domain_of(data_type, types)? else {
        return identify_plain_cast(identifier, e, &ty, time_modifier_of(data_type));
    };
    let expr = boxed(identify_plain_cast(identifier, e, &ty, domain.modifier)?);
    let data_type = braid_sql::marked_type(domain.id, false);
    Ok(Ast::Cast { kind: CastKind::DoubleColon, expr, data_type, format: None })
}

fn identify_plain_cast(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    ty: &SqlType,
    modifier: Option<i32>,
) -> Result<Ast> {
    if let Ast::Value(value) = e {
        if let Some(text) = string_of(&value.value) {
            return identify_typed_literal(identifier, text, ty, modifier);
        }
        if value.value == Value::Null {
            return cast(Ast::value(Value::Null), ty, modifier);
        }
    }
    if let (Ast::Array(array), SqlType::Array(_)) = (e, ty)
        && (array.elem.is_empty()
            || array.elem.iter().any(|item| identifier.notes.ty(item) == Some(&SqlType::Unknown))
            || identifier.notes.ty(e).is_none())
    {
        let elem = identify_array_items(identifier, &array.elem, ty)?;
        let is_empty = elem.is_empty();
        let array = Ast::Array(Array { elem, named: true });
        return if is_empty { cast(array, ty, None) } else { Ok(array) };
    }
    let own = bound_type(identifier, e)?;
    let inner = identify_known(identifier, e)?;
    let is_same = own.bare() == ty.bare() && (*ty == ty.bare() || own == *ty);
    if is_same && modifier.is_none() {
        return Ok(inner);
    }
    cast(inner, ty, modifier)
}

fn identify_case(identifier: &mut Identifier<'_, '_>, e: &Ast) -> Result<Ast> {
    let Ast::Case { operand, conditions, else_result, .. } = e else {
        return Err(unstorable(e));
    };
    let ty = bound_type(identifier, e)?.bare();
    let mut result = e.clone();
    let Ast::Case { operand: new_operand, conditions: whens, else_result: otherwise, .. } =
        &mut result
    else {
        return Err(unstorable(e));
    };
    let own = match operand {
        Some(operand) => {
            *new_operand = Some(boxed(identify_known(identifier, operand)?));
            Some(bound_type(identifier, operand)?)
        }
        None => None,
    };
    whens.clear();
    for CaseWhen { condition, result } in conditions {
        let condition = match &own {
            None => identify_condition(identifier, condition)?,
            Some(own) => {
                let wanted = operand_types("=", own, &bound_type(identifier, condition)?)?.1;
                identify_value(identifier, condition, &wanted)?
            }
        };
        whens.push(CaseWhen { condition, result: identify_value(identifier, result, &ty)? });
    }
    *otherwise = Some(boxed(match else_result {
        Some(e) => identify_value(identifier, e, &ty)?,
        None => null(&ty)?,
    }));
    Ok(result)
}

pub(super) fn identify_access(
    identifier: &mut Identifier<'_, '_>,
    root: &Ast,
    chain: &[AccessExpr],
) -> Result<Ast> {
    // `t.column[1]` comes as a chain of names.
    let mut chain = chain;
    let is_name = matches!(root, Ast::Identifier(_));
    if is_name && identifier.notes.ty(root).is_none() {
        while let [AccessExpr::Dot(Ast::Identifier(_)), rest @ ..] = chain {
            chain = rest;
        }
    }
    // A field of a whole row is a column.
    if let Some(Reference::Row(label)) = identifier.notes.name(unnested(root))
        && let [AccessExpr::Dot(Ast::Identifier(field))] = chain
    {
        let found = identifier.notes.field(label, &braid_sql::fold(field));
        let found = found.ok_or_else(|| unstorable(root))?;
        use_column(identifier, found);
        return Ok(column(found));
    }
    let mut ty = bound_type(identifier, root).ok();
    let root =
        if is_name { identify_name(identifier, root)? } else { identify_known(identifier, root)? };
    let is_slice =
        |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }));
    let has_slice = chain.iter().any(is_slice);
    let mut result = Vec::with_capacity(chain.len());
    for access in chain {
        result.push(match access {
            AccessExpr::Dot(Ast::Identifier(field)) => {
                let (name, of_field) =
                    stored_field(identifier, ty.as_ref(), braid_sql::fold(field));
                ty = of_field;
                AccessExpr::Dot(Ast::Identifier(quoted(name)))
            }
            // Beside a slice a single subscript is one, too.
            AccessExpr::Subscript(Subscript::Index { index }) if has_slice => {
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound: Some(Ast::value(Value::Number("1".to_owned(), false))),
                    upper_bound: Some(identify_known(identifier, index)?),
                    stride: None,
                })
            }
            AccessExpr::Subscript(Subscript::Index { index }) => {
                ty = ty.map(|ty| ty.element().cloned().unwrap_or(ty));
                AccessExpr::Subscript(Subscript::Index {
                    index: identify_known(identifier, index)?,
                })
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                let mut bound =
                    |e: &Option<Ast>| e.as_ref().map(|e| identify_known(identifier, e)).transpose();
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound: bound(lower_bound)?,
                    upper_bound: bound(upper_bound)?,
                    stride: None,
                })
            }
            AccessExpr::Dot(other) => return Err(unstorable(other)),
        });
    }
    Ok(Ast::CompoundFieldAccess { root: boxed(root), access_chain: result })
}

/// The name of a field in the stored form, and its type. A field of a row type with a name goes by
/// its number, so that it can be renamed.
fn stored_field(
    identifier: &mut Identifier<'_, '_>,
    row: Option<&SqlType>,
    field: String,
) -> (String, Option<SqlType>) {
    let Some(SqlType::Record(row)) = row else { return (field, None) };
    let Some(place) = row.iter().position(|(name, _)| *name == field) else { return (field, None) };
    let ty = row.get(place).map(|(_, ty)| ty.clone());
    let relation = row.name().and_then(|name| relation_of_row_type(name.oid));
    let (Some((relation, _)), Some(attribute)) = (relation, row.attributes().get(place)) else {
        return (field, ty);
    };
    identifier.uses.entry(relation).or_default().insert(attribute.number);
    (braid_sql::field_mark(relation, attribute.number), ty)
}

pub(super) fn unnested(e: &Ast) -> &Ast {
    match e {
        Ast::Nested(inner) => unnested(inner),
        e => e,
    }
}
