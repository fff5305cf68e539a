//! Fills the rows of a virtual table by column name.

use braid_catalog::{PG_CATALOG, virtual_table};
use braid_types::{Datum, Error, Numeric, Result, Row, SqlType};

/// Rows of a virtual table; columns that are not named get what "nothing" looks like there.
pub(crate) struct RowBuilder {
    blank: Row,
    types: Vec<SqlType>,
    places: Vec<usize>,
    rows: Vec<Row>,
    /// The table or a column that does not exist.
    missing: Option<String>,
}

impl RowBuilder {
    /// A builder for `table` (`pg_catalog`'s, unless it says `schema.table`) whose rows will give
    /// values for `columns`, in that order. A name that does not exist makes
    /// [`RowBuilder::rows`] fail.
    pub(crate) fn new(table: &str, columns: &[&str]) -> Self {
        let (schema, name) = table.split_once('.').unwrap_or((PG_CATALOG, table));
        let found = virtual_table(schema, name);
        let mut missing = found.is_none().then(|| format!("no virtual table \"{table}\""));
        let known = found.map_or(&[][..], |table| &table.columns);
        let mut places = Vec::with_capacity(columns.len());
        for column in columns {
            match known.iter().position(|(name, _)| name == column) {
                Some(place) => places.push(place),
                None => {
                    missing.get_or_insert_with(|| format!("no column \"{column}\" of {table}"));
                }
            }
        }
        debug_assert!(missing.is_none(), "broken invariant: {missing:?}");
        let blank = known.iter().map(|(_, ty)| blank(ty)).collect();
        let types = known.iter().map(|(_, ty)| ty.clone()).collect();
        RowBuilder { blank, types, places, rows: Vec::new(), missing }
    }

    /// The same; counters that get no value are 0 instead of NULL.
    #[must_use]
    pub(crate) fn with_zeros(mut self) -> Self {
        for (value, ty) in self.blank.iter_mut().zip(&self.types) {
            if value.is_null() {
                *value = zero(ty).unwrap_or(Datum::Null);
            }
        }
        self
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

    /// The rows. XX000 if the table or a column of it does not exist.
    pub(crate) fn rows(self) -> Result<Vec<Row>> {
        match self.missing {
            None => Ok(self.rows),
            Some(missing) => Err(Error::broken(missing)),
        }
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

/// What a counter that counts nothing shows, by the type of its column.
fn zero(ty: &SqlType) -> Option<Datum> {
    match ty {
        SqlType::Int8 => Some(Datum::Int(0)),
        SqlType::Float8 => Some(Datum::Float(0.0)),
        SqlType::Numeric(_) => Some(Datum::Numeric(Numeric::from_i64(0))),
        _ => None,
    }
}
