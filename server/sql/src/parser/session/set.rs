//! `SET`, `RESET` and `SHOW`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::transaction::parse_transaction_modes;
use crate::ast::{Reset, Set, SetScope, SetValue, ShowTarget, Statement, TransactionModes};
use crate::parser::Cursor;
use crate::parser::names::{
    parse_ident, parse_integer, parse_label, parse_object_name, parse_string,
};

/// `SET …`.
pub(crate) fn parse_set(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    if cursor.take("constraints") {
        return parse_set_constraints(cursor);
    }
    if cursor.take_all(&["session", "characteristics", "as", "transaction"]) {
        return Ok(Statement::SetSessionCharacteristics(parse_some_modes(cursor)?));
    }
    let scope = match cursor.take_one(&["session", "local"]) {
        // `SET SESSION AUTHORIZATION` is about who, not how long.
        Some(0) if cursor.is("authorization") => {
            cursor.advance();
            return parse_set_special(cursor, SetScope::Session, "session_authorization");
        }
        Some(1) => SetScope::Local,
        _ => SetScope::Session,
    };
    if cursor.are(&["session", "authorization"]) {
        cursor.advance();
        cursor.advance();
        return parse_set_special(cursor, scope, "session_authorization");
    }
    if cursor.take("transaction") {
        if cursor.take("snapshot") {
            return Ok(Statement::SetTransactionSnapshot(parse_string(cursor)?));
        }
        return Ok(Statement::SetTransaction(parse_some_modes(cursor)?));
    }
    if cursor.take_all(&["time", "zone"]) {
        return parse_set_special(cursor, scope, "timezone");
    }
    if cursor.take_all(&["xml", "option"]) {
        return parse_set_special(cursor, scope, "xmloption");
    }
    if cursor.is("names") && !followed_by_assignment(cursor) {
        cursor.advance();
        if cursor.at_end() {
            return Ok(parse_set_node(cursor, scope, "client_encoding", SetValue::Default));
        }
        return parse_set_special(cursor, scope, "client_encoding");
    }
    if cursor.is("role") && !followed_by_assignment(cursor) {
        cursor.advance();
        return parse_set_special(cursor, scope, "role");
    }
    if cursor.is("schema") && !followed_by_assignment(cursor) {
        cursor.advance();
        return parse_set_special(cursor, scope, "search_path");
    }
    parse_set_variable(cursor, scope).map(Statement::Set)
}

fn followed_by_assignment(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek_nth(1), Token::Eq | Token::Period) || cursor.nth_is(1, "to")
}

fn parse_some_modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes> {
    let modes = parse_transaction_modes(cursor)?;
    if modes == TransactionModes::default() { Err(cursor.unexpected()) } else { Ok(modes) }
}

fn parse_set_node(cursor: &Cursor<'_>, scope: SetScope, name: &str, value: SetValue) -> Statement {
    Statement::Set(Set { scope, name: name.into(), value, span: cursor.span() })
}

/// A form whose name is spelt out, with one value behind it.
fn parse_set_special(cursor: &mut Cursor<'_>, scope: SetScope, name: &str) -> Result<Statement> {
    let is_zone = name == "timezone";
    let value = if cursor.take("default") || (is_zone && cursor.take("local")) {
        SetValue::Default
    } else if is_zone && cursor.take("interval") {
        if *cursor.peek() == Token::LParen {
            // The digits of its seconds mean nothing to a zone.
            cursor.parens(parse_integer)?;
        }
        let mut text = parse_string(cursor)?;
        let mut unit = None;
        while !cursor.at_end() {
            unit.get_or_insert(parse_label(cursor)?);
        }
        if let Some(unit) = unit.filter(|_| text.trim().parse::<f64>().is_ok()) {
            text = format!("{text} {unit}");
        }
        SetValue::Values(vec![format!("INTERVAL '{text}'")])
    } else {
        values_of(name, vec![parse_setting_value(cursor)?])
    };
    Ok(parse_set_node(cursor, scope, name, value))
}

/// `name {= | TO} values`.
fn parse_set_variable(cursor: &mut Cursor<'_>, scope: SetScope) -> Result<Set> {
    let span = cursor.span();
    let name = parse_variable_name(cursor)?;
    if cursor.are(&["from", "current"]) {
        return Err(cursor.unsupported("SET … FROM CURRENT"));
    }
    if !cursor.take_symbol(&Token::Eq) {
        cursor.expect("to")?;
    }
    let value = if cursor.take("default") {
        SetValue::Default
    } else {
        values_of(&name, cursor.list(parse_setting_value)?)
    };
    Ok(Set { scope, name, value, span })
}

/// The values of a variable. Each value of `search_path` is the name of one schema, whatever is in
/// it: quotes keep a single one from being read as a list of names.
fn values_of(variable: &str, mut values: Vec<String>) -> SetValue {
    if let ("search_path", [one]) = (variable, values.as_mut_slice())
        && one.contains([',', '"'])
    {
        *one = crate::quote_ident(one);
    }
    SetValue::Values(values)
}

/// A variable's name in lower case, parts joined with dots.
fn parse_variable_name(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut name = parse_ident(cursor)?.value;
    while cursor.take_symbol(&Token::Period) {
        name.push('.');
        name.push_str(&parse_label(cursor)?.value);
    }
    Ok(name.to_ascii_lowercase())
}

/// A setting's value as text: a string, a number with a sign, or a word.
pub(crate) fn parse_setting_value(cursor: &mut Cursor<'_>) -> Result<String> {
    let sign = match cursor.peek() {
        Token::Minus => "-",
        Token::Plus => "+",
        _ => "",
    };
    if !sign.is_empty() {
        cursor.advance();
    }
    let text = match cursor.peek() {
        Token::Number(number, _) => format!("{}{number}", if sign == "-" { "-" } else { "" }),
        Token::SingleQuotedString(text) if sign.is_empty() => text.clone(),
        Token::Word(word) if sign.is_empty() => word.value.clone(),
        _ => return Err(cursor.unexpected()),
    };
    cursor.advance();
    Ok(text)
}

fn parse_set_constraints(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let names = if cursor.take("all") { None } else { Some(cursor.list(parse_object_name)?) };
    match cursor.take_one(&["deferred", "immediate"]) {
        Some(which) => Ok(Statement::SetConstraints { names, deferred: which == 0 }),
        None => Err(cursor.unexpected()),
    }
}

/// `RESET …`.
pub(crate) fn parse_reset(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    parse_reset_target(cursor).map(Statement::Reset)
}

/// What follows `RESET`.
pub(crate) fn parse_reset_target(cursor: &mut Cursor<'_>) -> Result<Reset> {
    if cursor.take("all") {
        return Ok(Reset::All);
    }
    parse_spelt_variable(cursor).map(Reset::Name)
}

/// A variable, also where its name is spelt out in words.
fn parse_spelt_variable(cursor: &mut Cursor<'_>) -> Result<String> {
    const SPELT: [(&[&str], &str); 3] = [
        (&["time", "zone"], "timezone"),
        (&["transaction", "isolation", "level"], "transaction_isolation"),
        (&["session", "authorization"], "session_authorization"),
    ];
    for (words, name) in SPELT {
        if cursor.take_all(words) {
            return Ok(name.into());
        }
    }
    parse_variable_name(cursor)
}

/// `SHOW …`.
pub(crate) fn parse_show(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let target = if cursor.take("all") {
        ShowTarget::All
    } else if cursor.take_all(&["transaction", "timeline"]) {
        ShowTarget::TransactionTimeline
    } else if cursor.take_all(&["transaction", "status"]) {
        ShowTarget::TransactionStatus
    } else if cursor.take("create") {
        cursor.take_one(&["table", "view", "sequence", "index"]);
        ShowTarget::CreateTable(parse_object_name(cursor)?)
    } else if cursor.take("tables") {
        let schema = if cursor.take("from") { Some(parse_object_name(cursor)?) } else { None };
        ShowTarget::Tables(schema)
    } else if cursor.take("databases") {
        ShowTarget::Databases
    } else if cursor.take("schemas") {
        ShowTarget::Schemas
    } else if cursor.take("sequences") {
        ShowTarget::Sequences
    } else if cursor.take_one(&["users", "roles"]).is_some() {
        ShowTarget::Users
    } else if cursor.nth_is(1, "from") {
        let target: fn(_) -> _ =
            match cursor.take_one(&["columns", "indexes", "index", "keys", "constraints"]) {
                Some(0) => ShowTarget::Columns,
                Some(4) => ShowTarget::Constraints,
                Some(_) => ShowTarget::Indexes,
                None => return Err(cursor.unexpected()),
            };
        cursor.expect("from")?;
        target(parse_object_name(cursor)?)
    } else {
        ShowTarget::Variable(parse_spelt_variable(cursor)?)
    };
    Ok(Statement::Show(target))
}

/// A variable of `SET`, also `TIME ZONE`.
pub(crate) fn parse_stored_variable(cursor: &mut Cursor<'_>) -> Result<Set> {
    let span = cursor.span();
    if !cursor.take_all(&["time", "zone"]) {
        return parse_set_variable(cursor, SetScope::Session);
    }
    let value = SetValue::Values(vec![parse_setting_value(cursor)?]);
    Ok(Set { scope: SetScope::Session, name: "timezone".to_owned(), value, span })
}
