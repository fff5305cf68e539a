//! Tokens to statements, by recursive descent; queries, expressions and types are sqlparser's.
//!
//! One file per family of statements. Each function starts behind the words that its caller has
//! consumed, and ends behind the last token of its statement; [`entry`] checks what follows.

mod clauses;
mod cursor;
mod definition;
mod dml;
mod embedded;
mod entry;
mod merge;
mod names;
mod query_rules;
mod routine;
mod row_statement;
mod session;
mod statement;

pub(crate) use cursor::Cursor;
pub use entry::{parse, parse_data_type, parse_expr, parse_query};
