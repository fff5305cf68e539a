//! Names, column lists and plain literals.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::lex::keywords::{self, Category};

/// `IF EXISTS`.
pub(crate) fn take_if_exists(cursor: &mut Cursor<'_>) -> bool {
    cursor.take_all(&["if", "exists"])
}

/// `IF NOT EXISTS`.
pub(crate) fn take_if_not_exists(cursor: &mut Cursor<'_>) -> bool {
    cursor.take_all(&["if", "not", "exists"])
}

/// A name; `allowed` says which categories of keywords may be one.
fn parse_name(cursor: &mut Cursor<'_>, allowed: fn(Category) -> bool) -> Result<Ident> {
    let token = cursor.inner.peek_token_ref();
    let Token::Word(word) = &token.token else {
        return Err(cursor.unexpected());
    };
    let is_name = word.quote_style.is_some()
        || keywords::lookup(&word.value).is_none_or(|info| allowed(info.category));
    if !is_name {
        return Err(cursor.unexpected());
    }
    let ident = word.to_ident(token.span);
    cursor.advance();
    Ok(ident)
}

/// The name of a column, table or other object.
pub(crate) fn parse_ident(cursor: &mut Cursor<'_>) -> Result<Ident> {
    parse_name(cursor, |category| matches!(category, Category::Unreserved | Category::Name))
}

/// A name where any word may stand.
pub(crate) fn parse_label(cursor: &mut Cursor<'_>) -> Result<Ident> {
    parse_name(cursor, |_| true)
}

/// A name of at most `database.schema.object`.
pub(crate) fn parse_object_name(cursor: &mut Cursor<'_>) -> Result<ObjectName> {
    let mut parts = vec![ObjectNamePart::Identifier(parse_ident(cursor)?)];
    while cursor.take_symbol(&Token::Period) {
        parts.push(ObjectNamePart::Identifier(parse_label(cursor)?));
    }
    Ok(ObjectName(parts))
}

/// The relation behind `ONLY`, which may have parentheses, or one that `*` may follow.
pub(crate) fn parse_relation(cursor: &mut Cursor<'_>, only: bool) -> Result<ObjectName> {
    let has_parens = only && cursor.take_symbol(&Token::LParen);
    let name = parse_object_name(cursor)?;
    if has_parens {
        cursor.expect_symbol(&Token::RParen)?;
    }
    if !only && !crate::is_only(&name) {
        cursor.take_symbol(&Token::Mul);
    }
    Ok(name)
}

/// A type's or collation's name, which may be a word that names functions.
pub(crate) fn parse_any_name(cursor: &mut Cursor<'_>) -> Result<ObjectName> {
    let first = parse_name(cursor, |category| category != Category::Reserved)?;
    let mut parts = vec![ObjectNamePart::Identifier(first)];
    while cursor.take_symbol(&Token::Period) {
        parts.push(ObjectNamePart::Identifier(parse_label(cursor)?));
    }
    Ok(ObjectName(parts))
}

/// `(a, b)`.
pub(crate) fn parse_columns(cursor: &mut Cursor<'_>) -> Result<Vec<Ident>> {
    cursor.parens(parse_ident)
}

/// A string literal.
pub(crate) fn parse_string(cursor: &mut Cursor<'_>) -> Result<String> {
    let Token::SingleQuotedString(text) = cursor.peek() else {
        return Err(cursor.unexpected());
    };
    let text = text.clone();
    cursor.advance();
    Ok(text)
}

/// The number of a large object.
pub(crate) fn parse_object_number(cursor: &mut Cursor<'_>) -> Result<u32> {
    let Token::Number(digits, _) = cursor.peek() else { return Err(cursor.unexpected()) };
    let Ok(number) = digits.parse() else {
        let message = format!("value \"{digits}\" is out of range for type oid");
        return Err(Error::new(SqlState::NumericValueOutOfRange, message));
    };
    cursor.advance();
    Ok(number)
}

/// An integer with an optional sign.
pub(crate) fn parse_integer(cursor: &mut Cursor<'_>) -> Result<i64> {
    let negative = match cursor.peek() {
        Token::Minus => true,
        Token::Plus => false,
        _ => return parse_unsigned(cursor, ""),
    };
    cursor.advance();
    parse_unsigned(cursor, if negative { "-" } else { "" })
}

fn parse_unsigned(cursor: &mut Cursor<'_>, sign: &str) -> Result<i64> {
    let Token::Number(digits, _) = cursor.peek() else {
        return Err(cursor.unexpected());
    };
    let Ok(number) = format!("{sign}{digits}").parse() else {
        return Err(cursor.unexpected());
    };
    cursor.advance();
    Ok(number)
}

/// The name of a user, also `current_user` and the like.
pub(crate) fn parse_role_name(cursor: &mut Cursor<'_>) -> Result<Ident> {
    if matches!(cursor.peek_word(), Some("current_user" | "session_user" | "current_role")) {
        return parse_label(cursor);
    }
    parse_ident(cursor)
}
