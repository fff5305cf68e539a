//! `CREATE TYPE … AS ENUM` and `ALTER TYPE`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use crate::ast::{
    AlterTarget, AlterType, AlterTypeAction, CreateType, LabelPlace, Rename, Statement,
};
use crate::parser::Cursor;
use crate::parser::clauses::parse_rename_kind;
use crate::parser::names::{parse_object_name, parse_string, take_if_not_exists};

/// `CREATE TYPE …`, at the word `type`.
pub(crate) fn parse_create_type(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_object_name(cursor)?;
    if !cursor.take_all(&["as", "enum"]) {
        return Err(cursor.unsupported("CREATE TYPE of anything but an enum"));
    }
    cursor.expect_symbol(&Token::LParen)?;
    let labels =
        if *cursor.peek() == Token::RParen { Vec::new() } else { cursor.list(parse_string)? };
    cursor.expect_symbol(&Token::RParen)?;
    Ok(Statement::CreateType(CreateType { name, labels }))
}

/// `ALTER TYPE …`, at the word `type`.
pub(crate) fn parse_alter_type(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_object_name(cursor)?;
    if cursor.take_all(&["add", "value"]) {
        let if_not_exists = take_if_not_exists(cursor);
        let label = parse_string(cursor)?;
        let place = match cursor.take_one(&["before", "after"]) {
            Some(which) => Some(LabelPlace { neighbor: parse_string(cursor)?, before: which == 0 }),
            None => None,
        };
        let action = AlterTypeAction::AddValue { label, if_not_exists, place };
        return Ok(Statement::AlterType(AlterType { name, action }));
    }
    if cursor.take_all(&["rename", "value"]) {
        let from = parse_string(cursor)?;
        cursor.expect("to")?;
        let action = AlterTypeAction::RenameValue { from, to: parse_string(cursor)? };
        return Ok(Statement::AlterType(AlterType { name, action }));
    }
    if cursor.are(&["rename", "attribute"]) {
        return Err(cursor.unsupported("ALTER TYPE of a composite type"));
    }
    match parse_rename_kind(cursor, false)? {
        Some(kind) => {
            let target = AlterTarget::Type(name);
            Ok(Statement::Rename(Rename { target, if_exists: false, kind }))
        }
        None => Err(cursor.unexpected()),
    }
}
