//! JSON objects as rows: of the columns that the caller lists (`json_to_record` and
//! `json_to_recordset`), or of the type of a row that is given (`json_populate_record` and
//! `json_populate_recordset`).
//!
//! A column takes the member of its name. Members without a column are left out; a column without
//! a member, or with the member `null`, is NULL. Strings become the column's type as literals do;
//! other values go by their JSON text.

use braid_types::text::parse;
use braid_types::{Datum, Error, Json, Result, Row, SqlState, SqlType};

use crate::registry::call::{cast_any, invalid};
use crate::registry::tables::Registry;
use crate::{Call, Environment, Rows};

type Field = (String, SqlType);

/// The columns of the caller's list.
fn fields(call: &Call<'_>) -> Vec<Field> {
    match call.returns {
        SqlType::Record(fields) => fields.to_vec(),
        _ => Vec::new(),
    }
}

/// The row of an object; `None` if it is not an object. A column without a member keeps its value
/// in `base`.
fn row_of(
    value: &Json,
    fields: &[Field],
    base: Option<&[Datum]>,
    env: &dyn Environment,
) -> Result<Option<Row>> {
    if value.type_name() != "object" {
        return Ok(None);
    }
    let column = |(place, (name, ty)): (usize, &Field)| {
        let before = base.and_then(|base| base.get(place));
        match value.get_field(name) {
            Some(member) => field_value(&member, ty, before, (name, env)),
            None => Ok(before.cloned().unwrap_or(Datum::Null)),
        }
    };
    fields.iter().enumerate().map(column).collect::<Result<Row>>().map(Some)
}

/// A member as a value of its column's type. A row that was there keeps the fields that the member
/// does not name.
fn field_value(
    member: &Json,
    ty: &SqlType,
    before: Option<&Datum>,
    (name, env): (&str, &dyn Environment),
) -> Result<Datum> {
    let text = match ty {
        _ if member.type_name() == "null" => return Ok(Datum::Null),
        SqlType::Json | SqlType::Jsonb => member.to_string(),
        SqlType::Array(element)
            if matches!(**element, SqlType::Record(_)) && member.type_name() == "array" =>
        {
            let items = member.elements().unwrap_or_default();
            let items = items.iter().map(|item| field_value(item, element, None, (name, env)));
            let items = items.collect::<Result<Vec<_>>>()?;
            return Ok(Datum::array((**element).clone(), items));
        }
        SqlType::Array(element) if member.type_name() == "array" => {
            let mut literal = String::new();
            let is_json = matches!(**element, SqlType::Json | SqlType::Jsonb);
            match dimensions(member) {
                Some(depth) => array_literal(member, (depth, is_json), name, &mut literal)?,
                // Only arrays without an element.
                None => literal.push_str("{}"),
            }
            literal
        }
        SqlType::Array(_) if member.type_name() != "string" => return Err(no_array(name)),
        SqlType::Record(fields) if member.type_name() != "string" => {
            let base = match before {
                Some(Datum::Record(base)) => Some(&base[..]),
                _ => None,
            };
            let row = row_of(member, fields, base, env)?;
            return row.map(|row| Datum::Record(row.into())).ok_or_else(|| no_object(member));
        }
        _ => member.to_plain_text().unwrap_or_default(),
    };
    if ty.is_reg() {
        return cast_any(&Datum::text(text), &SqlType::Unknown, ty, env);
    }
    // As an assignment: a string that is too long for its column is refused.
    parse(ty, &text, env.settings(), env.transaction_micros())
}

/// 22023: a value that is no object cannot become a row.
fn no_object(value: &Json) -> Error {
    let what = if value.type_name() == "array" { "an array" } else { "a scalar" };
    invalid(format!("cannot call populate_composite on {what}"))
}

/// 22P02: a value that is no array where one belongs.
fn no_array(name: &str) -> Error {
    Error::new(SqlState::InvalidTextRepresentation, "expected JSON array")
        .hint(format!("See the value of key \"{name}\"."))
}

/// The dimensions of a JSON array: the depth of its first element that is no array.
fn dimensions(value: &Json) -> Option<usize> {
    let items = value.elements()?;
    items.iter().find_map(|item| match item.type_name() {
        "array" => dimensions(item).map(|depth| depth + 1),
        _ => Some(1),
    })
}

/// A JSON array as an array literal. Arrays are dimensions down to `depth`, and values below.
fn array_literal(
    value: &Json,
    (depth, is_json): (usize, bool),
    name: &str,
    out: &mut String,
) -> Result<()> {
    out.push('{');
    for (number, item) in value.elements().ok_or_else(|| no_array(name))?.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        if depth > 1 {
            array_literal(item, (depth - 1, is_json), name, out)?;
            continue;
        }
        let text = match item.to_plain_text() {
            Some(_) if is_json => Some(item.to_string()),
            text => text,
        };
        let Some(text) = text else {
            out.push_str("NULL");
            continue;
        };
        out.push('"');
        for c in text.chars() {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('"');
    }
    out.push('}');
    Ok(())
}

fn to_record(call: &Call<'_>) -> Result<Rows> {
    let fields = fields(call);
    if call.is_null(0) {
        let row: Row = fields.iter().map(|_| Datum::Null).collect();
        return Ok(Box::new(std::iter::once(Ok(row))));
    }
    let value = call.checked_json(0)?;
    let row = row_of(value, &fields, None, call.env)?.ok_or_else(|| no_object(value))?;
    Ok(Box::new(std::iter::once(Ok(row))))
}

fn to_recordset(call: &Call<'_>, function: &str) -> Result<Rows> {
    rows_of(call.checked_json(0)?, &fields(call), None, (function, call.env))
}

/// The rows of an array of objects.
fn rows_of(
    value: &Json,
    fields: &[Field],
    base: Option<&[Datum]>,
    (function, env): (&str, &dyn Environment),
) -> Result<Rows> {
    let items = value.elements().ok_or_else(|| {
        let what = match (value, value.type_name()) {
            (Json::Raw(_), "object") => "an object",
            (Json::Raw(_), _) => "a scalar",
            _ => "a non-array",
        };
        invalid(format!("cannot call {function} on {what}"))
    })?;
    let refusal = format!("argument of {function} must be an array of objects");
    let rows = items
        .iter()
        .map(|item| row_of(item, fields, base, env)?.ok_or_else(|| invalid(refusal.clone())))
        .collect::<Result<Vec<Row>>>()?;
    Ok(Box::new(rows.into_iter().map(Ok)))
}

/// The columns of the row that a function fills. 42804 if its first argument is no row.
fn filled_fields(call: &Call<'_>, function: &str) -> Result<Vec<Field>> {
    match call.ty(0) {
        SqlType::Record(fields) if !fields.is_empty() => Ok(fields.to_vec()),
        SqlType::Record(_) => {
            let message = format!("could not determine row type for result of {function}");
            Err(Error::new(SqlState::FeatureNotSupported, message).hint(
                "Provide a non-null record argument, or call the function in the FROM clause \
                 using a column definition list.",
            ))
        }
        _ => {
            let message = format!("first argument of {function} must be a row type");
            Err(Error::new(SqlState::DatatypeMismatch, message))
        }
    }
}

/// The fields of the row that is given.
fn given_row<'c>(call: &'c Call<'_>) -> Option<&'c [Datum]> {
    match call.datum(0) {
        Datum::Record(fields) => Some(fields),
        _ => None,
    }
}

fn populate_record(call: &Call<'_>, function: &str) -> Result<Datum> {
    let fields = filled_fields(call, function)?;
    if call.is_null(1) {
        return Ok(call.datum(0).clone());
    }
    let value = call.checked_json(1)?;
    let row = row_of(value, &fields, given_row(call), call.env)?;
    row.map(|row| Datum::Record(row.into())).ok_or_else(|| no_object(value))
}

fn populate_recordset(call: &Call<'_>, function: &str) -> Result<Rows> {
    let fields = filled_fields(call, function)?;
    if call.is_null(1) {
        return Ok(Box::new(std::iter::empty()));
    }
    let rows = rows_of(call.checked_json(1)?, &fields, given_row(call), (function, call.env))?;
    Ok(Box::new(rows.map(|row| row.map(|row| vec![Datum::Record(row.into())]))))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("json_populate_record(anyelement, json) -> lax stable anyelement", |c| {
        populate_record(c, "json_populate_record")
    });
    registry.add("jsonb_populate_record(anyelement, jsonb) -> lax stable anyelement", |c| {
        populate_record(c, "jsonb_populate_record")
    });
    registry.set("json_populate_recordset(anyelement, json) -> lax stable anyelement", |c| {
        populate_recordset(c, "json_populate_recordset")
    });
    registry.set("jsonb_populate_recordset(anyelement, jsonb) -> lax stable anyelement", |c| {
        populate_recordset(c, "jsonb_populate_recordset")
    });
    registry.set("json_to_record(json) -> lax stable record", to_record);
    registry.set("jsonb_to_record(jsonb) -> lax stable record", to_record);
    registry
        .set("json_to_recordset(json) -> stable record", |c| to_recordset(c, "json_to_recordset"));
    registry.set("jsonb_to_recordset(jsonb) -> stable record", |c| {
        to_recordset(c, "jsonb_to_recordset")
    });
}
