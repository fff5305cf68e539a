//! Keys sort as values, come back as they were, and never break on garbage.

use std::cmp::Ordering;

use braid_codec::key::{self, IndexNames, KeyNames, NoNames};
use braid_types::{Datum, Interval, Numeric, SqlType};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{any_datum, any_type, identical};

/// A type and a number of values of it.
fn typed_values(count: usize) -> impl Strategy<Value = (SqlType, Vec<Datum>)> {
    any_type().prop_flat_map(move |ty| (Just(ty.clone()), vec(any_datum(&ty), count)))
}

fn encoded(datum: &Datum, ty: &SqlType, descending: bool) -> Vec<u8> {
    let mut out = Vec::new();
    key::encode(&mut out, datum, ty, descending);
    out
}

struct Names;

impl KeyNames for Names {
    fn table(&self, table: u32) -> Option<String> {
        match table {
            106 => Some("account".to_owned()),
            107 => Some("order".to_owned()),
            _ => None,
        }
    }
    fn index(&self, table: u32, index: u16) -> Option<IndexNames> {
        let columns = match (table, index) {
            (106, 1) => vec![(SqlType::Int8, false)],
            (106, 2) => vec![(SqlType::Text, true), (SqlType::Int8, false)],
            (107, 1) => vec![(SqlType::Int8, false), (SqlType::Date, false)],
            _ => return None,
        };
        let name = if index == 1 { "primary".to_owned() } else { format!("index_{index}") };
        Some(IndexNames { name, columns })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sort_as_values((ty, values) in typed_values(2), descending: bool) {
        let (a, b) = (&values[0], &values[1]);
        let mut wanted = a.compare_typed(b, &ty);
        if descending {
            wanted = wanted.reverse();
        }
        let found = encoded(a, &ty, descending).cmp(&encoded(b, &ty, descending));
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn several_columns_sort_one_after_the_other(
        (first, heads) in typed_values(2),
        (second, tails) in typed_values(2),
        descending: bool,
    ) {
        let row = |place: usize| {
            let mut out = encoded(&heads[place], &first, descending);
            key::encode(&mut out, &tails[place], &second, !descending);
            out
        };
        let mut head = heads[0].compare_typed(&heads[1], &first);
        let mut tail = tails[0].compare_typed(&tails[1], &second);
        if descending { head = head.reverse() } else { tail = tail.reverse() }
        prop_assert_eq!(row(0).cmp(&row(1)), head.then(tail));
    }

    #[test]
    fn come_back((ty, values) in typed_values(2), descending: bool) {
        let mut bytes = encoded(&values[0], &ty, descending);
        let len = bytes.len();
        key::encode(&mut bytes, &values[1], &ty, descending);
        let mut rest = bytes.as_slice();
        let decoded = key::decode(&mut rest, &ty, descending).unwrap();
        prop_assert_eq!(rest.len(), bytes.len() - len);
        prop_assert_eq!(decoded.compare_typed(&values[0], &ty), Ordering::Equal);
        if key::is_exact(&ty) {
            prop_assert!(identical(&decoded, &values[0]), "{:?} {:?}", decoded, values[0]);
        }
        let mut skipped = bytes.as_slice();
        key::skip(&mut skipped, &ty, descending).unwrap();
        prop_assert_eq!(skipped, rest);
    }

    #[test]
    fn no_encoding_is_a_prefix_of_another((ty, values) in typed_values(2), descending: bool) {
        let a = encoded(&values[0], &ty, descending);
        let b = encoded(&values[1], &ty, descending);
        prop_assert!(a == b || (!a.starts_with(&b) && !b.starts_with(&a)));
    }

    #[test]
    fn table_and_index_sort_as_numbers(a: (u32, u16), b: (u32, u16), small: (u8, u8)) {
        let small = (u32::from(small.0), u16::from(small.1));
        for (a, b) in [(a, b), (a, small), (small, b)] {
            let (left, right) = (key::index_prefix(a.0, a.1), key::index_prefix(b.0, b.1));
            prop_assert_eq!(left.cmp(&right), a.cmp(&b));
            let mut rest = left.as_slice();
            prop_assert_eq!(key::decode_prefix(&mut rest).unwrap(), a);
            prop_assert!(rest.is_empty());
            prop_assert!(left.starts_with(&key::table_prefix(a.0)));
        }
    }

    #[test]
    fn children_follow_the_families_of_their_parent(a in 0u16.., b in 0u16.., table: u32) {
        let family = |number| {
            let mut out = encoded(&Datum::Int(7), &SqlType::Int8, false);
            key::encode_family(&mut out, number);
            out
        };
        let mut child = family(0);
        key::encode_interleave(&mut child, table, 1);
        prop_assert_eq!(family(a).cmp(&family(b)), a.cmp(&b));
        prop_assert!(family(a) < child);
        prop_assert!(child < encoded(&Datum::Int(8), &SqlType::Int8, false));
    }

    #[test]
    fn garbage_is_an_error_or_a_value(
        bytes in vec(any::<u8>(), 0..40),
        ty in any_type(),
        descending: bool,
    ) {
        let mut rest = bytes.as_slice();
        if key::decode(&mut rest, &ty, descending).is_ok() {
            let mut skipped = bytes.as_slice();
            prop_assert!(key::skip(&mut skipped, &ty, descending).is_ok());
            prop_assert_eq!(skipped, rest);
        }
        let _ = key::decode_prefix(&mut bytes.as_slice());
        let _ = key::print(&bytes, &NoNames);
    }

    #[test]
    fn a_damaged_key_is_an_error_or_a_value(
        (ty, values) in typed_values(1), descending: bool, at: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = encoded(&values[0], &ty, descending);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = key::decode(&mut bytes.as_slice(), &ty, descending);
        let mut named = key::index_prefix(106, 2);
        named.extend_from_slice(&bytes);
        let _ = key::print(&named, &Names);
        let _ = key::print(&named, &NoNames);
    }
}

#[test]
fn equal_values_have_one_key() {
    let numeric = |text| Datum::Numeric(Numeric::parse(text).unwrap());
    let ty = SqlType::Numeric(None);
    for (a, b) in [("1.0", "1.00"), ("0", "0.000"), ("100", "1e2"), ("-0.5", "-0.50")] {
        assert_eq!(encoded(&numeric(a), &ty, false), encoded(&numeric(b), &ty, false), "{a} {b}");
    }
    let interval = |months, days| Datum::Interval(Interval { months, days, micros: 0 });
    assert_eq!(
        encoded(&interval(1, 0), &SqlType::Interval, false),
        encoded(&interval(0, 30), &SqlType::Interval, false)
    );
    let char = SqlType::Char(4);
    assert_eq!(
        encoded(&Datum::text("a"), &char, false),
        encoded(&Datum::text("a   "), &char, false)
    );
    let float = |value| encoded(&Datum::Float(value), &SqlType::Float8, false);
    assert_eq!(float(0.0), float(-0.0));
    assert_eq!(float(f64::NAN), float(-f64::NAN));
}

#[test]
fn nulls_come_where_postgresql_puts_them() {
    let key = |datum, descending| encoded(&datum, &SqlType::Int8, descending);
    assert!(key(Datum::Null, false) > key(Datum::Int(i64::MAX), false));
    assert!(key(Datum::Null, true) < key(Datum::Int(i64::MAX), true));
}

#[test]
fn small_keys_are_small() {
    let mut key = key::index_prefix(106, 1);
    key::encode(&mut key, &Datum::Int(42), &SqlType::Int8, false);
    key::encode_family(&mut key, 0);
    assert_eq!(key.len(), 3);
    assert_eq!(encoded(&Datum::Int(1_000_000), &SqlType::Int8, false).len(), 4);
    assert_eq!(encoded(&Datum::text("abc"), &SqlType::Text, false).len(), 5);
}

#[test]
fn keys_print_for_humans() {
    let mut row = key::index_prefix(106, 1);
    assert_eq!(key::print(&key::table_prefix(106), &Names), "/account");
    assert_eq!(key::print(&row, &Names), "/account/primary");
    key::encode(&mut row, &Datum::Int(42), &SqlType::Int8, false);
    assert_eq!(key::print(&row, &Names), "/account/primary/42");
    assert_eq!(key::print(&row, &NoNames), "/Table/106/1/42");
    assert_eq!(key::print(&braid_kv::prefix_end(&row), &Names), "/account/primary/43");

    let mut family = row.clone();
    key::encode_family(&mut family, 2);
    assert_eq!(key::print(&family, &Names), "/account/primary/42/family:2");
    assert_eq!(key::print(&family, &NoNames), "/Table/106/1/42/family:2");

    let mut child = row.clone();
    key::encode_interleave(&mut child, 107, 1);
    key::encode(&mut child, &Datum::Date(0), &SqlType::Date, false);
    assert_eq!(key::print(&child, &Names), "/account/primary/42/#/order/primary/2000-01-01");
    assert_eq!(key::print(&child, &NoNames), "/Table/106/1/42/#/Table/107/1/0");

    let mut index = key::index_prefix(106, 2);
    key::encode(&mut index, &Datum::text("it's\n"), &SqlType::Text, true);
    key::encode(&mut index, &Datum::Null, &SqlType::Int8, false);
    assert_eq!(key::print(&index, &Names), r"/account/index_2/'it\'s\n'/NULL");

    assert_eq!(key::print(&key::system_key("format"), &Names), "/System/format");
    assert_eq!(key::print(&[], &Names), "/Min");
    assert_eq!(key::print(&[0xff, 0xff], &Names), "/Max");
    assert_eq!(key::print(&[106, 1, 0x91, 0x07], &Names), "/account/primary/0x9107");
}
