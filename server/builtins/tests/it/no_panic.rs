//! Every function, set-returning function and aggregate, called with every combination of edge
//! values of its types: an answer or an error, never a panic. Strict functions get no NULL.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use braid_builtins::{
    Arg, Call, Eval, Returns, Volatility, all_aggregates, all_functions, all_set_functions,
};
use braid_types::geometry::Shape;
use braid_types::sql_type::{range_kind, range_subtype};
use braid_types::{
    Array, Datum, Dimension, FormatSettings, Interval, Json, Numeric, RangeKind, SqlType, text,
};

use crate::support::TestEnvironment;

/// More combinations than this of one function are thinned out evenly.
const COMBINATIONS_MAX: usize = 400;
/// Rows taken from a set.
const ROWS_MAX: usize = 50;

fn texts() -> Vec<Datum> {
    let long = "ab".repeat(40);
    [
        "",
        " ",
        "a",
        "äöü\u{1F600}",
        "%_\\",
        "(",
        "[a-",
        "*",
        "\\",
        "{1,2}",
        "0",
        "-1",
        "1e400",
        "2020-01-01",
        "infinity",
        "UTC",
        "month",
        "day",
        "YYYY-MM-DD",
        "999D99",
        "%s%I%L",
        "%1$*2$s",
        "hex",
        "base64",
        "escape",
        "utf8",
        "{\"a\": [1]}",
        "pg_class",
        "g",
        "select,insert",
        &long,
    ]
    .into_iter()
    .map(Datum::text)
    .collect()
}

fn figures(shape: Shape) -> Vec<Datum> {
    let literals: &[&str] = match shape {
        Shape::Point => &["0,0", "nan,inf", "1e300,-1e300", "-3,4"],
        Shape::Segment => &["0,0,0,0", "nan,1,2,inf", "1e300,0,-1e300,5"],
        Shape::Path => &["[(0,0)]", "((0,0),(nan,1))", "[(1e300,1),(-1e300,2),(3,4)]"],
        Shape::Corners => &["0,0,0,0", "nan,1,2,3", "1e300,1e300,-1e300,-1e300"],
        Shape::Polygon => &["((0,0))", "((0,0),(4,0),(4,4))", "((nan,0),(1e300,1),(inf,2))"],
        Shape::Line => &["{0,-1,5}", "{nan,1,inf}", "{1e300,-1e300,1}"],
        Shape::Circle => &["<(0,0),0>", "<(nan,1),inf>", "<(1e300,1),1e300>"],
    };
    let ty = SqlType::Geometry(shape);
    let settings = FormatSettings::default();
    let parse = |text: &&str| braid_types::text::parse(&ty, text, &settings, 0).unwrap();
    literals.iter().map(parse).collect()
}

fn edges(ty: &SqlType) -> Vec<Datum> {
    let ints = |least: i64, most: i64| {
        [0, 1, -1, 2, 7, 255, least, most].into_iter().map(Datum::Int).collect()
    };
    match ty {
        SqlType::Bool => vec![Datum::Bool(true), Datum::Bool(false)],
        SqlType::Int2 => ints(i16::MIN.into(), i16::MAX.into()),
        SqlType::Int4 => ints(i32::MIN.into(), i32::MAX.into()),
        SqlType::Int8 => ints(i64::MIN, i64::MAX),
        ty if ty.is_oid() || ty.is_reg() => ints(16, u32::MAX.into()),
        SqlType::Xid | SqlType::Cid => ints(16, u32::MAX.into()),
        SqlType::Xid8 | SqlType::PgLsn | SqlType::Money => ints(i64::MIN, i64::MAX),
        SqlType::Geometry(shape) => figures(*shape),
        SqlType::Tid => [&[0; 6][..], &[255; 6], &[0x10; 7], &[0x11; 9], &[0x16; 7], &[255; 20]]
            .map(Datum::bytes)
            .to_vec(),
        SqlType::Int2Vector | SqlType::OidVector => {
            let element = ty.element().cloned().unwrap();
            let some: Vec<Datum> = edges(&element).into_iter().take(3).collect();
            let vector = |items| Array::from_lower(element.clone(), 0, items);
            [vector(some), vector(vec![])].map(|array| Datum::Array(Arc::new(array))).to_vec()
        }
        SqlType::Float4 | SqlType::Float8 => {
            [0.0, -0.0, 1.0, -1.5, 1e30, -1e30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-40]
                .into_iter()
                .map(Datum::Float)
                .collect()
        }
        SqlType::Numeric(_) => {
            ["0", "1", "-1.50", "1e30", "-1e-30", "NaN", "Infinity", "-Infinity"]
                .iter()
                .map(|text| Datum::Numeric(Numeric::parse(text).unwrap()))
                .collect()
        }
        SqlType::Bytes => {
            vec![Datum::bytes(vec![]), Datum::bytes(vec![0]), Datum::bytes(vec![255, 128, 92, 7])]
        }
        SqlType::Timetz => literals(ty, &["00:00+00", "24:00-15:59", "12:00:00.5+15:59"]),
        SqlType::Inet => literals(ty, &["0.0.0.0/0", "255.255.255.255", "::/0", "::1", "1::2/127"]),
        SqlType::Cidr => literals(ty, &["0.0.0.0/0", "255.255.255.255", "::/0", "10/8"]),
        SqlType::Macaddr => literals(ty, &["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"]),
        SqlType::Macaddr8 => literals(ty, &["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff:ff:ff"]),
        SqlType::TsVector => literals(ty, &["", "a:1A,2 b 'x y':16383", "fat:3 cat"]),
        SqlType::TsQuery => literals(ty, &["", "a & !b:*A", "(a <-> b) | c <0> d", "!a"]),
        SqlType::Uuid => vec![Datum::Uuid([0; 16]), Datum::Uuid([255; 16])],
        SqlType::Date => {
            [0, 1, -2_451_545, 2_145_031_948, i32::MAX, i32::MIN].map(Datum::Date).to_vec()
        }
        SqlType::Time => [0, 1, 86_399_999_999, 86_400_000_000].map(Datum::Time).to_vec(),
        SqlType::Timestamp => instants().map(Datum::Timestamp).to_vec(),
        SqlType::Timestamptz => instants().map(Datum::Timestamptz).to_vec(),
        SqlType::Interval => [
            (0, 0, 0),
            (1, -1, 1),
            (i32::MAX, i32::MAX, i64::MAX),
            (i32::MIN, i32::MIN, i64::MIN),
            (0, 0, 1),
            (0, 0, 3_600_000_000),
        ]
        .map(|(months, days, micros)| Datum::Interval(Interval { months, days, micros }))
        .to_vec(),
        SqlType::Json => ["{}", "[1, {\"a\": null}]", "\"x\"", "1", "null"]
            .map(|text| Datum::json(Json::parse_raw(text).unwrap()))
            .to_vec(),
        SqlType::Jsonb => ["{}", "{\"a\":{\"b\":[1]}}", "[1,\"a\"]", "\"x\"", "1e400", "null"]
            .map(|text| Datum::json(Json::parse(text).unwrap()))
            .to_vec(),
        SqlType::Snapshot(_) => literals(ty, &["12:13:", "12:20:13,15,18"]),
        SqlType::Jsonpath => literals(
            ty,
            &[
                "$",
                "strict $.a[last].*",
                "$.** ? (@ > 1 || @ like_regex \"a\")",
                "-$ * 1e400",
                "$x",
            ],
        ),
        SqlType::Array(element) => {
            let mut some: Vec<Datum> = edges(element);
            some.truncate(4);
            let mut with_null = some.clone();
            with_null.push(Datum::Null);
            let shifted = Array::from_lower(element.as_ref().clone(), i32::MAX - 9, some.clone());
            let two = [(-3, 1), (i32::MAX - 9, some.len())];
            let two = two.map(|(lower, length)| Dimension { lower, length });
            let wide = Array::from_dimensions(element.as_ref().clone(), &two, some.clone());
            vec![
                wide.into(),
                Datum::array(element.as_ref().clone(), vec![]),
                Datum::array(element.as_ref().clone(), some),
                Datum::array(element.as_ref().clone(), with_null),
                Datum::Array(Arc::new(shifted)),
            ]
        }
        SqlType::Range(kind) => literals(ty, range_texts(*kind)),
        SqlType::Multirange(kind) => {
            let [empty, first, second, all] = range_texts(*kind) else { return Vec::new() };
            let texts = [String::from("{}"), format!("{{{first}}}"), format!("{{{all},{empty}}}")];
            let texts = [&texts[..], &[format!("{{{first},{second}}}")]].concat();
            literals(ty, &texts.iter().map(String::as_str).collect::<Vec<_>>())
        }
        SqlType::Record(_) => vec![Datum::Record(vec![Datum::Int(1), Datum::Null].into())],
        SqlType::Bit(_) | SqlType::Varbit(_) => {
            let long = "10".repeat(40);
            literals(ty, &["", "1", "0110", &long])
        }
        SqlType::Citext => literals(ty, &["", "aB", "\u{c9}\u{130}\\", "(", "%_"]),
        SqlType::Hstore => literals(ty, &["", "a=>1", "\"\u{e9}\"=>NULL, \"\"=>\"\""]),
        SqlType::Char(_) => [" ", "a  ", ""].map(Datum::text).to_vec(),
        _ => texts(),
    }
}

fn range_texts(kind: RangeKind) -> &'static [&'static str] {
    match kind {
        RangeKind::Int4 => &["empty", "[-2147483648,2)", "[5,2147483647)", "(,)"],
        RangeKind::Int8 => &["empty", "[-9223372036854775808,2)", "[5,9223372036854775807)", "(,)"],
        RangeKind::Num => &["empty", "[-Infinity,1.50]", "(2,NaN)", "(,)"],
        RangeKind::Date => &["empty", "[-infinity,2000-01-01)", "[2000-02-01,infinity]", "(,)"],
        RangeKind::Ts | RangeKind::Tstz => {
            &["empty", "[-infinity,2000-01-01)", "(2000-02-01,infinity]", "(,)"]
        }
    }
}

fn literals(ty: &SqlType, texts: &[&str]) -> Vec<Datum> {
    let settings = FormatSettings::default();
    let parse = |literal: &&str| text::parse(ty, literal, &settings, 0).unwrap();
    texts.iter().map(parse).collect()
}

fn instants() -> [i64; 6] {
    [0, 1, -211_813_488_000_000_000, 9_223_371_331_199_999_999, i64::MAX, i64::MIN]
}

/// A few types for each polymorphic argument.
fn types_of(args: &[Arg]) -> Vec<Vec<SqlType>> {
    let record = vec![("a".to_owned(), SqlType::Int4), ("b".to_owned(), SqlType::Text)];
    let record = SqlType::Record(record.into());
    let elements = [
        SqlType::Int4,
        SqlType::Text,
        SqlType::Numeric(None),
        SqlType::Timestamptz,
        SqlType::Jsonb,
        record.clone(),
    ];
    let polymorphic = args.iter().any(|arg| !matches!(arg, Arg::Is(_)));
    let chosen = if polymorphic { &elements[..] } else { &elements[..1] };
    let is_range = args.iter().any(|arg| matches!(arg, Arg::Range | Arg::Multirange));
    chosen
        .iter()
        .zip(RangeKind::ALL)
        .map(|(element, kind)| {
            let element = if is_range { kind.subtype() } else { element };
            args.iter()
                .map(|arg| match arg {
                    Arg::Is(SqlType::Record(_)) => record.clone(),
                    Arg::Is(ty) => ty.clone(),
                    Arg::Array | Arg::CompatibleArray => element.clone().array(),
                    Arg::Range => SqlType::Range(kind),
                    Arg::Multirange => SqlType::Multirange(kind),
                    _ => element.clone(),
                })
                .collect()
        })
        .collect()
}

fn returned(returns: &Returns, args: &[Arg], types: &[SqlType]) -> SqlType {
    let element = args.iter().zip(types).find_map(|(arg, ty)| match arg {
        Arg::Element | Arg::Compatible => Some(ty.clone()),
        Arg::Array | Arg::CompatibleArray => ty.element().cloned(),
        Arg::Range | Arg::Multirange => range_subtype(ty).cloned(),
        _ => None,
    });
    let kind = types.iter().find_map(range_kind);
    let element = element.unwrap_or(SqlType::Text);
    match returns {
        Returns::Is(ty) => ty.clone(),
        Returns::Element | Returns::Compatible => element,
        Returns::Array | Returns::CompatibleArray => element.array(),
        Returns::Range => kind.map_or(SqlType::Unknown, SqlType::Range),
        Returns::Multirange => kind.map_or(SqlType::Unknown, SqlType::Multirange),
    }
}

/// The combinations of edge values, thinned out evenly; NULL among them unless strict.
fn combinations(types: &[SqlType], strict: bool) -> Vec<Vec<Datum>> {
    let choices: Vec<Vec<Datum>> = types
        .iter()
        .map(|ty| {
            let mut values = edges(ty);
            if !strict {
                values.push(Datum::Null);
            }
            values
        })
        .collect();
    let total: u128 = choices.iter().map(|values| values.len() as u128).product();
    let step = total.div_ceil(COMBINATIONS_MAX as u128).max(1);
    // An odd step visits every value of every argument sooner or later.
    let step = step | 1;
    (0..total)
        .step_by(usize::try_from(step).unwrap_or(usize::MAX))
        .map(|number| {
            let mut rest = number;
            choices
                .iter()
                .map(|values| {
                    let at = (rest % values.len() as u128) as usize;
                    rest /= values.len() as u128;
                    values[at].clone()
                })
                .collect()
        })
        .collect()
}

#[test]
fn no_function_panics() {
    let env = TestEnvironment::default();
    let mut calls = 0;
    for function in all_functions() {
        let Eval::Pure(eval) = function.eval else { continue };
        for types in types_of(&function.args) {
            let returns = returned(&function.returns, &function.args, &types);
            for args in combinations(&types, function.strict) {
                let call = Call { env: &env, types: &types, returns: &returns, args: &args };
                calls += 1;
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| eval(&call)));
                match result {
                    Err(_) => panic!("{}{types:?} panicked with {args:?}", function.name),
                    Ok(Err(error)) if error.state().code() == "XX000" => {
                        panic!("{}{types:?} with {args:?}: {error}", function.name)
                    }
                    Ok(_) => {}
                }
            }
        }
    }
    assert!(calls > 50_000, "only {calls} calls");
}

/// Casts ask for the environment's formats in general, so they are left to the table of tests.
#[test]
fn immutable_functions_read_nothing_of_the_session() {
    let env = TestEnvironment::default();
    let mut offenders = std::collections::BTreeSet::new();
    for function in all_functions() {
        let Eval::Pure(eval) = function.eval else { continue };
        let is_cast = SqlType::from_name(function.name).is_some();
        if function.volatility != Volatility::Immutable || is_cast {
            continue;
        }
        for types in types_of(&function.args) {
            let returns = returned(&function.returns, &function.args, &types);
            for args in combinations(&types, function.strict) {
                let call = Call { env: &env, types: &types, returns: &returns, args: &args };
                if eval(&call).is_ok() {
                    let used = env.used.load(std::sync::atomic::Ordering::Relaxed);
                    if used {
                        offenders.insert(format!("{}{types:?}", function.name));
                    }
                }
                env.used.store(false, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:?}");
}

#[test]
fn no_set_function_panics() {
    let env = TestEnvironment::default();
    for function in all_set_functions() {
        for types in types_of(&function.args) {
            let returns = SqlType::Record(vec![].into());
            for args in combinations(&types, function.strict) {
                let call = Call { env: &env, types: &types, returns: &returns, args: &args };
                if let Ok(rows) = (function.eval)(&call) {
                    for row in rows.take(ROWS_MAX).flatten() {
                        assert!(row.len() >= function.columns.len(), "{}", function.name);
                    }
                }
            }
        }
    }
}

#[test]
fn no_aggregate_panics() {
    let env = TestEnvironment::default();
    for (aggregate, args, returns) in all_aggregates() {
        for types in types_of(args) {
            let returns = returned(returns, args, &types);
            let mut state = (aggregate.start)(&types, &returns);
            assert!(state.finish(&env).is_ok(), "{} of no rows", aggregate.name);
            for row in combinations(&types, false) {
                if state.add(&row, &env).is_err() {
                    state = (aggregate.start)(&types, &returns);
                }
                let _ = state.finish(&env);
                assert!(state.size_bytes() > 0);
            }
        }
    }
}
