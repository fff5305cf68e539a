//! Rows come back column by column, stay small, and never break on garbage.

use std::collections::BTreeMap;

use braid_codec::value::{
    Cell, RowReader, cell_i64, cell_str, decode_cell, decode_members, encode_cell, encode_row,
};
use braid_types::{Datum, Json, SqlType};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::support::{any_datum, any_type, identical};

type Columns = BTreeMap<u16, (SqlType, Datum)>;

fn any_columns() -> impl Strategy<Value = Columns> {
    let id = prop_oneof![8 => 1u16..12, 1 => 1u16..400, 1 => any::<u16>()];
    let column = any_type().prop_flat_map(|ty| (Just(ty.clone()), any_datum(&ty)));
    btree_map(id, column, 0..20)
}

fn encoded(columns: &Columns) -> Vec<u8> {
    let list: Vec<_> = columns.iter().map(|(id, (ty, datum))| (*id, datum, ty)).collect();
    let mut out = Vec::new();
    encode_row(&mut out, &list);
    out
}

fn read(row: &RowReader<'_>, id: u16, ty: &SqlType) -> Option<Datum> {
    row.column(id).map(|cell| match cell {
        Cell::Null => Datum::Null,
        Cell::Bytes(bytes) => decode_cell(bytes, ty).expect("what was encoded"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn columns_come_back(columns in any_columns()) {
        let bytes = encoded(&columns);
        let row = RowReader::new(&bytes).unwrap();
        for id in (0..420).chain(columns.keys().copied()) {
            let ty = columns.get(&id).map_or(&SqlType::Text, |c| &c.0);
            match (read(&row, id, ty), columns.get(&id)) {
                (None, None) => {}
                (Some(found), Some((_, wanted))) => {
                    prop_assert!(identical(&found, wanted), "{:?} {:?}", found, wanted);
                }
                other => prop_assert!(false, "column {}: {:?}", id, other),
            }
        }
        let all: Vec<_> = row.columns().collect();
        let single: Vec<_> = columns.keys().map(|id| (*id, row.column(*id).unwrap())).collect();
        prop_assert_eq!(all, single);
    }

    #[test]
    fn chosen_members_are_those_of_the_whole_document(
        document in any_datum(&SqlType::Jsonb),
        names in prop::sample::subsequence(vec!["a", "b", "c", "none", ""], 0..5),
    ) {
        let mut cell = Vec::new();
        encode_cell(&mut cell, &document, &SqlType::Jsonb);
        let Datum::Json(document) = document else { return Ok(()) };
        let wanted: Vec<Box<str>> = names.iter().map(|name| (*name).into()).collect();
        let expected = match &*document {
            Json::Object(members) => {
                let kept = members.iter().filter(|(name, _)| names.contains(&&**name));
                Json::Object(kept.cloned().collect())
            }
            other => other.clone(),
        };
        let found = decode_members(&cell, &wanted).expect("what was encoded");
        prop_assert!(identical(&found, &Datum::json(expected)), "{:?} {:?}", found, names);
    }

    #[test]
    fn garbage_is_an_error_or_a_document(bytes in vec(any::<u8>(), 0..60)) {
        let names: [Box<str>; 2] = ["a".into(), "".into()];
        let _ = decode_members(&bytes, &names);
    }

    #[test]
    fn garbage_is_an_error_or_a_row(bytes in vec(any::<u8>(), 0..60), ty in any_type()) {
        if let Ok(row) = RowReader::new(&bytes) {
            for (id, cell) in row.columns() {
                prop_assert_eq!(row.column(id).is_some(), true);
                if let Cell::Bytes(bytes) = cell {
                    let _ = decode_cell(bytes, &ty);
                }
            }
        }
        let _ = decode_cell(&bytes, &ty);
    }

    #[test]
    fn a_damaged_row_is_an_error_or_a_row(
        columns in any_columns(),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let mut bytes = encoded(&columns);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(row) = RowReader::new(&bytes) {
            for (id, (ty, _)) in &columns {
                if let Some(Cell::Bytes(bytes)) = row.column(*id) {
                    let _ = decode_cell(bytes, ty);
                }
            }
        }
    }

    #[test]
    fn integers_read_fast(value: i64, shift in 0u32..64) {
        let value = value >> shift;
        let mut out = Vec::new();
        braid_codec::value::encode_cell(&mut out, &Datum::Int(value), &SqlType::Int8);
        prop_assert_eq!(cell_i64(&out), Ok(value));
        prop_assert!(out.len() <= 8);
    }
}

#[test]
fn text_is_stored_as_it_goes_to_the_wire() {
    let text = Datum::text("grüß dich");
    let mut out = Vec::new();
    encode_row(&mut out, &[(3, &Datum::Int(1), &SqlType::Int4), (4, &text, &SqlType::Text)]);
    let row = RowReader::new(&out).unwrap();
    let Some(Cell::Bytes(bytes)) = row.column(4) else { panic!("column 4 is there") };
    assert_eq!(cell_str(bytes), Ok("grüß dich"));
}

#[test]
fn absent_is_not_null() {
    let mut out = Vec::new();
    encode_row(
        &mut out,
        &[(2, &Datum::Null, &SqlType::Text), (4, &Datum::text(""), &SqlType::Text)],
    );
    let row = RowReader::new(&out).unwrap();
    assert_eq!(row.column(1), None);
    assert_eq!(row.column(2), Some(Cell::Null));
    assert_eq!(row.column(3), None);
    assert_eq!(row.column(4), Some(Cell::Bytes(b"")));
    assert_eq!(row.column(5), None);
}

#[test]
fn small_rows_are_small() {
    let text = Datum::text("0123456789");
    let columns: Vec<_> = (2..12).map(|id| (id, &text, &SqlType::Text)).collect();
    let mut out = Vec::new();
    encode_row(&mut out, &columns);
    assert!(out.len() <= 115, "{} bytes for 100", out.len());

    let mut single = Vec::new();
    encode_row(&mut single, &[(2, &Datum::Int(42), &SqlType::Int8)]);
    assert_eq!(single.len(), 4);
}

#[test]
fn a_float4_of_eight_bytes_is_refused() {
    assert!(decode_cell(&[0; 8], &SqlType::Float4).is_err());
    assert!(decode_cell(&[0; 4], &SqlType::Float8).is_err());
}

#[test]
fn unsorted_column_numbers_are_refused() {
    let mut out = Vec::new();
    encode_row(&mut out, &[(1, &Datum::Int(1), &SqlType::Int8), (9, &Datum::Null, &SqlType::Int8)]);
    assert_eq!(out[3..7], [1, 0, 9, 0]);
    out.swap(3, 5);
    assert!(RowReader::new(&out).is_err());
}
