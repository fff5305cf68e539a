//! `CREATE AGGREGATE`, in its two styles.
//!
//! ```text
//! CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0')
//! CREATE AGGREGATE total (BASETYPE = int, SFUNC = int4pl, STYPE = int, INITCOND = '0')
//! ```

use sqlparser::ast::DataType;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::create::parse_parameter;
use crate::ast::{
    AggregateOption, CreateAggregate, Ident, ObjectName, ObjectNamePart, RoutineParameter,
    Statement,
};
use crate::parser::Cursor;
use crate::parser::embedded::next_data_type;
use crate::parser::names::{parse_any_name, parse_label, parse_string};

/// `CREATE [OR REPLACE] AGGREGATE …`, at the word `aggregate`.
pub(crate) fn parse_create_aggregate(
    cursor: &mut Cursor<'_>,
    or_replace: bool,
) -> Result<Statement> {
    cursor.advance();
    let name = parse_any_name(cursor)?;
    let is_old_style = *cursor.peek() == Token::LParen && *cursor.peek_nth(2) == Token::Eq;
    let parameters = if is_old_style { None } else { Some(parse_parameters(cursor)?) };
    let options = cursor.parens(parse_option)?;
    let create = CreateAggregate { or_replace, name, parameters, options };
    Ok(Statement::CreateAggregate(Box::new(create)))
}

/// `(*)` or `(parameters)`; 0A000 for those of an ordered-set aggregate.
fn parse_parameters(cursor: &mut Cursor<'_>) -> Result<Vec<RoutineParameter>> {
    cursor.expect_symbol(&Token::LParen)?;
    let mut parameters = Vec::new();
    if !cursor.take_symbol(&Token::Mul) {
        let is_ordered_set = |cursor: &Cursor<'_>| cursor.are(&["order", "by"]);
        if !is_ordered_set(cursor) {
            parameters = cursor.list(parse_parameter)?;
        }
        if is_ordered_set(cursor) {
            return Err(cursor.unsupported("an ordered-set aggregate of a user"));
        }
        if parameters.iter().any(|parameter| parameter.default.is_some()) {
            return Err(cursor.unexpected());
        }
    }
    cursor.expect_symbol(&Token::RParen)?;
    Ok(parameters)
}

/// `NAME = value`, or the name of a switch alone.
fn parse_option(cursor: &mut Cursor<'_>) -> Result<(String, AggregateOption)> {
    let name = crate::fold(&parse_label(cursor)?).to_ascii_lowercase();
    if !cursor.take_symbol(&Token::Eq) {
        let value = match name.as_str() {
            "finalfunc_extra" | "mfinalfunc_extra" | "hypothetical" => {
                AggregateOption::Switch(true)
            }
            _ => AggregateOption::Unknown,
        };
        return Ok((name, value));
    }
    let value = match name.as_str() {
        "sfunc" | "sfunc1" | "finalfunc" | "combinefunc" | "serialfunc" | "deserialfunc"
        | "msfunc" | "minvfunc" | "mfinalfunc" => AggregateOption::Function(match cursor.peek() {
            Token::SingleQuotedString(_) => {
                let word = Ident::with_quote('"', parse_string(cursor)?);
                ObjectName(vec![ObjectNamePart::Identifier(word)])
            }
            _ => parse_any_name(cursor)?,
        }),
        "stype" | "stype1" | "mstype" | "basetype" => parse_type(cursor)?,
        "finalfunc_extra" | "mfinalfunc_extra" | "hypothetical" => {
            let word = parse_text(cursor)?.to_ascii_lowercase();
            AggregateOption::Switch(matches!(word.as_str(), "true" | "on" | "1"))
        }
        "sortop" => AggregateOption::Operator(parse_operator(cursor)?),
        "initcond" | "initcond1" | "minitcond" | "parallel" | "finalfunc_modify"
        | "mfinalfunc_modify" | "sspace" | "msspace" => AggregateOption::Text(parse_text(cursor)?),
        _ => {
            parse_text(cursor)?;
            AggregateOption::Unknown
        }
    };
    Ok((name, value))
}

/// A type, or a string that names one.
fn parse_type(cursor: &mut Cursor<'_>) -> Result<AggregateOption> {
    let is_any = |text: &str| text.eq_ignore_ascii_case("any");
    match cursor.peek().clone() {
        Token::SingleQuotedString(text) => {
            cursor.advance();
            let ty = if is_any(&text) { None } else { Some(named_type(cursor, &text)?) };
            Ok(AggregateOption::Type(ty))
        }
        Token::Word(word) if is_any(&word.value) => {
            cursor.advance();
            Ok(AggregateOption::Type(None))
        }
        _ => Ok(AggregateOption::Type(Some(next_data_type(cursor)?))),
    }
}

/// The type that a string names.
fn named_type(cursor: &Cursor<'_>, text: &str) -> Result<DataType> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    let parsed = parser.and_then(|mut parser| parser.parse_data_type());
    parsed.map_err(|_| cursor.unexpected())
}

/// A string, a number or a word.
fn parse_text(cursor: &mut Cursor<'_>) -> Result<String> {
    let sign = if cursor.take_symbol(&Token::Minus) { "-" } else { "" };
    match cursor.peek().clone() {
        Token::Number(digits, _) => {
            cursor.advance();
            Ok(format!("{sign}{digits}"))
        }
        Token::Word(_) => Ok(crate::fold(&parse_label(cursor)?)),
        _ => parse_string(cursor),
    }
}

/// `>`, `pg_catalog.>` or `OPERATOR(pg_catalog.>)`: the symbol.
fn parse_operator(cursor: &mut Cursor<'_>) -> Result<String> {
    if cursor.take("operator") {
        cursor.expect_symbol(&Token::LParen)?;
        let symbol = parse_symbol(cursor)?;
        cursor.expect_symbol(&Token::RParen)?;
        return Ok(symbol);
    }
    if matches!(cursor.peek(), Token::SingleQuotedString(_)) {
        return parse_string(cursor);
    }
    parse_symbol(cursor)
}

fn parse_symbol(cursor: &mut Cursor<'_>) -> Result<String> {
    if matches!(cursor.peek(), Token::Word(_)) {
        parse_label(cursor)?;
        cursor.expect_symbol(&Token::Period)?;
    }
    let start = cursor.byte();
    while !matches!(cursor.peek(), Token::Comma | Token::RParen) {
        if cursor.at_end() {
            return Err(cursor.unexpected());
        }
        cursor.advance();
    }
    Ok(cursor.slice(start..cursor.byte_after()).to_owned())
}
