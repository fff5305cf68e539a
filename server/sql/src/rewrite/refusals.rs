//! Forms of other dialects that show in a few tokens, and that sqlparser takes.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use super::sample::closing;
use super::words::{position, word};

/// Whether this word begins a query behind a parenthesis.
pub(super) fn begins_query(word: &str, previous: Option<&Token>) -> bool {
    previous == Some(&Token::LParen) && matches!(word, "select" | "values" | "with" | "table")
}

/// 42601 if the parenthesis that closes at `at` is empty, behind a keyword that needs arguments.
pub(super) fn refuse_empty_list(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let word = |back: usize| at.checked_sub(back).and_then(|place| word(tokens.get(place)));
    let needs_arguments = match word(2) {
        Some("coalesce" | "greatest" | "least" | "grouping" | "nullif" | "trim") => {
            // Tables may have these names.
            !matches!(word(3), Some("table" | "exists"))
        }
        Some("current_time" | "current_timestamp" | "localtime" | "localtimestamp") => true,
        Some("on") => word(3) == Some("distinct"),
        _ => false,
    };
    if !needs_arguments {
        return Ok(());
    }
    let message = "syntax error at or near \")\"";
    Err(Error::new(SqlState::SyntaxError, message).position(position(tokens[at].span)))
}

/// 42601 if the number at `at` is a modifier of a type whose keyword takes none: `int(3)`.
pub(super) fn refuse_modifier(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let word = |back: usize| at.checked_sub(back).and_then(|place| word(tokens.get(place)));
    let is_bare = match word(2) {
        Some("int" | "integer" | "smallint" | "bigint" | "real" | "boolean") => true,
        Some("precision") => word(3) == Some("double"),
        _ => false,
    };
    if !is_bare {
        return Ok(());
    }
    let message = "syntax error at or near \"(\"";
    Err(Error::new(SqlState::SyntaxError, message).position(position(tokens[at - 1].span)))
}

/// 42601 if the parenthesis that opens at `at` follows a word whose grammar has no such list.
pub(super) fn refuse_call(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let before = |back: usize| at.checked_sub(back).and_then(|place| word(tokens.get(place)));
    let qualifies = |back: usize| {
        at.checked_sub(back).is_some_and(|place| tokens[place].token == Token::Period)
    };
    let wrong = match before(1) {
        Some("current_date") if !qualifies(2) => Some(at),
        Some("current_time" | "current_timestamp" | "localtime" | "localtimestamp")
            if !qualifies(2) =>
        {
            wrong_precision(tokens, at)
        }
        Some("year" | "month" | "day" | "hour" | "minute") if ends_interval(tokens, at - 1) => {
            Some(at)
        }
        Some("position") if begins_operand(tokens, at - 1) => without_in(tokens, at),
        Some("grouping") if !qualifies(2) => wrong_grouping(tokens, at),
        _ => None,
    };
    wrong.map_or(Ok(()), |wrong| Err(unexpected(&tokens[wrong])))
}

/// 42601 about a token.
pub(super) fn unexpected(token: &TokenWithSpan) -> Error {
    let message = match &token.token {
        Token::EOF => "syntax error at end of input".to_owned(),
        token => format!("syntax error at or near \"{token}\""),
    };
    Error::new(SqlState::SyntaxError, message).position(position(token.span))
}

/// The first token behind the parenthesis at `open` that is not of `(digits)`.
fn wrong_precision(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    match &tokens.get(open + 1)?.token {
        // Another rule refuses an empty list.
        Token::RParen => None,
        Token::Number(digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let close = tokens.get(open + 2)?;
            (close.token != Token::RParen).then_some(open + 2)
        }
        _ => Some(open + 1),
    }
}

/// Whether the field at `at` stands behind the type `interval` or a literal of it.
fn ends_interval(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|place| word(tokens.get(place)));
    let is_string = |back: usize| {
        at.checked_sub(back)
            .is_some_and(|place| matches!(tokens[place].token, Token::SingleQuotedString(_)))
    };
    let follows = |back: usize| {
        before(back) == Some("interval") || is_string(back) && before(back + 1) == Some("interval")
    };
    follows(1) || before(1) == Some("to") && follows(3)
}

/// Whether the word at `at` begins an operand, so that it names no table and no column.
fn begins_operand(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|place| tokens.get(place)) else { return false };
    match &before.token {
        Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => true,
        Token::Plus | Token::Minus | Token::Div => true,
        _ => matches!(
            word(Some(before)),
            Some("select" | "where" | "and" | "or" | "not" | "then" | "else" | "having")
        ),
    }
}

/// The comma or parenthesis that ends the first argument, if it has no `IN`.
fn without_in(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open + 1) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::Comma if depth == 0 => return Some(at),
            Token::RParen | Token::RBracket if depth == 0 => return Some(at),
            Token::RParen | Token::RBracket => depth -= 1,
            _ if depth == 0 && word(Some(token)) == Some("in") => return None,
            _ => {}
        }
    }
    None
}

/// What `GROUPING (…)` cannot have: DISTINCT, FILTER and OVER.
fn wrong_grouping(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    if word(tokens.get(open + 1)) == Some("distinct") {
        return Some(open + 1);
    }
    let end = closing(tokens, open)? + 1;
    let opens = tokens.get(end + 1).is_some_and(|token| token.token == Token::LParen);
    (opens && matches!(word(tokens.get(end)), Some("filter" | "over"))).then_some(end)
}

/// 42601 if the subscript that opens at `at` follows `ARRAY[…]` without parentheses.
pub(super) fn refuse_subscript(tokens: &[TokenWithSpan], at: usize) -> Result<()> {
    let mut depth = 0_usize;
    for place in (0..at).rev() {
        match tokens[place].token {
            Token::RBracket => depth += 1,
            Token::LBracket if depth == 1 => {
                let before = place.checked_sub(1);
                let is_array = before.is_some_and(|at| word(tokens.get(at)) == Some("array"));
                // `int array[3][3]` is a type.
                let is_type = before.and_then(|at| at.checked_sub(1)).is_some_and(|at| {
                    matches!(tokens[at].token, Token::Word(_)) && !begins_operand(tokens, at + 1)
                });
                return match is_array && !is_type {
                    true => Err(unexpected(&tokens[at])),
                    false => Ok(()),
                };
            }
            Token::LBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}
