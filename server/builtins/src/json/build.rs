//! Making JSON: `to_json`, `json_build_object`, `json_object`, `row_to_json`, …

use braid_types::json::edit;
use braid_types::scratch::Scratch;
use braid_types::{Datum, Error, Json, Result, SqlState};

use super::convert::{to_json_text, to_jsonb, to_key};
use crate::Call;
use crate::registry::call::invalid;
use crate::registry::tables::Registry;

/// A `json` from text that is known to be one.
fn raw(out: Vec<u8>) -> Result<Datum> {
    Ok(Datum::json(Json::Raw(String::from_utf8_lossy(&out).into())))
}

fn to_json(call: &Call<'_>) -> Result<Datum> {
    let pretty = call.args.len() > 1 && call.bool(1)?;
    let mut out = Vec::new();
    to_json_text(call.ty(0), call.datum(0), call.env, pretty, &mut out);
    raw(out)
}

fn jsonb(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::json(to_jsonb(call.ty(0), call.datum(0), call.env)?))
}

fn odd_arguments(function: &str) -> Error {
    let what = if function == "json" { "json_build_object()" } else { "jsonb_build_object()" };
    invalid("argument list must have even number of elements")
        .hint(format!("The arguments of {what} must consist of alternating keys and values."))
}

fn null_key(place: usize, binary: bool) -> Error {
    if binary {
        return invalid(format!("argument {place}: key must not be null"));
    }
    let hint = "Object keys should be text.";
    invalid(format!("argument {place} cannot be null")).hint(hint)
}

fn build_object(call: &Call<'_>) -> Result<Datum> {
    if call.args.len() % 2 == 1 {
        return Err(odd_arguments("json"));
    }
    let mut out = vec![b'{'];
    for index in (0..call.args.len()).step_by(2) {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        let null = null_key(index + 1, false);
        let key = to_key(call.ty(index), call.datum(index), call.env, null)?;
        Json::string(key).write_text(&mut out);
        out.extend_from_slice(b" : ");
        to_json_text(call.ty(index + 1), call.datum(index + 1), call.env, false, &mut out);
    }
    out.push(b'}');
    raw(out)
}

fn build_object_binary(call: &Call<'_>) -> Result<Datum> {
    if call.args.len() % 2 == 1 {
        return Err(odd_arguments("jsonb"));
    }
    let mut members: Vec<(Box<str>, Json)> = Vec::new();
    let mut scratch = Scratch::default();
    for index in (0..call.args.len()).step_by(2) {
        let null = null_key(index + 1, true);
        let key = to_key(call.ty(index), call.datum(index), call.env, null)?;
        let value = to_jsonb(call.ty(index + 1), call.datum(index + 1), call.env)?;
        scratch.add(key.len() + value.size_bytes())?;
        members.push((key.into(), value));
    }
    Ok(Datum::json(Json::object(members)))
}

fn build_array(call: &Call<'_>) -> Result<Datum> {
    let mut out = vec![b'['];
    for index in 0..call.args.len() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        to_json_text(call.ty(index), call.datum(index), call.env, false, &mut out);
    }
    out.push(b']');
    raw(out)
}

fn build_array_binary(call: &Call<'_>) -> Result<Datum> {
    let items = call.args.iter().zip(call.types);
    let mut scratch = Scratch::default();
    let items = items.map(|(datum, ty)| {
        let item = to_jsonb(ty, datum, call.env)?;
        scratch.add(item.size_bytes())?;
        Ok(item)
    });
    Ok(Datum::json(Json::Array(items.collect::<Result<_>>()?)))
}

/// Keys and values of `json_object(text[])` or `json_object(text[], text[])`.
fn pairs<'a>(call: &Call<'a>) -> Result<Vec<(&'a str, Option<&'a str>)>> {
    let state = SqlState::ArraySubscriptError;
    let null =
        || Error::new(SqlState::NullValueNotAllowed, "null value not allowed for object key");
    let first = call.array(0)?;
    let wrong_number = || Error::new(state, "wrong number of array subscripts");
    if call.args.len() == 1 {
        let items = call.texts(0)?;
        match first.inner.as_slice() {
            [] => {}
            [two] if two.length == 2 => {}
            [_] => return Err(Error::new(state, "array must have two columns")),
            _ => return Err(wrong_number()),
        }
        if items.len() % 2 == 1 {
            return Err(Error::new(state, "array must have even number of elements"));
        }
        return items.chunks(2).map(|pair| Ok((pair[0].ok_or_else(null)?, pair[1]))).collect();
    }
    let (keys, values) = (call.texts(0)?, call.texts(1)?);
    let no_keys = keys.is_empty() != values.is_empty();
    if !first.inner.is_empty() || !call.array(1)?.inner.is_empty() || no_keys {
        return Err(wrong_number());
    }
    if keys.len() != values.len() {
        return Err(Error::new(state, "mismatched array dimensions"));
    }
    keys.into_iter().zip(values).map(|(key, value)| Ok((key.ok_or_else(null)?, value))).collect()
}

fn object(call: &Call<'_>) -> Result<Datum> {
    let mut out = vec![b'{'];
    for (index, (key, value)) in pairs(call)?.into_iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        Json::string(key).write_text(&mut out);
        out.extend_from_slice(b" : ");
        value.map_or(Json::Null, Json::string).write_text(&mut out);
    }
    out.push(b'}');
    raw(out)
}

fn object_binary(call: &Call<'_>) -> Result<Datum> {
    let members = pairs(call)?
        .into_iter()
        .map(|(key, value)| (key.into(), value.map_or(Json::Null, Json::string)))
        .collect();
    Ok(Datum::json(Json::object(members)))
}

/// The text of a `json` without white space, as `json_strip_nulls` prints it.
fn write_compact(value: &Json, out: &mut Vec<u8>) {
    if let Some(members) = value.members() {
        out.push(b'{');
        let mut first = true;
        for (key, value) in members {
            if value.type_name() == "null" {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            Json::string(key).write_text(out);
            out.push(b':');
            write_compact(&value, out);
        }
        out.push(b'}');
    } else if let Some(items) = value.elements() {
        out.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_compact(item, out);
        }
        out.push(b']');
    } else {
        let mut scalar = Vec::new();
        value.write_text(&mut scalar);
        out.extend_from_slice(scalar.trim_ascii());
    }
}

fn strip_nulls(call: &Call<'_>) -> Result<Datum> {
    let mut out = Vec::new();
    write_compact(call.checked_json(0)?, &mut out);
    raw(out)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("to_json(anyelement) -> json stable", to_json);
    registry.add("to_jsonb(anyelement) -> jsonb stable", jsonb);
    registry.add("row_to_json(record) -> json stable", to_json);
    registry.add("row_to_json(record, bool) -> json stable", to_json);
    registry.add("array_to_json(anyarray) -> json stable", to_json);
    registry.add("array_to_json(anyarray, bool) -> json stable", to_json);
    registry.add("json_build_object() -> json stable", build_object);
    registry.add("json_build_object(variadic any) -> json stable lax", build_object);
    registry.add("jsonb_build_object() -> jsonb stable", build_object_binary);
    registry.add("jsonb_build_object(variadic any) -> jsonb stable lax", build_object_binary);
    registry.add("json_build_array() -> json stable", build_array);
    registry.add("json_build_array(variadic any) -> json stable lax", build_array);
    registry.add("jsonb_build_array() -> jsonb stable", build_array_binary);
    registry.add("jsonb_build_array(variadic any) -> jsonb stable lax", build_array_binary);
    registry.add("json_object(text[]) -> json", object);
    registry.add("json_object(text[], text[]) -> json", object);
    registry.add("jsonb_object(text[]) -> jsonb", object_binary);
    registry.add("jsonb_object(text[], text[]) -> jsonb", object_binary);
    registry.add("json_strip_nulls(json) -> json", strip_nulls);
    registry.add("jsonb_strip_nulls(jsonb) -> jsonb", |c| {
        Ok(Datum::json(edit::strip_nulls(c.json(0)?)))
    });
    registry
        .add("jsonb_pretty(jsonb) -> text", |c| crate::registry::call::text(c.json(0)?.pretty()));
}
