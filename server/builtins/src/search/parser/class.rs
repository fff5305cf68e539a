//! What the machine asks of the next character.
//!
//! Letters are those of Unicode. PostgreSQL asks the locale; with `C` every character beyond ASCII
//! is a letter there.

use std::sync::LazyLock;

use regex::Regex;

/// A question about the next character, or about what follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The text is at its end.
    End,
    /// This character.
    Is(char),
    AsciiLetter,
    Letter,
    Digit,
    HexDigit,
    /// A letter or digit.
    Alnum,
    NotAlnum,
    Blank,
    /// A mark that belongs to the letter before it.
    Mark,
    /// May be in the path of a URL.
    UrlChar,
    /// The text is inside of a script or style sheet.
    Ignored,
    /// A host is looked for, in a URL or an address.
    StopsHost,
    /// A host follows.
    Host,
    /// The path of a URL follows.
    UrlPath,
    Any,
}

static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{M}").ok());

/// A combining mark that is no letter by itself.
fn is_mark(c: char) -> bool {
    let mut buffer = [0; 4];
    !c.is_ascii() && MARK.as_ref().is_some_and(|mark| mark.is_match(c.encode_utf8(&mut buffer)))
}

/// Whether a character may be in the path of a URL: ASCII without what RFC 3986 forbids.
fn is_url_char(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}

impl Class {
    /// Whether a character is of the class; `None` for questions about more than it.
    pub(super) fn has(self, next: Option<char>) -> Option<bool> {
        let test = |test: fn(char) -> bool| Some(next.is_some_and(test));
        match self {
            Class::End => Some(next.is_none()),
            Class::Is(c) => Some(next == Some(c)),
            Class::AsciiLetter => test(|c| c.is_ascii_alphabetic()),
            Class::Letter => test(char::is_alphabetic),
            Class::Digit => test(|c| c.is_ascii_digit()),
            Class::HexDigit => test(|c| c.is_ascii_hexdigit()),
            Class::Alnum => test(char::is_alphanumeric),
            Class::NotAlnum => test(|c| !c.is_alphanumeric()),
            Class::Blank => test(|c| c.is_whitespace()),
            Class::Mark => test(is_mark),
            Class::UrlChar => test(is_url_char),
            Class::Any => Some(true),
            Class::Ignored | Class::StopsHost | Class::Host | Class::UrlPath => None,
        }
    }
}
