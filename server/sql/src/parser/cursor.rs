//! The cursor over the tokens: words, names and lists, and the errors about them.

use sqlparser::ast::{
    DataType, Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, TableWithJoins, VisitMut,
};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use crate::dialect::BraidDialect;
use crate::keywords::{self, Category};
use crate::limits;
use crate::rewrite::{Survey, position};
use crate::shape;
use crate::source::Source;

/// How many levels sqlparser may descend: each nesting takes one, some take two.
const PARSER_DEPTH: usize = limits::NESTING_MAX + limits::NESTING_MAX / 4;

/// The parser's place in the text.
pub(crate) struct Cursor<'a> {
    pub(crate) inner: Parser<'a>,
    dialect: &'a BraidDialect,
    source: Source<'a>,
    survey: Survey,
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

    // Looking.

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
    pub(crate) fn byte_behind(&self) -> usize {
        match self.inner.index().checked_sub(1) {
            Some(index) => self.source.byte_at(Some(self.inner.token_at(index).span.end.column)),
            None => 0,
        }
    }

    /// A piece of the text.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> &'a str {
        self.source.text().get(range).unwrap_or("")
    }

    // Taking.

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

    /// `IF EXISTS`.
    pub(crate) fn if_exists(&mut self) -> bool {
        self.take_all(&["if", "exists"])
    }

    /// `IF NOT EXISTS`.
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.take_all(&["if", "not", "exists"])
    }

    /// A name; `allowed` says which categories of keywords may be one.
    fn name(&mut self, allowed: fn(Category) -> bool) -> Result<Ident> {
        let token = self.inner.peek_token_ref();
        let Token::Word(word) = &token.token else {
            return Err(self.unexpected());
        };
        let is_name = word.quote_style.is_some()
            || keywords::lookup(&word.value).is_none_or(|info| allowed(info.category));
        if !is_name {
            return Err(self.unexpected());
        }
        let ident = word.to_ident(token.span);
        self.advance();
        Ok(ident)
    }

    /// The name of a column, table or other object.
    pub(crate) fn ident(&mut self) -> Result<Ident> {
        self.name(|category| matches!(category, Category::Unreserved | Category::Name))
    }

    /// A name where any word may stand.
    pub(crate) fn label(&mut self) -> Result<Ident> {
        self.name(|_| true)
    }

    /// A name of at most `database.schema.object`.
    pub(crate) fn object_name(&mut self) -> Result<ObjectName> {
        let mut parts = vec![ObjectNamePart::Identifier(self.ident()?)];
        while self.take_symbol(&Token::Period) {
            parts.push(ObjectNamePart::Identifier(self.label()?));
        }
        Ok(ObjectName(parts))
    }

    /// A type's or collation's name, which may be a word that names functions.
    pub(crate) fn any_name(&mut self) -> Result<ObjectName> {
        let first = self.name(|category| category != Category::Reserved)?;
        let mut parts = vec![ObjectNamePart::Identifier(first)];
        while self.take_symbol(&Token::Period) {
            parts.push(ObjectNamePart::Identifier(self.label()?));
        }
        Ok(ObjectName(parts))
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

    /// `(a, b)`.
    pub(crate) fn columns(&mut self) -> Result<Vec<Ident>> {
        self.parens(Self::ident)
    }

    /// A string literal.
    pub(crate) fn string(&mut self) -> Result<String> {
        let Token::SingleQuotedString(text) = self.peek() else {
            return Err(self.unexpected());
        };
        let text = text.clone();
        self.advance();
        Ok(text)
    }

    /// An integer with an optional sign.
    pub(crate) fn integer(&mut self) -> Result<i64> {
        let negative = match self.peek() {
            Token::Minus => true,
            Token::Plus => false,
            _ => return self.unsigned(""),
        };
        self.advance();
        self.unsigned(if negative { "-" } else { "" })
    }

    fn unsigned(&mut self, sign: &str) -> Result<i64> {
        let Token::Number(digits, _) = self.peek() else {
            return Err(self.unexpected());
        };
        let Ok(number) = format!("{sign}{digits}").parse() else {
            return Err(self.unexpected());
        };
        self.advance();
        Ok(number)
    }

    // sqlparser's parts.

    /// Runs a part of sqlparser's parser.
    pub(crate) fn delegate<T>(
        &mut self,
        part: impl FnOnce(&mut Parser<'a>) -> Result<T, ParserError>,
    ) -> Result<T> {
        part(&mut self.inner).map_err(|error| self.translate(error))
    }

    fn balanced<T: VisitMut>(&self, mut tree: T) -> T {
        if self.survey.balance {
            shape::balance(&mut tree);
        }
        if self.survey.empty_select {
            shape::drop_marks(&mut tree);
        }
        tree
    }

    /// An expression.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        let expr = self.delegate(Parser::parse_expr)?;
        Ok(self.balanced(expr))
    }

    /// An expression that ends before `NOT NULL`, as a column's default does.
    pub(crate) fn default_expr(&mut self) -> Result<Expr> {
        let before = self.dialect.stop_at.replace(self.next_not_null());
        let expr = self.expr();
        self.dialect.stop_at.set(before);
        expr
    }

    /// The index of the next `NOT NULL` outside parentheses, in this list item.
    fn next_not_null(&self) -> Option<usize> {
        let mut depth = 0usize;
        for n in 0.. {
            match self.peek_nth(n) {
                Token::LParen => depth += 1,
                Token::RParen | Token::Comma if depth == 0 => return None,
                Token::RParen => depth -= 1,
                Token::EOF | Token::SemiColon => return None,
                _ if depth == 0 && self.nth_is(n, "not") && self.nth_is(n + 1, "null") => {
                    return Some(self.inner.index() + n);
                }
                _ => {}
            }
        }
        None
    }

    /// A query, with its own `WITH`, `ORDER BY` and locks.
    pub(crate) fn query(&mut self) -> Result<Box<Query>> {
        let starts = match self.peek() {
            Token::LParen => true,
            _ => matches!(self.peek_word(), Some("select" | "values" | "with")),
        };
        if !starts {
            return Err(self.unexpected());
        }
        let query = self.delegate(Parser::parse_query)?;
        Ok(self.balanced(query))
    }

    /// A type.
    pub(crate) fn data_type(&mut self) -> Result<DataType> {
        if let Some(word) = self.peek_word()
            && keywords::is_reserved(word)
        {
            return Err(self.unexpected());
        }
        self.delegate(Parser::parse_data_type)
    }

    /// One item of a `RETURNING` list.
    pub(crate) fn select_item(&mut self) -> Result<SelectItem> {
        let item = self.delegate(Parser::parse_select_item)?;
        Ok(self.balanced(item))
    }

    /// A table with its joins.
    pub(crate) fn table_with_joins(&mut self) -> Result<TableWithJoins> {
        let table = self.delegate(Parser::parse_table_and_joins)?;
        Ok(self.balanced(table))
    }

    // Errors.

    /// 42601 about the next token.
    pub(crate) fn unexpected(&self) -> Error {
        self.syntax_error(self.inner.peek_token_ref())
    }

    fn syntax_error(&self, token: &TokenWithSpan) -> Error {
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

    /// sqlparser's error as PostgreSQL says it: only its place matters.
    fn translate(&self, error: ParserError) -> Error {
        let message = match error {
            ParserError::RecursionLimitExceeded => {
                return limits::too_deep().position(position(self.span()));
            }
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
        };
        if self.dialect.too_deep.get() {
            return limits::too_deep();
        }
        let column = message
            .rsplit_once("Column: ")
            .and_then(|(_, column)| column.trim().parse::<u64>().ok());
        match column.and_then(|column| self.token_starting(column)) {
            Some(token) => self.syntax_error(token),
            None if message.contains("found: EOF") => {
                self.syntax_error(self.inner.token_at(usize::MAX))
            }
            None => self.unexpected(),
        }
    }

    /// The token that starts at a character offset, by bisection.
    fn token_starting(&self, column: u64) -> Option<&TokenWithSpan> {
        let mut count = 1;
        while self.inner.token_at(count).token != Token::EOF {
            count *= 2;
        }
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let token = self.inner.token_at(middle);
            if token.token != Token::EOF && token.span.start.column < column {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let token = self.inner.token_at(low);
        (token.token != Token::EOF && token.span.start.column == column).then_some(token)
    }
}
