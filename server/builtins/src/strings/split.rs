//! Splitting text at a delimiter and joining arrays into text.

use braid_types::scratch::Scratch;
use braid_types::{Datum, Result, SqlType, work};

use crate::Call;
use crate::registry::call::{display, invalid, text};
use crate::registry::tables::Registry;

fn split_part(call: &Call<'_>) -> Result<Datum> {
    let (value, delimiter, wanted) = (call.text(0)?, call.text(1)?, call.int(2)?);
    if wanted == 0 {
        return Err(invalid("field position must not be zero"));
    }
    if value.is_empty() {
        return text("");
    }
    if delimiter.is_empty() {
        return text(if wanted == 1 || wanted == -1 { value } else { "" });
    }
    let nth = (wanted.unsigned_abs() - 1) as usize;
    let found =
        if wanted > 0 { value.split(delimiter).nth(nth) } else { value.rsplit(delimiter).nth(nth) };
    text(found.unwrap_or(""))
}

/// The parts as `string_to_array` gives them: a NULL delimiter splits into characters.
pub(crate) fn split_text(call: &Call<'_>) -> Result<Option<Vec<Datum>>> {
    if call.is_null(0) {
        return Ok(None);
    }
    let value = call.text(0)?;
    let null = call.datum(2).as_str();
    let item = |part: &str| if null == Some(part) { Datum::Null } else { Datum::text(part) };
    if value.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut scratch = Scratch::default();
    let mut item = |part: &str| work::tick().and_then(|()| scratch.keep(item(part)));
    let items: Result<Vec<Datum>> = match call.datum(1).as_str() {
        None => value.chars().map(|c| item(c.encode_utf8(&mut [0; 4]))).collect(),
        Some("") => std::iter::once(item(value)).collect(),
        Some(delimiter) => value.split(delimiter).map(item).collect(),
    };
    items.map(Some)
}

fn string_to_array(call: &Call<'_>) -> Result<Datum> {
    Ok(match split_text(call)? {
        None => Datum::Null,
        Some(items) => Datum::array(SqlType::Text, items),
    })
}

fn array_to_string(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) || call.is_null(1) {
        return Ok(Datum::Null);
    }
    let (array, delimiter) = (call.array(0)?, call.text(1)?);
    let null = call.datum(2).as_str();
    let mut out = String::new();
    let mut first = true;
    for item in &array.items {
        work::tick()?;
        let shown = match (item.is_null(), null) {
            (true, None) => continue,
            (true, Some(null)) => null.to_owned(),
            (false, _) => display(&array.element, item, call.env),
        };
        if !std::mem::take(&mut first) {
            out.push_str(delimiter);
        }
        out.push_str(&shown);
    }
    text(out)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("split_part(text, text, int4) -> text", split_part);
    registry.add("string_to_array(text, text) -> text[] lax", string_to_array);
    registry.add("string_to_array(text, text, text) -> text[] lax", string_to_array);
    registry.add("array_to_string(anyarray, text) -> text stable", array_to_string);
    registry.add("array_to_string(anyarray, text, text) -> text stable lax", array_to_string);
}
