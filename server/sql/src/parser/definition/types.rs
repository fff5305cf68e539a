//! `CREATE TYPE` of enums and composite types, `ALTER TYPE`, and `CREATE COLLATION`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use crate::ast::{
    AlterTarget, AlterType, AlterTypeAction, Attribute, AttributeAction, CollationSource,
    CreateCollation, CreateType, LabelPlace, Rename, Statement, TypeDefinition,
};
use crate::parser::Cursor;
use crate::parser::clauses::{parse_drop_behavior, parse_options, parse_rename_kind};
use crate::parser::embedded::next_data_type;
use crate::parser::names::{
    parse_any_name, parse_ident, parse_object_name, parse_string, take_if_exists,
    take_if_not_exists,
};

/// `CREATE TYPE …`, at the word `type`.
pub(crate) fn parse_create_type(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_object_name(cursor)?;
    if cursor.take_all(&["as", "enum"]) {
        let labels = parse_list(cursor, parse_string)?;
        let definition = TypeDefinition::Enum(labels);
        return Ok(Statement::CreateType(CreateType { name, definition }));
    }
    if cursor.are(&["as", "range"]) {
        return Err(cursor.unsupported("CREATE TYPE of a range"));
    }
    if *cursor.peek() == Token::LParen || cursor.at_end() {
        return Err(cursor.unsupported("CREATE TYPE of a base type"));
    }
    cursor.expect("as")?;
    let definition = TypeDefinition::Composite(parse_list(cursor, parse_attribute)?);
    Ok(Statement::CreateType(CreateType { name, definition }))
}

/// A list in parentheses, which may be empty.
fn parse_list<T>(
    cursor: &mut Cursor<'_>,
    item: impl Fn(&mut Cursor<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    cursor.expect_symbol(&Token::LParen)?;
    let list = if *cursor.peek() == Token::RParen { Vec::new() } else { cursor.list(item)? };
    cursor.expect_symbol(&Token::RParen)?;
    Ok(list)
}

/// `name type [COLLATE collation]`.
fn parse_attribute(cursor: &mut Cursor<'_>) -> Result<Attribute> {
    let (name, data_type) = (parse_ident(cursor)?, next_data_type(cursor)?);
    let collation = if cursor.take("collate") { Some(parse_any_name(cursor)?) } else { None };
    Ok(Attribute { name, data_type, collation })
}

/// An action on an attribute, with its CASCADE or RESTRICT. There are no typed tables that
/// CASCADE could reach.
fn parse_attribute_action(cursor: &mut Cursor<'_>) -> Result<AttributeAction> {
    let action = if cursor.take_all(&["add", "attribute"]) {
        AttributeAction::Add(parse_attribute(cursor)?)
    } else if cursor.take_all(&["drop", "attribute"]) {
        let (if_exists, name) = (take_if_exists(cursor), parse_ident(cursor)?);
        let behavior = parse_drop_behavior(cursor);
        return Ok(AttributeAction::Drop { name, if_exists, behavior });
    } else if cursor.take_all(&["alter", "attribute"]) {
        let name = parse_ident(cursor)?;
        cursor.take_all(&["set", "data"]);
        cursor.expect("type")?;
        let data_type = next_data_type(cursor)?;
        let collation = if cursor.take("collate") { Some(parse_any_name(cursor)?) } else { None };
        AttributeAction::Type(Attribute { name, data_type, collation })
    } else {
        return Err(cursor.unexpected());
    };
    parse_drop_behavior(cursor);
    Ok(action)
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
    if cursor.take_all(&["rename", "attribute"]) {
        let from = parse_ident(cursor)?;
        cursor.expect("to")?;
        let rename = AttributeAction::Rename { from, to: parse_ident(cursor)? };
        parse_drop_behavior(cursor);
        let action = AlterTypeAction::Attributes(vec![rename]);
        return Ok(Statement::AlterType(AlterType { name, action }));
    }
    if ["add", "drop", "alter"].iter().any(|word| cursor.are(&[word, "attribute"])) {
        let action = AlterTypeAction::Attributes(cursor.list(parse_attribute_action)?);
        return Ok(Statement::AlterType(AlterType { name, action }));
    }
    match parse_rename_kind(cursor, false)? {
        Some(kind) => {
            let target = AlterTarget::Type(name);
            Ok(Statement::Rename(Rename { target, if_exists: false, kind }))
        }
        None => Err(cursor.unexpected()),
    }
}

/// `CREATE COLLATION …`, at the word `collation`.
pub(crate) fn parse_create_collation(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_any_name(cursor)?;
    let source = match cursor.take("from") {
        true => CollationSource::Existing(parse_any_name(cursor)?),
        false => CollationSource::Options(parse_options(cursor)?),
    };
    Ok(Statement::CreateCollation(Box::new(CreateCollation { name, if_not_exists, source })))
}
