//! The JSON value and its plain accessors.

use std::cmp::Ordering;

use crate::Numeric;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Json {
    /// The text of a `json` (never of a `jsonb`), checked but not normalised.
    Raw(Box<str>),
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, with all its digits.
    Number(Numeric),
    /// A string.
    String(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object: unique keys in jsonb's order (length, then bytes).
    Object(Vec<(Box<str>, Json)>),
}

impl Json {
    /// A string value.
    pub fn string(value: impl Into<Box<str>>) -> Self {
        Json::String(value.into())
    }

    /// An object in jsonb's order; of equal keys the last wins.
    pub fn object(members: Vec<(Box<str>, Json)>) -> Self {
        let mut members = members;
        // The sort is stable, so the last of equal keys is the one given last.
        members.sort_by(|a, b| compare_keys(&a.0, &b.0));
        members.reverse();
        members.dedup_by(|later, earlier| later.0 == earlier.0);
        members.reverse();
        Json::Object(members)
    }

    /// What `jsonb_typeof` answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Raw(text) => match text.trim_start().as_bytes().first() {
                Some(b'{') => "object",
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "boolean",
                Some(b'n') | None => "null",
                Some(_) => "number",
            },
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Whether it is an array or an object.
    pub fn is_container(&self) -> bool {
        matches!(self.type_name(), "array" | "object")
    }

    /// The normalised form: parses the text of a `json`.
    pub fn normalised(&self) -> crate::Result<Json> {
        match self {
            Json::Raw(text) => Json::parse(text),
            other => Ok(other.clone()),
        }
    }

    /// Approximate bytes of memory it takes.
    pub fn size_bytes(&self) -> usize {
        let inner = match self {
            Json::Raw(text) | Json::String(text) => text.len(),
            Json::Number(number) => number.heap_bytes(),
            Json::Array(items) => items.iter().map(Json::size_bytes).sum(),
            Json::Object(members) => {
                members.iter().map(|(key, value)| key.len() + 16 + value.size_bytes()).sum()
            }
            Json::Null | Json::Bool(_) => 0,
        };
        size_of::<Json>() + inner
    }
}

/// Keys sort by length, then by bytes.
pub(super) fn compare_keys(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}
