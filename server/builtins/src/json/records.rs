//! JSON objects as rows of the columns that the caller lists: `json_to_record` and
//! `json_to_recordset`.
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

/// The row of an object; `None` if it is not an object.
fn row_of(value: &Json, fields: &[Field], env: &dyn Environment) -> Result<Option<Row>> {
    if value.type_name() != "object" {
        return Ok(None);
    }
    let column = |(name, ty): &Field| match value.get_field(name) {
        Some(member) => field_value(&member, ty, name, env),
        None => Ok(Datum::Null),
    };
    fields.iter().map(column).collect::<Result<Row>>().map(Some)
}

/// A member as a value of its column's type.
fn field_value(member: &Json, ty: &SqlType, name: &str, env: &dyn Environment) -> Result<Datum> {
    let text = match ty {
        _ if member.type_name() == "null" && !matches!(ty, SqlType::Json | SqlType::Jsonb) => {
            return Ok(Datum::Null);
        }
        SqlType::Json | SqlType::Jsonb => member.to_string(),
        SqlType::Array(_) if member.type_name() == "array" => {
            let mut literal = String::new();
            array_literal(member, &mut literal);
            literal
        }
        SqlType::Array(_) if member.type_name() != "string" => {
            let error = Error::new(SqlState::InvalidTextRepresentation, "expected JSON array");
            return Err(error.hint(format!("See the value of key \"{name}\".")));
        }
        _ => member.to_plain_text().unwrap_or_default(),
    };
    if ty.is_reg() {
        return cast_any(&Datum::text(text), &SqlType::Unknown, ty, env);
    }
    // As an assignment: a string that is too long for its column is refused.
    parse(ty, &text, env.settings(), env.transaction_micros())
}

/// A JSON array as an array literal, nested arrays as further dimensions.
fn array_literal(value: &Json, out: &mut String) {
    out.push('{');
    for (number, item) in value.elements().unwrap_or_default().iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        match (item.type_name(), item.to_plain_text()) {
            ("array", _) => array_literal(item, out),
            (_, None) => out.push_str("NULL"),
            (_, Some(text)) => {
                out.push('"');
                for c in text.chars() {
                    if matches!(c, '"' | '\\') {
                        out.push('\\');
                    }
                    out.push(c);
                }
                out.push('"');
            }
        }
    }
    out.push('}');
}

fn to_record(call: &Call<'_>) -> Result<Rows> {
    let fields = fields(call);
    if call.is_null(0) {
        let row: Row = fields.iter().map(|_| Datum::Null).collect();
        return Ok(Box::new(std::iter::once(Ok(row))));
    }
    let row = row_of(call.json(0)?, &fields, call.env)?.ok_or_else(|| {
        let what = if call.json(0).is_ok_and(|json| json.type_name() == "array") {
            "an array"
        } else {
            "a scalar"
        };
        invalid(format!("cannot call populate_composite on {what}"))
    })?;
    Ok(Box::new(std::iter::once(Ok(row))))
}

fn to_recordset(call: &Call<'_>, function: &str) -> Result<Rows> {
    let fields = fields(call);
    let value = call.json(0)?;
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
        .map(|item| row_of(item, &fields, call.env)?.ok_or_else(|| invalid(refusal.clone())))
        .collect::<Result<Vec<Row>>>()?;
    Ok(Box::new(rows.into_iter().map(Ok)))
}

pub(super) fn register(registry: &mut Registry) {
    registry.set("json_to_record(json) -> lax stable record", to_record);
    registry.set("jsonb_to_record(jsonb) -> lax stable record", to_record);
    registry
        .set("json_to_recordset(json) -> stable record", |c| to_recordset(c, "json_to_recordset"));
    registry.set("jsonb_to_recordset(jsonb) -> stable record", |c| {
        to_recordset(c, "jsonb_to_recordset")
    });
}
