//! `PREPARE`, `EXECUTE`, `DEALLOCATE`, `DISCARD` and cursors.

use sqlparser::ast::Query;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use crate::ast::{
    CursorTarget, DeclareCursor, DiscardKind, Execute, FetchCursor, FetchDirection, Prepare,
    Statement,
};
use crate::parser::Cursor;
use crate::parser::embedded::{next_data_type, next_expr, next_query};
use crate::parser::names::{parse_ident, parse_integer, parse_string};
use crate::parser::row_statement::{
    at_row_statement, changes_in_with, parse_row_statement, refuse_into,
};
use crate::rewrite::tokens::row_locks;

/// `PREPARE`.
pub(crate) fn parse_prepare(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    if cursor.is("transaction") && matches!(cursor.peek_nth(1), Token::SingleQuotedString(_)) {
        cursor.advance();
        return Ok(Statement::PrepareTransaction(parse_string(cursor)?));
    }
    let name = parse_ident(cursor)?;
    let types =
        if *cursor.peek() == Token::LParen { cursor.parens(next_data_type)? } else { Vec::new() };
    cursor.expect("as")?;
    let start = cursor.byte();
    if !at_row_statement(cursor) {
        return Err(cursor.unexpected());
    }
    let mut statement = parse_row_statement(cursor)?;
    if let Statement::Query(query) = &mut statement {
        refuse_into(query, (SqlState::FeatureNotSupported, "SELECT INTO cannot be prepared"))?;
    }
    let text = start..cursor.byte_after();
    Ok(Statement::Prepare(Box::new(Prepare { name, types, statement, text })))
}

/// `EXECUTE`.
pub(crate) fn parse_execute(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    parse_execution(cursor).map(Statement::Execute)
}

/// What stands behind `EXECUTE`.
pub(crate) fn parse_execution(cursor: &mut Cursor<'_>) -> Result<Execute> {
    let name = parse_ident(cursor)?;
    let args = if *cursor.peek() == Token::LParen { cursor.parens(next_expr)? } else { Vec::new() };
    Ok(Execute { name, args })
}

/// `DEALLOCATE`.
pub(crate) fn parse_deallocate(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    cursor.take("prepare");
    Ok(Statement::Deallocate(if cursor.take("all") { None } else { Some(parse_ident(cursor)?) }))
}

/// `DISCARD`.
pub(crate) fn parse_discard(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let kind = match cursor.take_one(&["all", "plans", "sequences", "temp", "temporary"]) {
        Some(0) => DiscardKind::All,
        Some(1) => DiscardKind::Plans,
        Some(2) => DiscardKind::Sequences,
        Some(_) => DiscardKind::Temp,
        None => return Err(cursor.unexpected()),
    };
    Ok(Statement::Discard(kind))
}

/// `DECLARE … CURSOR`.
pub(crate) fn parse_declare_cursor(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_ident(cursor)?;
    let (mut binary, mut insensitive, mut scroll) = (false, None, None);
    let mut contradiction = None;
    loop {
        if cursor.take("binary") {
            binary = true;
        } else if let Some(which) = cursor.take_one(&["insensitive", "asensitive"]) {
            let before = insensitive.replace(which == 0);
            if before.is_some_and(|before| before != (which == 0)) {
                contradiction = contradiction.or(Some("ASENSITIVE and INSENSITIVE"));
            }
        } else if cursor.is("scroll") || cursor.are(&["no", "scroll"]) {
            let on = !cursor.take("no");
            cursor.advance();
            if scroll.replace(on).is_some_and(|before| before != on) {
                contradiction = Some("SCROLL and NO SCROLL");
            }
        } else {
            break;
        }
    }
    cursor.expect("cursor")?;
    let hold = match cursor.take_one(&["with", "without"]) {
        Some(which) => {
            cursor.expect("hold")?;
            which == 0
        }
        None => false,
    };
    cursor.expect("for")?;
    let start = cursor.byte();
    let mut query = next_query(cursor)?;
    let refused = (SqlState::SyntaxError, "SELECT ... INTO is not allowed here");
    refuse_into(&mut query, refused)?;
    if let Some(words) = contradiction {
        let message = format!("cannot specify both {words}");
        return Err(Error::new(SqlState::InvalidCursorDefinition, message));
    }
    check_cursor_query(&query, hold, scroll == Some(true), insensitive == Some(true))?;
    let text = start..cursor.byte_after();
    Ok(Statement::DeclareCursor(Box::new(DeclareCursor {
        name,
        binary,
        insensitive,
        scroll,
        hold,
        query,
        text,
    })))
}

/// 0A000 and 42P11 for queries that no cursor, or no cursor of this kind, can have.
fn check_cursor_query(query: &Query, hold: bool, scroll: bool, insensitive: bool) -> Result<()> {
    if changes_in_with(query) {
        let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let Some(lock) = row_locks(query).into_iter().next() else { return Ok(()) };
    let clause = lock.strength.clause();
    let (state, message, detail) = if hold {
        let message = format!("DECLARE CURSOR WITH HOLD ... {clause} is not supported");
        (SqlState::FeatureNotSupported, message, "Holdable cursors must be READ ONLY.")
    } else if scroll {
        let message = format!("DECLARE SCROLL CURSOR ... {clause} is not supported");
        (SqlState::FeatureNotSupported, message, "Scrollable cursors must be READ ONLY.")
    } else if insensitive {
        let message = format!("DECLARE INSENSITIVE CURSOR ... {clause} is not valid");
        (SqlState::InvalidCursorDefinition, message, "Insensitive cursors must be READ ONLY.")
    } else {
        return Ok(());
    };
    Err(Error::new(state, message).detail(detail))
}

/// `FETCH` or `MOVE`.
pub(crate) fn parse_fetch(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let is_move = cursor.is("move");
    cursor.advance();
    let direction = parse_fetch_direction(cursor)?;
    if cursor.take_one(&["from", "in"]).is_none() && matches!(cursor.peek(), Token::EOF) {
        return Err(cursor.unexpected());
    }
    Ok(Statement::Fetch(FetchCursor { is_move, direction, name: parse_ident(cursor)? }))
}

fn parse_fetch_direction(cursor: &mut Cursor<'_>) -> Result<FetchDirection> {
    if matches!(cursor.peek(), Token::Number(..) | Token::Minus | Token::Plus) {
        return Ok(forward(parse_integer(cursor)?));
    }
    // A cursor may bear any of these words as its name, with nothing behind it.
    if !matches!(
        cursor.peek_nth(1),
        Token::Word(_) | Token::Number(..) | Token::Minus | Token::Plus
    ) {
        return Ok(FetchDirection::Forward(1));
    }
    let words =
        ["next", "prior", "first", "last", "absolute", "relative", "all", "forward", "backward"];
    Ok(match cursor.take_one(&words) {
        Some(0) => FetchDirection::Forward(1),
        Some(1) => FetchDirection::Backward(1),
        Some(2) => FetchDirection::First,
        Some(3) => FetchDirection::Last,
        Some(4) => FetchDirection::Absolute(parse_integer(cursor)?),
        Some(5) => FetchDirection::Relative(parse_integer(cursor)?),
        Some(6) => FetchDirection::Forward(i64::MAX),
        Some(7) => forward(parse_fetch_count(cursor)?),
        Some(_) => backward(parse_fetch_count(cursor)?),
        None => FetchDirection::Forward(1),
    })
}

/// The number behind `FORWARD` or `BACKWARD`; one without.
fn parse_fetch_count(cursor: &mut Cursor<'_>) -> Result<i64> {
    if matches!(cursor.peek(), Token::Number(..) | Token::Minus | Token::Plus) {
        return parse_integer(cursor);
    }
    Ok(if cursor.take("all") { i64::MAX } else { 1 })
}

/// `CLOSE`.
pub(crate) fn parse_close(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let all = cursor.take("all");
    Ok(Statement::Close(if all {
        CursorTarget::All
    } else {
        CursorTarget::Name(parse_ident(cursor)?)
    }))
}

/// A negative count goes the other way.
fn forward(count: i64) -> FetchDirection {
    if count < 0 {
        FetchDirection::Backward(count.saturating_neg())
    } else {
        FetchDirection::Forward(count)
    }
}

fn backward(count: i64) -> FetchDirection {
    if count < 0 {
        FetchDirection::Forward(count.saturating_neg())
    } else {
        FetchDirection::Backward(count)
    }
}
