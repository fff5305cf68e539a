//! `t *`, and functions with a syntax of their own, as items of FROM.
//!
//! | written | parsed as |
//! |---|---|
//! | `t *` | `t` |
//! | `current_date` | `current_date()` |
//! | `extract(day FROM x)` | the table function `"\u{1}rows from"(extract(day FROM x))` |
//!
//! Such words mean something else outside of FROM, so one pass over the tokens finds the lists.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::lex::tokens::word_token;
use crate::rewrite::from_items::ROWS_FROM;
use crate::rewrite::sample::closing;
use crate::rewrite::words::{ENDING_WORDS, names, word};

/// Words that are a function without parentheses.
const VALUE_WORDS: [&str; 11] = [
    "user",
    "current_user",
    "session_user",
    "current_role",
    "current_catalog",
    "current_schema",
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
];

/// Functions whose arguments or whose name only the grammar knows.
const SYNTAX_FUNCTIONS: [&str; 11] = [
    "coalesce",
    "greatest",
    "least",
    "nullif",
    "extract",
    "cast",
    "trim",
    "substring",
    "position",
    "overlay",
    "normalize",
];

/// Whether this word may be such a function in FROM.
pub(crate) fn may_begin(this: &str, previous: Option<&Token>) -> bool {
    let may_follow = match previous {
        Some(Token::Comma | Token::LParen) => true,
        Some(Token::Word(word)) => begins_list(&word.value) || word.value == "lateral",
        _ => false,
    };
    may_follow && (VALUE_WORDS.contains(&this) || SYNTAX_FUNCTIONS.contains(&this))
}

fn begins_list(word: &str) -> bool {
    matches!(word, "from" | "join" | "using")
}

/// Whether the `*` at `at` may be that of `t *`: a name that is an item stands before it.
pub(crate) fn may_be_star(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_word =
        |at: usize| matches!(tokens.get(at), Some(t) if matches!(t.token, Token::Word(_)));
    let mut start = at;
    while start >= 2 && is_word(start - 1) && tokens[start - 2].token == Token::Period {
        start -= 2;
    }
    let Some(before) = start.checked_sub(2).filter(|_| is_word(start - 1)) else { return false };
    matches!(tokens[before].token, Token::Comma | Token::LParen)
        || word(tokens.get(before)).is_some_and(|word| begins_list(word) || word == "table")
}

/// What a parenthesis that is open has come to.
#[derive(Clone, Copy)]
struct Level {
    /// It holds a query, and no call such as `extract(day FROM …)`.
    is_query: bool,
    in_from: bool,
}

/// The places of such forms in a text.
#[derive(Default)]
pub(crate) struct Forms {
    /// The `*` of `t *`.
    stars: Vec<usize>,
    /// Words that get parentheses.
    values: Vec<usize>,
    /// The first tokens of calls, in order.
    firsts: Vec<usize>,
    /// The last tokens of calls, in order.
    lasts: Vec<usize>,
}

impl Forms {
    /// Finds them all.
    pub(crate) fn find(tokens: &[TokenWithSpan]) -> Forms {
        let mut forms = Forms::default();
        let mut levels = vec![Level { is_query: true, in_from: false }];
        for (at, token) in tokens.iter().enumerate() {
            let begins =
                levels.last().is_some_and(|level| level.in_from && begins_item(tokens, at));
            match &token.token {
                Token::LParen => levels.push(Level { is_query: begins, in_from: begins }),
                Token::RParen if levels.len() > 1 => {
                    levels.pop();
                }
                Token::SemiColon => {
                    levels = vec![Level { is_query: true, in_from: false }];
                }
                Token::Word(_) if begins => {
                    forms.note(tokens, at);
                }
                Token::Word(_) if follows_table(tokens, at) => forms.note_star(tokens, at),
                _ => {}
            }
            let (Some(level), Some(word)) = (levels.last_mut(), word(Some(token))) else {
                continue;
            };
            level.is_query |= matches!(word, "select" | "delete" | "update");
            level.in_from |= word == "from" && level.is_query && lists_items(tokens, at);
            // `WITH ORDINALITY` ends no list.
            let begins_with = word == "with" && opens_before(tokens, at);
            let ends = ENDING_WORDS.contains(&word) || matches!(word, "select" | "values");
            level.in_from &= !ends && !begins_with;
        }
        forms.lasts.sort_unstable();
        forms
    }

    /// Notes the form of an item that begins at `at`.
    fn note(&mut self, tokens: &[TokenWithSpan], at: usize) {
        let is = |at: usize, symbol: &Token| tokens.get(at).is_some_and(|t| t.token == *symbol);
        let opens = is(at + 1, &Token::LParen);
        match word(tokens.get(at)) {
            Some(word) if VALUE_WORDS.contains(&word) && !is(at + 1, &Token::Period) => {
                if !opens {
                    self.values.push(at);
                }
                return;
            }
            Some(word) if SYNTAX_FUNCTIONS.contains(&word) && opens => {
                if let Some(end) = closing(tokens, at + 1) {
                    self.firsts.push(at);
                    self.lasts.push(end);
                }
                return;
            }
            _ => {}
        }
        self.note_star(tokens, at);
    }

    /// Notes the `*` behind the name at `at`, if there is one.
    fn note_star(&mut self, tokens: &[TokenWithSpan], at: usize) {
        // `(SELECT * FROM …` begins an item, too.
        if !names(tokens.get(at)) {
            return;
        }
        let is = |at: usize, symbol: &Token| tokens.get(at).is_some_and(|t| t.token == *symbol);
        let mut end = at + 1;
        while is(end, &Token::Period) {
            end += 2;
        }
        if is(end, &Token::Mul) {
            self.stars.push(end);
        }
    }

    /// Puts what belongs before the token at `at`; whether that is all there is of the token.
    pub(crate) fn put(
        &self,
        tokens: &[TokenWithSpan],
        at: usize,
        out: &mut Vec<TokenWithSpan>,
    ) -> bool {
        let mut push = |token, span| out.push(TokenWithSpan { token, span });
        let has = |list: &[usize], at: usize| list.binary_search(&at).is_ok();
        // The text of a query ends where its last token does.
        if let Some(last) = at.checked_sub(1).filter(|last| has(&self.lasts, *last)) {
            push(Token::RParen, tokens[last].span);
        }
        let Some(token) = tokens.get(at) else { return false };
        if has(&self.firsts, at) {
            push(word_token(ROWS_FROM.into(), Some('"')), token.span);
            push(Token::LParen, token.span);
        }
        if has(&self.stars, at) {
            return true;
        }
        let is_value = has(&self.values, at);
        if is_value {
            push(token.token.clone(), token.span);
            push(Token::LParen, token.span);
            push(Token::RParen, token.span);
        }
        is_value
    }
}

/// Whether an item may begin at `at`, given that it is in a list of FROM.
fn begins_item(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    match &tokens[before].token {
        Token::Comma | Token::LParen => true,
        _ => match word(tokens.get(before)) {
            Some("from") => lists_items(tokens, before),
            Some("join" | "using" | "lateral") => true,
            _ => false,
        },
    }
}

/// Whether the name at `at` is that of `TABLE t`.
fn follows_table(tokens: &[TokenWithSpan], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| word(tokens.get(before)) == Some("table"))
}

fn opens_before(tokens: &[TokenWithSpan], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| tokens[before].token == Token::LParen)
}

/// Whether the FROM at `at` begins a list, and is not part of `DISTINCT FROM` or `ROWS FROM`.
fn lists_items(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| word(tokens.get(before)));
    !matches!(before, Some("distinct" | "rows"))
}
