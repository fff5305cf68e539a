//! The cursor over the tokens: looks at them, takes words, symbols and lists, and reports errors.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use crate::dialect::BraidDialect;
use crate::lex::source::Source;
use crate::limits;
use crate::rewrite::tokens::Survey;
use crate::rewrite::words::position;

/// How many levels sqlparser may descend: each nesting takes one, some take two.
const PARSER_DEPTH: usize = limits::NESTING_MAX + limits::NESTING_MAX / 4;

/// The parser's place in the text.
pub(crate) struct Cursor<'a> {
    pub(crate) inner: Parser<'a>,
    pub(crate) dialect: &'a BraidDialect,
    pub(crate) source: Source<'a>,
    pub(crate) survey: Survey,
    /// How deep statements are nested in `EXPLAIN`, `PREPARE` and `WITH`.
    pub(crate) depth: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(
        source: Source<'a>,
        dialect: &'a BraidDialect,
        tokens: Vec<TokenWithSpan>,
        survey: Survey,
    ) -> Self {
        let inner = Parser::new(dialect)
            .with_recursion_limit(PARSER_DEPTH)
            .with_tokens_with_locations(tokens);
        Self { inner, dialect, source, survey, depth: 0 }
    }

    /// The next token.
    pub(crate) fn peek(&self) -> &Token {
        &self.inner.peek_token_ref().token
    }

    /// The token `n` behind the next.
    pub(crate) fn peek_nth(&self, n: usize) -> &Token {
        &self.inner.peek_nth_token_ref(n).token
    }

    /// Where the next token stands.
    pub(crate) fn span(&self) -> Span {
        self.inner.peek_token_ref().span
    }

    /// Whether the token `n` behind the next is this unquoted word, given in lower case.
    pub(crate) fn nth_is(&self, n: usize, expected: &str) -> bool {
        matches!(self.peek_nth(n), Token::Word(w) if w.quote_style.is_none() && w.value == expected)
    }

    /// Whether the next token is this unquoted word.
    pub(crate) fn is(&self, expected: &str) -> bool {
        self.nth_is(0, expected)
    }

    /// Whether the next tokens are these unquoted words.
    pub(crate) fn are(&self, expected: &[&str]) -> bool {
        expected.iter().enumerate().all(|(n, word)| self.nth_is(n, word))
    }

    /// The next token as an unquoted word, in lower case.
    pub(crate) fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
            _ => None,
        }
    }

    /// Whether the statement ends here.
    pub(crate) fn at_end(&self) -> bool {
        matches!(self.peek(), Token::EOF | Token::SemiColon)
    }

    /// The byte offset where the next token starts, the end of the text behind the last.
    pub(crate) fn byte(&self) -> usize {
        let span = self.span();
        self.source.byte_at(if span.start.line == 0 { None } else { Some(span.start.column) })
    }

    /// The byte offset where the token before this place ends.
    pub(crate) fn byte_after(&self) -> usize {
        match self.inner.index().checked_sub(1) {
            Some(index) => self.source.byte_at(Some(self.inner.token_at(index).span.end.column)),
            None => 0,
        }
    }

    /// A piece of the text.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> &'a str {
        self.source.text().get(range).unwrap_or("")
    }

    /// Moves behind the next token.
    pub(crate) fn advance(&mut self) {
        self.inner.advance_token();
    }

    /// Takes the word when it is next.
    pub(crate) fn take(&mut self, expected: &str) -> bool {
        let found = self.is(expected);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the words when all of them are next.
    pub(crate) fn take_all(&mut self, expected: &[&str]) -> bool {
        let found = self.are(expected);
        if found {
            expected.iter().for_each(|_| self.advance());
        }
        found
    }

    /// Takes the first of the words that is next, and returns its index.
    pub(crate) fn take_one(&mut self, words: &[&str]) -> Option<usize> {
        let found = words.iter().position(|word| self.is(word));
        if found.is_some() {
            self.advance();
        }
        found
    }

    /// Takes the word or fails.
    pub(crate) fn expect(&mut self, expected: &str) -> Result<()> {
        if self.take(expected) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes the words or fails at the first that is missing.
    pub(crate) fn expect_all(&mut self, expected: &[&str]) -> Result<()> {
        expected.iter().try_for_each(|word| self.expect(word))
    }

    /// Takes the symbol when it is next.
    pub(crate) fn take_symbol(&mut self, symbol: &Token) -> bool {
        let found = self.peek() == symbol;
        if found {
            self.advance();
        }
        found
    }

    /// Takes the symbol or fails.
    pub(crate) fn expect_symbol(&mut self, symbol: &Token) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Items between commas, at least one.
    pub(crate) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take_symbol(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Items between commas in parentheses, at least one.
    pub(crate) fn parens<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_symbol(&Token::LParen)?;
        let items = self.list(item)?;
        self.expect_symbol(&Token::RParen)?;
        Ok(items)
    }

    /// 42601 about the next token.
    pub(crate) fn unexpected(&self) -> Error {
        self.syntax_error(self.inner.peek_token_ref())
    }

    pub(crate) fn syntax_error(&self, token: &TokenWithSpan) -> Error {
        if token.token == Token::EOF {
            let end = u32::try_from(self.source.char_count() + 1).unwrap_or(u32::MAX);
            return Error::new(SqlState::SyntaxError, "syntax error at end of input").position(end);
        }
        let start = self.source.byte_at(Some(token.span.start.column));
        let end = self.source.byte_at(Some(token.span.end.column));
        let near = self.slice(start..end);
        Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{near}\""))
            .position(position(token.span))
    }

    /// 0A000 with the place of the next token.
    pub(crate) fn unsupported(&self, what: impl std::fmt::Display) -> Error {
        Error::unsupported(what).position(position(self.span()))
    }
}
