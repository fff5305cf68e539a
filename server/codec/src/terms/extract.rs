//! The terms of a value.

use braid_types::hstore::Hstore;
use braid_types::{Datum, Json, SqlType};

use super::bytes::Term;
use super::class::TermClass;
use super::{array, jsonb, lexeme, trigram};

/// The terms of a value of a type, sorted, each once. NULL has none.
pub fn terms_of(class: TermClass, value: &Datum, ty: &SqlType) -> Vec<Term> {
    let mut terms = match (class, value) {
        (_, Datum::Null) => Vec::new(),
        (TermClass::Scalar, value) => vec![array::element(value, ty)],
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
