//! Text to tokens: lexical rules, literals, names and keywords.

pub(crate) mod escapes;
pub(crate) mod keywords;
pub(crate) mod source;
pub(crate) mod strings;
pub(crate) mod tokens;
