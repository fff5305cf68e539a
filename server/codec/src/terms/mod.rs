//! Terms: what an inverted index has entries of.
//!
//! ```text
//!   value      {"tags": ["a", "b"], "n": 1}      terms_of ▶ K tags, K a, K b, K n, N 1
//!   condition  @> {"tags": ["a"]}                wanted   ▶ K tags and K a
//! ```
//!
//! A value has each of its terms once, in no order that matters. [`TermClass`] says what terms are:
//! it is what an operator class is in SQL.
//!
//! Rules that must always hold:
//!
//! - If a condition holds for a value, the value has the terms that [`wanted`] asks for. The other
//!   way round need not be true, so a reader checks the condition again.
//! - Equal values have equal terms: `1` and `1.0` in `jsonb` are one.
//! - A term never changes its bytes, since indexes have them on disk.

mod array;
mod jsonb;
mod lexeme;
mod path;
mod query;
pub mod trigram;
mod wanted;

pub use query::TermQuery;
pub use wanted::{TermOperator, wanted};

use braid_types::hstore::Hstore;
use braid_types::{Datum, Json, SqlType};
use serde::{Deserialize, Serialize};

/// The bytes of a term.
pub type Term = Vec<u8>;

/// Bytes of a term at most; longer ones are hashed.
const TERM_BYTES_MAX: usize = 64;

/// What the terms of an index are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TermClass {
    /// Keys and scalars of a `jsonb`, each by itself.
    Jsonb,
    /// Hashes of the scalars of a `jsonb` with the keys that lead to them.
    JsonbPath,
    /// The elements of an array.
    Array,
    /// Keys and values of an `hstore`, each by itself, as those of a `jsonb`.
    Hstore,
    /// Three characters that follow each other in a word of a text.
    Trigram,
    /// The lexemes of a `tsvector`.
    Lexeme,
}

/// The terms of a value, sorted, each once. NULL has none.
pub fn terms_of(class: TermClass, value: &Datum) -> Vec<Term> {
    let mut terms = match (class, value) {
        (TermClass::Jsonb, Datum::Json(json)) => jsonb::terms(json),
        (TermClass::JsonbPath, Datum::Json(json)) => jsonb::path_terms(json),
        (TermClass::Hstore, Datum::Text(text)) => hstore_terms(text),
        (TermClass::Array, Datum::Array(array)) => array::terms(array),
        (TermClass::Trigram, Datum::Text(text)) => trigram::terms(text),
        (TermClass::Lexeme, Datum::Bytes(vector)) => lexeme::terms(vector),
        _ => Vec::new(),
    };
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The terms of the same object as a `jsonb`.
fn hstore_terms(text: &str) -> Vec<Term> {
    let json = Hstore::parse(text).and_then(|set| Json::parse(&set.to_json(false)));
    json.map_or_else(|_| Vec::new(), |json| jsonb::terms(&json))
}

/// Whether values of a type have terms of a class.
pub fn has_terms(class: TermClass, ty: &SqlType) -> bool {
    match class {
        TermClass::Jsonb | TermClass::JsonbPath => *ty == SqlType::Jsonb,
        TermClass::Hstore => *ty == SqlType::Hstore,
        TermClass::Array => ty.is_array(),
        TermClass::Trigram => matches!(ty, SqlType::Text | SqlType::Varchar(_)),
        TermClass::Lexeme => *ty == SqlType::TsVector,
    }
}

/// A term of at most a fixed size: long contents are replaced by their hash. `long` marks these.
fn bounded(mut term: Term, long: u8) -> Term {
    if term.len() > TERM_BYTES_MAX {
        let mut hash = Hash::default();
        hash.add(&term);
        term.clear();
        term.push(long);
        term.extend_from_slice(&hash.0.to_be_bytes());
    }
    term
}

/// FNV-1a of 64 bits. Its values are on disk, so it never changes.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_terms_are_hashed_alike() {
        let term = |text: &str| bounded(text.as_bytes().to_vec(), 0xff);
        let long = "x".repeat(1_000);
        assert_eq!(term(&long).len(), 9);
        assert_eq!(term(&long), term(&long));
        assert_ne!(term(&long), term(&long[1..]));
        assert_eq!(term("short"), b"short");
    }
}
