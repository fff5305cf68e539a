//! The first word of a statement chooses its parser.

use braid_types::{Error, Result, SqlState};
use sqlparser::tokenizer::Token;

use super::Cursor;
use super::definition::alter::parse_alter;
use super::definition::create_objects::{parse_create, parse_refresh};
use super::definition::drop::{parse_comment, parse_drop};
use super::definition::roles::grant::{parse_grant, parse_revoke};
use super::definition::roles::users::parse_reassign_owned;
use super::dml::parse_truncate;
use super::names::{parse_ident, parse_string};
use super::routine::{parse_call, parse_do};
use super::row_statement::{at_row_statement, parse_top_statement};
use super::session::copy::parse_copy;
use super::session::explain::{check_table, parse_explain, parse_notifications};
use super::session::lock_table::parse_lock_table;
use super::session::maintenance::{parse_analyze, parse_reindex, parse_vacuum};
use super::session::prepared::{
    parse_close, parse_deallocate, parse_declare_cursor, parse_discard, parse_execute, parse_fetch,
    parse_prepare,
};
use super::session::set::{parse_reset, parse_set, parse_show};
use super::session::transaction::parse_transaction;
use crate::ast::Statement;
use crate::fold;

/// One statement.
pub(crate) fn parse_statement(cursor: &mut Cursor<'_>) -> Result<Statement> {
    if at_row_statement(cursor) {
        return parse_top_statement(cursor);
    }
    let Some(word) = cursor.peek_word() else {
        return Err(cursor.unexpected());
    };
    match word {
        "create" => parse_create(cursor),
        "alter" => parse_alter(cursor),
        "drop" => parse_drop(cursor),
        "refresh" => parse_refresh(cursor),
        "truncate" => parse_truncate(cursor),
        "comment" => parse_comment(cursor),
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
            parse_transaction(cursor)
        }
        "set" => parse_set(cursor),
        "reset" => parse_reset(cursor),
        "show" => parse_show(cursor),
        "explain" => parse_explain(cursor),
        "copy" => parse_copy(cursor),
        "prepare" => parse_prepare(cursor),
        "execute" => parse_execute(cursor),
        "deallocate" => parse_deallocate(cursor),
        "discard" => parse_discard(cursor),
        "declare" => parse_declare_cursor(cursor),
        "fetch" | "move" => parse_fetch(cursor),
        "close" => parse_close(cursor),
        "grant" => parse_grant(cursor),
        "revoke" => parse_revoke(cursor),
        "analyze" | "analyse" => parse_analyze(cursor),
        "vacuum" => parse_vacuum(cursor),
        "reindex" => parse_reindex(cursor),
        "lock" => parse_lock_table(cursor),
        "do" => parse_do(cursor),
        "call" => parse_call(cursor),
        "check" => check_table(cursor),
        "reassign" => parse_reassign_owned(cursor),
        "listen" | "unlisten" | "notify" => parse_notifications(cursor),
        _ => parse_rare_statement(cursor),
    }
}

/// Statements that need nothing here, or that PostgreSQL knows and we do not.
fn parse_rare_statement(cursor: &mut Cursor<'_>) -> Result<Statement> {
    const UNSUPPORTED: [&str; 1] = ["import"];
    if cursor.take("load") {
        return parse_load(cursor);
    }
    if cursor.take_all(&["security", "label"]) {
        return Err(no_label_provider(cursor)?);
    }
    let name = match cursor.peek_word() {
        Some("cluster") => "CLUSTER",
        Some("checkpoint") => "CHECKPOINT",
        Some(word) if UNSUPPORTED.contains(&word) => {
            return Err(cursor.unsupported(word.to_ascii_uppercase()));
        }
        _ => return Err(cursor.unexpected()),
    };
    while !cursor.at_end() {
        cursor.advance();
    }
    Ok(Statement::NoOp(name))
}

/// `LOAD 'library'`: the language PL/pgSQL is part of the server, and other libraries are none.
fn parse_load(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let library = parse_string(cursor)?;
    if matches!(library.as_str(), "plpgsql" | "$libdir/plpgsql") {
        return Ok(Statement::NoOp("LOAD"));
    }
    let message = format!("could not access file \"{library}\": No such file or directory");
    Err(Error::new(SqlState::UndefinedFile, message))
}

/// 22023 for `SECURITY LABEL`, as in PostgreSQL without a provider of labels.
fn no_label_provider(cursor: &mut Cursor<'_>) -> Result<Error> {
    let provider = match cursor.take("for") {
        true => match cursor.peek() {
            Token::SingleQuotedString(_) => Some(parse_string(cursor)?),
            _ => Some(fold(&parse_ident(cursor)?)),
        },
        false => None,
    };
    cursor.expect("on")?;
    while !cursor.at_end() && !cursor.is("is") {
        cursor.advance();
    }
    cursor.expect("is")?;
    if !cursor.take("null") {
        parse_string(cursor)?;
    }
    let message = match provider {
        Some(name) => format!("security label provider \"{name}\" is not loaded"),
        None => "no security label providers have been loaded".to_owned(),
    };
    Ok(Error::new(SqlState::InvalidParameterValue, message))
}
