//! The pass between lexer and parser, and the shape of the trees that come out.

pub(crate) mod exclusion;
pub(crate) mod expr;
pub(crate) mod fetch;
pub(crate) mod from;
pub(crate) mod from_items;
pub(crate) mod grouping;
pub(crate) mod parenthesized;
pub(crate) mod recursion;
mod refusals;
pub(crate) mod sample;
pub(crate) mod shape;
pub(crate) mod tokens;
pub(crate) mod words;
