//! Values of cells in virtual tables.

use braid_types::{Array, Datum, SqlType};

/// Text, names and single characters.
pub(crate) fn text(value: impl AsRef<str>) -> Datum {
    Datum::text(value.as_ref())
}

/// A single character.
pub(crate) fn letter(value: char) -> Datum {
    Datum::text(value.to_string())
}

/// Any integer or oid.
pub(crate) fn int(value: impl Into<i64>) -> Datum {
    Datum::Int(value.into())
}

/// A count.
pub(crate) fn count(value: usize) -> Datum {
    Datum::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// A boolean.
pub(crate) fn flag(value: bool) -> Datum {
    Datum::Bool(value)
}

/// `information_schema`'s boolean.
pub(crate) fn yes_no(value: bool) -> Datum {
    Datum::text(if value { "YES" } else { "NO" })
}

/// Text, or NULL.
pub(crate) fn optional(value: Option<impl AsRef<str>>) -> Datum {
    value.map_or(Datum::Null, text)
}

/// An array of texts, or NULL.
pub(crate) fn texts(values: Option<Vec<String>>) -> Datum {
    match values {
        Some(values) => Datum::array(SqlType::Text, values.into_iter().map(text).collect()),
        None => Datum::Null,
    }
}

/// An array of privileges, or NULL.
pub(crate) fn acl_items(values: Option<Vec<String>>) -> Datum {
    match values {
        Some(values) => Datum::array(SqlType::Aclitem, values.into_iter().map(text).collect()),
        None => Datum::Null,
    }
}

/// An array of integers.
pub(crate) fn ints(element: SqlType, values: impl IntoIterator<Item = i64>) -> Datum {
    Datum::array(element, values.into_iter().map(Datum::Int).collect())
}

/// An `int2vector` or `oidvector`: an array that begins at 0.
pub(crate) fn vector(element: SqlType, values: impl IntoIterator<Item = i64>) -> Datum {
    let items = values.into_iter().map(Datum::Int).collect();
    Array::from_lower(element, 0, items).into()
}

/// A counter.
pub(crate) fn number(value: u64) -> Datum {
    Datum::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// A time, or NULL.
pub(crate) fn time(micros: Option<i64>) -> Datum {
    micros.map_or(Datum::Null, Datum::Timestamptz)
}

/// A moment as a timestamp.
pub(crate) fn instant(at: std::time::SystemTime) -> Datum {
    const SECONDS_TO_2000: i64 = 946_684_800;
    let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    Datum::Timestamptz(micros.saturating_sub(SECONDS_TO_2000 * 1_000_000))
}
