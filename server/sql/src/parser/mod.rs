//! Tokens to statements, by recursive descent; queries, expressions and types are sqlparser's.
//!
//! One file per family of statements. Each function starts behind the words that its caller has
//! consumed, and ends behind the last token of its statement; [`entry`] checks what follows.

mod alter;
mod characteristics;
mod copy;
mod create_index;
mod create_objects;
mod create_table;
mod cursor;
mod dml;
mod drop;
mod drop_other;
mod entry;
mod explain;
mod grant;
mod lock_table;
mod prepared;
mod sequence;
mod set;
mod statement;
mod transaction;
mod types;
mod users;
mod with;

pub(crate) use cursor::Cursor;
pub use entry::{parse, parse_data_type, parse_expr, parse_query};
