//! Terms of `jsonb`.
//!
//! `jsonb_ops` has a term of each key and each scalar, wherever they are. Strings in arrays count
//! as keys, as in PostgreSQL: then `?` asks for one term. `jsonb_path_ops` has a hash of each
//! scalar with the keys above it; arrays leave no trace in it, and empty containers have no term.

use braid_types::{Datum, Json, SqlType};

use super::bytes::{Hash, Term, bounded};
use crate::key;

const KEY: u8 = 0x01;
const STRING: u8 = 0x02;
const NUMBER: u8 = 0x03;
const BOOL: u8 = 0x04;
const NULL: u8 = 0x05;
/// Is added to the first byte of a term that is hashed.
const LONG: u8 = 0x80;

/// The terms of keys and scalars.
pub(super) fn terms(json: &Json) -> Vec<Term> {
    let mut found = Vec::new();
    match json {
        // A scalar alone is an array with one element to PostgreSQL.
        Json::String(text) => found.push(key_term(text)),
        json => collect(json, &mut found),
    }
    found
}

/// The term of a key, of a string in an array, or of a string alone.
pub(super) fn key_term(text: &str) -> Term {
    tagged(KEY, text.as_bytes())
}

fn collect(json: &Json, found: &mut Vec<Term>) {
    match json {
        Json::Array(items) => {
            for item in items {
                match item {
                    Json::String(text) => found.push(key_term(text)),
                    item => collect(item, found),
                }
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                found.push(key_term(name));
                collect(value, found);
            }
        }
        scalar => found.push(scalar_term(scalar)),
    }
}

/// The term of a scalar that is the value of a key, or no string.
pub(super) fn scalar_term(json: &Json) -> Term {
    let (tag, content) = content(json);
    tagged(tag, &content)
}

/// The kind of a scalar and its bytes, which are equal for equal scalars.
fn content(json: &Json) -> (u8, Vec<u8>) {
    match json {
        Json::String(text) | Json::Raw(text) => (STRING, text.as_bytes().to_vec()),
        Json::Number(number) => {
            let mut bytes = Vec::new();
            key::encode(
                &mut bytes,
                &Datum::Numeric(number.clone()),
                &SqlType::Numeric(None),
                false,
            );
            (NUMBER, bytes)
        }
        Json::Bool(value) => (BOOL, vec![u8::from(*value)]),
        Json::Null | Json::Array(_) | Json::Object(_) => (NULL, Vec::new()),
    }
}

fn tagged(tag: u8, content: &[u8]) -> Term {
    let mut term = Vec::with_capacity(content.len() + 1);
    term.push(tag);
    term.extend_from_slice(content);
    bounded(term, tag | LONG)
}

/// The terms of scalars with the keys above them.
pub(super) fn path_terms(json: &Json) -> Vec<Term> {
    let mut found = Vec::new();
    hash_below(json, Hash::default(), &mut found);
    found
}

fn hash_below(json: &Json, above: Hash, found: &mut Vec<Term>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| hash_below(item, above, found)),
        Json::Object(members) => {
            for (name, value) in members {
                hash_below(value, with_key(above, name), found);
            }
        }
        scalar => found.push(path_term(above, scalar)),
    }
}

/// The hash of a path one key longer.
pub(super) fn with_key(mut above: Hash, name: &str) -> Hash {
    above.add(&[KEY]);
    above.add(&(name.len() as u64).to_be_bytes());
    above.add(name.as_bytes());
    above
}

/// The term of a scalar below keys.
pub(super) fn path_term(mut above: Hash, scalar: &Json) -> Term {
    let (tag, content) = content(scalar);
    above.add(&[tag]);
    above.add(&content);
    above.0.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).expect("JSON")
    }

    /// Whatever a document contains, it has the terms of.
    #[test]
    fn contained_documents_have_no_other_terms() {
        let cases = [
            (r#"["a", "b", 1]"#, r#""a""#),
            (r#"["a", "b", 1]"#, r#"["b", 1.0]"#),
            (r#""a""#, r#""a""#),
            (r#"{"a": {"b": [1, {"c": "x"}]}, "d": null}"#, r#"{"a": {"b": [{"c": "x"}]}}"#),
            (r#"{"a": [], "b": {}}"#, r#"{"b": {}}"#),
            (r#"[[1, 2], [3]]"#, r#"[[2, 1]]"#),
        ];
        for (outer, inner) in cases {
            let (outer, inner) = (json(outer), json(inner));
            assert!(outer.contains(&inner));
            for terms in [terms, path_terms] {
                let all = terms(&outer);
                assert!(terms(&inner).iter().all(|term| all.contains(term)), "{inner:?}");
            }
        }
    }

    #[test]
    fn equal_numbers_have_one_term() {
        assert_eq!(terms(&json("[1]")), terms(&json("[1.00]")));
        assert_eq!(path_terms(&json(r#"{"a": 1}"#)), path_terms(&json(r#"{"a": 1.0}"#)));
        assert_ne!(terms(&json(r#"{"a": "1"}"#)), terms(&json(r#"{"a": 1}"#)));
    }
}
