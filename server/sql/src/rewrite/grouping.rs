//! `GROUP BY DISTINCT …` and `GROUP BY ALL …`, which sqlparser lacks.
//!
//! `GROUP BY DISTINCT a, b` becomes `GROUP BY "\u{1}distinct", a, b`; ALL is what holds without it.

use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::word;
use crate::lex::tokens::word_token;

/// What stands for DISTINCT before the grouping expressions. No user can write it.
const DISTINCT: &str = "\u{1}distinct";

/// Whether a list of GROUP BY drops repeated grouping sets, and the list without the mark.
pub fn grouping_items(list: &[Expr]) -> (bool, &[Expr]) {
    match list {
        [Expr::Identifier(mark), items @ ..] if mark.value == DISTINCT => (true, items),
        items => (false, items),
    }
}

/// The mark that [`grouping_items`] reads.
pub fn distinct_grouping() -> Expr {
    Expr::Identifier(Ident::with_quote('"', DISTINCT))
}

/// Whether this word may be the quantifier of GROUP BY.
pub(crate) fn may_be_quantifier(word: &str, previous: Option<&Token>) -> bool {
    matches!(word, "distinct" | "all")
        && matches!(previous, Some(Token::Word(by)) if by.quote_style.is_none() && by.value == "by")
}

/// Rewrites the quantifier of GROUP BY at `at`; returns where to go on.
pub(crate) fn quantifier(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    let back = |n: usize| word(out.len().checked_sub(n).and_then(|at| out.get(at)));
    if back(1) != Some("by") || back(2) != Some("group") {
        return None;
    }
    if word(tokens.get(at)) == Some("distinct") {
        let span = tokens[at].span;
        let token = word_token(DISTINCT.into(), Some('"'));
        out.push(TokenWithSpan { token, span });
        out.push(TokenWithSpan { token: Token::Comma, span });
    }
    Some(at + 1)
}
