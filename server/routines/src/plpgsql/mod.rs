//! PL/pgSQL: text to a tree. Names of variables are resolved here, those of tables when a statement
//! is planned.

mod block_parser;
mod cursor_parser;
mod entry;
mod lexer;
mod parser;
mod scope;
mod simple_parser;
mod sql_parser;
mod tree;

pub use entry::{TriggerNames, parse, parse_trigger};
pub use parser::ResultKind;
pub use tree::*;
