//! Parts of a text with the words of a query marked: `ts_headline`.
//!
//! Here: its options, the words of a text with what the query asks for (`words`), and which parts
//! are shown (`fragments`).

mod fragments;
mod options;
mod word;
mod words;

pub(super) use words::register;
