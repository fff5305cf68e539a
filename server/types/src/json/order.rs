//! The order, equality and hash of `jsonb`.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::Json;

fn rank(value: &Json) -> u8 {
    match value {
        Json::Null => 0,
        Json::String(_) => 1,
        Json::Number(_) => 2,
        Json::Bool(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
        Json::Raw(_) => 6,
    }
}

impl Json {
    /// jsonb's order: null, strings, numbers, booleans, arrays, objects; containers by size
    /// first. An empty top-level array comes before everything, as in PostgreSQL.
    pub fn compare(&self, other: &Self) -> Ordering {
        let empty = |value: &Json| matches!(value, Json::Array(items) if items.is_empty());
        match (empty(self), empty(other)) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.compare_nested(other),
        }
    }

    fn compare_nested(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Json::Raw(a), Json::Raw(b)) => a.cmp(b),
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => a.cmp(b),
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                first_difference(a.iter().zip(b).map(|(left, right)| left.compare_nested(right)))
            }),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                first_difference(a.iter().zip(b).map(|(left, right)| {
                    left.0
                        .as_bytes()
                        .cmp(right.0.as_bytes())
                        .then_with(|| left.1.compare_nested(&right.1))
                }))
            }),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}
impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        rank(self).hash(state);
        match self {
            Json::Null => {}
            Json::Bool(value) => value.hash(state),
            Json::Number(value) => value.hash(state),
            Json::Raw(text) | Json::String(text) => text.hash(state),
            Json::Array(items) => {
                items.len().hash(state);
                items.iter().for_each(|item| item.hash(state));
            }
            Json::Object(members) => {
                for (key, value) in members {
                    key.hash(state);
                    value.hash(state);
                }
            }
        }
    }
}
