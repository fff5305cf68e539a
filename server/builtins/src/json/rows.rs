//! JSON containers as rows: `json_each`, `json_array_elements`, `json_object_keys`.

use braid_types::{Datum, Json, Result, Row};

use crate::registry::call::invalid;
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, Rows};

fn members(call: &Call<'_>, function: &str) -> Result<Vec<(String, Json)>> {
    let value = call.checked_json(0)?;
    value.members().ok_or_else(|| {
        // The text form complains about the shape it met, the binary form about the function.
        if matches!(value, Json::Raw(_)) {
            invalid(match value.type_name() {
                "array" => "cannot deconstruct an array as an object",
                _ => "cannot deconstruct a scalar",
            })
        } else {
            invalid(format!("cannot call {function} on a non-object"))
        }
    })
}

fn each(call: &Call<'_>, function: &str, as_text: bool) -> Result<Rows> {
    let members = members(call, function)?;
    rows(members.into_iter().map(move |(key, value)| {
        let value = if as_text {
            value.to_plain_text().map_or(Datum::Null, Datum::text)
        } else {
            Datum::json(value)
        };
        Row::from([Datum::text(key), value])
    }))
}

fn elements(call: &Call<'_>, function: &str, as_text: bool) -> Result<Rows> {
    let value = if as_text { call.checked_json(0)? } else { call.json(0)? };
    let items = value.elements().ok_or_else(|| {
        let object = value.type_name() == "object";
        if matches!(value, Json::Raw(_)) {
            invalid(format!(
                "cannot call {function} on a {}",
                if object { "non-array" } else { "scalar" }
            ))
        } else if object {
            invalid("cannot extract elements from an object")
        } else {
            invalid("cannot extract elements from a scalar")
        }
    })?;
    rows(items.into_iter().map(move |item| {
        let value = if as_text {
            item.to_plain_text().map_or(Datum::Null, Datum::text)
        } else {
            Datum::json(item)
        };
        Row::from([value])
    }))
}

fn keys(call: &Call<'_>, function: &str) -> Result<Rows> {
    let value = call.checked_json(0)?;
    let members = value.members().ok_or_else(|| {
        let what = if value.type_name() == "array" { "an array" } else { "a scalar" };
        invalid(format!("cannot call {function} on {what}"))
    })?;
    rows(members.into_iter().map(|(key, _)| Row::from([Datum::text(key)])))
}

pub(super) fn register(registry: &mut Registry) {
    registry.set("json_each(json) -> key text, value json", |c| each(c, "json_each", false));
    registry.set("jsonb_each(jsonb) -> key text, value jsonb", |c| each(c, "jsonb_each", false));
    registry
        .set("json_each_text(json) -> key text, value text", |c| each(c, "json_each_text", true));
    registry.set("jsonb_each_text(jsonb) -> key text, value text", |c| {
        each(c, "jsonb_each_text", true)
    });
    registry.set("json_array_elements(json) -> value json", |c| {
        elements(c, "json_array_elements", false)
    });
    registry.set("jsonb_array_elements(jsonb) -> value jsonb", |c| {
        elements(c, "jsonb_array_elements", false)
    });
    registry.set("json_array_elements_text(json) -> value text", |c| {
        elements(c, "json_array_elements_text", true)
    });
    registry.set("jsonb_array_elements_text(jsonb) -> value text", |c| {
        elements(c, "jsonb_array_elements_text", true)
    });
    registry.set("json_object_keys(json) -> text", |c| keys(c, "json_object_keys"));
    registry.set("jsonb_object_keys(jsonb) -> text", |c| keys(c, "jsonb_object_keys"));
}
