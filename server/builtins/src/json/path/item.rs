//! What a path finds: parts of the input, and values that it made itself.

use std::rc::Rc;

use braid_types::datetime::Moment;
use braid_types::{Json, Numeric};

use super::moments;

/// The kind of an item; items of different kinds do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Moment,
    Array,
    Object,
}

/// What `.keyvalue()` makes of one member: an object of `id`, `key` and `value`.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) id: Json,
    pub(super) key: Json,
    pub(super) value: Item<'a>,
}

/// An item.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    /// A part of the input or of the variables.
    Part(&'a Json),
    /// A value without parts.
    Scalar(Json),
    /// What `.keyvalue()` has made.
    Pair(Rc<Pair<'a>>),
    /// What `.datetime()` has made.
    Moment(Moment),
}

impl<'a> Item<'a> {
    pub(super) fn number(value: Numeric) -> Self {
        Item::Scalar(Json::Number(value))
    }

    pub(super) fn kind(&self) -> Kind {
        let json = match self {
            Item::Part(json) => json,
            Item::Scalar(json) => json,
            Item::Pair(_) => return Kind::Object,
            Item::Moment(_) => return Kind::Moment,
        };
        match json {
            Json::Null => Kind::Null,
            Json::Bool(_) => Kind::Bool,
            Json::Number(_) => Kind::Number,
            Json::Array(_) => Kind::Array,
            Json::Object(_) => Kind::Object,
            // A jsonb never keeps its text.
            Json::String(_) | Json::Raw(_) => Kind::String,
        }
    }

    pub(super) fn is_container(&self) -> bool {
        matches!(self.kind(), Kind::Array | Kind::Object)
    }

    /// What `.type()` answers.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Item::Part(json) => json.type_name(),
            Item::Scalar(json) => json.type_name(),
            Item::Pair(_) => "object",
            Item::Moment(moment) => moments::type_name(moment),
        }
    }

    pub(super) fn as_json(&self) -> Option<&Json> {
        match self {
            Item::Part(json) => Some(json),
            Item::Scalar(json) => Some(json),
            Item::Pair(_) | Item::Moment(_) => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<&Numeric> {
        match self.as_json() {
            Some(Json::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self.as_json() {
            Some(Json::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The number of elements; `None` if it is no array.
    pub(super) fn array_length(&self) -> Option<usize> {
        match self {
            Item::Part(Json::Array(items)) => Some(items.len()),
            _ => None,
        }
    }

    /// An element or the value of a member, by its place.
    pub(super) fn child(&self, place: usize) -> Option<Item<'a>> {
        match self {
            Item::Part(Json::Array(items)) => items.get(place).map(Item::Part),
            Item::Part(Json::Object(members)) => {
                members.get(place).map(|(_, value)| Item::Part(value))
            }
            Item::Pair(pair) => match place {
                0 => Some(Item::Scalar(pair.id.clone())),
                1 => Some(Item::Scalar(pair.key.clone())),
                2 => Some(pair.value.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of a member, by its place.
    pub(super) fn key(&self, place: usize) -> Option<&str> {
        match self {
            Item::Part(Json::Object(members)) => members.get(place).map(|(key, _)| &**key),
            Item::Pair(_) => ["id", "key", "value"].get(place).copied(),
            _ => None,
        }
    }

    /// The member of that name.
    pub(super) fn member(&self, name: &str) -> Option<Item<'a>> {
        match self {
            Item::Part(json) => json.member(name).map(Item::Part),
            Item::Pair(_) => {
                let place = ["id", "key", "value"].iter().position(|key| *key == name)?;
                self.child(place)
            }
            _ => None,
        }
    }

    /// About how many bytes its JSON takes.
    pub(super) fn size_bytes(&self) -> usize {
        match self {
            Item::Part(json) => json.size_bytes(),
            Item::Scalar(json) => json.size_bytes(),
            Item::Pair(pair) => {
                pair.id.size_bytes() + pair.key.size_bytes() + pair.value.size_bytes()
            }
            Item::Moment(_) => size_of::<Json>(),
        }
    }

    /// The item as a result.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Item::Part(json) => (*json).clone(),
            Item::Scalar(json) => json.clone(),
            Item::Pair(pair) => Json::Object(vec![
                ("id".into(), pair.id.clone()),
                ("key".into(), pair.key.clone()),
                ("value".into(), pair.value.to_json()),
            ]),
            Item::Moment(moment) => Json::string(moments::print(moment)),
        }
    }
}
