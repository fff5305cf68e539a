//! Full-text search.
//!
//! ```text
//!   text ──parser──► tokens ──dictionary──► lexemes with places ──► tsvector ─┐
//!   query ──► words ──parser, dictionary──► lexemes with operators ─► tsquery ─┴─► @@, ts_rank
//! ```
//!
//! Here: how texts and queries become lexemes, what is asked of both, ranks and headlines. Not
//! here: the two types and when a query matches (`braid_types::search`), the terms of an index
//! (`braid_codec::terms`).

mod cover;
mod dictionary;
mod documents;
mod headline;
mod inspect;
mod parser;
mod queries;
mod rank;
mod stop_words;
mod unaccent;
mod vectors;

pub use documents::text_vector;

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    documents::register(registry);
    queries::register(registry);
    vectors::register(registry);
    rank::register(registry);
    headline::register(registry);
    inspect::register(registry);
    unaccent::register(registry);
}
