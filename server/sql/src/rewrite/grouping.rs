//! `GROUP BY DISTINCT …` and `GROUP BY ALL …`, which sqlparser lacks.
//!
//! `GROUP BY DISTINCT a, b` becomes `GROUP BY "\u{1}distinct", a, b`; ALL is what holds without it.
//!
//! In ROLLUP, CUBE and GROUPING SETS sqlparser takes a parenthesis for that of a list. An element
//! that only begins with one, or that is a query, gets another: `ROLLUP (((SELECT 1)))`.

use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::sample::closing;
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

/// The parentheses that elements of ROLLUP, CUBE and GROUPING SETS get.
#[derive(Default)]
pub(crate) struct Wraps {
    opening: Vec<usize>,
    closing: Vec<usize>,
}

impl Wraps {
    /// Puts the parentheses that belong before the token at `at`.
    pub(crate) fn put(
        &mut self,
        tokens: &[TokenWithSpan],
        at: usize,
        out: &mut Vec<TokenWithSpan>,
    ) {
        let Some(token) = tokens.get(at) else { return };
        let begins_group = matches!(word(Some(token)), Some("rollup" | "cube" | "sets"));
        if begins_group && let Some(end) = closing(tokens, at + 1) {
            self.find(tokens, at + 2, end);
        }
        let span = token.span;
        if self.closing.contains(&at) {
            out.push(TokenWithSpan { token: Token::RParen, span });
        }
        if self.opening.contains(&at) {
            out.push(TokenWithSpan { token: Token::LParen, span });
        }
    }

    /// Finds the elements of a list that need parentheses. The list ends at `end`.
    fn find(&mut self, tokens: &[TokenWithSpan], from: usize, end: usize) {
        let mut start = from;
        while start < end {
            let mut at = start;
            while at < end && tokens[at].token != Token::Comma {
                at = closing(tokens, at).map_or(at, |close| close.min(end - 1)) + 1;
            }
            if let Some(close) = closing(tokens, start)
                && (close + 1 < at || begins_query(word(tokens.get(start + 1))))
            {
                self.opening.push(start);
                self.closing.push(at);
            }
            start = at + 1;
        }
    }
}

fn begins_query(word: Option<&str>) -> bool {
    matches!(word, Some("select" | "with" | "values" | "table"))
}
