//! Fuzz target: key and value bytes that nobody wrote.
//!
//! Bounded under `cargo test`. For longer, with no other tool:
//! `BOLERO_RANDOM_TEST_TIME_MS=600000
//! cargo test --release -p braid-codec --test it -- fuzz_bytes::`.
//! What was found stays here as a test of its own.

use braid_codec::key::{self, IndexNames, KeyNames, NoNames};
use braid_codec::value::{Cell, RowReader, decode_cell, encode_cell};
use braid_types::sql_type::RowType;
use braid_types::{Datum, SqlType};

fn types() -> Vec<SqlType> {
    let mut types = braid_types::sql_type::all();
    types.push(SqlType::Numeric(Some((10, 2))));
    types.push(SqlType::Char(5));
    types.push(SqlType::Record(RowType::from(vec![
        ("a".to_owned(), SqlType::Int4),
        ("b".to_owned(), SqlType::Jsonb.array()),
    ])));
    types
}

/// Every table has the same columns, so that the printer reads whatever comes with types.
struct Columns(Vec<(SqlType, bool)>);

impl KeyNames for Columns {
    fn table(&self, table: u32) -> Option<String> {
        table.is_multiple_of(2).then(|| format!("t{table}"))
    }
    fn index(&self, _table: u32, index: u16) -> Option<IndexNames> {
        let columns = self.0.clone();
        (index < 200).then(|| IndexNames { name: format!("i{index}"), columns })
    }
}

/// Input: type, direction, then the bytes of a column.
fn check_key(input: &[u8]) {
    let types = types();
    let Some((&[choice, descending], bytes)) = input.split_first_chunk() else { return };
    let ty = &types[usize::from(choice) % types.len()];
    let descending = descending & 1 == 1;
    let mut rest = bytes;
    if let Ok(datum) = key::decode(&mut rest, ty, descending) {
        let mut skipped = bytes;
        assert_eq!(key::skip(&mut skipped, ty, descending), Ok(()));
        assert_eq!(skipped, rest, "skip and decode end at one place");
        let mut again = Vec::new();
        key::encode(&mut again, &datum, ty, descending);
        let decoded = key::decode(&mut again.as_slice(), ty, descending).expect("its own writing");
        assert!(decoded.compare_typed(&datum, ty).is_eq(), "{datum:?} {decoded:?}");
    }
    let names = Columns(vec![(ty.clone(), descending), (SqlType::Int8, false)]);
    let _ = key::print(bytes, &names);
    let _ = key::print(bytes, &NoNames);
    let _ = key::decode_prefix(&mut &*bytes);
    let end = braid_kv::prefix_end(bytes);
    assert!(end.as_slice() > bytes);
    assert!(!end.starts_with(bytes) || bytes.iter().all(|&byte| byte == 0xff));
}

/// Input: type, then the bytes of a cell or of a row.
fn check_value(input: &[u8]) {
    let types = types();
    let Some((choice, bytes)) = input.split_first() else { return };
    let ty = &types[usize::from(*choice) % types.len()];
    check_cell(bytes, ty);
    let Ok(row) = RowReader::new(bytes) else { return };
    for (id, cell) in row.columns() {
        assert_eq!(row.column(id), Some(cell), "one column reads as in a full pass");
        if let Cell::Bytes(bytes) = cell {
            check_cell(bytes, ty);
        }
    }
}

fn check_cell(bytes: &[u8], ty: &SqlType) {
    let Ok(datum) = decode_cell(bytes, ty) else { return };
    let mut again = Vec::new();
    encode_cell(&mut again, &datum, ty);
    let decoded: Datum = decode_cell(&again, ty).expect("its own writing");
    assert!(decoded.compare_typed(&datum, ty).is_eq(), "{datum:?} {decoded:?}");
}

#[test]
fn keys() {
    bolero::check!().for_each(check_key);
}

#[test]
fn values() {
    bolero::check!().for_each(check_value);
}
