//! A runner for the sqllogictest corpus.
//!
//! A file is a list of records: statements that succeed or fail, and queries with the values they
//! return. [`parse`] reads it, leaving out what is not for our label; [`run_file`] sends every
//! record through one connection and compares; [`Corpus`] finds the files.
//!
//! Only queries are counted, as in the published figures. A `statement ok` that fails spoils what
//! follows, so the file stops there.

mod corpus;
mod expected;
mod format;
mod parse;
mod run;

pub use corpus::Corpus;
pub use expected::{Exceptions, Figures};
pub use parse::{Record, RecordKind, parse};
pub use run::{Failure, Report, run_file};
