//! Room `sql`: text to statements, the dialect's words and syntax.
//!
//! ```text
//! text ── lexer ── tokens ── rewrite ── parser ── Statement
//!           │                  │          │
//!    PostgreSQL's         some forms    ours by recursive descent;
//!    lexical rules        sqlparser     queries, expressions and types
//!                         lacks         by sqlparser
//! ```
//!
//! What is here: [`parse`] with its relatives, the tree in [`ast`], names ([`fold`],
//! [`quote_ident`]), and the limits on what is parsed.
//! What is not: whether names exist, types fit and rights suffice (`plan`).
//!
//! Rules that must always hold:
//! - no text makes the parser panic or run out of stack; what is too deep or too long is an error
//!   with a SQLSTATE ([`limits`]);
//! - every error about the text has a position, counted in characters from 1;
//! - other rooms see sqlparser's types only through [`ast`].

pub mod ast;
mod deparse;
mod dialect;
mod enum_marks;
mod lex;
pub mod limits;
mod normalize;
mod parser;
mod places;
mod precisions;
mod prefix_operators;
mod quantified;
mod relations;
mod rewrite;
mod sizes;
mod text;

pub use deparse::{
    DELETED_BY_COLUMN, ItemColumn, Layout, Names, PLACE_COLUMN, RELATION_MARK, RowNames,
    TABLE_OID_COLUMN, TABLE_ROW, UsingColumn, VERSION_COLUMN, field_mark, is_call, label,
    listed_columns, relation_id, shown_condition_text, shown_expr_text, shown_text, split_field,
    split_label, stored_expr_text, stored_text, using_columns,
};
pub use enum_marks::{change_enum_literals, marked_enum, marked_type};
pub use lex::escapes::with_escape_strings;
pub use lex::keywords::{is_reserved, keywords};
pub use lex::strings::{fold, quote_ident, quote_literal};
pub use normalize::{Constants, NORMALIZED_BYTES_MAX, Normalized, normalize};
pub use parser::{parse, parse_data_type, parse_expr, parse_query};
pub use places::{empty_array, find_parameter, find_token, last_token, next_token, quoted_start};
pub use precisions::precision_warnings;
pub use relations::{defines, references};
pub use rewrite::exclusion::{FrameEnd, FrameExclusion, FrameParts, frame_parts, set_frame_parts};
pub use rewrite::from::only::is_only;
pub use rewrite::from_items::{is_rows_from, split_using};
pub use rewrite::grouping::{distinct_grouping, grouping_items};
pub use rewrite::recursion::{CycleClause, RecursionClauses, SearchClause};
pub use rewrite::sample::{TableSample, sample_numbers_mut, table_sample};
pub use rewrite::tokens::{ROW_EXPANSION, row_expansion, row_locks};
pub use sizes::sizes_of;
pub use text::{
    called_functions, column_names, columns_read, deep_stack, has_subquery, is_default, offset_of,
    rows_by_name, with_column_numbers, with_row_arguments,
};
