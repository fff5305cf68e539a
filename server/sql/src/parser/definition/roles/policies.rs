//! `CREATE POLICY`, `ALTER POLICY`, and `ROW LEVEL SECURITY` of `ALTER TABLE`.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::grant::parse_grantee;
use crate::ast::{
    AlterAction, AlterPolicy, AlterTarget, CreatePolicy, Expr, PolicyCommand, Rename, RenameKind,
    RowSecurityChange, Statement,
};
use crate::parser::Cursor;
use crate::parser::embedded::next_expr;
use crate::parser::names::{parse_ident, parse_object_name, take_if_exists};
use crate::rewrite::words::position;

/// `CREATE POLICY …`, at its second word.
pub(crate) fn parse_create_policy(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_ident(cursor)?;
    cursor.expect("on")?;
    let table = parse_object_name(cursor)?;
    let permissive = !cursor.take("as") || parse_kind(cursor)?;
    let command = if cursor.take("for") { parse_command(cursor)? } else { PolicyCommand::All };
    let roles = if cursor.take("to") { cursor.list(parse_grantee)? } else { Vec::new() };
    let (using, check) = parse_conditions(cursor)?;
    Ok(Statement::CreatePolicy(Box::new(CreatePolicy {
        name,
        table,
        permissive,
        command,
        roles,
        using,
        check,
    })))
}

/// `PERMISSIVE`, else `RESTRICTIVE`.
fn parse_kind(cursor: &mut Cursor<'_>) -> Result<bool> {
    match cursor.take_one(&["permissive", "restrictive"]) {
        Some(which) => Ok(which == 0),
        None => {
            let (start, place) = (cursor.byte(), cursor.span());
            let expected = cursor.unexpected();
            if cursor.peek_word().is_none() {
                return Err(expected);
            }
            cursor.advance();
            let word = cursor.slice(start..cursor.byte_after()).to_lowercase();
            let message = format!("unrecognized row security option \"{word}\"");
            Err(Error::new(SqlState::SyntaxError, message)
                .hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently.")
                .position(position(place)))
        }
    }
}

fn parse_command(cursor: &mut Cursor<'_>) -> Result<PolicyCommand> {
    match cursor.take_one(&["all", "select", "insert", "update", "delete"]) {
        Some(0) => Ok(PolicyCommand::All),
        Some(1) => Ok(PolicyCommand::Select),
        Some(2) => Ok(PolicyCommand::Insert),
        Some(3) => Ok(PolicyCommand::Update),
        Some(_) => Ok(PolicyCommand::Delete),
        None => Err(cursor.unexpected()),
    }
}

/// `USING (…)`, then `WITH CHECK (…)`.
fn parse_conditions(cursor: &mut Cursor<'_>) -> Result<(Option<Expr>, Option<Expr>)> {
    let using = if cursor.take("using") { Some(parse_condition(cursor)?) } else { None };
    let check =
        if cursor.take_all(&["with", "check"]) { Some(parse_condition(cursor)?) } else { None };
    Ok((using, check))
}

fn parse_condition(cursor: &mut Cursor<'_>) -> Result<Expr> {
    cursor.expect_symbol(&Token::LParen)?;
    let condition = next_expr(cursor)?;
    cursor.expect_symbol(&Token::RParen)?;
    Ok(condition)
}

/// `ALTER POLICY …`, at its second word.
pub(crate) fn parse_alter_policy(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_exists = take_if_exists(cursor);
    let name = parse_ident(cursor)?;
    cursor.expect("on")?;
    let table = parse_object_name(cursor)?;
    if cursor.take_all(&["rename", "to"]) {
        let kind = RenameKind::To(parse_ident(cursor)?);
        let target = AlterTarget::Policy { name, table };
        return Ok(Statement::Rename(Rename { target, if_exists, kind }));
    }
    if if_exists {
        return Err(cursor.unexpected());
    }
    let roles = if cursor.take("to") { Some(cursor.list(parse_grantee)?) } else { None };
    let (using, check) = parse_conditions(cursor)?;
    Ok(Statement::AlterPolicy(Box::new(AlterPolicy { name, table, roles, using, check })))
}

/// `ENABLE`, `DISABLE`, `FORCE` or `NO FORCE ROW LEVEL SECURITY`; `None` if it is no such action.
pub(crate) fn parse_row_security(cursor: &mut Cursor<'_>) -> Option<AlterAction> {
    const FORMS: [(&[&str], RowSecurityChange); 4] = [
        (&["enable", "row", "level", "security"], RowSecurityChange::Enable),
        (&["disable", "row", "level", "security"], RowSecurityChange::Disable),
        (&["force", "row", "level", "security"], RowSecurityChange::Force),
        (&["no", "force", "row", "level", "security"], RowSecurityChange::NoForce),
    ];
    let (_, change) = FORMS.iter().find(|(words, _)| cursor.take_all(words))?;
    Some(AlterAction::RowSecurity(*change))
}
