//! Clauses that several statements share: options, storage, interleaving, drop behaviour and WHERE.

use braid_types::{Error, Result, SqlState};
use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::Token;

use super::Cursor;
use super::embedded::next_expr;
use super::names::{parse_columns, parse_ident, parse_label, parse_object_name, parse_role_name};
use crate::ast::{DropBehavior, Interleave, InterleaveKind, ReferenceAction, RenameKind};

/// `(name [= value], …)`.
pub(crate) fn parse_options(cursor: &mut Cursor<'_>) -> Result<Options> {
    cursor.parens(|cursor| {
        let mut name = parse_label(cursor)?;
        while cursor.take_symbol(&Token::Period) {
            let part = parse_label(cursor)?;
            name.value = format!("{}.{}", name.value, part.value);
        }
        let value =
            if cursor.take_symbol(&Token::Eq) { Some(parse_option_value(cursor)?) } else { None };
        Ok((name, value))
    })
}

/// A storage parameter's value: a literal, or any word.
pub(crate) fn parse_option_value(cursor: &mut Cursor<'_>) -> Result<Expr> {
    match cursor.peek() {
        Token::Word(word) if !matches!(word.value.as_str(), "true" | "false" | "null") => {
            parse_label(cursor).map(Expr::Identifier)
        }
        _ => next_expr(cursor),
    }
}

/// `STORING (…)`, `COVERING (…)` or `INCLUDE (…)`, where it is next.
pub(crate) fn parse_storing(cursor: &mut Cursor<'_>) -> Result<Vec<Ident>> {
    match cursor.take_one(&["storing", "covering", "include"]) {
        Some(_) => parse_columns(cursor),
        None => Ok(Vec::new()),
    }
}

/// `INTERLEAVE IN [PARENT] parent (columns) [ON DELETE …]`, where it is next.
pub(crate) fn parse_interleave(cursor: &mut Cursor<'_>) -> Result<Option<Interleave>> {
    let span = cursor.span();
    if !cursor.take("interleave") {
        return Ok(None);
    }
    cursor.expect("in")?;
    // `IN parent (c)` with a table named "parent" has the list right behind the word.
    let in_parent = cursor.is("parent") && matches!(cursor.peek_nth(1), Token::Word(_));
    if in_parent {
        cursor.advance();
    }
    let kind = if in_parent { InterleaveKind::InParent } else { InterleaveKind::In };
    let parent = parse_object_name(cursor)?;
    let columns = parse_columns(cursor)?;
    let on_delete = if cursor.take_all(&["on", "delete"]) {
        match parse_reference_action(cursor)? {
            action @ (ReferenceAction::Cascade | ReferenceAction::NoAction) => Some(action),
            _ => return Err(cursor.unsupported("this ON DELETE action of INTERLEAVE")),
        }
    } else {
        None
    };
    Ok(Some(Interleave { kind, parent, columns, on_delete, span }))
}

/// The name of a tablespace: there is only the default one.
pub(crate) fn parse_tablespace(cursor: &mut Cursor<'_>) -> Result<()> {
    check_tablespace(&crate::fold(&parse_ident(cursor)?))
}

/// 42704 for any other tablespace than the default one.
pub(crate) fn check_tablespace(name: &str) -> Result<()> {
    match name {
        "pg_default" => Ok(()),
        "pg_global" => Err(Error::new(
            SqlState::InvalidParameterValue,
            "only shared relations can be placed in pg_global tablespace",
        )),
        _ => {
            let message = format!("tablespace \"{name}\" does not exist");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

/// `[CASCADE | RESTRICT]`.
pub(crate) fn parse_drop_behavior(cursor: &mut Cursor<'_>) -> DropBehavior {
    match cursor.take_one(&["cascade", "restrict"]) {
        Some(0) => DropBehavior::Cascade,
        _ => DropBehavior::Restrict,
    }
}

/// Whether CREATE says TEMPORARY.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temporary {
    No,
    Local,
    /// The standard's word, which PostgreSQL warns of and takes for the same.
    Global,
}

/// `WHERE …`, where it is next.
pub(crate) fn parse_selection(cursor: &mut Cursor<'_>) -> Result<Option<Expr>> {
    if cursor.take("where") { next_expr(cursor).map(Some) } else { Ok(None) }
}

/// `WHERE CURRENT OF cursor`, where it is next.
pub(crate) fn parse_current_of(cursor: &mut Cursor<'_>) -> Result<Option<Ident>> {
    if cursor.take_all(&["where", "current", "of"]) {
        parse_ident(cursor).map(Some)
    } else {
        Ok(None)
    }
}

/// The renaming and moving forms; `None` when none is next.
pub(crate) fn parse_rename_kind(
    cursor: &mut Cursor<'_>,
    is_table: bool,
) -> Result<Option<RenameKind>> {
    if cursor.take_all(&["set", "schema"]) {
        return Ok(Some(RenameKind::SetSchema(parse_ident(cursor)?)));
    }
    if !is_table && cursor.take_all(&["owner", "to"]) {
        return Ok(Some(RenameKind::OwnerTo(parse_role_name(cursor)?)));
    }
    if !cursor.take("rename") {
        return Ok(None);
    }
    if cursor.take("to") {
        return Ok(Some(RenameKind::To(parse_ident(cursor)?)));
    }
    if cursor.take("constraint") {
        let from = parse_ident(cursor)?;
        cursor.expect("to")?;
        return Ok(Some(RenameKind::Constraint { from, to: parse_ident(cursor)? }));
    }
    cursor.take("column");
    let from = parse_ident(cursor)?;
    cursor.expect("to")?;
    Ok(Some(RenameKind::Column { from, to: parse_ident(cursor)? }))
}

/// Storage parameters.
pub(crate) type Options = Vec<(Ident, Option<Expr>)>;

pub(crate) fn parse_reference_action(cursor: &mut Cursor<'_>) -> Result<ReferenceAction> {
    Ok(match cursor.take_one(&["no", "restrict", "cascade", "set"]) {
        Some(0) => {
            cursor.expect("action")?;
            ReferenceAction::NoAction
        }
        Some(1) => ReferenceAction::Restrict,
        Some(2) => ReferenceAction::Cascade,
        Some(_) => match cursor.take_one(&["null", "default"]) {
            Some(0) => ReferenceAction::SetNull,
            Some(_) => ReferenceAction::SetDefault,
            None => return Err(cursor.unexpected()),
        },
        None => return Err(cursor.unexpected()),
    })
}

/// `WITH [NO] DATA`: whether there is to be none.
pub(crate) fn parse_with_data(cursor: &mut Cursor<'_>) -> Result<bool> {
    if !cursor.take("with") {
        return Ok(false);
    }
    let none = cursor.take("no");
    cursor.expect("data")?;
    Ok(none)
}

/// 42601: an option that stands at this place was written before, or contradicts one that was.
pub(crate) fn redundant_options(place: u32) -> Error {
    Error::new(SqlState::SyntaxError, "conflicting or redundant options").position(place)
}
