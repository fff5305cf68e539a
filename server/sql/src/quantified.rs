//! Operators before ANY and ALL that sqlparser does not read.

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `LIKE ALL (…)` and its negation, which sqlparser has for ANY only.
pub(crate) fn like_all(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let is_keyword = |place: usize, keyword: Keyword| {
        matches!(&parser.peek_nth_token_ref(place).token,
            Token::Word(found) if found.quote_style.is_none() && found.keyword == keyword)
    };
    let negated = is_keyword(0, Keyword::NOT);
    let at = usize::from(negated);
    let operator = match (is_keyword(at, Keyword::LIKE), is_keyword(at, Keyword::ILIKE)) {
        (true, _) => "~~",
        (_, true) => "~~*",
        _ => return None,
    };
    let opens = parser.peek_nth_token_ref(at + 2).token == Token::LParen;
    if !is_keyword(at + 1, Keyword::ALL) || !opens {
        return None;
    }
    let operator = format!("{}{operator}", if negated { "!" } else { "" });
    Some(compared(parser, expr, (operator, true), at + 2))
}

/// `OPERATOR(schema.=) ANY (…)`, `@> ANY (…)` and the like, or ALL. sqlparser knows operators with
/// a schema between two values only, and ANY behind comparisons and patterns.
pub(crate) fn operator_any(
    parser: &mut Parser<'_>,
    expr: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    let keyword = |place: usize| match token(place) {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let is_named = keyword(0) == Keyword::OPERATOR && *token(1) == Token::LParen;
    let mut at = if is_named { 2 } else { 0 };
    while is_named && matches!(token(at), Token::Word(_)) && *token(at + 1) == Token::Period {
        at += 2;
    }
    let place = if is_named { at + 2 } else { at + 1 };
    let is_all = keyword(place) == Keyword::ALL;
    let is_quantified = is_all || matches!(keyword(place), Keyword::ANY | Keyword::SOME);
    if !is_quantified || *token(place + 1) != Token::LParen {
        return None;
    }
    let operator = token(at).to_string();
    let is_operator = operator.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c));
    let is_read = match is_named {
        true => *token(at + 1) == Token::RParen,
        false => is_operator && !is_quantified_by_sqlparser(token(at)),
    };
    if !is_read {
        return None;
    }
    Some(compared(parser, expr, (operator, is_all), place + 1))
}

/// The comparison of a value with ALL or ANY of what follows these tokens.
fn compared(
    parser: &mut Parser<'_>,
    left: &Expr,
    (operator, is_all): (String, bool),
    tokens: usize,
) -> Result<Expr, ParserError> {
    for _ in 0..tokens {
        parser.advance_token();
    }
    let compare_op = BinaryOperator::PGCustomBinaryOperator(vec![operator]);
    let right = match parser.parse_prefix()? {
        Expr::Nested(inner) => inner,
        other => Box::new(other),
    };
    let left = Box::new(left.clone());
    Ok(match is_all {
        true => Expr::AllOp { left, compare_op, right },
        false => Expr::AnyOp { left, compare_op, right, is_some: false },
    })
}

/// The operators behind which sqlparser reads ANY and ALL.
fn is_quantified_by_sqlparser(token: &Token) -> bool {
    matches!(
        token,
        Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::LtEq
            | Token::Gt
            | Token::GtEq
            | Token::Tilde
            | Token::TildeAsterisk
            | Token::ExclamationMarkTilde
            | Token::ExclamationMarkTildeAsterisk
            | Token::DoubleTilde
            | Token::DoubleTildeAsterisk
            | Token::ExclamationMarkDoubleTilde
            | Token::ExclamationMarkDoubleTildeAsterisk
    )
}
