//! `EXPLAIN` and the statements that look after tables.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::prepared::{parse_declare_cursor, parse_execute};
use super::set::parse_setting_value;
use crate::ast::{Explain, ExplainFormat, Statement};
use crate::parser::Cursor;
use crate::parser::definition::create_objects::parse_create;
use crate::parser::names::{parse_ident, parse_label, parse_object_name, parse_string};
use crate::parser::row_statement::{at_row_statement, parse_top_statement};

/// `EXPLAIN …`.
pub(crate) fn parse_explain(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let mut explain = Explain {
        analyze: false,
        verbose: false,
        costs: true,
        options: Vec::new(),
        format: ExplainFormat::Text,
        statement: Statement::NoOp("EXPLAIN"),
    };
    let has_list = *cursor.peek() == Token::LParen
        && *cursor.peek_nth(1) != Token::LParen
        && !["select", "values", "with"].iter().any(|word| cursor.nth_is(1, word));
    if has_list {
        parse_explain_options(cursor, &mut explain)?;
    } else {
        explain.analyze = cursor.take("analyze") || cursor.take("analyse");
        explain.verbose = cursor.take("verbose");
    }
    explain.statement = match cursor.peek_word() {
        _ if at_row_statement(cursor) => parse_top_statement(cursor)?,
        Some("execute") => parse_execute(cursor)?,
        Some("declare") => parse_declare_cursor(cursor)?,
        Some("create") => match parse_create(cursor)? {
            statement @ Statement::CreateTable(_) => statement,
            Statement::CreateView(view) if view.materialized => Statement::CreateView(view),
            _ => return Err(cursor.unsupported("EXPLAIN of this statement")),
        },
        _ => return Err(cursor.unexpected()),
    };
    Ok(Statement::Explain(Box::new(explain)))
}

fn parse_explain_options(cursor: &mut Cursor<'_>, explain: &mut Explain) -> Result<()> {
    cursor.expect_symbol(&Token::LParen)?;
    loop {
        let span = cursor.span();
        let name = parse_label(cursor)?.value;
        let value = match cursor.peek() {
            Token::Comma | Token::RParen => None,
            _ => Some(parse_setting_value(cursor)?.to_ascii_lowercase()),
        };
        if name == "format" {
            explain.format = match value.as_deref() {
                Some("text") => ExplainFormat::Text,
                Some("json") => ExplainFormat::Json,
                Some("xml") => ExplainFormat::Xml,
                Some("yaml") => ExplainFormat::Yaml,
                other => {
                    let other = other.unwrap_or("");
                    let message =
                        format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
                    return Err(Error::new(SqlState::InvalidParameterValue, message)
                        .position(crate::offset_of(span)));
                }
            };
        } else {
            parse_explain_switch(explain, name, value, span)?;
        }
        if !cursor.take_symbol(&Token::Comma) {
            return cursor.expect_symbol(&Token::RParen);
        }
    }
}

fn parse_explain_switch(
    explain: &mut Explain,
    name: String,
    value: Option<String>,
    span: sqlparser::tokenizer::Span,
) -> Result<()> {
    let on = match value.as_deref() {
        None | Some("true" | "on" | "1") => true,
        Some("false" | "off" | "0") => false,
        Some(_) => {
            let message = format!("{name} requires a Boolean value");
            return Err(Error::new(SqlState::SyntaxError, message).position(crate::offset_of(span)));
        }
    };
    match name.as_str() {
        "analyze" => explain.analyze = on,
        "verbose" => explain.verbose = on,
        "costs" => explain.costs = on,
        "settings" | "buffers" | "wal" | "timing" | "summary" | "spans" | "generic_plan"
        | "rules" => explain.options.push((name, on)),
        _ => {
            let message = format!("unrecognized EXPLAIN option \"{name}\"");
            return Err(Error::new(SqlState::SyntaxError, message).position(crate::offset_of(span)));
        }
    }
    Ok(())
}

/// `CHECK TABLE`.
pub(crate) fn check_table(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    cursor.expect("table")?;
    Ok(Statement::CheckTable(parse_object_name(cursor)?))
}

/// `LISTEN`, `UNLISTEN` and `NOTIFY`.
pub(crate) fn parse_notifications(cursor: &mut Cursor<'_>) -> Result<Statement> {
    if cursor.take("listen") {
        return Ok(Statement::Listen(parse_ident(cursor)?));
    }
    if cursor.take("unlisten") {
        let all = cursor.take_symbol(&Token::Mul);
        return Ok(Statement::Unlisten(if all { None } else { Some(parse_ident(cursor)?) }));
    }
    cursor.expect("notify")?;
    let channel = parse_ident(cursor)?;
    let payload =
        if cursor.take_symbol(&Token::Comma) { Some(parse_string(cursor)?) } else { None };
    Ok(Statement::Notify { channel, payload })
}
