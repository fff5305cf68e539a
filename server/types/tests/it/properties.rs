//! What must hold for any value and any input: round trips, a total order, no panics.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::Arc;

use braid_types::numeric::{integers, rounding};
use braid_types::range::normalized;
use braid_types::text::{self, FormatSettings};
use braid_types::{Datum, Interval, Json, Numeric, Range, RangeKind, SqlType, binary, sql_type};
use proptest::collection::vec;
use proptest::prelude::*;

fn settings() -> FormatSettings {
    FormatSettings::default()
}

fn numeric() -> impl Strategy<Value = Numeric> {
    prop_oneof![
        (any::<i64>(), 0u16..25).prop_map(|(n, scale)| Numeric::from_parts(n.into(), scale)),
        (any::<i128>(), 0u16..60).prop_map(|(n, scale)| Numeric::from_parts(n, scale)),
        (-20i128..20, 0u16..4).prop_map(|(n, scale)| Numeric::from_parts(n, scale)),
        "-?[1-9][0-9]{0,60}(\\.[0-9]{1,60})?".prop_map(|t| Numeric::parse(&t).expect("a number")),
        Just(Numeric::NaN),
        Just(Numeric::Infinity),
        Just(Numeric::NegInfinity),
    ]
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        "-?[1-9][0-9]{0,20}(\\.[0-9]{1,9})?"
            .prop_map(|t| Json::Number(Numeric::parse(&t).expect("a number"))),
        "[^\0]{0,6}".prop_map(Json::string),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::Array),
            vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| Json::object(
                members.into_iter().map(|(key, value)| (key.into_boxed_str(), value)).collect()
            )),
        ]
    })
}

fn interval() -> impl Strategy<Value = Interval> {
    let micros = -9_000_000_000_000_000_000i64..9_000_000_000_000_000_000;
    (any::<i32>(), any::<i32>(), micros).prop_map(|(months, days, micros)| Interval {
        months: months.max(-i32::MAX),
        days: days.max(-i32::MAX),
        micros,
    })
}

/// A scalar value with its type.
fn scalar() -> impl Strategy<Value = (SqlType, Datum)> {
    let stamp = -211_813_488_000_000_000i64..9_223_371_331_200_000_000;
    prop_oneof![
        any::<bool>().prop_map(|v| (SqlType::Bool, Datum::Bool(v))),
        any::<i16>().prop_map(|v| (SqlType::Int2, Datum::Int(v.into()))),
        any::<i32>().prop_map(|v| (SqlType::Int4, Datum::Int(v.into()))),
        any::<i64>().prop_map(|v| (SqlType::Int8, Datum::Int(v))),
        any::<f64>().prop_map(|v| (SqlType::Float8, Datum::Float(v))),
        any::<f32>().prop_map(|v| (SqlType::Float4, Datum::Float(v.into()))),
        numeric().prop_map(|v| (SqlType::Numeric(None), Datum::Numeric(v))),
        "[^\0]{0,12}".prop_map(|v| (SqlType::Text, Datum::text(v))),
        vec(any::<u8>(), 0..12).prop_map(|v| (SqlType::Bytes, Datum::bytes(v))),
        any::<[u8; 16]>().prop_map(|v| (SqlType::Uuid, Datum::Uuid(v))),
        (-2_451_545i32..2_145_031_949).prop_map(|v| (SqlType::Date, Datum::Date(v))),
        (0i64..=86_400_000_000).prop_map(|v| (SqlType::Time, Datum::Time(v))),
        stamp.clone().prop_map(|v| (SqlType::Timestamp, Datum::Timestamp(v))),
        stamp.prop_map(|v| (SqlType::Timestamptz, Datum::Timestamptz(v))),
        interval().prop_map(|v| (SqlType::Interval, Datum::Interval(v))),
        json().prop_map(|v| (SqlType::Jsonb, Datum::json(v))),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Datum>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        2 => numeric().prop_map(|value| Bound::Included(Datum::Numeric(value))),
        2 => numeric().prop_map(|value| Bound::Excluded(Datum::Numeric(value))),
    ]
}

fn range() -> impl Strategy<Value = Range> {
    (bound(), bound())
        .prop_map(|(lower, upper)| Range::new(RangeKind::Num, lower, upper).unwrap_or(Range::Empty))
}

fn value() -> impl Strategy<Value = (SqlType, Datum)> {
    prop_oneof![
        4 => scalar(),
        1 => vec(proptest::option::of(any::<i32>()), 0..5).prop_map(|items| {
            let items = items.into_iter().map(|item| match item {
                Some(item) => Datum::Int(item.into()),
                None => Datum::Null,
            });
            let datum = Datum::array(SqlType::Int4, items.collect());
            (SqlType::Int4.array(), datum)
        }),
        1 => vec("[^\0]{0,6}", 0..4).prop_map(|items| {
            let items = items.into_iter().map(Datum::text).collect();
            (SqlType::Text.array(), Datum::array(SqlType::Text, items))
        }),
        1 => range().prop_map(|range| {
            (SqlType::Range(RangeKind::Num), Datum::Range(Arc::new(range)))
        }),
        1 => vec(range(), 0..5).prop_map(|ranges| {
            let ranges = normalized(ranges).expect("no statement stops it");
            (SqlType::Multirange(RangeKind::Num), Datum::Multirange(ranges.into()))
        }),
        1 => (scalar(), scalar()).prop_map(|((a_type, a), (b_type, b))| {
            let fields = vec![("a".to_owned(), a_type), ("b".to_owned(), b_type)];
            (SqlType::Record(fields.into()), Datum::Record(vec![a, b].into()))
        }),
    ]
}

/// How many digits a number has without the zeros around them. Of two that are equally near, one
/// printer may give the even one, and another one the larger.
fn digits(shown: &str) -> usize {
    let mantissa = shown.split('e').next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn floats_print_the_fewest_digits_that_read_back_the_same(bits in any::<u64>()) {
        let (double, single) = (f64::from_bits(bits), f32::from_bits(bits as u32));
        prop_assume!(double.is_finite() && single.is_finite());
        let shown = text::to_string(&SqlType::Float8, &Datum::Float(double), &settings());
        prop_assert_eq!(shown.parse(), Ok(double));
        prop_assert_eq!(digits(&shown), digits(&format!("{double:e}")));
        let datum = Datum::Float(f64::from(single));
        let shown = text::to_string(&SqlType::Float4, &datum, &settings());
        prop_assert_eq!(shown.parse(), Ok(single));
        prop_assert_eq!(digits(&shown), digits(&format!("{single:e}")));
    }

    #[test]
    fn text_and_binary_read_back_what_they_wrote((ty, datum) in value()) {
        let shown = text::to_string(&ty, &datum, &settings());
        let again = text::parse(&ty, &shown, &settings(), 0).unwrap();
        prop_assert_eq!(&again, &datum, "{}", shown);
        prop_assert_eq!(text::to_string(&ty, &again, &settings()), shown);
        let mut bytes = Vec::new();
        binary::encode(&ty, &datum, &mut bytes);
        let decoded = binary::decode(&ty, &bytes).unwrap();
        let shown = text::to_string(&ty, &decoded, &settings());
        prop_assert_eq!(shown, text::to_string(&ty, &datum, &settings()));
    }

    #[test]
    fn order_is_total_and_hashes_follow_equality(
        (_, a) in value(), (_, b) in value(), (_, c) in value(),
    ) {
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        if a.compare(&b) != Ordering::Greater && b.compare(&c) != Ordering::Greater {
            prop_assert_ne!(a.compare(&c), Ordering::Greater);
        }
        let state = RandomState::new();
        if a == b {
            prop_assert_eq!(state.hash_one(&a), state.hash_one(&b));
        }
    }

    #[test]
    fn numbers_compare_by_value_whatever_their_kind(n in -5i64..5, scale in 0u16..40) {
        let wide = rounding::round(&Numeric::from_i64(n), scale.into()).unwrap();
        let state = RandomState::new();
        let kinds = [Datum::Int(n), Datum::Float(n as f64), Datum::Numeric(wide)];
        for kind in &kinds {
            prop_assert_eq!(kind, &kinds[0]);
            prop_assert_eq!(state.hash_one(kind), state.hash_one(&kinds[0]));
        }
    }

    #[test]
    fn sums_and_products_undo(a in numeric(), b in numeric()) {
        if a.is_finite() && b.is_finite() {
            prop_assert_eq!(a.add(&b).unwrap().sub(&b).unwrap(), a.clone());
            if !b.is_zero() {
                let product = a.mul(&b).unwrap();
                let quotient = integers::div_trunc(&product, &b).unwrap();
                prop_assert_eq!(quotient, rounding::trunc(&a, 0).unwrap());
            }
        }
    }

    #[test]
    fn no_literal_panics(
        text in "\\PC{0,20}",
        near in "[-+0-9:./ TZPYMDHSainfep\\[\\]{}(),\"\\\\]{0,16}",
    ) {
        for ty in sql_type::all() {
            let _ = text::parse(&ty, &text, &settings(), 0);
            let _ = text::parse(&ty, &near, &settings(), 0);
            let _ = binary::decode(&ty, text.as_bytes());
        }
        let _ = braid_types::datetime::to_timestamp(&near, &text, &jiff::tz::TimeZone::UTC);
        let _ = braid_types::datetime::to_date(&text, "YYYY-MM-DD Month RM Y,YYY TZH:TZM IDDD");
        let _ = braid_types::datetime::timestamp_to_char(0, &text);
        let _ = braid_types::datetime::zone_by_name(&near);
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..40)) {
        for ty in sql_type::all() {
            let _ = binary::decode(&ty, &bytes);
        }
    }
}

#[test]
fn a_datum_takes_at_most_32_bytes() {
    assert!(size_of::<Datum>() <= 32, "{}", size_of::<Datum>());
}

#[test]
fn every_type_is_found_by_its_number() {
    for ty in sql_type::all() {
        assert_eq!(
            SqlType::from_oid(ty.oid()).map(|found| found.with_typmod(ty.typmod())),
            Some(ty.clone())
        );
    }
    let modified = [
        SqlType::Varchar(Some(20)),
        SqlType::Char(3),
        SqlType::Numeric(Some((10, 2))),
        SqlType::Numeric(Some((3, -2))),
    ];
    for ty in modified {
        assert_eq!(
            SqlType::from_oid(ty.oid()).map(|found| found.with_typmod(ty.typmod())),
            Some(ty.clone())
        );
    }
}

/// Integers in every form are read alike: plain digits take a short way.
#[test]
fn integers_are_read_as_their_digits_say() {
    let types = [
        (SqlType::Int2, i64::from(i16::MIN), i64::from(i16::MAX)),
        (SqlType::Int4, i64::from(i32::MIN), i64::from(i32::MAX)),
        (SqlType::Int8, i64::MIN, i64::MAX),
    ];
    for (ty, low, high) in types {
        for number in [0, 1, -1, 9, 10, 123_456, low, low + 1, high, high - 1] {
            let fits = (low..=high).contains(&number);
            let digits = number.unsigned_abs();
            let sign = if number < 0 { "-" } else { "" };
            for (before, after) in [("", ""), (" ", ""), ("", "\t"), ("\n ", " ")] {
                for zeros in ["", "0", "0000000000000000000000"] {
                    let text = format!("{before}{sign}{zeros}{digits}{after}");
                    let found = text::parse(&ty, &text, &settings(), 0);
                    assert_eq!(found.ok(), fits.then_some(Datum::Int(number)), "{text:?}");
                }
            }
            let plus = format!("+{digits}");
            let found = text::parse(&ty, &plus, &settings(), 0);
            let positive = i64::try_from(digits).ok().filter(|n| *n <= high);
            assert_eq!(found.ok(), positive.map(Datum::Int), "{plus:?}");
        }
        let outside = [i128::from(low) - 1, i128::from(high) + 1, i128::MAX];
        for text in outside.map(|number| number.to_string()) {
            let error = text::parse(&ty, &text, &settings(), 0).expect_err("out of range");
            assert_eq!(error.state().code(), "22003", "{text}");
        }
        for text in ["", "-", "+", "1 2", "1a", "--1", "1-", "0x10", "١", "1.0", " "] {
            let error = text::parse(&ty, text, &settings(), 0).expect_err("no integer");
            assert_eq!(error.state().code(), "22P02", "{text:?}");
        }
    }
}
