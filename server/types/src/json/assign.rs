//! Assignment to a part of a jsonb: `SET j['a'][0] = …`. Missing objects and arrays are made, and
//! gaps of arrays are filled with null.

use super::Json;
use crate::{Error, Result, SqlState, work};

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// A step of a path as a place in an array.
fn number(step: &str) -> Option<i32> {
    step.trim_start().parse().ok()
}

/// The value with `value` at that path. 22023 for a path through a scalar, and for a place
/// before the beginning of an array; 22P02 for a step into an array that is no number.
pub fn assign_path(base: &Json, path: &[&str], value: &Json) -> Result<Json> {
    assign_at(base, path, 0, value)
}

fn assign_at(base: &Json, path: &[&str], level: usize, value: &Json) -> Result<Json> {
    let Some(step) = path.get(level) else { return Ok(value.clone()) };
    match base {
        Json::Object(members) => {
            let mut members = members.clone();
            match members.iter_mut().find(|(key, _)| **key == **step) {
                Some((_, member)) => *member = assign_at(member, path, level + 1, value)?,
                None => members.push(((*step).into(), built(&path[level + 1..], value)?)),
            }
            Ok(Json::object(members))
        }
        Json::Array(items) => {
            let Some(index) = number(step) else {
                let place = level + 1;
                return Err(Error::new(
                    SqlState::InvalidTextRepresentation,
                    format!("path element at position {place} is not an integer: \"{step}\""),
                ));
            };
            let mut items = items.clone();
            let wanted = i64::from(index);
            let from_start = if wanted < 0 { wanted + items.len() as i64 } else { wanted };
            let place = usize::try_from(from_start).map_err(|_| {
                let at = level + 1;
                invalid(format!("path element at position {at} is out of range: {index}"))
            })?;
            match items.get_mut(place) {
                Some(item) => *item = assign_at(item, path, level + 1, value)?,
                None => {
                    fill(&mut items, place)?;
                    items.push(built(&path[level + 1..], value)?);
                }
            }
            Ok(Json::Array(items))
        }
        _ => Err(invalid("cannot replace existing key")
            .detail("The path assumes key is a composite object, but it is a scalar value.")),
    }
}

/// Adds nulls up to that length.
fn fill(items: &mut Vec<Json>, length: usize) -> Result<()> {
    work::afford(length.saturating_mul(size_of::<Json>()))?;
    items.resize(length, Json::Null);
    Ok(())
}

/// The objects and arrays of a path, with the value in the innermost one.
fn built(path: &[&str], value: &Json) -> Result<Json> {
    let mut made = value.clone();
    for step in path.iter().rev() {
        made = match number(step) {
            None => Json::object(vec![((*step).into(), made)]),
            Some(index) => {
                let mut items = Vec::new();
                fill(&mut items, usize::try_from(index).unwrap_or(0))?;
                items.push(made);
                Json::Array(items)
            }
        };
    }
    Ok(made)
}
