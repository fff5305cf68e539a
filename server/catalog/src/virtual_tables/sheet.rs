//! Fills the rows of a virtual table by column name.

use braid_types::{Array, Datum, Row, SqlType};

use super::registry::{PG_CATALOG, find};

/// Rows of a virtual table; columns that are not named get what "nothing" looks like there.
pub(crate) struct Sheet {
    blank: Row,
    places: Vec<usize>,
    rows: Vec<Row>,
}

impl Sheet {
    /// A sheet for `table` (`pg_catalog`'s, unless it says `schema.table`) whose rows will give
    /// values for `columns`, in that order.
    pub(crate) fn new(table: &str, columns: &[&str]) -> Self {
        let (schema, name) = table.split_once('.').unwrap_or((PG_CATALOG, table));
        let known = find(schema, name).map_or(&[][..], |table| &table.columns);
        let place = |column: &&str| known.iter().position(|(name, _)| name == column);
        let places: Vec<usize> = columns.iter().filter_map(place).collect();
        debug_assert_eq!(places.len(), columns.len(), "unknown column of {table} in {columns:?}");
        let blank = known.iter().map(|(_, ty)| blank(ty)).collect();
        Sheet { blank, places, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push<const N: usize>(&mut self, values: [Datum; N]) {
        debug_assert_eq!(N, self.places.len(), "a value for each column");
        let mut row = self.blank.clone();
        for (place, value) in self.places.iter().zip(values) {
            row[*place] = value;
        }
        self.rows.push(row);
    }

    /// The rows.
    pub(crate) fn rows(self) -> braid_types::Result<Vec<Row>> {
        Ok(self.rows)
    }
}

/// Catalog numbers and switches are 0 and off rather than NULL.
fn blank(ty: &SqlType) -> Datum {
    match ty {
        SqlType::Bool => Datum::Bool(false),
        SqlType::Int2 | SqlType::Oid | SqlType::Regproc | SqlType::Regclass => Datum::Int(0),
        SqlType::InternalChar => Datum::text(""),
        _ => Datum::Null,
    }
}

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
