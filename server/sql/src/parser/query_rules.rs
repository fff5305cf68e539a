//! What sqlparser takes in queries and PostgreSQL's grammar does not: a join that says neither ON
//! nor USING, joins of other dialects, a subquery in FROM without an alias, FETCH without all its
//! words, clauses behind `TABLE t`.
//!
//! The tree shows that FROM has such a fault. The tokens show where it is, so they are looked at
//! for errors only.

use std::ops::ControlFlow;

use sqlparser::ast::{
    JoinConstraint, JoinOperator, Select, SetExpr, TableFactor, TableWithJoins, VisitMut,
    VisitorMut,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::lex::keywords::{self, Category};
use crate::rewrite::words::{ENDING_WORDS, position, word};

/// Words that only other dialects write before JOIN.
const FOREIGN_WORDS: [&str; 6] = ["semi", "anti", "straight_join", "apply", "asof", "global"];

/// A fault of a FROM item.
enum Fault {
    /// A join lacks its condition.
    Unconditional,
    /// PostgreSQL has no such join.
    ForeignJoin,
    /// A subquery has no alias; true for VALUES.
    Nameless(bool),
}

/// Finds the first fault of a tree.
#[derive(Default)]
struct Finder {
    found: Option<Fault>,
}

impl Finder {
    fn table(&mut self, table: &TableWithJoins) -> ControlFlow<()> {
        for join in &table.joins {
            let fault = match &join.join_operator {
                _ if join.global => Some(Fault::ForeignJoin),
                JoinOperator::Join(on)
                | JoinOperator::Inner(on)
                | JoinOperator::Left(on)
                | JoinOperator::LeftOuter(on)
                | JoinOperator::Right(on)
                | JoinOperator::RightOuter(on)
                | JoinOperator::FullOuter(on) => {
                    matches!(on, JoinConstraint::None).then_some(Fault::Unconditional)
                }
                JoinOperator::CrossJoin(_) => None,
                _ => Some(Fault::ForeignJoin),
            };
            if fault.is_some() {
                self.found = fault;
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Finder {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter().try_for_each(|table| self.table(table))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => self.table(table_with_joins),
            TableFactor::Derived { alias: None, subquery, .. } => {
                self.found = Some(Fault::Nameless(is_values(&subquery.body)));
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_values(body: &SetExpr) -> bool {
    match body {
        SetExpr::Query(query) => is_values(&query.body),
        body => matches!(body, SetExpr::Values(_)),
    }
}

/// 42601 for the first fault of a tree that was parsed from the token `first` on.
pub(super) fn check_from<T: VisitMut>(
    cursor: &Cursor<'_>,
    first: usize,
    tree: &mut T,
) -> Result<()> {
    let mut finder = Finder::default();
    let visited = tree.visit(&mut finder);
    debug_assert!(visited.is_break() == finder.found.is_some(), "a fault ends the visit");
    refuse(cursor, first, finder)
}

/// 42601 for the first fault of the joins of a table.
pub(super) fn check_table(cursor: &Cursor<'_>, first: usize, table: &TableWithJoins) -> Result<()> {
    let mut finder = Finder::default();
    let visited = finder.table(table);
    debug_assert!(visited.is_break() == finder.found.is_some(), "a fault ends the visit");
    refuse(cursor, first, finder)
}

fn refuse(cursor: &Cursor<'_>, first: usize, finder: Finder) -> Result<()> {
    let Some(fault) = finder.found else { return Ok(()) };
    // The token behind the tree is the first that the grammar did not take.
    let last = cursor.inner.index();
    let tokens: Vec<&TokenWithSpan> =
        (first..=last).map(|index| cursor.inner.token_at(index)).collect();
    let found = match fault {
        Fault::Unconditional => missing_condition(&tokens),
        Fault::ForeignJoin => {
            tokens.iter().position(|token| is_one_of(token, &FOREIGN_WORDS)).unwrap_or_default()
        }
        Fault::Nameless(is_values) => {
            let at = nameless_subquery(&tokens).and_then(|at| tokens.get(at));
            return Err(without_alias(is_values).position(at.map_or(0, |at| position(at.span))));
        }
    };
    Err(cursor.syntax_error(cursor.inner.token_at(first + found)))
}

fn without_alias(is_values: bool) -> Error {
    let (what, example) = match is_values {
        true => ("VALUES", "VALUES"),
        false => ("subquery", "SELECT"),
    };
    Error::new(SqlState::SyntaxError, format!("{what} in FROM must have an alias"))
        .hint(format!("For example, FROM ({example} ...) [AS] foo."))
}

fn is_one_of(token: &TokenWithSpan, words: &[&str]) -> bool {
    word(Some(token)).is_some_and(|word| words.contains(&word))
}

/// The first token at which a join would need its condition.
fn missing_condition(tokens: &[&TokenWithSpan]) -> usize {
    // Joins without a condition so far, for each parenthesis that is open.
    let mut open = vec![0_usize];
    let mut unconditional = false;
    let end = tokens.len().saturating_sub(1);
    for (at, token) in tokens.iter().enumerate() {
        let joins = open.last().copied().unwrap_or_default();
        let ends = match &token.token {
            Token::LParen | Token::LBracket => {
                open.push(0);
                continue;
            }
            Token::RParen | Token::RBracket => {
                open.pop();
                true
            }
            Token::Comma => true,
            _ => is_one_of(token, &ENDING_WORDS),
        };
        if joins > 0 && ends {
            return at;
        }
        let is_label = at.checked_sub(1).is_some_and(|before| {
            tokens[before].token == Token::Period || is_one_of(tokens[before], &["as"])
        });
        let Some(joins) = open.last_mut().filter(|_| !is_label) else { continue };
        match word(Some(token)) {
            Some("cross" | "natural") => unconditional = true,
            Some("join") if unconditional => unconditional = false,
            Some("join") => *joins += 1,
            Some("on" | "using") => *joins = joins.saturating_sub(1),
            _ => {}
        }
    }
    end
}

/// What a parenthesis that is open has come to.
#[derive(Clone, Copy)]
struct Level {
    /// It holds a query, and no call such as `extract(day FROM …)`.
    is_query: bool,
    in_from: bool,
}

/// The parenthesis of the first subquery in FROM that has no alias.
fn nameless_subquery(tokens: &[&TokenWithSpan]) -> Option<usize> {
    let mut levels = vec![Level { is_query: true, in_from: true }];
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => {
                let level = levels.last().copied();
                let before = at.checked_sub(1).map(|before| tokens[before]);
                let begins_item = before.is_none_or(|before| match &before.token {
                    Token::Comma => level.is_some_and(|level| level.in_from),
                    Token::LParen => true,
                    _ if is_one_of(before, &["from"]) => level.is_some_and(|level| level.is_query),
                    _ => is_one_of(before, &["join", "lateral", "using"]),
                });
                if begins_item && is_nameless(tokens, at) {
                    return Some(at);
                }
                levels.push(Level { is_query: false, in_from: false });
            }
            Token::RParen => {
                levels.pop();
            }
            _ => {
                let Some(level) = levels.last_mut() else { continue };
                level.is_query |= is_one_of(token, &["select"]);
                level.in_from |= level.is_query && is_one_of(token, &["from", "using"]);
                level.in_from &= !is_one_of(token, &ENDING_WORDS) && !is_one_of(token, &["select"]);
            }
        }
    }
    None
}

/// Whether a query stands in the parenthesis at `at`, and no alias behind it.
fn is_nameless(tokens: &[&TokenWithSpan], at: usize) -> bool {
    let Some(close) = closing(tokens, at) else { return false };
    let inner = at + 1;
    let is_query = match tokens.get(inner).map(|token| &token.token) {
        Some(Token::LParen) => closing(tokens, inner).is_some_and(|end| {
            end + 1 == close
                || is_one_of(tokens[end + 1], &["union", "intersect", "except"])
                || is_one_of(tokens[end + 1], &["order", "limit", "offset", "fetch", "for"])
        }),
        _ => tokens.get(inner).is_some_and(|t| is_one_of(t, &["select", "values", "with"])),
    };
    let is_alias = match tokens.get(close + 1).map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_some()
                || word.value == "as"
                || keywords::lookup(&word.value).is_none_or(|info| {
                    matches!(info.category, Category::Unreserved | Category::Name)
                })
        }
        _ => false,
    };
    is_query && !is_alias
}

/// Where the parenthesis closes that opens at `open`.
fn closing(tokens: &[&TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return Some(at),
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// 42601 for FETCH, `TABLE t` and VALUES that are not PostgreSQL's, from the token `first` on.
pub(super) fn check_words(cursor: &Cursor<'_>, first: usize) -> Result<()> {
    let last = cursor.inner.index();
    let wrong = (first..last).find_map(|at| match word(Some(cursor.inner.token_at(at))) {
        Some("fetch") if !is_label(cursor, at) => wrong_fetch(cursor, at),
        Some("select") => wrong_table(cursor, at),
        Some("row") if at > first && is(cursor, at - 1, &["values"]) => Some(at),
        _ => None,
    });
    wrong.map_or(Ok(()), |at| Err(cursor.syntax_error(cursor.inner.token_at(at))))
}

fn is(cursor: &Cursor<'_>, at: usize, words: &[&str]) -> bool {
    is_one_of(cursor.inner.token_at(at), words)
}

/// Whether the word at `at` is a name behind AS or a dot.
fn is_label(cursor: &Cursor<'_>, at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| {
        is(cursor, before, &["as"]) || cursor.inner.token_at(before).token == Token::Period
    })
}

/// The first token that cannot be in `FETCH {FIRST | NEXT} [n] {ROW | ROWS} {ONLY | WITH TIES}`.
/// Counts that are more than a number are part of LIMIT by now.
fn wrong_fetch(cursor: &Cursor<'_>, at: usize) -> Option<usize> {
    if !is(cursor, at + 1, &["first", "next"]) {
        return Some(at + 1);
    }
    let has_count = !matches!(cursor.inner.token_at(at + 2).token, Token::Word(_));
    let rows = at + 2 + usize::from(has_count);
    if !is(cursor, rows, &["row", "rows"]) {
        return Some(rows);
    }
    match is(cursor, rows + 1, &["with"]) {
        true => Some(rows + 2).filter(|ties| !is(cursor, *ties, &["ties"])),
        false => Some(rows + 1).filter(|only| !is(cursor, *only, &["only"])),
    }
}

/// The first token behind `TABLE t` that cannot be there. Its SELECT is one that was put in.
fn wrong_table(cursor: &Cursor<'_>, at: usize) -> Option<usize> {
    let token = |at: usize| cursor.inner.token_at(at);
    if token(at).span != token(at + 2).span {
        return None;
    }
    let mut end = at + 3;
    while matches!(token(end).token, Token::Word(_)) && token(end + 1).token == Token::Period {
        end += 2;
    }
    end += 1;
    let may_follow = match &token(end).token {
        Token::Word(_) => is(
            cursor,
            end,
            &[
                "order",
                "limit",
                "offset",
                "fetch",
                "for",
                "union",
                "intersect",
                "except",
                "on",
                "returning",
                "with",
            ],
        ),
        Token::RParen | Token::SemiColon | Token::EOF => true,
        _ => false,
    };
    (!may_follow).then_some(end)
}
