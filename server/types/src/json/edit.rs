//! Changed copies: `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`, `jsonb_strip_nulls`. And `||` in
//! place ([`append`]).

use super::Json;
use super::value::compare_keys;
use crate::{Error, Result, SqlState};

fn invalid_parameter(message: &str) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// What to do at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Set { create: bool },
    Insert { after: bool },
    Delete,
}

/// `a || b`: objects merge, arrays join, anything else is wrapped in an array.
pub fn concat(base: &Json, other: &Json) -> Result<Json> {
    Ok(match (base, other) {
        (Json::Object(a), Json::Object(b)) => Json::object(a.iter().chain(b).cloned().collect()),
        _ => {
            let wrap = |value: &Json| match value {
                Json::Array(items) => items.clone(),
                other => vec![other.clone()],
            };
            let mut items = wrap(base);
            items.extend(wrap(other));
            Json::Array(items)
        }
    })
}

/// `||` in place, of an object and an object or of an array and anything; false, and no change, for
/// other values.
pub fn append(base: &mut Json, other: &Json) -> bool {
    match (base, other) {
        (Json::Object(members), Json::Object(added)) => {
            for (key, value) in added {
                match members.binary_search_by(|(known, _)| compare_keys(known, key)) {
                    Ok(place) => members[place].1 = value.clone(),
                    Err(place) => members.insert(place, (key.clone(), value.clone())),
                }
            }
            true
        }
        (Json::Array(items), Json::Array(added)) => {
            items.extend(added.iter().cloned());
            true
        }
        (Json::Array(items), other) => {
            items.push(other.clone());
            true
        }
        _ => false,
    }
}

/// `- 'key'`: without that member, or without that string among the elements.
pub fn delete_key(base: &Json, key: &str) -> Result<Json> {
    match base {
        Json::Object(members) => {
            Ok(Json::Object(members.iter().filter(|(have, _)| **have != *key).cloned().collect()))
        }
        Json::Array(items) => Ok(Json::Array(
            items
                .iter()
                .filter(|item| !matches!(item, Json::String(text) if **text == *key))
                .cloned()
                .collect(),
        )),
        _ => Err(invalid_parameter("cannot delete from scalar")),
    }
}

/// `- 1`: without the element at that index; negative ones count from the end.
pub fn delete_index(base: &Json, index: i64) -> Result<Json> {
    match base {
        Json::Array(items) => {
            let mut items = items.clone();
            let length = items.len() as i64;
            let index = if index < 0 { index.saturating_add(length) } else { index };
            if (0..length).contains(&index) {
                items.remove(index as usize);
            }
            Ok(Json::Array(items))
        }
        Json::Object(_) => Err(invalid_parameter("cannot delete from object using integer index")),
        _ => Err(invalid_parameter("cannot delete from scalar")),
    }
}

/// `#-`: without the value at that path.
pub fn delete_path<S: AsRef<str>>(base: &Json, path: &[S]) -> Result<Json> {
    if !base.is_container() {
        return Err(invalid_parameter("cannot delete path in scalar"));
    }
    if is_empty(base) {
        return Ok(base.clone());
    }
    edit(base, path, 0, &Json::Null, Edit::Delete)
}

/// `jsonb_set`: the value at a path replaced, or added if `create` and only its last step
/// is missing.
pub fn set_path<S: AsRef<str>>(
    base: &Json,
    path: &[S],
    value: &Json,
    create: bool,
) -> Result<Json> {
    if !base.is_container() {
        return Err(invalid_parameter("cannot set path in scalar"));
    }
    if is_empty(base) && !create {
        return Ok(base.clone());
    }
    edit(base, path, 0, value, Edit::Set { create })
}

/// `jsonb_insert`: a new element before (or after) the one at a path, or a new member.
pub fn insert_path<S: AsRef<str>>(
    base: &Json,
    path: &[S],
    value: &Json,
    after: bool,
) -> Result<Json> {
    if !base.is_container() {
        return Err(invalid_parameter("cannot set path in scalar"));
    }
    edit(base, path, 0, value, Edit::Insert { after })
}

fn is_empty(base: &Json) -> bool {
    match base {
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn edit<S: AsRef<str>>(
    base: &Json,
    path: &[S],
    level: usize,
    value: &Json,
    change: Edit,
) -> Result<Json> {
    let Some(step) = path.get(level) else { return Ok(base.clone()) };
    let last = level + 1 == path.len();
    match base {
        Json::Object(members) => {
            let key = step.as_ref();
            let mut members = members.clone();
            let found = members.iter().position(|(have, _)| **have == *key);
            match (found, change) {
                (Some(at), _) if !last => {
                    members[at].1 = edit(&members[at].1, path, level + 1, value, change)?;
                }
                (Some(at), Edit::Set { .. }) => members[at].1 = value.clone(),
                (Some(at), Edit::Delete) => drop(members.remove(at)),
                (Some(_), Edit::Insert { .. }) => {
                    return Err(invalid_parameter("cannot replace existing key")
                        .hint("Try using the function jsonb_set to replace key value."));
                }
                (None, Edit::Set { create: true } | Edit::Insert { .. }) if last => {
                    members.push((key.into(), value.clone()));
                }
                (None, _) => {}
            }
            Ok(Json::object(members))
        }
        Json::Array(items) => edit_array(items, path, level, value, change),
        other => Ok(other.clone()),
    }
}

/// Without members that are null, at every level.
#[must_use]
pub fn strip_nulls(base: &Json) -> Json {
    match base {
        Json::Object(members) => Json::Object(
            members
                .iter()
                .filter(|(_, value)| !matches!(value, Json::Null))
                .map(|(key, value)| (key.clone(), strip_nulls(value)))
                .collect(),
        ),
        Json::Array(items) => Json::Array(items.iter().map(strip_nulls).collect()),
        other => other.clone(),
    }
}

fn edit_array<S: AsRef<str>>(
    items: &[Json],
    path: &[S],
    level: usize,
    value: &Json,
    change: Edit,
) -> Result<Json> {
    let step = path[level].as_ref();
    let last = level + 1 == path.len();
    let Ok(index) = step.trim_start().parse::<i32>() else {
        return Err(Error::new(
            SqlState::InvalidTextRepresentation,
            format!("path element at position {} is not an integer: \"{step}\"", level + 1),
        ));
    };
    let mut items = items.to_vec();
    let length = items.len() as i64;
    let mut index = i64::from(index);
    let before_start = index < 0 && -index > length;
    if index < 0 {
        index = if before_start { i64::MIN } else { index + length };
    }
    let inside = (0..length).contains(&index);
    match change {
        _ if !last => {
            if inside {
                let at = index as usize;
                items[at] = edit(&items[at], path, level + 1, value, change)?;
            }
        }
        Edit::Delete if inside => drop(items.remove(index as usize)),
        Edit::Delete => {}
        Edit::Set { .. } if inside => items[index as usize] = value.clone(),
        Edit::Set { create: false } => {}
        Edit::Insert { after } if inside => {
            items.insert(index as usize + usize::from(after), value.clone());
        }
        // Outside: at the nearer end.
        Edit::Set { create: true } | Edit::Insert { .. } => {
            let at = if index < 0 { 0 } else { items.len() };
            items.insert(at, value.clone());
        }
    }
    Ok(Json::Array(items))
}
