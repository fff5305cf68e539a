//! Divides a text into tokens: words, numbers, addresses, tags and what is between them.
//!
//! ```text
//!   see http://a.com/x now     asciiword see · blank · protocol http:// · url a.com/x
//!                              host a.com · url_path /x · blank · asciiword now
//! ```
//!
//! Here: the state machine (`machine`), its states with their rules (`rule`, `rules`), what it
//! asks of a character (`class`), and the kinds of tokens. Not here: what becomes of a token.
//!
//! The machine knows a token only at its end. So at a character that may begin something longer it
//! remembers its place, goes on, and returns if that was wrong.

mod class;
mod machine;
mod rule;
mod rules;
mod rules_of_words;
mod tokens;

pub(crate) use machine::Parser;
pub(crate) use tokens::{TOKENS, Token};
