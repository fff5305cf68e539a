//! The pass between lexer and parser, and the shape of the trees that come out.

pub(crate) mod parenthesized;
pub(crate) mod shape;
pub(crate) mod tokens;
