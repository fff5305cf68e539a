//! Text to tokens, by PostgreSQL's lexical rules.
//!
//! sqlparser's own tokenizer serves many dialects and differs in details (operators, string
//! continuation, junk behind numbers, escapes), so the tokens are made here and handed over.
//! A string is a string behind the lexer, however it was quoted. Unquoted words are folded to
//! lower case, names are cut to 63 bytes, strings are decoded.
//!
//! Rules that must always hold:
//! - no blanks or comments among the tokens;
//! - a token's span has line 1 and, as columns, 1-based character offsets in the whole text;
//! - only PostgreSQL's keywords are keywords (see [`super::keywords`]).

use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Word};

use braid_types::{Error, Result, SqlState};

use super::keywords;
use super::strings;
use super::strings::truncate_name;
use crate::limits;

/// A position of the text, in bytes and in characters.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    byte: usize,
    chars: usize,
}

/// The lexer: a cursor over the text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The last place whose character offset is known.
    mark: Mark,
    ascii: bool,
    tokens: Vec<TokenWithSpan>,
    /// Where backslashes in plain strings are escapes: the strings that have any.
    escaped: Option<Vec<EscapedString>>,
}

/// A plain string with a backslash, where it is an escape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EscapedString {
    /// Its place in the text, in bytes.
    pub(crate) at: usize,
    /// Its place in the text as errors have it.
    pub(crate) position: u32,
    /// What the first backslash escapes.
    pub(crate) first: Option<char>,
}

/// A lexer at the beginning of a text.
fn lexer(text: &str, escaped: Option<Vec<EscapedString>>) -> Lexer<'_> {
    Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        mark: Mark::default(),
        ascii: text.is_ascii(),
        tokens: Vec::with_capacity((text.len() / 5).min(1 << 16)),
        escaped,
    }
}

/// Splits `text` into tokens.
pub(crate) fn lex(text: &str) -> Result<Vec<TokenWithSpan>> {
    let mut lexer = lexer(text, None);
    lexer.run()?;
    Ok(lexer.tokens)
}

/// The plain strings with a backslash, which is an escape.
pub(crate) fn escaped_strings(text: &str) -> Result<Vec<EscapedString>> {
    let mut lexer = lexer(text, Some(Vec::new()));
    lexer.run()?;
    Ok(lexer.escaped.unwrap_or_default())
}

/// Whether a byte may start an unquoted name.
fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether a byte may continue an unquoted name.
fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// Whether a byte may be part of an operator.
fn is_operator_part(byte: u8) -> bool {
    matches!(
        byte,
        b'+' | b'-'
            | b'*'
            | b'/'
            | b'<'
            | b'>'
            | b'='
            | b'~'
            | b'!'
            | b'@'
            | b'#'
            | b'%'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
    )
}

/// Makes a string one of the type `character`.
fn make_national(token: Option<&mut TokenWithSpan>) {
    if let Some(TokenWithSpan { token, .. }) = token
        && let Token::SingleQuotedString(text) = token
    {
        *token = Token::NationalStringLiteral(std::mem::take(text));
    }
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The number of characters before a byte offset; offsets must be asked in rising order.
    fn chars_before(&mut self, byte: usize) -> usize {
        if self.ascii {
            return byte;
        }
        if byte < self.mark.byte {
            return self.text[..byte].chars().count();
        }
        let more = self.bytes[self.mark.byte..byte].iter().filter(|b| (**b & 0xc0) != 0x80).count();
        self.mark = Mark { byte, chars: self.mark.chars + more };
        self.mark.chars
    }

    fn location(&mut self, byte: usize) -> Location {
        Location { line: 1, column: self.chars_before(byte) as u64 + 1 }
    }

    fn push(&mut self, token: Token, start: usize) -> Result<()> {
        if self.tokens.len() >= limits::TOKENS_MAX {
            return Err(limits::too_many_tokens());
        }
        let span = Span { start: self.location(start), end: self.location(self.at) };
        self.tokens.push(TokenWithSpan { token, span });
        Ok(())
    }

    /// A lexical error about the text from `start` to `end`.
    fn error(&mut self, message: &str, start: usize, end: usize) -> Error {
        let position = self.chars_before(start) + 1;
        let near = self.text.get(start..end).unwrap_or("");
        Error::new(SqlState::SyntaxError, format!("{message} at or near \"{near}\""))
            .position(u32::try_from(position).unwrap_or(u32::MAX))
    }

    /// Gives an error from decoding a string the position of its literal.
    fn at_literal(&mut self, error: Error, start: usize) -> Error {
        let position = self.chars_before(start) + 1;
        error.position(u32::try_from(position).unwrap_or(u32::MAX))
    }

    fn run(&mut self) -> Result<()> {
        loop {
            self.skip_blanks()?;
            let start = self.at;
            let Some(&byte) = self.bytes.get(start) else {
                return Ok(());
            };
            match byte {
                b'\'' => self.plain_string(start)?,
                b'"' => self.quoted_name(start)?,
                b'0'..=b'9' => self.number(start)?,
                b'.' if self.peek(1).is_ascii_digit() => self.number(start)?,
                b'$' => self.dollar(start)?,
                b'e' | b'E' if self.peek(1) == b'\'' => self.escape_string(start)?,
                b'n' | b'N' if self.peek(1) == b'\'' => {
                    self.at += 1;
                    self.plain_string(start)?;
                    make_national(self.tokens.last_mut());
                }
                b'b' | b'B' if self.peek(1) == b'\'' => self.bit_string(start, false)?,
                b'x' | b'X' if self.peek(1) == b'\'' => self.bit_string(start, true)?,
                b'u' | b'U' if self.peek(1) == b'&' && matches!(self.peek(2), b'\'' | b'"') => {
                    self.unicode(start)?;
                }
                _ if is_name_start(byte) => self.word(start)?,
                _ if is_operator_part(byte) => self.operator(start)?,
                _ => self.punctuation(start, byte)?,
            }
        }
    }

    /// Skips blanks and comments.
    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c if self.at < self.bytes.len() => {
                    self.at += 1;
                }
                b'-' if self.peek(1) == b'-' => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && !matches!(self.peek(0), b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Skips a comment in `/* */`, which may hold others.
    fn skip_comment(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            if self.at >= self.bytes.len() {
                return Err(self.error("unterminated /* comment", start, self.bytes.len()));
            }
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Reads to the closing quote, with `at` on the opening one, and goes on behind it. Strings
    /// that follow on a later line belong to it. Returns the text between the quotes, raw, in
    /// pieces; doubled quotes are still doubled.
    fn quoted(&mut self, start: usize, quote: u8, backslash: bool) -> Result<Vec<&'a str>> {
        let mut pieces = Vec::new();
        loop {
            self.at += 1;
            let from = self.at;
            loop {
                let Some(&byte) = self.bytes.get(self.at) else {
                    let what = if quote == b'"' { "identifier" } else { "string" };
                    let message = format!("unterminated quoted {what}");
                    return Err(self.error(&message, start, self.bytes.len()));
                };
                if backslash && byte == b'\\' {
                    self.at = (self.at + 2).min(self.bytes.len());
                } else if byte != quote {
                    self.at += 1;
                } else if self.peek(1) == quote {
                    self.at += 2;
                } else {
                    break;
                }
            }
            pieces.push(self.text.get(from..self.at).unwrap_or(""));
            self.at += 1;
            if quote == b'"' || !self.continues() {
                return Ok(pieces);
            }
        }
    }

    /// Whether the string just read goes on behind a line break; moves to its quote if so.
    fn continues(&mut self) -> bool {
        let mut at = self.at;
        let mut newline = false;
        loop {
            match self.bytes.get(at) {
                Some(b'\n' | b'\r') => newline = true,
                Some(b' ' | b'\t' | 0x0b | 0x0c) => {}
                Some(b'-') if self.bytes.get(at + 1) == Some(&b'-') => {
                    while self.bytes.get(at).is_some_and(|b| !matches!(b, b'\n' | b'\r')) {
                        at += 1;
                    }
                    continue;
                }
                Some(b'\'') if newline => {
                    self.at = at;
                    return true;
                }
                _ => return false,
            }
            at += 1;
        }
    }

    fn plain_string(&mut self, start: usize) -> Result<()> {
        let escapes = self.escaped.is_some();
        let pieces = self.quoted(start, b'\'', escapes)?;
        let behind = |piece: &&str| piece.split_once('\\').map(|(_, rest)| rest.chars().next());
        if escapes && let Some(first) = pieces.iter().find_map(behind) {
            let position = u32::try_from(self.chars_before(start) + 1).unwrap_or(u32::MAX);
            let found = EscapedString { at: start, position, first };
            self.escaped.iter_mut().for_each(|escaped| escaped.push(found.clone()));
        }
        self.push(Token::SingleQuotedString(strings::undouble(&pieces, '\'')), start)
    }

    fn escape_string(&mut self, start: usize) -> Result<()> {
        self.at += 1;
        let pieces = self.quoted(start, b'\'', true)?;
        let value = strings::decode_escapes(&pieces).map_err(|e| self.at_literal(e, start))?;
        self.push(Token::SingleQuotedString(value), start)
    }

    fn bit_string(&mut self, start: usize, hex: bool) -> Result<()> {
        self.at += 1;
        let value = self.quoted(start, b'\'', false)?.concat();
        let token = if hex {
            Token::HexStringLiteral(value)
        } else {
            Token::SingleQuotedByteStringLiteral(value)
        };
        self.push(token, start)
    }

    /// `U&'…'` and `U&"…"`, with `UESCAPE` behind.
    fn unicode(&mut self, start: usize) -> Result<()> {
        let quote = self.peek(2);
        if quote == b'\'' && self.escaped.is_some() {
            let message = "unsafe use of string constant with Unicode escapes";
            let detail = "String constants with Unicode escapes cannot be used when \
                          standard_conforming_strings is off.";
            let error = Error::new(SqlState::FeatureNotSupported, message).detail(detail);
            return Err(self.at_literal(error, start));
        }
        self.at += 2;
        let pieces = self.quoted(start, quote, false)?;
        let raw = strings::undouble(&pieces, char::from(quote));
        let escape = self.uescape()?;
        let mut value =
            strings::decode_unicode(&raw, escape).map_err(|e| self.at_literal(e, start))?;
        if quote == b'\'' {
            return self.push(Token::SingleQuotedString(value), start);
        }
        truncate_name(&mut value);
        self.push(word_token(value, Some('"')), start)
    }

    /// The escape character that `UESCAPE 'c'` names, a backslash without it.
    fn uescape(&mut self) -> Result<char> {
        let behind = self.at;
        self.skip_blanks()?;
        let is_uescape = self
            .bytes
            .get(self.at..self.at + 7)
            .is_some_and(|w| w.eq_ignore_ascii_case(b"uescape"))
            && !is_name_part(self.peek(7));
        if !is_uescape {
            self.at = behind;
            return Ok('\\');
        }
        self.at += 7;
        self.skip_blanks()?;
        let start = self.at;
        if self.peek(0) != b'\'' {
            return Err(self.error(
                "UESCAPE must be followed by a simple string literal",
                start,
                start,
            ));
        }
        let value = self.quoted(start, b'\'', false)?.concat();
        let mut chars = value.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None)
                if !c.is_ascii_hexdigit()
                    && !matches!(c, '+' | '\'' | '"')
                    && !c.is_whitespace() =>
            {
                Ok(c)
            }
            _ => Err(self.error("invalid Unicode escape character", start, self.at)),
        }
    }

    fn quoted_name(&mut self, start: usize) -> Result<()> {
        let pieces = self.quoted(start, b'"', false)?;
        let mut name = strings::undouble(&pieces, '"');
        if name.is_empty() {
            return Err(self.error("zero-length delimited identifier", start, self.at));
        }
        truncate_name(&mut name);
        self.push(word_token(name, Some('"')), start)
    }

    fn word(&mut self, start: usize) -> Result<()> {
        while self.at < self.bytes.len() && is_name_part(self.peek(0)) {
            self.at += 1;
        }
        let mut name = self.text.get(start..self.at).unwrap_or("").to_ascii_lowercase();
        truncate_name(&mut name);
        self.push(word_token(name, None), start)
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self, start: usize) -> Result<()> {
        self.digits();
        // `1..2` is an integer and a range, as in an array slice.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.digits();
            }
        }
        if is_name_start(self.peek(0)) {
            let end = self.junk_end();
            return Err(self.error("trailing junk after numeric literal", start, end));
        }
        let value = self.text.get(start..self.at).unwrap_or("").to_owned();
        self.push(Token::Number(value, false), start)
    }

    /// The end of what an error about junk shows: the word that clings to the number.
    fn junk_end(&self) -> usize {
        let more = self.bytes[self.at..].iter().take_while(|byte| is_name_part(**byte)).count();
        self.at + more
    }

    /// `$1`, or a string in dollar quotes.
    fn dollar(&mut self, start: usize) -> Result<()> {
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.digits();
            if is_name_start(self.peek(0)) {
                let end = self.junk_end();
                return Err(self.error("trailing junk after parameter", start, end));
            }
            let value = self.text.get(start..self.at).unwrap_or("").to_owned();
            return self.push(Token::Placeholder(value), start);
        }
        let mut end = start + 1;
        if self.bytes.get(end).copied().is_some_and(is_name_start) {
            while self.bytes.get(end).is_some_and(|b| is_name_part(*b) && *b != b'$') {
                end += 1;
            }
        }
        if self.bytes.get(end) != Some(&b'$') {
            return Err(self.error("syntax error", start, start + 1));
        }
        let tag = self.text.get(start..=end).unwrap_or("$$");
        let body = end + 1;
        let Some(length) = self.text.get(body..).and_then(|rest| rest.find(tag)) else {
            let end = self.bytes.len();
            return Err(self.error("unterminated dollar-quoted string", start, end));
        };
        let value = self.text.get(body..body + length).unwrap_or("").to_owned();
        self.at = body + length + tag.len();
        self.push(Token::SingleQuotedString(value), start)
    }

    /// The longest run of operator characters, cut at comments and, as PostgreSQL does, before a
    /// trailing sign unless the operator has an unusual character.
    fn operator(&mut self, start: usize) -> Result<()> {
        let mut end = start;
        while self.bytes.get(end).copied().is_some_and(is_operator_part) {
            let pair = (self.bytes[end], self.bytes.get(end + 1).copied());
            if end > start && matches!(pair, (b'-', Some(b'-')) | (b'/', Some(b'*'))) {
                break;
            }
            end += 1;
        }
        let unusual = |b: &u8| {
            matches!(b, b'~' | b'!' | b'@' | b'#' | b'%' | b'^' | b'&' | b'|' | b'`' | b'?')
        };
        while end - start > 1
            && matches!(self.bytes[end - 1], b'+' | b'-')
            && !self.bytes[start..end - 1].iter().any(unusual)
        {
            end -= 1;
        }
        self.at = end;
        let token = operator_token(&self.text[start..end]);
        self.push(token, start)
    }

    fn punctuation(&mut self, start: usize, byte: u8) -> Result<()> {
        let (token, length) = match byte {
            b',' => (Token::Comma, 1),
            b'(' => (Token::LParen, 1),
            b')' => (Token::RParen, 1),
            b'[' => (Token::LBracket, 1),
            b']' => (Token::RBracket, 1),
            b'.' => (Token::Period, 1),
            b';' => (Token::SemiColon, 1),
            b':' if self.peek(1) == b':' => (Token::DoubleColon, 2),
            b':' if self.peek(1) == b'=' => (Token::Assignment, 2),
            b':' => (Token::Colon, 1),
            _ => return Err(self.error("syntax error", start, start + 1)),
        };
        self.at += length;
        self.push(token, start)
    }
}

/// A word; unquoted ones come in lower case.
pub(crate) fn word_token(value: String, quote_style: Option<char>) -> Token {
    let keyword = match quote_style {
        None => keywords::lookup(&value).map(|info| info.keyword),
        Some(_) => None,
    };
    let keyword = keyword.unwrap_or(sqlparser::keywords::Keyword::NoKeyword);
    Token::Word(Word { value, quote_style, keyword })
}

/// sqlparser's token for an operator.
fn operator_token(operator: &str) -> Token {
    match operator {
        "=" => Token::Eq,
        "<>" | "!=" => Token::Neq,
        "<" => Token::Lt,
        ">" => Token::Gt,
        "<=" => Token::LtEq,
        ">=" => Token::GtEq,
        "+" => Token::Plus,
        "-" => Token::Minus,
        "*" => Token::Mul,
        "/" => Token::Div,
        "%" => Token::Mod,
        "||" => Token::StringConcat,
        "&" => Token::Ampersand,
        "|" => Token::Pipe,
        "^" => Token::Caret,
        "#" => Token::Sharp,
        "=>" => Token::RArrow,
        "~" => Token::Tilde,
        "~*" => Token::TildeAsterisk,
        "!~" => Token::ExclamationMarkTilde,
        "!~*" => Token::ExclamationMarkTildeAsterisk,
        "~~" => Token::DoubleTilde,
        "~~*" => Token::DoubleTildeAsterisk,
        "!~~" => Token::ExclamationMarkDoubleTilde,
        "!~~*" => Token::ExclamationMarkDoubleTildeAsterisk,
        "<<" => Token::ShiftLeft,
        ">>" => Token::ShiftRight,
        "&&" => Token::Overlap,
        "!" => Token::ExclamationMark,
        "!!" => Token::DoubleExclamationMark,
        "@" => Token::AtSign,
        "^@" => Token::CaretAt,
        "|/" => Token::PGSquareRoot,
        "||/" => Token::PGCubeRoot,
        "->" => Token::Arrow,
        "->>" => Token::LongArrow,
        "#>" => Token::HashArrow,
        "#>>" => Token::HashLongArrow,
        "@>" => Token::AtArrow,
        "<@" => Token::ArrowAt,
        "#-" => Token::HashMinus,
        "@?" => Token::AtQuestion,
        "@@" => Token::AtAt,
        "?" => Token::Question,
        "?&" => Token::QuestionAnd,
        "?|" => Token::QuestionPipe,
        other => Token::CustomBinaryOperator(other.to_owned()),
    }
}
