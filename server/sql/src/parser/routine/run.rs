//! `DO` and `CALL`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use crate::ast::{Call, DoBlock, Expr, Statement};
use crate::parser::Cursor;
use crate::parser::embedded::next_expr;
use crate::parser::names::{parse_label, parse_string};

/// `DO [LANGUAGE name] 'code'`, in either order.
pub(crate) fn parse_do(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let (mut language, mut body) = (None, None);
    while !cursor.at_end() {
        if language.is_none() && cursor.take("language") {
            language = Some(match cursor.peek() {
                Token::SingleQuotedString(_) => parse_string(cursor)?,
                _ => crate::fold(&parse_label(cursor)?),
            });
        } else if body.is_none() {
            body = Some(parse_string(cursor)?);
        } else {
            return Err(cursor.unexpected());
        }
    }
    let Some(body) = body else { return Err(cursor.unexpected()) };
    Ok(Statement::Do(DoBlock { language, body }))
}

/// `CALL name(…)`.
pub(crate) fn parse_call(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let error = cursor.unexpected();
    match next_expr(cursor)? {
        call @ Expr::Function(_) => Ok(Statement::Call(Box::new(Call { call }))),
        _ => Err(error),
    }
}
