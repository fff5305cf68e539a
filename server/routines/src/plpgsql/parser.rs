//! The parser's place among the tokens of a body.

use std::cell::Cell;

use braid_catalog::Routine;
use braid_types::{Error, Result, SqlState, SqlType};

use super::lexer::{Token, TokenKind, lex};
use super::scope::Scope;

/// How deep blocks, loops and conditions may nest.
const NESTING_MAX: usize = 200;

/// The parser's place.
pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    place: usize,
    pub(super) scope: Scope,
    /// Pieces of SQL so far.
    pub(super) pieces: usize,
    depth: usize,
    /// A place in the text and its line, to count on from.
    counted: Cell<(usize, u32)>,
    pub(super) result: ResultKind,
}

/// What RETURN gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultKind {
    /// It is a function; else a procedure or DO.
    pub is_function: bool,
    /// Nothing: a function of type void, a procedure, or DO.
    pub is_nothing: bool,
    /// Rows, by RETURN NEXT and RETURN QUERY.
    pub is_set: bool,
    /// The values of OUT parameters.
    pub has_outputs: bool,
}

impl ResultKind {
    /// The row of a trigger.
    pub const TRIGGER: ResultKind =
        ResultKind { is_function: true, is_nothing: false, is_set: false, has_outputs: false };

    /// The one of a routine.
    pub fn of(routine: &Routine) -> Self {
        ResultKind {
            is_function: !routine.is_procedure,
            is_nothing: *routine.result_type() == SqlType::Void,
            is_set: routine.returns_set,
            has_outputs: routine.outputs().next().is_some(),
        }
    }

    /// The one of DO.
    pub(crate) const BLOCK: Self =
        ResultKind { is_function: true, is_nothing: true, is_set: false, has_outputs: false };
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, result: ResultKind) -> Result<Self> {
        let tokens = lex(text)?;
        let scope = Scope::default();
        let counted = Cell::new((0, 1));
        Ok(Parser { text, tokens, place: 0, scope, pieces: 0, depth: 0, counted, result })
    }

    /// The next token.
    pub(super) fn peek(&self) -> &TokenKind {
        self.peek_at(0)
    }

    /// The token `n` behind the next.
    pub(super) fn peek_at(&self, n: usize) -> &TokenKind {
        let place = (self.place + n).min(self.tokens.len() - 1);
        &self.tokens[place].kind
    }

    /// Goes on to the next token.
    pub(super) fn advance(&mut self) {
        self.place = (self.place + 1).min(self.tokens.len() - 1);
    }

    /// Where the next token begins.
    pub(super) fn start(&self) -> usize {
        self.tokens[self.place].start
    }

    /// Where the token before this place ends.
    pub(super) fn end_before(&self) -> usize {
        self.place.checked_sub(1).map_or(0, |place| self.tokens[place].end)
    }

    /// A piece of the text.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The line of the next token, from 1.
    pub(super) fn line(&self) -> u32 {
        let start = self.start();
        let (from, line) = match self.counted.get() {
            (from, line) if from <= start => (from, line),
            _ => (0, 1),
        };
        let more = self.text[from..start].bytes().filter(|byte| *byte == b'\n').count();
        let line = line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.counted.set((start, line));
        line
    }

    /// Whether the next token is this word.
    pub(super) fn is(&self, word: &str) -> bool {
        self.is_at(0, word)
    }

    /// Whether the token `n` behind the next is this word.
    pub(super) fn is_at(&self, n: usize, word: &str) -> bool {
        matches!(self.peek_at(n), TokenKind::Word(found) if found == word)
    }

    /// Whether the next token is this symbol.
    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    /// Takes the word when it is next.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the symbol when it is next.
    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the word or fails.
    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes the symbol or fails.
    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A name.
    pub(super) fn name(&mut self) -> Result<String> {
        let name = match self.peek() {
            TokenKind::Word(name) | TokenKind::Quoted(name) => name.clone(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(name)
    }

    /// 42601 about the next token.
    pub(super) fn unexpected(&self) -> Error {
        let token = &self.tokens[self.place];
        let message = match token.kind {
            TokenKind::End => "syntax error at end of input".to_owned(),
            _ => format!("syntax error at or near \"{}\"", self.slice(token.start, token.end)),
        };
        let before = self.characters_before(token.start);
        Error::new(SqlState::SyntaxError, message).position(before + 1)
    }

    /// An error with its place in the body.
    pub(super) fn at(&self, byte: usize, error: Error) -> Error {
        error.position(self.characters_before(byte).saturating_add(1))
    }

    /// How many characters of the body stand before a byte of it.
    pub(super) fn characters_before(&self, byte: usize) -> u32 {
        u32::try_from(self.slice(0, byte).chars().count()).unwrap_or(u32::MAX)
    }

    /// Goes one level deeper; 54001 beyond the limit.
    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .detail(format!("Blocks and loops nest deeper than {NESTING_MAX} levels.")));
        }
        Ok(())
    }

    /// Comes back from a level.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }
}
