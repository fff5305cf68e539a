//! Words of the text forms: lexemes with their places, and operands of queries.

use crate::text::is_blank;
use crate::{Error, Result, SqlState, work};

use super::errors::syntax_error;
use super::limits::POSITION_MAX;
use super::vector::Place;

/// How queries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// With operators, as literals are.
    Standard,
    /// As people write to search engines: words, `"phrases"`, `or`, `-`. Nothing is an error.
    Web,
}

/// Whether a character is an operator of queries, which ends a word of these.
pub(super) fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// Reads words from the front of a text.
pub(super) struct Lexer<'a> {
    /// The whole text, which errors show.
    pub text: &'a str,
    /// The bytes that are read.
    pub at: usize,
    /// Of a vector: none.
    pub syntax: Option<Syntax>,
}

impl<'a> Lexer<'a> {
    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn skip(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.skip();
        next
    }

    pub(super) fn invalid(&self) -> Error {
        let what = if self.syntax.is_some() { "tsquery" } else { "tsvector" };
        syntax_error(what, self.text)
    }

    /// The next word with its places; `None` at the end. In a query no places are read.
    pub(super) fn word(&mut self) -> Result<Option<(String, Vec<Place>)>> {
        let is_web = self.syntax == Some(Syntax::Web);
        self.skip_blanks();
        let word = match self.peek() {
            None => return Ok(None),
            Some('\'') if !is_web => self.quoted()?,
            Some(c) if self.syntax.is_some() && is_operator(c) => return Err(self.invalid()),
            Some(_) => self.plain(is_web)?,
        };
        if word.is_empty() {
            return Err(self.invalid());
        }
        let mut places = Vec::new();
        if self.syntax.is_none() && self.peek() == Some(':') {
            self.at += 1;
            places = self.places()?;
        }
        Ok(Some((word, places)))
    }

    fn escaped(&mut self) -> Result<char> {
        self.next().ok_or_else(|| {
            let message = format!("there is no escaped character: \"{}\"", self.text);
            Error::new(SqlState::SyntaxError, message)
        })
    }

    fn plain(&mut self, is_web: bool) -> Result<String> {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            work::tick()?;
            let ends = is_blank(c)
                || (c == ':' && !word.is_empty())
                || (self.syntax.is_some() && is_operator(c))
                || (is_web && c == '"');
            if ends {
                break;
            }
            self.skip();
            word.push(if c == '\\' && !is_web { self.escaped()? } else { c });
        }
        Ok(word)
    }

    fn quoted(&mut self) -> Result<String> {
        self.at += 1;
        let mut word = String::new();
        loop {
            work::tick()?;
            match self.next() {
                None => return Err(self.invalid()),
                Some('\\') => word.push(self.escaped()?),
                Some('\'') if self.peek() == Some('\'') => {
                    self.at += 1;
                    word.push('\'');
                }
                Some('\'') => return Ok(word),
                Some(c) => word.push(c),
            }
        }
    }

    fn places(&mut self) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        loop {
            work::tick()?;
            let mut place = self.position()?;
            let mut has_weight = false;
            loop {
                let weight = match self.peek() {
                    Some('a' | 'A' | '*') => 3,
                    Some('b' | 'B') => 2,
                    Some('c' | 'C') => 1,
                    Some('d' | 'D') => 0,
                    Some(c) if c == ',' || is_blank(c) => break,
                    // Digits after the weight are passed over.
                    Some(c) if c.is_ascii_digit() => {
                        self.at += 1;
                        continue;
                    }
                    None => break,
                    Some(_) => return Err(self.invalid()),
                };
                if has_weight {
                    return Err(self.invalid());
                }
                (place.weight, has_weight) = (weight, weight > 0);
                self.at += 1;
            }
            places.push(place);
            if self.peek() != Some(',') {
                return Ok(places);
            }
            self.at += 1;
        }
    }

    fn position(&mut self) -> Result<Place> {
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.invalid());
        }
        self.at += digits;
        let number = rest[..digits].parse::<usize>().unwrap_or(usize::from(POSITION_MAX));
        if number == 0 {
            let message = format!("wrong position info in tsvector: \"{}\"", self.text);
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        Ok(Place::new(number))
    }
}
