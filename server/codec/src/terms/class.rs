//! What terms are, and of which types.

use braid_types::SqlType;
use serde::{Deserialize, Serialize};

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
