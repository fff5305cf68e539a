//! `LOCK TABLE`.

use braid_types::Result;

use crate::ast::{LockTable, ObjectName, Statement, TableLockMode};
use crate::parser::Cursor;
use crate::parser::names::parse_relation;

/// `LOCK [TABLE] names [IN mode MODE] [NOWAIT]`.
pub(crate) fn parse_lock_table(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    cursor.take("table");
    let tables = cursor.list(parse_table_alone_or_not)?;
    let mut mode = TableLockMode::AccessExclusive;
    if cursor.take("in") {
        mode = parse_lock_mode(cursor)?;
        cursor.expect("mode")?;
    }
    let nowait = cursor.take("nowait");
    Ok(Statement::LockTable(LockTable { tables, mode, nowait }))
}

/// `ONLY name`, `name *` or `name`: no table has others that inherit from it.
fn parse_table_alone_or_not(cursor: &mut Cursor<'_>) -> Result<ObjectName> {
    let only = cursor.take("only");
    parse_relation(cursor, only)
}

fn parse_lock_mode(cursor: &mut Cursor<'_>) -> Result<TableLockMode> {
    use TableLockMode as Mode;
    if cursor.take("exclusive") {
        return Ok(Mode::Exclusive);
    }
    if cursor.take("share") {
        let mode = match cursor.take_one(&["update", "row"]) {
            None => return Ok(Mode::Share),
            Some(0) => Mode::ShareUpdateExclusive,
            Some(_) => Mode::ShareRowExclusive,
        };
        cursor.expect("exclusive")?;
        return Ok(mode);
    }
    let (share, exclusive) = match cursor.take_one(&["access", "row"]) {
        Some(0) => (Mode::AccessShare, Mode::AccessExclusive),
        Some(_) => (Mode::RowShare, Mode::RowExclusive),
        None => return Err(cursor.unexpected()),
    };
    match cursor.take_one(&["share", "exclusive"]) {
        Some(0) => Ok(share),
        Some(_) => Ok(exclusive),
        None => Err(cursor.unexpected()),
    }
}
