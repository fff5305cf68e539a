//! The tokens of a path, one ahead.

use super::lexer::{Lexer, Token, keyword};
use crate::{Error, Result};

/// What is left of a path's text.
pub(super) struct Tokens<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    pub(super) token: Token,
}

impl Tokens<'_> {
    /// 42601 if the first token is none.
    pub(super) fn new(text: &str) -> Result<Tokens<'_>> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Tokens { lexer, token })
    }

    /// 42601 at the next token.
    pub(super) fn unexpected(&self) -> Error {
        self.lexer.syntax("syntax error")
    }

    /// The next token, which is taken.
    pub(super) fn advance(&mut self) -> Result<Token> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// Whether the next token is this symbol.
    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(found) if found == symbol)
    }

    /// Takes a symbol if it is next.
    pub(super) fn takes(&mut self, symbol: &str) -> Result<bool> {
        let found = self.is_symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Takes a symbol; 42601 if something else is next.
    pub(super) fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.takes(symbol)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The keyword that is next.
    pub(super) fn word(&self) -> Option<&'static str> {
        match &self.token {
            Token::Word(word) => keyword(word),
            _ => None,
        }
    }

    /// Takes a keyword if it is next.
    pub(super) fn takes_word(&mut self, word: &str) -> Result<bool> {
        let found = self.word() == Some(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Takes a keyword; 42601 if something else is next.
    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.takes_word(word)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes a string; 42601 if something else is next.
    pub(super) fn string(&mut self) -> Result<String> {
        match &self.token {
            Token::String(_) => match self.advance()? {
                Token::String(text) => Ok(text),
                _ => Err(self.unexpected()),
            },
            _ => Err(self.unexpected()),
        }
    }
}
