//! The pass between lexer and parser: counts what could nest or chain without bound, and writes
//! forms that sqlparser does not know as ones that it does.
//!
//! - `TABLE t` becomes `SELECT * FROM t`;
//! - `TRIM(LEADING FROM x)` becomes `TRIM(LEADING ' ' FROM x)`;
//! - `FROM ONLY t` becomes `FROM t` with a mark, `FROM t *` becomes `FROM t`: [`super::from`];
//! - `SELECT` without columns gets one that is taken away behind the parser;
//! - `FETCH NEXT (1 + 1) ROWS ONLY` becomes `LIMIT (1 + 1)`: [`super::fetch`];
//! - `pg_catalog.int4 '7'`: [`typed_literals`];
//! - `RANGE '1 day' PRECEDING` becomes `RANGE ('1 day') PRECEDING`: sqlparser takes such a literal
//!   for an interval, but its type is that of the ordering column;
//! - `(row).*` becomes `row.*`;
//! - `TABLESAMPLE …`: [`super::sample`];
//! - `EXCLUDE …` of a window frame: [`super::exclusion`];
//! - `GROUP BY DISTINCT …` and `ROLLUP ((SELECT …))`: [`super::grouping`];
//! - `SEARCH …` and `CYCLE …`: [`super::recursion`];
//! - `ROWS FROM (…)`, `USING (…) AS j` and `f(…) AS (a int)`: [`super::from_items`];
//! - `SUBSTRING(a SIMILAR b ESCAPE c)` becomes `SUBSTRING(a FROM b FOR c)`, and `row.*::t` becomes
//!   `(row.*)::t`;
//! - `(row).*` becomes `(row)."mark*"`, which [`row_expansion`] finds;
//! - `FOR NO KEY UPDATE`, `FOR KEY SHARE` and `OF a, b` become `FOR UPDATE OF mark.a.b`, which
//!   [`row_locks`] decodes.

use std::borrow::Cow;

use sqlparser::ast::{AccessExpr, Expr, LockClause, LockType, Query};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use braid_types::{Error, Result, SqlState};

use super::expr::normal_forms::names_form;
use super::expr::typed_literals;
use super::fetch::{end_fetch, fetch_expression};
use super::from::{self, only};
use super::refusals::{
    begins_query, refuse_call, refuse_empty_list, refuse_modifier, refuse_subscript,
};
use super::sample::rewrite_sample;
use super::shape::MARK;
use super::words::{
    follows_into, follows_reindex, is_word, names, names_event, names_temporary, position, word,
};
use super::{exclusion, from_items, grouping, recursion};
use crate::ast::{LockStrength, RowLock};
use crate::lex::tokens::word_token;
use crate::limits;

/// What the first look at a text found.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Survey {
    /// `AND` and `OR` occur often enough for a chain worth balancing.
    pub(crate) balance: bool,
    /// Some `SELECT` has no columns, and gets one that [`super::shape::drop_marks`] takes away.
    pub(crate) empty_select: bool,
    /// Some FROM has a join or a subquery, which the parser checks.
    pub(crate) check_from: bool,
    /// Some list of FROM may hold `t *` or a function with a syntax of its own: [`super::from`].
    pub(crate) from_forms: bool,
    /// Some tree is to be written in another form: [`super::grouping::restore`].
    pub(crate) restore: bool,
    /// There is FETCH, TABLE or VALUES ROW, which the parser checks.
    pub(crate) check_words: bool,
    /// Something must be rewritten.
    rewrite: bool,
}

/// A name that no user can write stands for "the strength and the list are encoded here".
fn mark(strength: LockStrength) -> String {
    format!("\u{1}{}", strength.clause())
}

/// What nests or chains, counted for one statement.
#[derive(Default)]
struct Counts {
    depth: usize,
    logic: usize,
    set_operations: usize,
    subscripts: usize,
    open_joins: usize,
    table_parens: usize,
    /// `CROSS` or `NATURAL` came before a `JOIN` that is still to come.
    unconditional: bool,
    /// The parentheses that are open may be an item of FROM.
    may_be_item: bool,
}

impl Counts {
    /// Counts a word; returns whether it may need rewriting.
    fn word(&mut self, word: &str) -> bool {
        match word {
            "and" | "or" => self.logic += 1,
            "union" | "intersect" | "except" => self.set_operations += 1,
            "cross" | "natural" => self.unconditional = true,
            "join" if self.unconditional => self.unconditional = false,
            "join" => self.open_joins += 1,
            "on" | "using" => self.open_joins = self.open_joins.saturating_sub(1),
            "for" | "table" | "only" | "trim" | "system" | "fetch" | "preceding" | "following"
            | "exclude" | "rows" | "rollup" | "cube" | "sets" | "tablesample" | "search"
            | "cycle" | "similar" | "local" | "global" | "nfc" | "nfd" | "nfkc" | "nfkd" => {
                return true;
            }
            _ => {}
        }
        false
    }

    fn too_many(&self) -> bool {
        self.depth > limits::NESTING_MAX
            || self.set_operations > limits::SET_OPERATIONS_MAX
            || self.subscripts > limits::CHAIN_MAX
            || self.open_joins > limits::OPEN_JOINS_MAX
            || self.table_parens > limits::TABLE_PARENS_MAX
    }
}

/// Whether a table is what follows this word.
fn follows_table_word(word: &Word) -> bool {
    word.quote_style.is_none() && matches!(word.value.as_str(), "from" | "join" | "using")
}

/// Looks over all tokens once; fails where a limit is passed.
pub(crate) fn survey(tokens: &[TokenWithSpan]) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut counts = Counts::default();
    let mut previous: Option<&Token> = None;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => {
                refuse_call(tokens, at)?;
                counts.depth += 1;
                counts.may_be_item = match previous {
                    Some(Token::LParen) => counts.may_be_item,
                    Some(Token::Word(word)) => follows_table_word(word) || word.value == "lateral",
                    previous => previous == Some(&Token::Comma),
                };
                counts.table_parens = match previous {
                    Some(Token::LParen) if counts.table_parens > 0 => counts.table_parens + 1,
                    Some(Token::Word(word)) if follows_table_word(word) => 1,
                    _ => 0,
                };
            }
            Token::LBracket => {
                counts.depth += 1;
                if previous == Some(&Token::RBracket) {
                    counts.subscripts += 1;
                    refuse_subscript(tokens, at)?;
                }
            }
            Token::RParen | Token::RBracket => {
                counts.depth = counts.depth.saturating_sub(1);
                if previous == Some(&Token::LParen) {
                    refuse_empty_list(tokens, at)?;
                }
            }
            Token::SemiColon => counts = Counts::default(),
            Token::Period => survey.rewrite |= previous == Some(&Token::RParen),
            Token::Number(..) if previous == Some(&Token::LParen) => {
                refuse_modifier(tokens, at)?;
            }
            Token::Word(word) if word.quote_style.is_none() => {
                survey.check_words |= matches!(word.value.as_str(), "fetch" | "table" | "row");
                survey.check_from |= match word.value.as_str() {
                    "join" | "apply" | "straight_join" => true,
                    word => counts.may_be_item && begins_query(word, previous),
                };
                survey.from_forms |= from::may_begin(&word.value, previous);
                survey.restore |= matches!(word.value.as_str(), "sets" | "normalized");
                survey.rewrite |= counts.word(&word.value)
                    || word.value == "as" && from_items::may_precede_as(previous)
                    || grouping::may_be_quantifier(&word.value, previous);
            }
            token if typed_literals::is_string(token) => {
                survey.rewrite |= typed_literals::may_precede(previous);
            }
            _ => {}
        }
        survey.rewrite |= token.token == Token::Mul && previous == Some(&Token::Period);
        survey.from_forms |= token.token == Token::Mul && from::may_be_star(tokens, at);
        survey.empty_select |= is_select(Some(&token.token)) && empty_select(tokens, at).is_some();
        if counts.too_many() {
            return Err(limits::too_deep().position(position(token.span)));
        }
        survey.balance |= counts.logic > 30;
        previous = Some(&token.token);
    }
    survey.rewrite |= survey.empty_select | survey.from_forms;
    Ok(survey)
}

fn is_select(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Word(word)) if word.quote_style.is_none() && word.value == "select")
}

/// Where the `SELECT` or `SELECT ALL` at `at` ends if it has no columns.
fn empty_select(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let has_all = word(tokens.get(at + 1)) == Some("all");
    let end = at + 1 + usize::from(has_all);
    let next = tokens.get(end);
    // The parser takes a FROM right behind SELECT.
    let ends = ends_select(next.map(|next| &next.token));
    (ends || has_all && word(next) == Some("from")).then_some(end)
}

/// Whether a `SELECT` before this token has no columns.
fn ends_select(token: Option<&Token>) -> bool {
    match token {
        None | Some(Token::SemiColon | Token::RParen | Token::EOF) => true,
        Some(Token::Word(word)) if word.quote_style.is_none() => matches!(
            word.value.as_str(),
            "where"
                | "into"
                | "group"
                | "having"
                | "window"
                | "union"
                | "intersect"
                | "except"
                | "order"
                | "limit"
                | "offset"
                | "fetch"
        ),
        Some(_) => false,
    }
}

/// The name of the field that stands for all fields in `(row).*`.
pub const ROW_EXPANSION: &str = "\u{1}*";

/// The row of `(row).*`; `None` for any other expression.
pub fn row_expansion(expr: &Expr) -> Option<Cow<'_, Expr>> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let Some((AccessExpr::Dot(Expr::Identifier(last)), before)) = access_chain.split_last() else {
        return None;
    };
    if last.value != ROW_EXPANSION {
        return None;
    }
    Some(match before {
        [] => Cow::Borrowed(&**root),
        before => {
            let (root, access_chain) = (root.clone(), before.to_vec());
            Cow::Owned(Expr::CompoundFieldAccess { root, access_chain })
        }
    })
}

/// Whether a `*` behind these tokens means the fields of a row: `(row).*`.
fn expands_row(out: &[TokenWithSpan]) -> bool {
    let last: Vec<&Token> = out.iter().rev().take(2).map(|token| &token.token).collect();
    matches!(last.as_slice(), [Token::Period, Token::RParen | Token::RBracket])
}

/// Rewrites what [`survey`] found.
pub(crate) fn rewrite(tokens: Vec<TokenWithSpan>, survey: Survey) -> Result<Vec<TokenWithSpan>> {
    if !survey.rewrite {
        return Ok(tokens);
    }
    let mut out = Vec::with_capacity(tokens.len() + 8);
    let mut at = 0;
    // `INSERT INTO t TABLE u` has the query right behind a name.
    let mut inserting = false;
    // Where `ROWS ONLY` or `ROWS WITH TIES` stands that is to be rewritten.
    let mut rows_only = None;
    let mut wraps = grouping::Wraps::default();
    let forms = if survey.from_forms { from::Forms::find(&tokens) } else { Default::default() };
    while let Some(token) = tokens.get(at) {
        let span = token.span;
        if forms.put(&tokens, at, &mut out) || wraps.put(&tokens, at, &mut out) {
            at += 1;
            continue;
        }
        match word(Some(token)) {
            // `SELECT … INTO TABLE t`
            Some("table") if !inserting && follows_into(&out) => {}
            Some("table")
                if (inserting && !is_word(&out, 1, "on") || starts_query(out.last()))
                    && !follows_reindex(&out)
                    && names(tokens.get(at + 1)) =>
            {
                let all = [
                    word_token("select".into(), None),
                    Token::Mul,
                    word_token("from".into(), None),
                ];
                out.extend(all.map(|token| TokenWithSpan { token, span }));
            }
            Some("system") if is_word(&out, 1, "of") && is_word(&out, 2, "as") => {
                return Err(Error::unsupported("AS OF SYSTEM TIME").position(position(span)));
            }
            Some("from") if starts_trim(&out) => {
                out.push(TokenWithSpan { token: Token::SingleQuotedString(" ".into()), span });
                out.push(token.clone());
            }
            Some("fetch") if let Some(end) = fetch_expression(&tokens, at) => {
                out.push(TokenWithSpan { token: word_token("limit".into(), None), span });
                rows_only = Some(end);
                at += 1;
            }
            Some("select") if let Some(end) = empty_select(&tokens, at) => {
                out.push(token.clone());
                out.push(TokenWithSpan { token: word_token(MARK.into(), Some('"')), span });
                at = end - 1;
            }
            Some("row" | "rows") if rows_only == Some(at) => {
                at += end_fetch(&tokens, at, &mut out) - 1;
            }
            _ if token.token == Token::Mul && expands_row(&out) => {
                let token = word_token(ROW_EXPANSION.into(), Some('"'));
                out.push(TokenWithSpan { token, span });
            }
            Some("for") => at = lock_clause(&tokens, at, &mut out)? - 1,
            _ if let Some(end) = other_form(&tokens, at, &mut out)? => at = end - 1,
            this => {
                inserting |= matches!(this, Some("insert" | "upsert")) && !names_event(&out);
                inserting &= token.token != Token::SemiColon;
                out.push(token.clone());
            }
        }
        at += 1;
    }
    forms.put(&tokens, at, &mut out);
    Ok(out)
}

/// Rewrites a form that is a module's own, if one begins at `at`; returns where to go on.
fn other_form(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Result<Option<usize>> {
    if let Some(replaced) = similar_substring(tokens, at) {
        out.push(TokenWithSpan { token: word_token(replaced.into(), None), span: tokens[at].span });
        return Ok(Some(at + 1));
    }
    if whole_row(tokens, at, out) {
        return Ok(Some(at + 1));
    }
    if let Some(end) = typed_literals::rewrite(tokens, at, out) {
        return Ok(Some(end));
    }
    match word(tokens.get(at)) {
        Some("as") => return from_items::alias(tokens, at, out),
        Some("rows") => return Ok(from_items::rows_from(tokens, at, out)),
        Some("tablesample") => return Ok(rewrite_sample(tokens, at, out)),
        Some("exclude") => return Ok(exclusion::exclude(tokens, at, out)),
        Some("search" | "cycle") => return Ok(recursion::clauses(tokens, at, out)),
        Some("distinct" | "all") => return Ok(grouping::quantifier(tokens, at, out)),
        Some("only") => return only::rewrite(tokens, at, out),
        Some(form @ ("nfc" | "nfd" | "nfkc" | "nfkd")) if names_form(tokens, at) => {
            let token = Token::SingleQuotedString(form.to_ascii_uppercase());
            out.push(TokenWithSpan { token, span: tokens[at].span });
            return Ok(Some(at + 1));
        }
        Some("local" | "global") if is_word(out, 1, "into") && names_temporary(tokens, at + 1) => {
            return Ok(Some(at + 1));
        }
        _ => {}
    }
    if let Some(name) = all_of_row(tokens, at, out.last()) {
        out.push(name.clone());
        out.extend_from_slice(&tokens[at + 3..at + 5]);
        return Ok(Some(at + 5));
    }
    let Some(end) = frame_offset(tokens, at, out.last()) else { return Ok(None) };
    let span = tokens[at].span;
    out.push(TokenWithSpan { token: Token::LParen, span });
    out.extend_from_slice(&tokens[at..end]);
    out.push(TokenWithSpan { token: Token::RParen, span });
    Ok(Some(end))
}

/// What stands for `SIMILAR` and `ESCAPE` in `SUBSTRING(a SIMILAR b ESCAPE c)`.
fn similar_substring(tokens: &[TokenWithSpan], at: usize) -> Option<&'static str> {
    let replaced = match word(tokens.get(at))? {
        "similar" => "from",
        "escape" => "for",
        _ => return None,
    };
    let is_similar = |place: usize| {
        word(tokens.get(place)) == Some("similar") && word(tokens.get(place + 1)) != Some("to")
    };
    let (mut depth, mut similar) = (0_usize, is_similar(at));
    for place in (0..at).rev() {
        match &tokens[place].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => {
                let name = place.checked_sub(1).and_then(|before| word(tokens.get(before)));
                return (similar && name == Some("substring")).then_some(replaced);
            }
            Token::LParen => depth -= 1,
            Token::SemiColon => return None,
            _ => similar |= depth == 0 && is_similar(place),
        }
    }
    None
}

/// Puts the `row.*` of `row.*::type` and of `row.* = other`, whose `*` is at `at`, into
/// parentheses; false if it is none.
fn whole_row(tokens: &[TokenWithSpan], at: usize, out: &mut Vec<TokenWithSpan>) -> bool {
    const FOLLOWING: [&str; 8] = ["::", "=", "<>", "<", "<=", ">", ">=", "is"];
    let text = |place: usize| tokens.get(place).map_or(String::new(), |t| t.token.to_string());
    if tokens[at].token != Token::Mul || !FOLLOWING.contains(&text(at + 1).as_str()) {
        return false;
    }
    let mut start = out.len();
    while start >= 2
        && out[start - 1].token == Token::Period
        && matches!(out[start - 2].token, Token::Word(_))
    {
        start -= 2;
    }
    if start == out.len() {
        return false;
    }
    let span = tokens[at].span;
    out.insert(start, TokenWithSpan { token: Token::LParen, span });
    out.push(tokens[at].clone());
    out.push(TokenWithSpan { token: Token::RParen, span });
    true
}

/// The name of a row whose columns are a list's items at `at`: `(row).*`.
fn all_of_row<'t>(
    tokens: &'t [TokenWithSpan],
    at: usize,
    previous: Option<&TokenWithSpan>,
) -> Option<&'t TokenWithSpan> {
    let is_item = matches!(word(previous), Some("select" | "returning"))
        || previous.is_some_and(|token| token.token == Token::Comma);
    let [open, name, close, period, all] = tokens.get(at..at + 5)? else { return None };
    let parts = [&open.token, &close.token, &period.token, &all.token];
    let is_row = parts == [&Token::LParen, &Token::RParen, &Token::Period, &Token::Mul];
    (is_item && is_row && names(Some(name))).then_some(name)
}

/// Where `PRECEDING` or `FOLLOWING` stands after the offset of a frame that begins at `at` with a
/// string literal.
fn frame_offset(
    tokens: &[TokenWithSpan],
    at: usize,
    previous: Option<&TokenWithSpan>,
) -> Option<usize> {
    let is_literal = matches!(tokens.get(at)?.token, Token::SingleQuotedString(_));
    let begins = matches!(word(previous), Some("rows" | "range" | "groups" | "between" | "and"));
    if !is_literal || !begins {
        return None;
    }
    let mut depth = 0_usize;
    for (end, token) in tokens.iter().enumerate().skip(at + 1) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::Comma | Token::SemiColon if depth == 0 => return None,
            _ => match word(Some(token)) {
                Some("preceding" | "following") if depth == 0 => return Some(end),
                Some("rows" | "range" | "groups" | "between" | "and") if depth == 0 => return None,
                _ => {}
            },
        }
    }
    None
}

/// Whether the tokens end with `TRIM (` or with it and LEADING, TRAILING or BOTH.
fn starts_trim(tokens: &[TokenWithSpan]) -> bool {
    let side = ["leading", "trailing", "both"].iter().any(|word| is_word(tokens, 1, word));
    let open = 1 + usize::from(side);
    tokens.len() > open
        && tokens[tokens.len() - open].token == Token::LParen
        && is_word(tokens, open + 1, "trim")
}

/// Whether a query may start behind this token.
fn starts_query(previous: Option<&TokenWithSpan>) -> bool {
    match previous.map(|token| &token.token) {
        None | Some(Token::LParen | Token::RParen | Token::SemiColon) => true,
        Some(_) => matches!(
            word(previous),
            Some(
                "union"
                    | "intersect"
                    | "except"
                    | "all"
                    | "distinct"
                    | "as"
                    | "for"
                    | "explain"
                    | "verbose"
            )
        ),
    }
}

/// Copies `FOR …` at `at`, encoded where it is a row lock that sqlparser cannot express; returns
/// where to go on.
fn lock_clause(tokens: &[TokenWithSpan], at: usize, out: &mut Vec<TokenWithSpan>) -> Result<usize> {
    let ahead = |n: usize| word(tokens.get(at + n));
    let (strength, length) = match (ahead(1), ahead(2), ahead(3)) {
        (Some("update"), _, _) => (LockStrength::Update, 2),
        (Some("share"), _, _) => (LockStrength::Share, 2),
        (Some("key"), Some("share"), _) => (LockStrength::KeyShare, 3),
        (Some("no"), Some("key"), Some("update")) => (LockStrength::NoKeyUpdate, 4),
        // What every query is.
        (Some("read"), Some("only"), _) => return Ok(at + 3),
        _ => {
            out.push(tokens[at].clone());
            return Ok(at + 1);
        }
    };
    let span = tokens[at].span;
    let has_list = word(tokens.get(at + length)) == Some("of");
    if length == 2 && !has_list {
        out.extend_from_slice(&tokens[at..at + 2]);
        return Ok(at + 2);
    }
    let base = match strength {
        LockStrength::Update | LockStrength::NoKeyUpdate => "update",
        LockStrength::Share | LockStrength::KeyShare => "share",
    };
    let mut push = |token| out.push(TokenWithSpan { token, span });
    push(word_token("for".into(), None));
    push(word_token(base.into(), None));
    push(word_token("of".into(), None));
    push(word_token(mark(strength), Some('"')));
    let mut next = at + length;
    if !has_list {
        return Ok(next);
    }
    loop {
        next += 1;
        match tokens.get(next) {
            Some(name) if names(Some(name)) => {
                out.push(TokenWithSpan { token: Token::Period, span });
                out.push(name.clone());
            }
            // Left for the parser, which reports it as a syntax error.
            _ => {
                out.push(TokenWithSpan { token: Token::Period, span });
                return Ok(next);
            }
        }
        next += 1;
        match tokens.get(next) {
            Some(TokenWithSpan { token: Token::Comma, .. }) => {}
            Some(TokenWithSpan { token: Token::Period, span }) => {
                let message =
                    format!("{} must specify unqualified relation names", strength.clause());
                return Err(Error::new(SqlState::SyntaxError, message).position(position(*span)));
            }
            _ => return Ok(next),
        }
    }
}

/// The row locks of a query, in order.
pub fn row_locks(query: &Query) -> Vec<RowLock> {
    query.locks.iter().map(row_lock).collect()
}

/// One clause decoded.
fn row_lock(clause: &LockClause) -> RowLock {
    let mut of: Vec<_> = clause
        .of
        .iter()
        .flat_map(|name| name.0.iter())
        .filter_map(|part| part.as_ident().cloned())
        .collect();
    let plain = match clause.lock_type {
        LockType::Share => LockStrength::Share,
        LockType::Update => LockStrength::Update,
    };
    let all = [LockStrength::KeyShare, LockStrength::NoKeyUpdate, plain];
    let marked = of.first().and_then(|first| all.into_iter().find(|s| first.value == mark(*s)));
    if marked.is_some() {
        of.remove(0);
    }
    RowLock { strength: marked.unwrap_or(plain), of, wait: clause.nonblock }
}
