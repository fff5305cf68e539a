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
    /// The value itself, as btree_gin has it.
    Scalar,
}

/// Whether values of a type have terms of a class.
pub fn has_terms(class: TermClass, ty: &SqlType) -> bool {
    match class {
        TermClass::Jsonb | TermClass::JsonbPath => *ty == SqlType::Jsonb,
        TermClass::Hstore => *ty == SqlType::Hstore,
        TermClass::Array => ty.is_array(),
        TermClass::Trigram => matches!(ty, SqlType::Text | SqlType::Varchar(_)),
        TermClass::Lexeme => *ty == SqlType::TsVector,
        TermClass::Scalar => is_scalar(ty),
    }
}

/// The types of btree_gin.
fn is_scalar(ty: &SqlType) -> bool {
    let is_text = matches!(
        ty,
        SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Name
            | SqlType::InternalChar
    );
    let is_number = ty.is_integer()
        || matches!(
            ty,
            SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) | SqlType::Money | SqlType::Oid
        );
    let is_time = matches!(
        ty,
        SqlType::Date
            | SqlType::Time
            | SqlType::Timetz
            | SqlType::Timestamp
            | SqlType::Timestamptz
            | SqlType::Interval
    );
    let is_other = matches!(
        ty,
        SqlType::Bool
            | SqlType::Bytes
            | SqlType::Uuid
            | SqlType::Inet
            | SqlType::Cidr
            | SqlType::Macaddr
            | SqlType::Macaddr8
            | SqlType::Bit(_)
            | SqlType::Varbit(_)
    );
    is_text || is_number || is_time || is_other || ty.is_enum()
}
