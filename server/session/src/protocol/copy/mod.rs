//! COPY FROM and COPY TO, with the client or a file of the server: text, csv, binary.
//!
//! ```text
//! CopyData ──► Records (lines) ──► fields ──► datums ──► INSERT of many rows with parameters
//! CopyData ──► BinaryRows ───────────────► datums ──► the same INSERT
//! query ──► rows ──► fields ──► lines ──► CopyData
//! ```
//!
//! Rules: data is taken in pieces of any size, memory is bounded by the longest line and one
//! batch; an error names the line and the column; after an error the rest of the data is skipped.

mod binary;
mod ends;
mod format;
mod input;
mod output;
mod records;
pub(crate) mod run;
mod target;

pub(crate) use format::Format;
