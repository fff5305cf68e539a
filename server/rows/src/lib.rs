//! Rows as key/value pairs: one pair a column family, one entry an index.
//!
//! ```text
//! primary   /table/1/key columns…/family        ▶ the family's other columns
//! secondary /table/n/columns…[/key columns…]    ▶ STORING columns [, key columns]
//! inverted  /table/n/term/key columns…          ▶ nothing
//! ```
//!
//! Interleaved tables and indexes have the way down from the root between their columns
//! ([`braid_catalog::Interleaving`]); who scans their range says which keys it wants (`shape`).
//!
//! Family 0 always has a pair, so that the row exists; another one only if a column of it is not
//! NULL. A secondary key ends with the primary key's columns unless it is unique without NULLs;
//! then they are in the value. Key columns whose bytes do not tell all
//! ([`braid_codec::key::is_exact`]) are in family 0's value too.
//!
//! What it does not do: read or write the store, evaluate expressions, check constraints.
//!
//! Rules that must always hold: a row that is decoded equals the row that was encoded; keys sort as
//! their columns sort; an index entry names exactly one row.

mod assembler;
mod columns;
mod duplicate;
mod errors;
mod foreign_key;
mod index;
mod key_part;
mod row_decoder;
mod spans;
mod table;
mod violation;

pub use assembler::{RowAssembler, RowKeys};
pub use columns::{Column, Columns, Decimals, IntKind, NO_ROW, Values};
pub use duplicate::{duplicate_key, duplicate_row, keys_are_exact, replaced_places};
pub use errors::{from_codec, show};
pub use foreign_key::{ForeignKeyValues, may_refer};
pub use index::{IndexDecoder, IndexEntry, IndexRows, RowEntries, changed_entries};
pub use row_decoder::RowDecoder;
pub use spans::{
    End, KeyColumn, columns_end, extend, extend_by_rows, push_column, range, row_span,
};
pub use table::{PairBuffer, TableRows};
pub use violation::Violation;
