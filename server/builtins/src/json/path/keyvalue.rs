//! `.keyvalue()`, whose `id` distinguishes objects.
//!
//! The number is that of a base object, times ten billion, plus the object's place in it in bytes
//! of PostgreSQL's own format of `jsonb`. So the same places are computed here:
//!
//! ```text
//!   4 bytes header │ 4 bytes for each element, key and value │ keys │ values
//! ```
//!
//! A number begins at a multiple of four bytes, and so does an array or an object.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use braid_types::jsonpath::Step;
use braid_types::{Datum, Json, Numeric, Result, SqlState, SqlType, binary, work};

use super::evaluate::{Evaluator, Outcome, Sink};
use super::item::{Item, Kind, Pair};

/// What the number of a base object is multiplied by.
const BASE_FACTOR: i64 = 10_000_000_000;

/// The places of the arrays and objects in a value, by their addresses.
pub(super) type Layout = HashMap<usize, i64>;

/// What numbers of objects count from.
#[derive(Clone, Debug)]
pub(super) enum Base<'a> {
    None,
    /// The input or the variables, and its number.
    Json(&'a Json, i64),
    /// What `.keyvalue()` has made, and its number.
    Pair(Rc<Pair<'a>>, i64),
}

fn address(json: &Json) -> usize {
    std::ptr::from_ref(json).addr()
}

fn aligned(at: i64) -> i64 {
    (at + 3) & !3
}

fn number_bytes(number: &Numeric) -> i64 {
    let mut encoded = Vec::new();
    binary::encode(&SqlType::Numeric(None), &Datum::Numeric(number.clone()), &mut encoded);
    let field = |at: usize| match encoded.get(at..at + 2) {
        Some(bytes) => i64::from(i16::from_be_bytes([bytes[0], bytes[1]])),
        None => 0,
    };
    let (digits, weight, scale) = (field(0), field(2), field(6));
    let is_short = scale <= 63 && (-64..=63).contains(&weight);
    4 + if is_short { 2 } else { 4 } + 2 * digits
}

/// Notes the places in a value that begins at or after a byte; returns the byte behind it.
fn place(json: &Json, at: i64, layout: &mut Layout) -> Result<i64> {
    work::tick()?;
    Ok(match json {
        Json::Null | Json::Bool(_) => at,
        Json::String(text) | Json::Raw(text) => at + text.len() as i64,
        Json::Number(number) => aligned(at) + number_bytes(number),
        Json::Array(items) => {
            let start = aligned(at);
            layout.insert(address(json), start);
            let mut end = start + 4 + 4 * items.len() as i64;
            for item in items {
                end = place(item, end, layout)?;
            }
            end
        }
        Json::Object(members) => {
            let start = aligned(at);
            layout.insert(address(json), start);
            let keys: i64 = members.iter().map(|(key, _)| key.len() as i64).sum();
            let mut end = start + 4 + 8 * members.len() as i64 + keys;
            for (_, value) in members {
                end = place(value, end, layout)?;
            }
            end
        }
    })
}

/// The place of the value in what `.keyvalue()` has made.
fn value_place(pair: &Pair<'_>) -> Result<i64> {
    let mut none = Layout::new();
    let keys = 4 + 8 * 3 + ("id".len() + "key".len() + "value".len()) as i64;
    let at = place(&pair.id, keys, &mut none)?;
    Ok(aligned(place(&pair.key, at, &mut none)?))
}

/// The place of a part in a whole value; 0 if it is not there.
fn place_in<'a>(evaluator: &mut Evaluator<'a>, whole: &'a Json, part: &Json) -> Result<i64> {
    let layout = match evaluator.layouts.entry(address(whole)) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let mut layout = Layout::new();
            place(whole, 0, &mut layout)?;
            work::afford(layout.len() * size_of::<(usize, i64)>() * 2)?;
            entry.insert(layout)
        }
    };
    Ok(layout.get(&address(part)).copied().unwrap_or(0))
}

fn object_number<'a>(evaluator: &mut Evaluator<'a>, item: &Item<'a>) -> Result<i64> {
    match (evaluator.base.clone(), item) {
        (Base::None, _) => Ok(0),
        (Base::Json(whole, number), Item::Part(part)) => {
            Ok(number * BASE_FACTOR + place_in(evaluator, whole, part)?)
        }
        (Base::Pair(pair, number), Item::Part(part)) => {
            let inside = match pair.value {
                Item::Part(whole) => place_in(evaluator, whole, part)?,
                _ => 0,
            };
            Ok(number * BASE_FACTOR + value_place(&pair)? + inside)
        }
        (Base::Json(_, number) | Base::Pair(_, number), _) => Ok(number * BASE_FACTOR),
    }
}

pub(crate) fn evaluate_keyvalue<'a>(
    evaluator: &mut Evaluator<'a>,
    rest: &[Step],
    item: &Item<'a>,
    mut sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    if item.kind() != Kind::Object {
        let message = "jsonpath item method .keyvalue() can only be applied to an object";
        return evaluator.fail(SqlState::JsonObjectNotFound, message);
    }
    let is_wanted = sink.is_some() || !rest.is_empty();
    let mut outcome = Outcome::NotFound;
    let number = object_number(evaluator, item)?;
    let mut at = 0;
    while let (Some(key), Some(value)) = (item.key(at), item.child(at)) {
        at += 1;
        if !is_wanted {
            return Ok(Outcome::Found);
        }
        let id = Json::Number(Numeric::from_i64(number));
        let pair = Rc::new(Pair { id, key: Json::string(key), value });
        let base = Base::Pair(pair.clone(), evaluator.next_object);
        evaluator.next_object += 1;
        let outer = std::mem::replace(&mut evaluator.base, base);
        outcome = evaluator.follow(rest, &Item::Pair(pair), sink.as_deref_mut())?;
        evaluator.base = outer;
        if outcome == Outcome::Failed || (outcome == Outcome::Found && sink.is_none()) {
            return Ok(outcome);
        }
    }
    Ok(outcome)
}
