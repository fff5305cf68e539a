//! A statement's text with parameters in the place of its constants, and a number for all
//! statements that differ in nothing else.
//!
//! ```text
//!   SELECT a FROM t WHERE b = 5 AND c = 'x' LIMIT 3
//!   SELECT a FROM t WHERE b = $1 AND c = $2 LIMIT $3      the same number
//! ```
//!
//! It works on tokens, so it needs no parse tree and no catalog. The price: texts that PostgreSQL
//! knows to mean the same, such as `t` and `public.t`, have numbers of their own.
//!
//! Rules:
//! - Lengths of types (`numeric(10, 2)`) and places in ORDER BY and GROUP BY are no constants.
//! - NULL, TRUE and FALSE are constants unless they are part of a test (`IS NOT NULL`).
//! - The number depends on nothing but the tokens, so it is the same on all gateways.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::lex::tokens as lexer;

/// Bytes of a text that are kept; the rest is cut off.
pub const NORMALIZED_BYTES_MAX: usize = 8 << 10;

/// A text without its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// The text.
    pub text: String,
    /// The same for all texts that differ in constants only; never 0.
    pub id: i64,
}

/// Which constants become parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// All of them: queries and changes of data.
    All,
    /// Strings alone: other commands, whose numbers are part of what they do.
    Strings,
}

/// The text of one statement with parameters in the place of its constants.
pub fn normalize(text: &str, constants: Constants) -> Normalized {
    let text = cut(text);
    let mut hash = Hash::default();
    let Ok(tokens) = lexer::lex(text) else {
        hash.add(text.as_bytes());
        return Normalized { text: text.to_owned(), id: hash.number() };
    };
    let offsets = Offsets::of(text);
    let mut walk = Walk::new(&tokens, constants);
    let mut result = String::with_capacity(text.len());
    let (mut written, mut at) = (0, 0);
    while at < tokens.len() {
        let width = walk.constant(at);
        if width == 0 {
            hash.add_token(&tokens[at].token);
            walk.pass(at);
            at += 1;
            continue;
        }
        let (first, last) = (&tokens[at].span, &tokens[at + width - 1].span);
        result.push_str(&text[written..offsets.byte(first.start.column)]);
        walk.parameters += 1;
        result.push_str(&format!("${}", walk.parameters));
        written = offsets.byte(last.end.column);
        hash.add(b"$");
        (at..at + width).for_each(|place| walk.pass(place));
        at += width;
    }
    result.push_str(&text[written..]);
    Normalized { text: result, id: hash.number() }
}

/// At most [`NORMALIZED_BYTES_MAX`] bytes of the text, at a character's border.
fn cut(text: &str) -> &str {
    let text = text.trim_ascii();
    let mut end = text.len().min(NORMALIZED_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Where the characters of a text begin; nothing is kept for ASCII.
struct Offsets {
    characters: Vec<usize>,
    bytes: usize,
}

impl Offsets {
    fn of(text: &str) -> Self {
        let is_ascii = text.is_ascii();
        let places = text.char_indices().map(|(at, _)| at);
        let characters = if is_ascii { Vec::new() } else { places.collect() };
        Self { characters, bytes: text.len() }
    }

    /// The byte at which the character with this number, from 1, begins.
    fn byte(&self, column: u64) -> usize {
        let place = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        match self.characters.is_empty() {
            true => place.min(self.bytes),
            false => self.characters.get(place).copied().unwrap_or(self.bytes),
        }
    }
}

/// FNV-1a, which is the same everywhere.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }

    fn add_token(&mut self, token: &Token) {
        match token {
            Token::Word(word) => self.add(word.value.as_bytes()),
            // A parameter is as good as a constant.
            Token::Placeholder(_) => self.add(b"$"),
            other => self.add(other.to_string().as_bytes()),
        }
    }

    fn number(&self) -> i64 {
        match self.0 as i64 {
            0 => 1,
            id => id,
        }
    }
}

/// What is known at a token from those before it.
struct Walk<'t> {
    tokens: &'t [TokenWithSpan],
    constants: Constants,
    /// The highest parameter so far.
    parameters: usize,
    depth: usize,
    /// The depth of the list behind `ORDER BY` or `GROUP BY`.
    by: Option<usize>,
    /// The depth behind which the lengths of a type end.
    lengths: Option<usize>,
}

impl<'t> Walk<'t> {
    fn new(tokens: &'t [TokenWithSpan], constants: Constants) -> Self {
        let number = |token: &TokenWithSpan| match &token.token {
            Token::Placeholder(name) => name.get(1..)?.parse::<usize>().ok(),
            _ => None,
        };
        let parameters = tokens.iter().filter_map(number).max().unwrap_or(0).min(1 << 16);
        Self { tokens, constants, parameters, depth: 0, by: None, lengths: None }
    }

    fn token(&self, at: usize) -> Option<&'t Token> {
        self.tokens.get(at).map(|token| &token.token)
    }

    fn before(&self, at: usize, back: usize) -> Option<&'t Token> {
        self.token(at.checked_sub(back)?)
    }

    /// How many tokens the constant at a place has; 0 if there is none.
    fn constant(&self, at: usize) -> usize {
        let all = self.constants == Constants::All;
        match self.token(at) {
            Some(Token::SingleQuotedString(_) | Token::NationalStringLiteral(_)) => 1,
            Some(Token::HexStringLiteral(_) | Token::SingleQuotedByteStringLiteral(_)) => 1,
            Some(Token::Number(..)) if all => usize::from(!self.is_kept(at)),
            Some(Token::Minus) if all && self.begins_value(at) => {
                let is_number = matches!(self.token(at + 1), Some(Token::Number(..)));
                if is_number && self.lengths.is_none() { 2 } else { 0 }
            }
            Some(Token::Word(word)) if all && word.quote_style.is_none() => {
                let is_value = matches!(word.value.as_str(), "null" | "true" | "false");
                usize::from(is_value && !self.is_test(at))
            }
            _ => 0,
        }
    }

    /// Whether a value can begin here: a minus is a sign then.
    fn begins_value(&self, at: usize) -> bool {
        match self.before(at, 1) {
            None => true,
            Some(Token::Word(word)) => {
                const BEFORE_VALUES: &[&str] = &[
                    "select",
                    "where",
                    "and",
                    "or",
                    "not",
                    "on",
                    "when",
                    "then",
                    "else",
                    "by",
                    "limit",
                    "offset",
                    "in",
                    "like",
                    "between",
                    "return",
                    "returning",
                    "having",
                    "set",
                    "values",
                    "case",
                    "distinct",
                ];
                word.quote_style.is_none() && BEFORE_VALUES.contains(&word.value.as_str())
            }
            Some(
                Token::Number(..)
                | Token::SingleQuotedString(_)
                | Token::NationalStringLiteral(_)
                | Token::Placeholder(_)
                | Token::RParen
                | Token::RBracket,
            ) => false,
            Some(_) => true,
        }
    }

    /// Whether NULL, TRUE or FALSE belong to a test or to a constraint.
    fn is_test(&self, at: usize) -> bool {
        let is = |token: Option<&Token>, names: &[&str]| match token {
            Some(Token::Word(word)) => names.contains(&word.value.as_str()),
            _ => false,
        };
        is(self.before(at, 1), &["is", "set"])
            || (is(self.before(at, 1), &["not"]) && is(self.before(at, 2), &["is"]))
    }

    /// Whether a number is the length of a type, or the place of a column.
    fn is_kept(&self, at: usize) -> bool {
        if self.lengths.is_some() {
            return true;
        }
        let is_start = match self.before(at, 1) {
            Some(Token::Comma) => true,
            Some(Token::Word(word)) => word.value == "by",
            _ => false,
        };
        let is_end = match self.token(at + 1) {
            None | Some(Token::Comma | Token::RParen | Token::SemiColon) => true,
            Some(Token::Word(_)) => true,
            Some(_) => false,
        };
        is_start && is_end && self.by == Some(self.depth)
    }

    /// Takes note of a token.
    fn pass(&mut self, at: usize) {
        match self.token(at) {
            Some(Token::LParen) => {
                self.depth += 1;
                if self.lengths.is_none() && self.follows_type(at) {
                    self.lengths = Some(self.depth);
                }
            }
            Some(Token::RParen) => {
                if self.lengths == Some(self.depth) {
                    self.lengths = None;
                }
                if self.by == Some(self.depth) {
                    self.by = None;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                const AFTER_LIST: &[&str] = &[
                    "limit",
                    "offset",
                    "having",
                    "window",
                    "union",
                    "intersect",
                    "except",
                    "for",
                    "fetch",
                    "returning",
                    "rows",
                    "range",
                    "groups",
                    "where",
                ];
                if word.value == "by" {
                    self.by = Some(self.depth);
                } else if self.by == Some(self.depth) && AFTER_LIST.contains(&&*word.value) {
                    self.by = None;
                }
            }
            _ => {}
        }
    }

    /// Whether a parenthesis comes after the name of a type: `::numeric(`, `AS varchar(`.
    fn follows_type(&self, at: usize) -> bool {
        if !matches!(self.before(at, 1), Some(Token::Word(_))) {
            return false;
        }
        let mut back = 2;
        // `double precision`, `pg_catalog.numeric`, `character varying`
        while back <= 4 {
            match self.before(at, back) {
                Some(Token::DoubleColon) => return true,
                Some(Token::Word(word)) if word.value == "as" => return true,
                Some(Token::Period | Token::Word(_)) => back += 1,
                _ => return false,
            }
        }
        false
    }
}
