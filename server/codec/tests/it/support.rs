//! Random types and values for the property tests.

use std::ops::Bound;
use std::sync::Arc;

use braid_types::range::normalized;
use braid_types::{Array, Datum, Dimension, Interval, Json, Numeric, Range, RangeKind, SqlType};
use proptest::collection::vec;
use proptest::prelude::*;

/// A type that can be stored, arrays included.
pub(crate) fn any_type() -> impl Strategy<Value = SqlType> {
    let scalar = prop::sample::select(vec![
        SqlType::Bool,
        SqlType::Int2,
        SqlType::Int8,
        SqlType::Float4,
        SqlType::Float8,
        SqlType::Numeric(None),
        SqlType::Numeric(Some((40, 3))),
        SqlType::Text,
        SqlType::Char(0),
        SqlType::Char(8),
        SqlType::Varbit(None),
        SqlType::Citext,
        SqlType::Bytes,
        SqlType::Uuid,
        SqlType::Date,
        SqlType::Time,
        SqlType::Timestamp,
        SqlType::Timestamptz,
        SqlType::Interval,
        SqlType::Jsonb,
        SqlType::Range(RangeKind::Int4),
        SqlType::Range(RangeKind::Num),
        SqlType::Range(RangeKind::Date),
        SqlType::Multirange(RangeKind::Int8),
        SqlType::Multirange(RangeKind::Num),
        SqlType::Multirange(RangeKind::Tstz),
    ]);
    (scalar, prop::bool::weighted(0.2)).prop_map(|(ty, array)| if array { ty.array() } else { ty })
}

/// A value of that type, sometimes NULL.
pub(crate) fn any_datum(ty: &SqlType) -> BoxedStrategy<Datum> {
    prop_oneof![1 => Just(Datum::Null), 9 => any_value(ty)].boxed()
}

fn any_int() -> BoxedStrategy<i64> {
    let near_powers = (0u32..64, -2i64..3, any::<bool>()).prop_map(|(bit, off, negative)| {
        let value = (1i64 << bit).wrapping_add(off);
        if negative { value.wrapping_neg() } else { value }
    });
    prop_oneof![any::<i64>(), -300i64..300, near_powers, Just(i64::MIN), Just(i64::MAX)].boxed()
}

fn any_text() -> BoxedStrategy<String> {
    prop_oneof!["[a-b]{0,4}", "\\PC{0,12}", "[\u{1}\u{2} a]{0,6}"].boxed()
}

fn any_numeric() -> BoxedStrategy<Numeric> {
    prop_oneof![
        (any_int(), 0u16..25).prop_map(|(n, scale)| Numeric::from_parts(i128::from(n), scale)),
        (-20i128..20, 0u16..4).prop_map(|(n, scale)| Numeric::from_parts(n, scale)),
        (any::<i128>(), 0u16..300).prop_map(|(n, scale)| Numeric::from_parts(n, scale)),
        "-?[0-9]{1,120}(\\.[0-9]{1,60})?".prop_map(|text| Numeric::parse(&text).expect("a number")),
        Just(Numeric::NaN),
        Just(Numeric::Infinity),
        Just(Numeric::NegInfinity),
    ]
    .boxed()
}

fn any_json() -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any_text().prop_map(|text| Json::String(text.into())),
        (any_int(), 0u16..5).prop_map(|(n, s)| Json::Number(Numeric::from_parts(n.into(), s))),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|pairs| Json::Object(
                pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
            )),
        ]
    })
    .boxed()
}

fn any_value(ty: &SqlType) -> BoxedStrategy<Datum> {
    match ty {
        SqlType::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        SqlType::Float4 => any_float().prop_map(|f| Datum::Float(f64::from(f as f32))).boxed(),
        SqlType::Float8 => any_float().prop_map(Datum::Float).boxed(),
        SqlType::Numeric(Some((_, scale))) => {
            let scale = *scale as u16;
            (-(10i128.pow(30))..10i128.pow(30))
                .prop_map(move |n| Datum::Numeric(Numeric::from_parts(n, scale)))
                .boxed()
        }
        SqlType::Numeric(None) => any_numeric().prop_map(Datum::Numeric).boxed(),
        SqlType::Char(length) => {
            let length = *length as usize;
            "[ab ]{0,8}".prop_map(move |text| Datum::text(format!("{text:length$}"))).boxed()
        }
        SqlType::Text => any_text().prop_map(|text| Datum::text(text.replace('\0', ""))).boxed(),
        SqlType::Varbit(_) => "[01]{0,20}".prop_map(Datum::text).boxed(),
        SqlType::Citext => prop_oneof!["[a-bA-B]{0,3}", "[\u{c9}\u{e9}\u{130}_\\[Zz]{0,3}"]
            .prop_map(|text| Datum::Citext(text.into()))
            .boxed(),
        SqlType::Bytes => {
            prop_oneof![vec(any::<u8>(), 0..12), vec(0u8..3, 0..6)].prop_map(Datum::bytes).boxed()
        }
        SqlType::Uuid => any::<[u8; 16]>().prop_map(Datum::Uuid).boxed(),
        SqlType::Date => any::<i32>().prop_map(Datum::Date).boxed(),
        SqlType::Time => (0..86_400_000_000i64).prop_map(Datum::Time).boxed(),
        SqlType::Timestamp => any_int().prop_map(Datum::Timestamp).boxed(),
        SqlType::Timestamptz => any_int().prop_map(Datum::Timestamptz).boxed(),
        SqlType::Interval => {
            let small = (-3i32..3, -60i32..60, -3i64..3).prop_map(|(months, days, micros)| {
                Interval { months, days, micros: micros * 86_400_000_000 }
            });
            let wild = (any::<i32>(), any::<i32>(), any::<i64>())
                .prop_map(|(months, days, micros)| Interval { months, days, micros });
            prop_oneof![small, wild].prop_map(Datum::Interval).boxed()
        }
        SqlType::Jsonb => any_json().prop_map(Datum::json).boxed(),
        SqlType::Array(element) => {
            let element = (**element).clone();
            let items = vec(any_datum(&element), 0..5);
            let shape = vec((0i32..3, 1usize..3), 1..4);
            (items, shape)
                .prop_map(move |(mut items, shape)| {
                    let inner: Vec<Dimension> = shape[1..]
                        .iter()
                        .map(|(lower, length)| Dimension { lower: *lower, length: *length })
                        .collect();
                    let size: usize = inner.iter().map(|dimension| dimension.length).product();
                    items.truncate(items.len() / size * size);
                    let first = Dimension { lower: shape[0].0, length: items.len() / size };
                    let shape: Vec<Dimension> = std::iter::once(first).chain(inner).collect();
                    Array::from_dimensions(element.clone(), &shape, items).into()
                })
                .boxed()
        }
        SqlType::Range(kind) => {
            any_range(*kind).prop_map(|range| Datum::Range(Arc::new(range))).boxed()
        }
        SqlType::Multirange(kind) => vec(any_range(*kind), 0..5)
            .prop_map(|ranges| {
                Datum::Multirange(normalized(ranges).expect("nothing stops it").into())
            })
            .boxed(),
        _ => any_int().prop_map(Datum::Int).boxed(),
    }
}

/// A value near others, so that bounds are often equal.
fn any_bound_value(kind: RangeKind) -> BoxedStrategy<Datum> {
    let small = -3i64..4;
    match kind {
        RangeKind::Int4 | RangeKind::Int8 => small.prop_map(Datum::Int).boxed(),
        RangeKind::Num => prop_oneof![
            (-20i128..20, 0u16..3).prop_map(|(n, s)| Datum::Numeric(Numeric::from_parts(n, s))),
            any_numeric().prop_map(Datum::Numeric),
        ]
        .boxed(),
        RangeKind::Ts => small.prop_map(Datum::Timestamp).boxed(),
        RangeKind::Tstz => prop_oneof![small, any_int()].prop_map(Datum::Timestamptz).boxed(),
        RangeKind::Date => {
            let days = prop_oneof![-3i32..4, Just(i32::MIN), Just(i32::MAX)];
            days.prop_map(Datum::Date).boxed()
        }
    }
}

fn any_bound(kind: RangeKind) -> BoxedStrategy<Bound<Datum>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        3 => any_bound_value(kind).prop_map(Bound::Included),
        3 => any_bound_value(kind).prop_map(Bound::Excluded),
    ]
    .boxed()
}

/// A range of that kind; one of four is empty by chance or because its bounds cross.
pub(crate) fn any_range(kind: RangeKind) -> BoxedStrategy<Range> {
    (any_bound(kind), any_bound(kind))
        .prop_map(move |(lower, upper)| Range::new(kind, lower, upper).unwrap_or(Range::Empty))
        .boxed()
}

fn any_float() -> BoxedStrategy<f64> {
    prop_oneof![
        any::<f64>(),
        prop::num::f64::ANY,
        (-10i32..10).prop_map(f64::from),
        Just(-0.0),
        Just(f64::NAN),
    ]
    .boxed()
}

/// The same in every part, scale and sign of zero included.
pub(crate) fn identical(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Interval(a), Datum::Interval(b)) => {
            (a.months, a.days, a.micros) == (b.months, b.days, b.micros)
        }
        (Datum::Float(a), Datum::Float(b)) => {
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
        }
        (Datum::Array(a), Datum::Array(b)) => {
            let mut pairs = a.items.iter().zip(&b.items);
            a.dimensions() == b.dimensions()
                && a.items.len() == b.items.len()
                && pairs.all(|(a, b)| identical(a, b))
        }
        // Numerics and JSON that are equal may differ in Debug.
        (a, b) => format!("{a:?}") == format!("{b:?}"),
    }
}
