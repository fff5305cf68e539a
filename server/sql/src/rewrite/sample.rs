//! `TABLESAMPLE method (…) [REPEATABLE (seed)]`, of which sqlparser knows other methods than ours.
//! The clause becomes the call of a function that no user can write.
//!
//! ```text
//!   TABLESAMPLE system (10)                   TABLESAMPLE ("\u{1}sample"('system', 10))
//!   TABLESAMPLE system (10) REPEATABLE (1)    TABLESAMPLE ("\u{1}repeatable"('system', (1), 10))
//! ```

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, TableSampleKind, Value,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::word;
use crate::lex::tokens::word_token;

const SAMPLE: &str = "\u{1}sample";
const REPEATABLE: &str = "\u{1}repeatable";

/// A clause TABLESAMPLE.
pub struct TableSample<'s> {
    /// The method, in lower case.
    pub method: &'s str,
    /// Its arguments.
    pub args: Vec<&'s Expr>,
    /// REPEATABLE.
    pub seed: Option<&'s Expr>,
}

/// The clause decoded; `None` if it is none that PostgreSQL has.
pub fn table_sample(sample: &TableSampleKind) -> Option<TableSample<'_>> {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        sample;
    let Expr::Function(function) = &sample.quantity.as_ref()?.value else { return None };
    let mark = &function.name.0.first()?.as_ident()?.value;
    let is_repeatable = mark == REPEATABLE;
    let FunctionArguments::List(list) = &function.args else { return None };
    let args = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    });
    let mut args = args.collect::<Option<Vec<_>>>()?.into_iter();
    let Expr::Value(method) = args.next()? else { return None };
    let Value::SingleQuotedString(method) = &method.value else { return None };
    let seed = if is_repeatable { Some(args.next()?) } else { None };
    (is_repeatable || mark == SAMPLE).then(|| TableSample { method, args: args.collect(), seed })
}

/// The numbers of a clause: the seed, if it has one, then the arguments.
pub fn sample_numbers_mut(sample: &mut TableSampleKind) -> Vec<&mut Expr> {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        sample;
    let quantity = sample.quantity.as_mut().map(|quantity| &mut quantity.value);
    let Some(Expr::Function(function)) = quantity else { return Vec::new() };
    let FunctionArguments::List(list) = &mut function.args else { return Vec::new() };
    // The method stands before them.
    let numbers = list.args.iter_mut().skip(1).filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    });
    numbers.collect()
}

/// Rewrites `TABLESAMPLE` at `at`; returns where to go on. What has another form is left for the
/// parser, which reports it.
pub(crate) fn rewrite_sample(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    let Token::Word(method) = &tokens.get(at + 1)?.token else { return None };
    let end = closing(tokens, at + 2)?;
    let args = &tokens[at + 3..end];
    let seed = match word(tokens.get(end + 1)) {
        Some("repeatable") => Some(&tokens[end + 2..=closing(tokens, end + 2)?]),
        _ => None,
    };
    if args.is_empty() {
        return None;
    }
    let span = tokens[at].span;
    let mut push = |token| out.push(TokenWithSpan { token, span });
    push(tokens[at].token.clone());
    push(Token::LParen);
    push(word_token(if seed.is_some() { REPEATABLE } else { SAMPLE }.into(), Some('"')));
    push(Token::LParen);
    push(Token::SingleQuotedString(method.value.clone()));
    push(Token::Comma);
    let mut next = end + 1;
    if let Some(seed) = seed {
        out.extend_from_slice(seed);
        out.push(TokenWithSpan { token: Token::Comma, span });
        next += 1 + seed.len();
    }
    out.extend_from_slice(args);
    // The text of a query ends where its last token does.
    for _ in 0..2 {
        out.push(TokenWithSpan { token: Token::RParen, span: tokens[next - 1].span });
    }
    Some(next)
}

/// Where the parenthesis closes that opens at `open`.
pub(super) fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    if tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return Some(at),
            Token::RParen => depth -= 1,
            Token::SemiColon => return None,
            _ => {}
        }
    }
    None
}
