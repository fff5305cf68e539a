//! Statistics as JSON. The format has a version:
//!
//! ```text
//!   1   rows, row_bytes, distinct: [[column, number], …]      had no field for the version
//!   2   the same fields, and columns and groups with details
//! ```
//!
//! Version 2 keeps the fields of version 1, so that an older gateway can read it during an
//! upgrade. Of a version that is unknown only the fields of version 1 are used. A value that
//! cannot be decoded drops the details of its column, never the statistics.

use std::fmt::Write;
use std::sync::Arc;

use braid_codec::value::{decode_cell, encode_cell};
use braid_types::{Datum, EnumLabel, SqlType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::ColumnId;
use super::estimates::{ColumnStatistics, GroupStatistics, TableStatistics, ValueStatistics};

/// The version that is written.
const VERSION: u32 = 2;

/// The document.
#[derive(Serialize, Deserialize)]
struct StoredStatistics {
    #[serde(default)]
    version: u32,
    rows: u64,
    row_bytes: u64,
    distinct: Vec<(ColumnId, u64)>,
    #[serde(default)]
    columns: serde_json::Value,
    #[serde(default)]
    groups: serde_json::Value,
}

/// Details of a column.
#[derive(Serialize, Deserialize)]
struct StoredColumn {
    column: ColumnId,
    ty: SqlType,
    distinct: f64,
    null_fraction: f64,
    width: u32,
    common: Vec<(StoredValue, f64)>,
    histogram: Vec<StoredValue>,
    correlation: Option<f64>,
}

/// A value that is not NULL.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredValue {
    /// The value's cell in hexadecimal digits.
    Cell(String),
    /// The oid, order and name of an enum's label.
    Label(u32, i64, String),
}

impl Serialize for TableStatistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredStatistics::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TableStatistics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StoredStatistics::deserialize(deserializer).map(TableStatistics::from)
    }
}

/// Details as they are stored. Estimates can do without: what has no JSON is left out.
fn details(known: &(impl Serialize + ?Sized)) -> serde_json::Value {
    let made = serde_json::to_value(known);
    debug_assert!(made.is_ok(), "statistics without a form in JSON: {made:?}");
    made.unwrap_or_default()
}

/// Details of this version. If they are unreadable, the planner estimates without them.
fn known_details<T: DeserializeOwned>(stored: serde_json::Value) -> Vec<T> {
    let made = serde_json::from_value(stored);
    debug_assert!(made.is_ok(), "unreadable statistics: {:?}", made.as_ref().err());
    made.unwrap_or_default()
}

impl From<&TableStatistics> for StoredStatistics {
    fn from(known: &TableStatistics) -> Self {
        let distinct = known.columns.iter().filter_map(|column| {
            let number = known.column_distinct(column.column)?;
            Some((column.column, number as u64))
        });
        let columns: Vec<StoredColumn> = known.columns.iter().filter_map(stored_column).collect();
        StoredStatistics {
            version: VERSION,
            rows: known.rows,
            row_bytes: known.row_bytes,
            distinct: distinct.collect(),
            columns: details(&columns),
            groups: details(&known.groups[..]),
        }
    }
}

impl From<StoredStatistics> for TableStatistics {
    fn from(stored: StoredStatistics) -> Self {
        let is_known = stored.version == VERSION;
        let details: Vec<StoredColumn> = match is_known {
            true => known_details(stored.columns),
            false => Vec::new(),
        };
        let groups: Vec<GroupStatistics> = match is_known {
            true => known_details(stored.groups),
            false => Vec::new(),
        };
        let column = |(column, number): (ColumnId, u64)| {
            let detail = details.iter().find(|detail| detail.column == column);
            let values = detail.and_then(values_of);
            let distinct = detail.map_or(number as f64, |detail| detail.distinct);
            ColumnStatistics { column, distinct, values }
        };
        TableStatistics {
            rows: stored.rows,
            row_bytes: stored.row_bytes,
            columns: stored.distinct.into_iter().map(column).collect(),
            groups: groups.into(),
        }
    }
}

fn stored_column(known: &ColumnStatistics) -> Option<StoredColumn> {
    let values = known.values.as_ref()?;
    let store = |datum: &Datum| stored_value(datum, &values.ty);
    let common = values.common.iter().map(|(datum, part)| (store(datum), *part));
    Some(StoredColumn {
        column: known.column,
        ty: values.ty.clone(),
        distinct: known.distinct,
        null_fraction: values.null_fraction,
        width: values.width,
        common: common.collect(),
        histogram: values.histogram.iter().map(store).collect(),
        correlation: values.correlation,
    })
}

fn values_of(stored: &StoredColumn) -> Option<ValueStatistics> {
    let value = |value: &StoredValue| loaded_value(value, &stored.ty);
    let common = stored.common.iter().map(|(stored, part)| Some((value(stored)?, *part)));
    Some(ValueStatistics {
        ty: stored.ty.clone(),
        null_fraction: stored.null_fraction,
        width: stored.width,
        common: common.collect::<Option<_>>()?,
        histogram: stored.histogram.iter().map(value).collect::<Option<_>>()?,
        correlation: stored.correlation,
    })
}

fn stored_value(datum: &Datum, ty: &SqlType) -> StoredValue {
    if let Datum::Enum(label) = datum {
        return StoredValue::Label(label.oid, label.order, label.name.to_string());
    }
    let mut cell = Vec::new();
    encode_cell(&mut cell, datum, ty);
    let mut digits = String::with_capacity(cell.len() * 2);
    for byte in cell {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    StoredValue::Cell(digits)
}

fn loaded_value(stored: &StoredValue, ty: &SqlType) -> Option<Datum> {
    match stored {
        StoredValue::Label(oid, order, name) => {
            let (oid, order, name) = (*oid, *order, name.as_str().into());
            Some(Datum::Enum(Arc::new(EnumLabel { oid, order, name, is_uncommitted: false })))
        }
        StoredValue::Cell(digits) => {
            let pairs = digits.as_bytes().chunks(2);
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let cell: Vec<u8> = pairs.map(byte).collect::<Option<_>>()?;
            decode_cell(&cell, ty).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_the_first_version_are_read() {
        let text = r#"{"rows":50,"row_bytes":20,"distinct":[[1,50],[2,3]]}"#;
        let known: TableStatistics = serde_json::from_str(text).unwrap();
        assert_eq!((known.rows, known.row_bytes), (50, 20));
        assert_eq!(known.column_distinct(2), Some(3.0));
        assert!(known.column(1).unwrap().values.is_none());
    }

    #[test]
    fn of_a_later_version_the_first_fields_are_read() {
        let text = r#"{"version":9,"rows":5,"row_bytes":2,"distinct":[[1,4]],"columns":"?"}"#;
        let known: TableStatistics = serde_json::from_str(text).unwrap();
        assert_eq!(known.column_distinct(1), Some(4.0));
    }

    #[test]
    fn details_are_read_as_they_were_written() {
        let label = EnumLabel { oid: 7, order: 1 << 32, name: "a".into(), is_uncommitted: false };
        let samples = [
            (SqlType::Int4, vec![Datum::Int(-3), Datum::Int(9)]),
            (SqlType::Text, vec![Datum::text(""), Datum::text("é")]),
            (SqlType::Float8, vec![Datum::Float(0.5)]),
            (SqlType::Timestamptz, vec![Datum::Timestamptz(123_456)]),
            (SqlType::Bool, vec![Datum::Bool(true)]),
            (SqlType::Uuid, vec![Datum::Uuid([7; 16])]),
            (SqlType::Text, vec![Datum::Enum(Arc::new(label))]),
        ];
        for (ty, histogram) in samples {
            let common = histogram.iter().map(|value| (value.clone(), 0.25)).collect();
            let values = ValueStatistics {
                ty,
                null_fraction: 0.125,
                width: 4,
                common,
                histogram: histogram.clone(),
                correlation: Some(-0.5),
            };
            let column = ColumnStatistics { column: 3, distinct: -0.5, values: Some(values) };
            let group = GroupStatistics { columns: vec![1, 3], distinct: 12.0 };
            let before = TableStatistics {
                rows: 100,
                row_bytes: 10,
                columns: Arc::new([column]),
                groups: Arc::new([group]),
            };
            let text = serde_json::to_string(&before).unwrap();
            let after: TableStatistics = serde_json::from_str(&text).unwrap();
            let values = after.column(3).unwrap().values.as_ref().unwrap();
            assert_eq!(values.histogram, histogram);
            assert_eq!(values.common[0], (histogram[0].clone(), 0.25));
            assert_eq!(after.column_distinct(3), Some(50.0));
            assert_eq!(after.group_distinct(&[3, 1]), Some(12.0));
        }
    }
}
