//! How SQL values become JSON: numbers and booleans as they are, dates in ISO form, everything
//! else as the text that its type prints.

use braid_types::hstore::Hstore;
use braid_types::text::{self, DateStyle, FormatSettings};
use braid_types::{Array, Datum, Error, Json, Result, SqlState, SqlType};

use crate::Environment;
use crate::registry::call::{display, may_return};

/// The date or timestamp with `T` between its parts and minutes in its offset.
fn iso_text(ty: &SqlType, datum: &Datum, env: &dyn Environment) -> String {
    let settings = FormatSettings { date_style: DateStyle::Iso, ..env.settings().clone() };
    let mut shown = text::to_string(ty, datum, &settings);
    if matches!(ty, SqlType::Date) {
        return shown;
    }
    shown = shown.replacen(' ', "T", 1);
    if matches!(ty, SqlType::Timestamptz) {
        let (main, era) = match shown.strip_suffix(" BC") {
            Some(main) => (main.to_owned(), " BC"),
            None => (shown.clone(), ""),
        };
        let hours_only = main.len() > 3
            && matches!(main.as_bytes()[main.len() - 3], b'+' | b'-')
            && main.contains('T');
        if hours_only {
            shown = format!("{main}:00{era}");
        }
    }
    shown
}

fn quote(value: &str, out: &mut Vec<u8>) {
    Json::string(value).write_text(out);
}

/// Whether the text of a number may stand in JSON as it is.
fn is_json_number(value: &str) -> bool {
    value.ends_with(|c: char| c.is_ascii_digit())
}

/// Appends a value as the text of a `json`; with `pretty` the outermost level has line feeds.
pub(crate) fn to_json_text(
    ty: &SqlType,
    datum: &Datum,
    env: &dyn Environment,
    pretty: bool,
    out: &mut Vec<u8>,
) {
    let separator: &[u8] = if pretty { b",\n " } else { b"," };
    match (datum, ty) {
        (Datum::Null, _) => out.extend_from_slice(b"null"),
        (Datum::Bool(value), _) => {
            out.extend_from_slice(if *value { b"true" } else { b"false" });
        }
        (Datum::Json(value), _) => value.write_text(out),
        (Datum::Text(value), SqlType::Hstore) => {
            let set = Hstore::parse(value).unwrap_or_default();
            out.extend_from_slice(set.to_json(false).as_bytes());
        }
        (Datum::Date(_) | Datum::Timestamp(_) | Datum::Timestamptz(_), _) => {
            quote(&iso_text(ty, datum, env), out);
        }
        (Datum::Array(array), _) => {
            array_text(&array.items, array, 0, (env, separator), out);
        }
        (Datum::Record(fields), SqlType::Record(columns)) => {
            out.push(b'{');
            for (index, field) in fields.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(separator);
                }
                let unnamed = (format!("f{}", index + 1), SqlType::Text);
                let (name, ty) = columns.get(index).unwrap_or(&unnamed);
                quote(if name.is_empty() { &unnamed.0 } else { name }, out);
                out.push(b':');
                to_json_text(ty, field, env, false, out);
            }
            out.push(b'}');
        }
        (Datum::Int(_) | Datum::Float(_) | Datum::Numeric(_), ty) if ty.is_numeric() => {
            let shown = display(ty, datum, env);
            if is_json_number(&shown) {
                out.extend_from_slice(shown.as_bytes());
            } else {
                quote(&shown, out);
            }
        }
        _ => quote(&display(ty, datum, env), out),
    }
}

/// How many elements are below one subscript of dimension `level`, from 0.
fn elements_below(array: &Array, level: usize) -> usize {
    array.inner[level..].iter().map(|dimension| dimension.length).product::<usize>().max(1)
}

/// Appends the part of an array that is below `level` dimensions. The separator is that of the
/// first dimension.
fn array_text(
    items: &[Datum],
    array: &Array,
    level: usize,
    (env, separator): (&dyn Environment, &[u8]),
    out: &mut Vec<u8>,
) {
    out.push(b'[');
    for (index, part) in items.chunks(elements_below(array, level)).enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
        }
        match part {
            [item] if level == array.inner.len() => {
                to_json_text(&array.element, item, env, false, out);
            }
            part => array_text(part, array, level + 1, (env, b","), out),
        }
    }
    out.push(b']');
}

/// The part of an array that is below `level` dimensions.
fn array_json(items: &[Datum], array: &Array, level: usize, env: &dyn Environment) -> Result<Json> {
    let parts = items.chunks(elements_below(array, level)).map(|part| match part {
        [item] if level == array.inner.len() => to_jsonb(&array.element, item, env),
        part => array_json(part, array, level + 1, env),
    });
    Ok(Json::Array(parts.collect::<Result<_>>()?))
}

/// A value as a `jsonb`.
pub(crate) fn to_jsonb(ty: &SqlType, datum: &Datum, env: &dyn Environment) -> Result<Json> {
    match (datum, ty) {
        (Datum::Null, _) => Ok(Json::Null),
        (Datum::Bool(value), _) => Ok(Json::Bool(*value)),
        (Datum::Json(value), _) => value.normalised(),
        (Datum::Numeric(value), _) if value.is_finite() => Ok(Json::Number(value.clone())),
        (Datum::Array(array), _) => array_json(&array.items, array, 0, env),
        (Datum::Text(value), _) if ty.is_string() => {
            may_return(value.len())?;
            Ok(Json::string(value.as_ref()))
        }
        _ => {
            let mut out = Vec::new();
            to_json_text(ty, datum, env, false, &mut out);
            Json::parse(&String::from_utf8_lossy(&out))
        }
    }
}

/// A value as the key of an object; 22023 if it is NULL or not a scalar.
pub(crate) fn to_key(
    ty: &SqlType,
    datum: &Datum,
    env: &dyn Environment,
    null: Error,
) -> Result<String> {
    match datum {
        Datum::Null => Err(null),
        Datum::Array(_) | Datum::Record(_) | Datum::Json(_) => {
            let message = "key value must be scalar, not array, composite, or json";
            Err(Error::new(SqlState::InvalidParameterValue, message))
        }
        Datum::Bool(value) => Ok(value.to_string()),
        Datum::Date(_) | Datum::Timestamp(_) | Datum::Timestamptz(_) => {
            Ok(iso_text(ty, datum, env))
        }
        _ => Ok(display(ty, datum, env)),
    }
}
