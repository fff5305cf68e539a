//! COPY FROM STDIN and COPY TO STDOUT: text, csv, binary.
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
mod format;
mod input;
mod output;
mod records;
pub(crate) mod run;
mod target;

pub(crate) use format::Format;
