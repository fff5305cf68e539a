//! The tokens of a body, with their places in the text.

use braid_types::{Error, Result, SqlState};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word without quotes, in lower case.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    /// A string constant, without its quotes.
    Text(String),
    /// A number, or a parameter such as `$1`.
    Number,
    /// An operator or a bracket.
    Symbol(&'static str),
    /// Any other character.
    Other(char),
    /// The end.
    End,
}

/// A token and its place.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The symbols that are looked for, longer ones first.
const SYMBOLS: [&str; 18] = [
    ":=", "..", "<<", ">>", "=>", "::", "<=", ">=", "(", ")", "[", "]", ",", ";", "=", ".", "%",
    ":",
];

/// The tokens of a text; the last one is the end.
pub(super) fn lex(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = skip_blank(text, at)?;
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { break };
        let (kind, length) = next(rest, first)?;
        tokens.push(Token { kind, start: at, end: at + length });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, start: text.len(), end: text.len() });
    Ok(tokens)
}

fn unterminated(what: &str) -> Error {
    Error::new(SqlState::SyntaxError, format!("unterminated {what}"))
}

/// The place behind blanks and comments.
fn skip_blank(text: &str, mut at: usize) -> Result<usize> {
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        let rest = &rest[blank..];
        at += blank;
        if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += comment_length(rest)?;
        } else {
            return Ok(at);
        }
    }
}

/// The length of a comment, which may hold others.
fn comment_length(text: &str) -> Result<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => at += 1,
        }
    }
    Err(unterminated("/* comment"))
}

fn next(rest: &str, first: char) -> Result<(TokenKind, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if first == '\'' {
        return string(rest, 0, false);
    }
    if matches!(first, 'e' | 'E' | 'b' | 'B' | 'x' | 'X' | 'n' | 'N') && rest[1..].starts_with('\'')
    {
        return string(rest, 1, matches!(first, 'e' | 'E'));
    }
    if first == '"' {
        return quoted(rest);
    }
    if first == '$' {
        return dollar(rest);
    }
    if first.is_ascii_digit() {
        let mut length = 0;
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            // `1..10` is a number and two dots.
            let is_point = c == '.' && chars.peek().is_some_and(|(_, next)| *next != '.');
            if !(c.is_alphanumeric() || is_point) {
                break;
            }
            length = at + c.len_utf8();
        }
        return Ok((TokenKind::Number, length));
    }
    if first.is_alphabetic() || first == '_' {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        return Ok((TokenKind::Word(rest[..length].to_lowercase()), length));
    }
    let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
    Ok(match symbol {
        Some(symbol) => (TokenKind::Symbol(symbol), symbol.len()),
        None => (TokenKind::Other(first), first.len_utf8()),
    })
}

/// A string whose quote is at `open`.
fn string(rest: &str, open: usize, escapes: bool) -> Result<(TokenKind, usize)> {
    let mut value = String::new();
    let mut chars = rest[open + 1..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
                value.push('\'');
            }
            '\'' => return Ok((TokenKind::Text(value), open + 1 + at + 1)),
            '\\' if escapes => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            c => value.push(c),
        }
    }
    Err(unterminated("quoted string"))
}

fn quoted(rest: &str) -> Result<(TokenKind, usize)> {
    let mut name = String::new();
    let mut chars = rest[1..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if chars.peek().is_some_and(|(_, next)| *next == '"') => {
                chars.next();
                name.push('"');
            }
            '"' => return Ok((TokenKind::Quoted(name), at + 2)),
            c => name.push(c),
        }
    }
    Err(unterminated("quoted identifier"))
}

/// `$1`, or a string between two equal tags.
fn dollar(rest: &str) -> Result<(TokenKind, usize)> {
    let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        return Ok((TokenKind::Number, 1 + digits));
    }
    let is_tag = |c: char| c.is_alphanumeric() || c == '_';
    let tag = rest[1..].find(|c| !is_tag(c)).filter(|end| rest[1 + end..].starts_with('$'));
    let Some(tag) = tag else { return Ok((TokenKind::Other('$'), 1)) };
    let tag = &rest[..tag + 2];
    let inside = &rest[tag.len()..];
    let Some(end) = inside.find(tag) else { return Err(unterminated("dollar-quoted string")) };
    Ok((TokenKind::Text(inside[..end].to_owned()), tag.len() + end + tag.len()))
}
