//! Text to statements: the dialect's words and syntax.
pub mod ast;
