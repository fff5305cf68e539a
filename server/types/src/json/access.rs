//! Reading parts: `->`, `#>`, `@>`, `?` and what expands containers into rows.

use std::borrow::Cow;

use super::Json;
use super::parse::{check_escapes, raw_elements, raw_members};
use super::value::compare_keys;

impl Json {
    /// Refuses a `json` with an escape that means no character. A `jsonb` has none.
    pub fn check_escapes(&self) -> crate::Result<()> {
        match self {
            Json::Raw(text) => check_escapes(text),
            _ => Ok(()),
        }
    }

    /// The member of a `jsonb` object; `None` if it is no object or has no such key.
    pub fn member(&self, key: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        let at = members.binary_search_by(|(have, _)| compare_keys(have, key)).ok()?;
        Some(&members[at].1)
    }

    /// The member of that name (`-> 'key'`); `None` if it is no object or has no such key.
    pub fn get_field(&self, key: &str) -> Option<Cow<'_, Json>> {
        match self {
            Json::Object(_) => self.member(key).map(Cow::Borrowed),
            Json::Raw(text) => {
                let members = raw_members(text).ok()?;
                // Of equal keys the last counts.
                let found = members.into_iter().rev().find(|(have, _)| have == key)?;
                Some(Cow::Owned(Json::Raw(found.1.into())))
            }
            _ => None,
        }
    }

    /// The element at an index (`-> 1`); negative ones count from the end.
    pub fn get_element(&self, index: i64) -> Option<Cow<'_, Json>> {
        let place = |length: usize| {
            let index = if index < 0 { index.checked_add(length as i64)? } else { index };
            usize::try_from(index).ok().filter(|at| *at < length)
        };
        match self {
            Json::Array(items) => Some(Cow::Borrowed(&items[place(items.len())?])),
            Json::Raw(text) => {
                let mut items = raw_elements(text).ok()?;
                let at = place(items.len())?;
                Some(Cow::Owned(Json::Raw(items.swap_remove(at).into())))
            }
            // A bare scalar is an array of one to PostgreSQL.
            scalar if !scalar.is_container() && matches!(index, 0 | -1) => {
                Some(Cow::Borrowed(scalar))
            }
            _ => None,
        }
    }

    /// The value at a path (`#>`): keys of objects, indexes of arrays.
    pub fn get_path<S: AsRef<str>>(&self, path: &[S]) -> Option<Cow<'_, Json>> {
        let mut value = Cow::Borrowed(self);
        for step in path {
            value = Cow::Owned(value.step(step.as_ref())?);
        }
        Some(value)
    }

    fn step(&self, step: &str) -> Option<Json> {
        if self.type_name() == "array" {
            return self.get_element(step.trim().parse().ok()?).map(Cow::into_owned);
        }
        self.get_field(step).map(Cow::into_owned)
    }

    /// `@>`: whether `other`'s structure and values are within it.
    pub fn contains(&self, other: &Json) -> bool {
        // An array contains a bare scalar, at the top only.
        if let Json::Array(items) = self
            && !other.is_container()
        {
            return items.iter().any(|item| item == other);
        }
        self.contains_nested(other)
    }

    fn contains_nested(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Object(_), Json::Object(wanted)) => wanted.iter().all(|(key, value)| {
                self.get_field(key).is_some_and(|have| have.contains_nested(value))
            }),
            (Json::Array(items), Json::Array(wanted)) => {
                wanted.iter().all(|value| items.iter().any(|item| item.contains_nested(value)))
            }
            _ => self == other,
        }
    }

    /// `?`: whether it has that key, or that string as an element, or is that string.
    pub fn exists(&self, key: &str) -> bool {
        match self {
            Json::Object(_) => self.get_field(key).is_some(),
            Json::Array(items) => {
                items.iter().any(|item| matches!(item, Json::String(text) if **text == *key))
            }
            Json::String(text) => **text == *key,
            _ => false,
        }
    }

    /// The elements of an array; `None` for anything else.
    pub fn elements(&self) -> Option<Vec<Json>> {
        match self {
            Json::Array(items) => Some(items.clone()),
            Json::Raw(text) if self.type_name() == "array" => {
                let items = raw_elements(text).ok()?;
                Some(items.into_iter().map(|item| Json::Raw(item.into())).collect())
            }
            _ => None,
        }
    }

    /// The members of an object; `None` for anything else. A `json` keeps order and repeats.
    pub fn members(&self) -> Option<Vec<(String, Json)>> {
        match self {
            Json::Object(members) => {
                Some(members.iter().map(|(key, value)| (key.to_string(), value.clone())).collect())
            }
            Json::Raw(text) if self.type_name() == "object" => {
                let members = raw_members(text).ok()?;
                Some(members.into_iter().map(|(k, v)| (k, Json::Raw(v.into()))).collect())
            }
            _ => None,
        }
    }
}
