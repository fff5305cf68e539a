//! A routine as `DROP`, `ALTER`, `COMMENT` and `GRANT` name it.

use sqlparser::ast::DataType;
use sqlparser::tokenizer::Token;

use braid_types::Result;

use crate::ast::{COLUMN_TYPE, RoutineKind, RoutineName};
use crate::parser::Cursor;
use crate::parser::embedded::next_data_type;
use crate::parser::names::{parse_any_name, parse_label};

/// `FUNCTION`, `PROCEDURE`, `ROUTINE` or `AGGREGATE`.
pub(crate) fn parse_routine_kind(cursor: &mut Cursor<'_>) -> RoutineKind {
    match cursor.take_one(&["function", "procedure", "routine", "aggregate"]) {
        Some(0) => RoutineKind::Function,
        Some(1) => RoutineKind::Procedure,
        Some(2) => RoutineKind::Any,
        _ => RoutineKind::Aggregate,
    }
}

/// `name [(types)]`.
pub(crate) fn parse_routine_name(
    cursor: &mut Cursor<'_>,
    kind: RoutineKind,
) -> Result<RoutineName> {
    let name = parse_any_name(cursor)?;
    if kind == RoutineKind::Aggregate {
        return Ok(RoutineName { kind, name, arguments: Some(parse_aggregate_types(cursor)?) });
    }
    let listed = *cursor.peek() == Token::LParen;
    let arguments = if listed { Some(parse_routine_arguments(cursor)?) } else { None };
    Ok(RoutineName { kind, name, arguments })
}

/// `(a int, OUT b text, VARIADIC text[])`: the types of what a call passes.
fn parse_routine_arguments(cursor: &mut Cursor<'_>) -> Result<Vec<DataType>> {
    cursor.expect_symbol(&Token::LParen)?;
    let mut types = Vec::new();
    if cursor.take_symbol(&Token::RParen) {
        return Ok(types);
    }
    loop {
        types.extend(parse_argument(cursor)?);
        if !cursor.take_symbol(&Token::Comma) {
            break;
        }
    }
    cursor.expect_symbol(&Token::RParen)?;
    Ok(types)
}

/// `(*)`, or `(types [ORDER BY types])`.
fn parse_aggregate_types(cursor: &mut Cursor<'_>) -> Result<Vec<DataType>> {
    cursor.expect_symbol(&Token::LParen)?;
    let mut types = Vec::new();
    if !cursor.take_symbol(&Token::Mul) {
        if !cursor.are(&["order", "by"]) {
            types = parse_routine_types(cursor)?;
        }
        if cursor.take_all(&["order", "by"]) {
            types.extend(parse_routine_types(cursor)?);
        }
    }
    cursor.expect_symbol(&Token::RParen)?;
    Ok(types)
}

/// Types of arguments between commas, without parentheses.
fn parse_routine_types(cursor: &mut Cursor<'_>) -> Result<Vec<DataType>> {
    let types = cursor.list(parse_argument)?;
    Ok(types.into_iter().flatten().collect())
}

/// One argument; `None` for one that only returns something.
fn parse_argument(cursor: &mut Cursor<'_>) -> Result<Option<DataType>> {
    const MODES: [&str; 4] = ["in", "inout", "variadic", "out"];
    let mut mode = cursor.take_one(&MODES);
    if has_parameter_name(cursor) {
        parse_label(cursor)?;
    }
    mode = mode.or_else(|| cursor.take_one(&MODES));
    cursor.take("setof");
    let data_type = parse_type(cursor)?;
    Ok((mode != Some(3)).then_some(data_type))
}

/// A type, or that of a column: `table.column%TYPE`.
pub(super) fn parse_type(cursor: &mut Cursor<'_>) -> Result<DataType> {
    let data_type = next_data_type(cursor)?;
    if !cursor.take_symbol(&Token::Mod) {
        return Ok(data_type);
    }
    cursor.expect("type")?;
    match data_type {
        DataType::Custom(column, modifiers) if modifiers.is_empty() => {
            Ok(DataType::Custom(column, vec![COLUMN_TYPE.to_owned()]))
        }
        _ => Err(cursor.unexpected()),
    }
}

/// Whether a parameter's name is next, and not its type.
pub(super) fn has_parameter_name(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek(), Token::Word(_))
        && matches!(cursor.peek_nth(1), Token::Word(_))
        && !is_type_of_words(cursor)
        && !cursor.nth_is(1, "default")
        && !cursor.nth_is(1, "order")
}

/// Whether a type of several words is next, so that its first word is no argument's name.
fn is_type_of_words(cursor: &Cursor<'_>) -> bool {
    const TYPES: [&[&str]; 9] = [
        &["double", "precision"],
        &["character", "varying"],
        &["char", "varying"],
        &["national"],
        &["bit", "varying"],
        &["time", "with"],
        &["time", "without"],
        &["timestamp", "with"],
        &["timestamp", "without"],
    ];
    TYPES.iter().any(|words| cursor.are(words)) || cursor.is("setof") || cursor.is("interval")
}
