//! Reading and changing JSON: `->`, `#>`, `@>`, `?`, `-`, `jsonb_set` and their named forms.

use std::borrow::Cow;

use braid_types::json::{assign_path, edit};
use braid_types::{Datum, Error, Json, Result, SqlState};

use crate::Call;
use crate::registry::call::{count, invalid, text};
use crate::registry::tables::Registry;

type Found<'a> = Option<Cow<'a, Json>>;

fn as_json(found: Found<'_>) -> Result<Datum> {
    Ok(found.map_or(Datum::Null, |value| Datum::json(value.into_owned())))
}

fn as_text(found: Found<'_>) -> Result<Datum> {
    Ok(found.and_then(|value| value.to_plain_text()).map_or(Datum::Null, Datum::text))
}

fn field<'a>(call: &Call<'a>) -> Result<Found<'a>> {
    Ok(call.checked_json(0)?.get_field(call.text(1)?))
}

fn element<'a>(call: &Call<'a>) -> Result<Found<'a>> {
    Ok(call.checked_json(0)?.get_element(call.int(1)?))
}

/// A path given as `text[]`; a NULL step finds nothing.
fn path<'a>(call: &Call<'a>) -> Result<Found<'a>> {
    let steps: Option<Vec<&str>> = call.texts(1)?.into_iter().collect();
    let Some(steps) = steps else { return Ok(None) };
    Ok(call.checked_json(0)?.get_path(&steps))
}

/// A path given as separate arguments.
fn path_of_arguments<'a>(call: &Call<'a>) -> Result<Found<'a>> {
    let steps: Option<Vec<&str>> = call.args[1..].iter().map(Datum::as_str).collect();
    let Some(steps) = steps else { return Ok(None) };
    Ok(call.checked_json(0)?.get_path(&steps))
}

fn steps<'a>(call: &Call<'a>, index: usize) -> Result<Vec<&'a str>> {
    call.texts(index)?
        .into_iter()
        .enumerate()
        .map(|(at, step)| {
            step.ok_or_else(|| {
                let message = format!("path element at position {} is null", at + 1);
                Error::new(SqlState::NullValueNotAllowed, message)
            })
        })
        .collect()
}

fn set(call: &Call<'_>) -> Result<Datum> {
    let create = call.args.len() < 4 || call.bool(3)?;
    let changed = edit::set_path(call.json(0)?, &steps(call, 1)?, call.json(2)?, create)?;
    Ok(Datum::json(changed))
}

/// A jsonb after an assignment to a part of it. The last argument says whether the path begins with
/// a place in an array, which NULL then becomes.
fn assign(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(1) || call.is_null(3) {
        return Ok(Datum::Null);
    }
    let steps: Option<Vec<&str>> = call.texts(1)?.into_iter().collect();
    let steps = steps.ok_or_else(|| {
        let message = "jsonb subscript in assignment must not be null";
        Error::new(SqlState::NullValueNotAllowed, message)
    })?;
    let value = if call.is_null(2) { &Json::Null } else { call.json(2)? };
    let empty = match call.bool(3)? {
        true => Json::Array(Vec::new()),
        false => Json::Object(Vec::new()),
    };
    let base = if call.is_null(0) { &empty } else { call.json(0)? };
    Ok(Datum::json(assign_path(base, &steps, value)?))
}

/// `jsonb_set_lax`: what a NULL value does is the fifth argument's choice.
fn set_lax(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) || call.is_null(1) || (call.args.len() > 3 && call.is_null(3)) {
        return Ok(Datum::Null);
    }
    if call.args.len() > 4 && call.is_null(4) {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", \
             or \"raise_exception\"",
        ));
    }
    if !call.is_null(2) {
        return set(call);
    }
    let create = call.args.len() < 4 || call.bool(3)?;
    let target = call.json(0)?;
    let steps = steps(call, 1)?;
    match call.datum(4).as_str().unwrap_or("use_json_null") {
        "raise_exception" => {
            Err(Error::new(SqlState::NullValueNotAllowed, "JSON value must not be null")
                .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
                .hint(
                    "To avoid, either change the null_value_treatment argument or ensure that an \
                     SQL NULL is not passed.",
                ))
        }
        "use_json_null" => Ok(Datum::json(edit::set_path(target, &steps, &Json::Null, create)?)),
        "return_target" => Ok(call.datum(0).clone()),
        "delete_key" => Ok(Datum::json(edit::delete_path(target, &steps)?)),
        _ => Err(invalid(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", \
             or \"raise_exception\"",
        )),
    }
}

fn insert(call: &Call<'_>) -> Result<Datum> {
    let after = call.args.len() > 3 && call.bool(3)?;
    Ok(Datum::json(edit::insert_path(call.json(0)?, &steps(call, 1)?, call.json(2)?, after)?))
}

fn delete_keys(call: &Call<'_>) -> Result<Datum> {
    let mut value = call.json(0)?.clone();
    let keys = call.texts(1)?;
    if !value.is_container() {
        return Err(invalid("cannot delete from scalar"));
    }
    for key in keys.into_iter().flatten() {
        value = edit::delete_key(&value, key)?;
    }
    Ok(Datum::json(value))
}

fn exists_any(call: &Call<'_>) -> Result<Datum> {
    let (value, keys) = (call.json(0)?, call.texts(1)?);
    Ok(Datum::Bool(keys.into_iter().flatten().any(|key| value.exists(key))))
}

fn exists_all(call: &Call<'_>) -> Result<Datum> {
    let (value, keys) = (call.json(0)?, call.texts(1)?);
    Ok(Datum::Bool(keys.into_iter().flatten().all(|key| value.exists(key))))
}

fn array_length(call: &Call<'_>) -> Result<Datum> {
    let value = call.json(0)?;
    if let Some(items) = value.elements() {
        return count(items.len());
    }
    Err(invalid(if value.type_name() == "object" {
        "cannot get array length of a non-array"
    } else {
        "cannot get array length of a scalar"
    }))
}

pub(super) fn register(registry: &mut Registry) {
    macro_rules! readers {
        ($($name:literal ($args:literal) $reader:expr, $text_name:literal;)*) => {
            $(
                registry.add(concat!($name, "(json, ", $args, ") -> json"), |c| {
                    as_json($reader(c)?)
                });
                registry.add(concat!($name, "(jsonb, ", $args, ") -> jsonb"), |c| {
                    as_json($reader(c)?)
                });
                registry.add(concat!($text_name, "(json, ", $args, ") -> text"), |c| {
                    as_text($reader(c)?)
                });
                registry.add(concat!($text_name, "(jsonb, ", $args, ") -> text"), |c| {
                    as_text($reader(c)?)
                });
            )*
        };
    }
    readers! {
        "->" ("text") field, "->>";
        "->" ("int4") element, "->>";
        "#>" ("text[]") path, "#>>";
    }
    register_paths(registry);
    registry.add("@>(jsonb, jsonb) -> bool", |c| Ok(Datum::Bool(c.json(0)?.contains(c.json(1)?))));
    registry.add("<@(jsonb, jsonb) -> bool", |c| Ok(Datum::Bool(c.json(1)?.contains(c.json(0)?))));
    for signature in ["?(jsonb, text) -> bool", "jsonb_exists(jsonb, text) -> bool"] {
        registry.add(signature, |c| Ok(Datum::Bool(c.json(0)?.exists(c.text(1)?))));
    }
    for signature in ["?|(jsonb, text[]) -> bool", "jsonb_exists_any(jsonb, text[]) -> bool"] {
        registry.add(signature, exists_any);
    }
    for signature in ["?&(jsonb, text[]) -> bool", "jsonb_exists_all(jsonb, text[]) -> bool"] {
        registry.add(signature, exists_all);
    }
    registry.add("||(jsonb, jsonb) -> jsonb", |c| {
        Ok(Datum::json(edit::concat(c.json(0)?, c.json(1)?)?))
    });
    registry.add("-(jsonb, text) -> jsonb", |c| {
        Ok(Datum::json(edit::delete_key(c.json(0)?, c.text(1)?)?))
    });
    registry.add("-(jsonb, int4) -> jsonb", |c| {
        Ok(Datum::json(edit::delete_index(c.json(0)?, c.int(1)?)?))
    });
    registry.add("-(jsonb, text[]) -> jsonb", delete_keys);
    for signature in ["#-(jsonb, text[]) -> jsonb", "jsonb_delete_path(jsonb, text[]) -> jsonb"] {
        registry.add(signature, |c| Ok(Datum::json(edit::delete_path(c.json(0)?, &steps(c, 1)?)?)));
    }
    registry.add("jsonb_set(jsonb, text[], jsonb) -> jsonb", set);
    registry.add("jsonb_set(jsonb, text[], jsonb, bool) -> jsonb", set);
    registry.add("jsonb_set_lax(jsonb, text[], jsonb) -> jsonb lax", set_lax);
    registry.add("jsonb_set_lax(jsonb, text[], jsonb, bool) -> jsonb lax", set_lax);
    registry.add("jsonb_set_lax(jsonb, text[], jsonb, bool, text) -> jsonb lax", set_lax);
    registry.add("braid_jsonb_assign(jsonb, text[], jsonb, bool) -> jsonb lax", assign);
    registry.add("jsonb_insert(jsonb, text[], jsonb) -> jsonb", insert);
    registry.add("jsonb_insert(jsonb, text[], jsonb, bool) -> jsonb", insert);
    registry.add("json_typeof(json) -> text", |c| text(c.json(0)?.type_name()));
    registry.add("jsonb_typeof(jsonb) -> text", |c| text(c.json(0)?.type_name()));
    registry.add("json_array_length(json) -> int4", array_length);
    registry.add("jsonb_array_length(jsonb) -> int4", array_length);
}

/// The functions that take the steps of a path as arguments.
fn register_paths(registry: &mut Registry) {
    registry
        .add("json_extract_path(json, variadic text) -> json", |c| as_json(path_of_arguments(c)?));
    registry.add("jsonb_extract_path(jsonb, variadic text) -> jsonb", |c| {
        as_json(path_of_arguments(c)?)
    });
    registry.add("json_extract_path_text(json, variadic text) -> text", |c| {
        as_text(path_of_arguments(c)?)
    });
    registry.add("jsonb_extract_path_text(jsonb, variadic text) -> text", |c| {
        as_text(path_of_arguments(c)?)
    });
}
