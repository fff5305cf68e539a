//! `BEGIN`, `COMMIT`, `ROLLBACK`, savepoints, and the modes of a transaction.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use crate::ast::{IsolationLevel, Statement, TransactionModes};
use crate::parser::Cursor;
use crate::parser::names::{parse_ident, parse_string};

/// A statement about the transaction.
pub(crate) fn parse_transaction(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let word = cursor.peek_word().unwrap_or_default().to_owned();
    cursor.advance();
    match word.as_str() {
        "begin" => {
            take_work(cursor);
            Ok(Statement::Begin(parse_transaction_modes(cursor)?))
        }
        "start" => {
            cursor.expect("transaction")?;
            Ok(Statement::Begin(parse_transaction_modes(cursor)?))
        }
        "commit" | "end" => {
            if word == "commit" && cursor.take("prepared") {
                return Ok(Statement::FinishPrepared { commit: true, name: parse_string(cursor)? });
            }
            take_work(cursor);
            Ok(Statement::Commit { and_chain: parse_and_chain(cursor)? })
        }
        "savepoint" => Ok(Statement::Savepoint(parse_ident(cursor)?)),
        "release" => {
            cursor.take("savepoint");
            Ok(Statement::Release(parse_ident(cursor)?))
        }
        _ => {
            if word == "rollback" && cursor.take("prepared") {
                return Ok(Statement::FinishPrepared {
                    commit: false,
                    name: parse_string(cursor)?,
                });
            }
            take_work(cursor);
            if word == "rollback" && cursor.take("to") {
                cursor.take("savepoint");
                let to_savepoint = Some(parse_ident(cursor)?);
                return Ok(Statement::Rollback { and_chain: false, to_savepoint });
            }
            Ok(Statement::Rollback { and_chain: parse_and_chain(cursor)?, to_savepoint: None })
        }
    }
}

fn take_work(cursor: &mut Cursor<'_>) {
    cursor.take_one(&["work", "transaction"]);
}

/// `AND [NO] CHAIN`.
fn parse_and_chain(cursor: &mut Cursor<'_>) -> Result<bool> {
    if !cursor.take("and") {
        return Ok(false);
    }
    let no = cursor.take("no");
    cursor.expect("chain")?;
    Ok(!no)
}

/// Modes, with or without commas between them; perhaps none.
pub(crate) fn parse_transaction_modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes> {
    let mut modes = TransactionModes::default();
    let mut needs_mode = false;
    loop {
        if cursor.take("isolation") {
            cursor.expect("level")?;
            modes.isolation = Some(parse_isolation_level(cursor)?);
        } else if cursor.take("read") {
            modes.read_only = match cursor.take_one(&["only", "write"]) {
                Some(which) => Some(which == 0),
                None => return Err(cursor.unexpected()),
            };
        } else if cursor.take("deferrable") {
            modes.deferrable = Some(true);
        } else if cursor.take_all(&["not", "deferrable"]) {
            modes.deferrable = Some(false);
        } else if needs_mode {
            return Err(cursor.unexpected());
        } else {
            return Ok(modes);
        }
        needs_mode = cursor.take_symbol(&Token::Comma);
    }
}

fn parse_isolation_level(cursor: &mut Cursor<'_>) -> Result<IsolationLevel> {
    if cursor.take("serializable") {
        return Ok(IsolationLevel::Serializable);
    }
    if cursor.take_all(&["repeatable", "read"]) {
        return Ok(IsolationLevel::RepeatableRead);
    }
    cursor.expect("read")?;
    match cursor.take_one(&["committed", "uncommitted"]) {
        Some(0) => Ok(IsolationLevel::ReadCommitted),
        Some(_) => Ok(IsolationLevel::ReadUncommitted),
        None => Err(cursor.unexpected()),
    }
}
