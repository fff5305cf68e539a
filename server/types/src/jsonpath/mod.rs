//! `jsonpath`: expressions that select parts of a `jsonb` (`$.a[*] ? (@.b > 1)`).
//!
//! Here: the tree, the reader of its text and its printer. Not here: what an expression finds
//! (`builtins`).
//!
//! ```text
//! text ──► lexer ──► parser ──► JsonPath ──► print ──► canonical text (what a datum holds)
//! ```
//!
//! Rules: a datum holds the canonical text, which reads as the same tree again; a tree nests at
//! most [`NESTING_MAX`] deep; `@` is inside of a filter and `last` inside of a subscript.

mod ast;
mod check;
mod escape;
mod lexer;
mod like_regex;
mod nesting;
mod parser;
mod print;
mod tokens;

pub use ast::{
    Arithmetic, Comparison, Expr, Head, JsonPath, LEVEL_MAX, Method, Predicate, Prefix, Sign, Step,
    Subscript,
};
pub use like_regex::LikeRegex;
pub use nesting::NESTING_MAX;
