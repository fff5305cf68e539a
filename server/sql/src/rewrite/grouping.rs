//! `GROUP BY DISTINCT …` and `GROUP BY ALL …`, which sqlparser lacks.
//!
//! `GROUP BY DISTINCT a, b` becomes `GROUP BY "\u{1}distinct", a, b`; ALL is what holds without it.
//!
//! In ROLLUP, CUBE and GROUPING SETS sqlparser takes a parenthesis for that of a list. An element
//! that only begins with one, or that is a query, gets another: `ROLLUP (((SELECT 1)))`.
//!
//! A list in GROUPING SETS becomes a call: `GROUPING SETS (ROLLUP (a), GROUPING SETS (b, ()))`
//! becomes `GROUPING SETS ("\u{1}rollup"(a), "\u{1}sets"(b, "\u{1}empty"))`. Behind the parser
//! [`restore`] makes the trees of it that other lists have.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, VisitMut, VisitorMut,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::expr::normal_forms;
use super::sample::closing;
use super::words::word;
use crate::lex::tokens::word_token;

/// What stands for DISTINCT before the grouping expressions. No user can write it.
const DISTINCT: &str = "\u{1}distinct";

/// What stands for the words of lists in GROUPING SETS, and for `()` in such a list.
const ROLLUP: &str = "\u{1}rollup";
const CUBE: &str = "\u{1}cube";
const SETS: &str = "\u{1}sets";
const EMPTY: &str = "\u{1}empty";

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
    /// Tokens that a mark replaces.
    marks: Vec<(usize, &'static str)>,
    /// Tokens that a mark has replaced as well.
    dropped: Vec<usize>,
}

impl Wraps {
    /// Puts the parentheses that belong before the token at `at`, or its mark; whether that is all
    /// there is of the token.
    pub(crate) fn put(
        &mut self,
        tokens: &[TokenWithSpan],
        at: usize,
        out: &mut Vec<TokenWithSpan>,
    ) -> bool {
        let Some(token) = tokens.get(at) else { return false };
        let begins_group = matches!(word(Some(token)), Some("rollup" | "cube" | "sets"));
        if begins_group && let Some(end) = closing(tokens, at + 1) {
            self.find(tokens, at + 2, end);
            if is_grouping_sets(tokens, at) {
                self.find_nested(tokens, at, end);
            }
        }
        let span = token.span;
        if self.closing.contains(&at) {
            out.push(TokenWithSpan { token: Token::RParen, span });
        }
        if self.opening.contains(&at) {
            out.push(TokenWithSpan { token: Token::LParen, span });
        }
        if let Some((_, mark)) = self.marks.iter().find(|(place, _)| *place == at) {
            out.push(TokenWithSpan { token: word_token((*mark).into(), Some('"')), span });
            return true;
        }
        self.dropped.contains(&at)
    }

    /// Finds the lists in `GROUPING SETS (…)`, whose second word is at `sets`.
    fn find_nested(&mut self, tokens: &[TokenWithSpan], sets: usize, end: usize) {
        let is_nested = self.dropped.contains(&sets);
        let is = |at: usize, symbol: &Token| tokens.get(at).is_some_and(|t| t.token == *symbol);
        let mut start = sets + 2;
        while start < end {
            match word(tokens.get(start)) {
                Some("rollup") if is(start + 1, &Token::LParen) => self.marks.push((start, ROLLUP)),
                Some("cube") if is(start + 1, &Token::LParen) => self.marks.push((start, CUBE)),
                Some("grouping") if is_grouping_sets(tokens, start + 1) => {
                    self.marks.push((start, SETS));
                    self.dropped.push(start + 1);
                }
                None if is_nested && is(start, &Token::LParen) && is(start + 1, &Token::RParen) => {
                    self.marks.push((start, EMPTY));
                    self.dropped.push(start + 1);
                }
                _ => {}
            }
            let mut at = start;
            while at < end && tokens[at].token != Token::Comma {
                at = closing(tokens, at).map_or(at, |close| close.min(end - 1)) + 1;
            }
            start = at + 1;
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

/// Whether the word at `at` is the second of `GROUPING SETS (`.
fn is_grouping_sets(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| word(tokens.get(before)));
    let opens = tokens.get(at + 1).is_some_and(|token| token.token == Token::LParen);
    word(tokens.get(at)) == Some("sets") && before == Some("grouping") && opens
}

struct Restorer;

impl VisitorMut for Restorer {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Some(nested) = nested(function)
        {
            *expr = nested;
        }
        normal_forms::call_of_test(expr);
        ControlFlow::Continue(())
    }
}

/// The list that a marked call stands for.
fn nested(function: &Function) -> Option<Expr> {
    let [name] = &function.name.0[..] else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let make: fn(Vec<Vec<Expr>>) -> Expr = match name.as_ident()?.value.as_str() {
        ROLLUP => Expr::Rollup,
        CUBE => Expr::Cube,
        SETS => Expr::GroupingSets,
        _ => return None,
    };
    let element = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(list))) => Some(list.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))
            if name.value == EMPTY =>
        {
            Some(Vec::new())
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Nested(one))) => {
            Some(vec![(**one).clone()])
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(one)) => Some(vec![one.clone()]),
        _ => None,
    };
    list.args.iter().map(element).collect::<Option<Vec<_>>>().map(make)
}

/// Makes lists of grouping sets of the calls that stand for them, and calls of `IS NORMALIZED`.
pub(crate) fn restore<T: VisitMut>(tree: &mut T) {
    let visited = tree.visit(&mut Restorer);
    debug_assert!(visited.is_continue(), "nothing ends the visit early");
}
