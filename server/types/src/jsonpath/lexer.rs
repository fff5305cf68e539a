//! Splits the text of a path into tokens.
//!
//! Error messages quote what was read last ([`Lexer::syntax`]). After a name that is nothing, or
//! the blanks behind it, as in PostgreSQL.

use super::escape::{self, Escape};
use crate::{Error, Result, SqlState};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// The end of the text.
    End,
    /// A symbol: `$`, `==`, `&&`, `(`…
    Symbol(&'static str),
    /// A whole number.
    Integer(String),
    /// A number with a point or an exponent.
    Number(String),
    /// `"text"`
    String(String),
    /// `$name`
    Variable(String),
    /// A name or a keyword.
    Word(String),
}

/// Longest first, so that a prefix never wins.
const SYMBOLS: [&str; 31] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "<", ">", "!", "?", "%", "$", ".", "[", "]",
    "{", "}", "(", ")", "|", "&", "=", "@", "#", ",", "*", ":", "-", "+",
];

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// Whether a character may be part of a name as it is.
fn is_name(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

/// Keywords, and whether only lower case counts.
const KEYWORDS: [(&str, bool); 22] = [
    ("abs", false),
    ("ceiling", false),
    ("datetime", false),
    ("double", false),
    ("exists", false),
    ("false", true),
    ("flag", false),
    ("floor", false),
    ("is", false),
    ("keyvalue", false),
    ("last", false),
    ("lax", false),
    ("like_regex", false),
    ("null", true),
    ("size", false),
    ("starts", false),
    ("strict", false),
    ("to", false),
    ("true", true),
    ("type", false),
    ("unknown", false),
    ("with", false),
];

/// The keyword that a name is, in lower case.
pub(super) fn keyword(name: &str) -> Option<&'static str> {
    let found = KEYWORDS.iter().find(|(word, exact)| match exact {
        true => name == *word,
        false => name.eq_ignore_ascii_case(word),
    });
    found.map(|(word, _)| *word)
}

/// Reads tokens from the front of a text.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// What was read last.
    seen: &'a str,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, seen: "" }
    }

    /// 42601 at what was read last.
    pub(super) fn syntax(&self, message: &str) -> Error {
        let message = match self.seen {
            "" => format!("{message} at end of jsonpath input"),
            seen => format!("{message} at or near \"{seen}\" of jsonpath input"),
        };
        Error::new(SqlState::SyntaxError, message)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.rest()[..length];
        self.at += length;
        self.seen = taken;
        taken
    }

    /// The bytes at the front whose characters are alike.
    fn run(&self, alike: fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|c| !alike(c)).unwrap_or(rest.len())
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token> {
        loop {
            self.at += self.run(is_blank);
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                self.seen = "";
                return Ok(Token::End);
            };
            if rest.starts_with("/*") {
                self.comment()?;
                continue;
            }
            if rest.starts_with("$\"") {
                self.at += 1;
                return self.quoted().map(Token::Variable);
            }
            if first == '"' {
                return self.quoted().map(Token::String);
            }
            if first == '$' && rest[1..].starts_with(is_name) {
                self.at += 1;
                let name = self.take(self.run(is_name));
                self.seen = &self.text[self.at - name.len() - 1..self.at];
                return Ok(Token::Variable(name.to_owned()));
            }
            let is_number = |c: char| c.is_ascii_digit();
            if (is_number(first) || (first == '.' && rest[1..].starts_with(is_number)))
                && let Some(token) = self.number()?
            {
                return Ok(token);
            }
            if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
                self.take(symbol.len());
                return Ok(Token::Symbol(symbol));
            }
            if first == '/' {
                self.take(1);
                return Ok(Token::Symbol("/"));
            }
            // A comment right behind a name makes the name vanish, as in PostgreSQL.
            if let Some(word) = self.word()? {
                return Ok(Token::Word(word));
            }
        }
    }

    fn comment(&mut self) -> Result<()> {
        match self.rest()[2..].find("*/") {
            Some(length) => {
                self.at += length + 4;
                Ok(())
            }
            None => {
                self.seen = "";
                Err(self.syntax("unexpected end of comment"))
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<()> {
        match escape::read(self.rest())? {
            Escape::Text(read, length) => {
                text.push_str(&read);
                self.take(length);
                Ok(())
            }
            Escape::Broken(message, length) => {
                self.take(length);
                Err(self.syntax(message))
            }
        }
    }

    /// A string, whose opening quote is at the cursor.
    fn quoted(&mut self) -> Result<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let run = self.run(|c| c != '"' && c != '\\');
            text.push_str(self.take(run));
            match self.rest().as_bytes().first() {
                Some(b'"') => {
                    self.take(1);
                    return Ok(text);
                }
                Some(_) => self.escape(&mut text)?,
                None => {
                    self.seen = "";
                    return Err(self.syntax("unexpected end of quoted string"));
                }
            }
        }
    }

    /// A name; none if a comment follows at once.
    fn word(&mut self) -> Result<Option<String>> {
        let mut word = String::new();
        loop {
            let run = self.run(is_name);
            word.push_str(self.take(run));
            let rest = self.rest();
            if rest.starts_with('\\') {
                self.escape(&mut word)?;
            } else if rest.starts_with("/*") {
                self.comment()?;
                return Ok(None);
            } else if rest.starts_with(is_blank) {
                self.take(self.run(is_blank));
                return Ok(Some(word));
            } else if !rest.starts_with(is_name) {
                self.seen = "";
                return Ok(Some(word));
            }
        }
    }

    /// A number; none if the text is a name that begins with digits. The longest reading wins.
    fn number(&mut self) -> Result<Option<Token>> {
        let rest = self.rest();
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let whole = match rest.as_bytes()[0] {
            b'.' => 0,
            b'0' => 1,
            _ => digits(0),
        };
        let mut end = whole;
        if rest[end..].starts_with('.') {
            end += 1 + digits(end + 1);
        }
        let is_integer = end == whole;
        let mut is_real = false;
        if rest[end..].starts_with(['e', 'E']) {
            let signed = usize::from(rest[end + 1..].starts_with(['+', '-']));
            match digits(end + 1 + signed) {
                0 if signed == 1 => {
                    self.take(end + 2);
                    return Err(self.syntax("invalid numeric literal"));
                }
                0 => {}
                exponent => {
                    end += 1 + signed + exponent;
                    is_real = true;
                }
            }
        }
        let junk = rest[end..].chars().next().filter(|c| is_name(*c)).map_or(0, char::len_utf8);
        if self.run(is_name) > end + junk {
            return Ok(None);
        }
        if junk > 0 {
            self.take(end + junk);
            return Err(self.syntax("trailing junk after numeric literal"));
        }
        let text = self.take(end).to_owned();
        Ok(Some(if is_integer && !is_real { Token::Integer(text) } else { Token::Number(text) }))
    }
}
