//! Splits a date, time or interval literal into fields, as PostgreSQL does.

use super::words::{is_weekday, month_of, unit_of};
use crate::text::is_blank;

/// One field of a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Digits, perhaps with a fraction.
    Number(String),
    /// Digits and letters joined by `-`, `/` or `.`; also a zone name (`america/new_york`).
    Date(String),
    /// Digits with `:`.
    Time(String),
    /// A signed number or offset.
    Signed(String),
    /// A word in lower case, perhaps with a sign before it (`-infinity`).
    Word(String),
}

/// Words after which a digit or `+` starts a field of its own.
fn is_keyword(word: &str) -> bool {
    matches!(word, "t" | "j" | "jd" | "julian" | "at" | "on" | "am" | "pm" | "ad" | "bc" | "p")
        || month_of(word).is_some()
        || is_weekday(word)
        || unit_of(word).is_some()
}

/// The fields of a literal; `None` if a character fits nowhere.
pub(super) fn tokenize(text: &str) -> Option<Vec<Token>> {
    if !text.is_ascii() {
        return None;
    }
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let run = |from: usize, keep: fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|b| keep(**b)).count()
    };
    let lower = |from: usize, to: usize| text[from..to].to_ascii_lowercase();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let byte = bytes[i];
        if is_blank(char::from(byte)) {
            i += 1;
        } else if byte.is_ascii_digit() {
            i = run(i, |b| b.is_ascii_digit());
            match at(i) {
                b':' => {
                    i = run(i, |b| b.is_ascii_digit() || b == b':' || b == b'.');
                    tokens.push(Token::Time(lower(start, i)));
                }
                delimiter @ (b'-' | b'/' | b'.') => {
                    i += 1;
                    if at(i).is_ascii_digit() {
                        i = run(i, |b| b.is_ascii_digit());
                        if at(i) == delimiter {
                            i = match delimiter {
                                b'-' => run(i, |b| b.is_ascii_digit() || b == b'-'),
                                b'/' => run(i, |b| b.is_ascii_digit() || b == b'/'),
                                _ => run(i, |b| b.is_ascii_digit() || b == b'.'),
                            };
                            tokens.push(Token::Date(lower(start, i)));
                        } else if delimiter == b'.' {
                            tokens.push(Token::Number(lower(start, i)));
                        } else {
                            tokens.push(Token::Date(lower(start, i)));
                        }
                    } else if delimiter == b'.' && !at(i).is_ascii_alphabetic() {
                        tokens.push(Token::Number(lower(start, i)));
                    } else {
                        i = match delimiter {
                            b'-' => run(i, |b| b.is_ascii_alphanumeric() || b == b'-'),
                            b'/' => run(i, |b| b.is_ascii_alphanumeric() || b == b'/'),
                            _ => run(i, |b| b.is_ascii_alphanumeric() || b == b'.'),
                        };
                        tokens.push(Token::Date(lower(start, i)));
                    }
                }
                _ => tokens.push(Token::Number(lower(start, i))),
            }
        } else if byte == b'.' {
            i = run(i + 1, |b| b.is_ascii_digit());
            tokens.push(Token::Number(lower(start, i)));
        } else if byte.is_ascii_alphabetic() {
            i = run(i, |b| b.is_ascii_alphabetic());
            let word = lower(start, i);
            let joined = match at(i) {
                b'-' | b'/' | b'.' | b'_' => true,
                b'+' | b'0'..=b'9' => !is_keyword(&word),
                _ => false,
            };
            if joined {
                i = run(i, |b| {
                    b.is_ascii_alphanumeric()
                        || matches!(b, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
                });
                tokens.push(Token::Date(lower(start, i)));
            } else {
                tokens.push(Token::Word(word));
            }
        } else if byte == b'+' || byte == b'-' {
            i = run(i + 1, |b| is_blank(char::from(b)));
            let sign = char::from(byte);
            if at(i).is_ascii_digit() || (at(i) == b'.' && at(i + 1).is_ascii_digit()) {
                let from = i;
                i = run(i, |b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'-'));
                tokens.push(Token::Signed(format!("{sign}{}", lower(from, i))));
            } else if at(i).is_ascii_alphabetic() {
                let from = i;
                i = run(i, |b| b.is_ascii_alphabetic());
                tokens.push(Token::Word(format!("{sign}{}", lower(from, i))));
            } else {
                return None;
            }
        } else if byte.is_ascii_punctuation() && byte != b':' {
            i += 1;
        } else {
            return None;
        }
    }
    (tokens.len() <= 25).then_some(tokens)
}
