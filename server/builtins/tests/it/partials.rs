//! Partial states of aggregates: states over parts of the rows, merged, answer as one state over
//! all rows.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use braid_builtins::{Accumulator, Aggregate, Arg, Environment, Returns, all_aggregates};
use braid_types::{Datum, EnumLabel, EnumType, FormatSettings, Result, Row, SqlType, text};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::TestEnvironment;

/// An aggregate with types for its arguments and its result.
struct Overload {
    aggregate: &'static Aggregate,
    args: Vec<SqlType>,
    returns: SqlType,
}

impl Overload {
    fn start(&self) -> Box<dyn Accumulator> {
        (self.aggregate.start)(&self.args, &self.returns)
    }

    fn name(&self) -> String {
        format!("{}{:?}", self.aggregate.name, self.args)
    }
}

fn all_overloads() -> Vec<Overload> {
    let overload = |(aggregate, args, returns): (&'static Aggregate, &[Arg], &Returns)| {
        let args: Vec<SqlType> = args.iter().map(type_of).collect();
        let returns = match returns {
            Returns::Is(ty) => ty.clone(),
            _ => args.first().cloned().unwrap_or(SqlType::Unknown),
        };
        Overload { aggregate, args, returns }
    };
    all_aggregates().into_iter().map(overload).collect()
}

fn merging_overloads() -> Vec<Overload> {
    all_overloads().into_iter().filter(|overload| overload.aggregate.merges).collect()
}

/// A type for an argument.
fn type_of(arg: &Arg) -> SqlType {
    match arg {
        Arg::Is(ty) => ty.clone(),
        Arg::Array | Arg::CompatibleArray => SqlType::Numeric(None).array(),
        Arg::Enum => {
            let label = |(place, name): (i64, &str)| {
                let (oid, order, name) = (90 + place as u32, place << 32, name.into());
                Arc::new(EnumLabel { oid, order, name, is_uncommitted: false })
            };
            let labels = [(1, "sad"), (2, "ok"), (3, "happy")].map(label).to_vec();
            SqlType::Enum(Arc::new(EnumType { oid: 90, labels, ..EnumType::default() }))
        }
        _ => SqlType::Int4,
    }
}

/// The literal of a value that a number stands for. Floats are small and exact in binary, so that
/// the order of additions hardly shows. Different values of other types may be equal.
fn literal(ty: &SqlType, n: i16, has_infinities: bool) -> String {
    let is_infinite = match ty {
        SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) => true,
        ty => matches!(ty, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz),
    };
    let below = |limit: i16| n.rem_euclid(limit);
    if has_infinities && is_infinite && below(8) < 2 {
        return ["infinity", "-infinity"][usize::from(below(8) == 1)].to_owned();
    }
    let date = format!("{}-01-{:02}", 2000 + below(50), 1 + below(28));
    let time = format!("{:02}:{:02}:00", below(24), below(60));
    let word = |padding: i16| {
        let letter = char::from(b'a' + (below(10) / 2) as u8);
        let letter = if below(2) == 0 { letter } else { letter.to_ascii_uppercase() };
        format!("{letter}{}", " ".repeat(below(padding) as usize))
    };
    match ty {
        SqlType::Bool => (below(2) == 0).to_string(),
        SqlType::Int2 => n.to_string(),
        SqlType::Int4 => (i32::from(n) * 60_000).to_string(),
        SqlType::Int8 => (i64::from(n) << 47).to_string(),
        SqlType::Float4 | SqlType::Float8 if has_infinities && below(16) == 2 => "nan".to_owned(),
        SqlType::Float4 | SqlType::Float8 => (f64::from(n % 200) / 4.0).to_string(),
        SqlType::Numeric(_) => match below(5) {
            0 if has_infinities => "nan".to_owned(),
            0 => format!("{}.0", n % 10),
            1 => format!("{n}.50"),
            2 => format!("{n}e40"),
            3 => format!("{n}e-20"),
            _ => (n % 10).to_string(),
        },
        SqlType::Money => format!("{n}.25"),
        SqlType::Oid | SqlType::Xid8 => n.unsigned_abs().to_string(),
        SqlType::Char(_) => word(3),
        SqlType::Text | SqlType::Citext => word(1),
        SqlType::Date => date,
        SqlType::Time => time,
        SqlType::Timetz => format!("{time}+0{}", below(3)),
        SqlType::Timestamp => format!("{date} {time}"),
        SqlType::Timestamptz => format!("{date} {time}+02"),
        SqlType::Interval => format!("{} mons {} days {} hours", n % 3, 30 * below(3), below(30)),
        SqlType::Tid => format!("({},{})", below(100), 1 + below(7)),
        SqlType::PgLsn => format!("{:X}/{:X}", below(3), below(1000)),
        SqlType::Inet => format!("10.0.{}.1/{}", below(4), 8 + below(2)),
        SqlType::Bit(_) => format!("{:08b}", below(256)),
        SqlType::Enum(_) => ["sad", "ok", "happy"][below(3) as usize].to_owned(),
        SqlType::Array(_) => {
            format!("{{{}, {}}}", below(3), ["1", "1.0", "NULL"][below(3) as usize])
        }
        ty => panic!("no values of {ty:?}"),
    }
}

fn value(ty: &SqlType, n: Option<i16>, has_infinities: bool) -> Datum {
    let Some(n) = n else { return Datum::Null };
    text::parse(ty, &literal(ty, n, has_infinities), &FormatSettings::default(), 0).unwrap()
}

fn add_all(state: &mut dyn Accumulator, rows: &[Row], env: &dyn Environment) -> Result<()> {
    rows.iter().try_for_each(|row| state.add(row, env))
}

fn partial_of(overload: &Overload, rows: &[Row], env: &dyn Environment) -> Result<Vec<Datum>> {
    let mut state = overload.start();
    add_all(&mut *state, rows, env)?;
    Ok(state.partial().unwrap())
}

/// The result over all rows, in one state.
fn whole(overload: &Overload, rows: &[Row], env: &dyn Environment) -> Result<Datum> {
    let mut state = overload.start();
    add_all(&mut *state, rows, env)?;
    state.finish(env)
}

/// The result over parts that are merged into a state without rows.
fn merged(overload: &Overload, parts: &[&[Row]], env: &dyn Environment) -> Result<Datum> {
    let mut state = overload.start();
    for part in parts {
        state.merge(&partial_of(overload, part, env)?, env)?;
    }
    state.finish(env)
}

/// The result over parts of which the first and the last are not merged: their rows are added to
/// the state that takes the others.
fn merged_between(overload: &Overload, parts: &[&[Row]], env: &dyn Environment) -> Result<Datum> {
    let [first, middle @ .., last] = parts else { panic!("two parts at least") };
    let mut state = overload.start();
    add_all(&mut *state, first, env)?;
    for part in middle {
        state.merge(&partial_of(overload, part, env)?, env)?;
    }
    add_all(&mut *state, last, env)?;
    state.finish(env)
}

fn are_same(ty: &SqlType, a: &Result<Datum>, b: &Result<Datum>) -> bool {
    let shown = |datum: &Datum| text::to_string(ty, datum, &FormatSettings::default());
    match (a, b) {
        (Ok(Datum::Float(a), ..), Ok(Datum::Float(b))) => {
            let tolerance = 1e-9 * a.abs().max(b.abs()).max(1.0);
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance
        }
        (Ok(a), Ok(b)) if a.is_null() || b.is_null() => a.is_null() && b.is_null(),
        (Ok(a), Ok(b)) => shown(a) == shown(b),
        (Err(a), Err(b)) => a.state() == b.state(),
        _ => false,
    }
}

/// The number of a value, or NULL.
fn any_number() -> impl Strategy<Value = Option<i16>> {
    proptest::option::weighted(0.8, any::<i16>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn merged_parts_answer_as_all_rows_do(
        numbers in proptest::collection::vec((any_number(), any_number()), 0..24),
        ends in any::<[Index; 2]>(),
        has_infinities in proptest::bool::weighted(0.2),
    ) {
        let env = TestEnvironment::default();
        let mut ends = ends.map(|end| end.index(numbers.len() + 1));
        ends.sort_unstable();
        for overload in merging_overloads() {
            let row = |(first, second): &(Option<i16>, Option<i16>)| -> Row {
                let typed = overload.args.iter().zip([first, second]);
                typed.map(|(ty, n)| value(ty, *n, has_infinities)).collect()
            };
            let rows: Vec<Row> = numbers.iter().map(row).collect();
            let parts = [&rows[..ends[0]], &rows[ends[0]..ends[1]], &rows[ends[1]..]];
            let wanted = whole(&overload, &rows, &env);
            for got in [merged(&overload, &parts, &env), merged_between(&overload, &parts, &env)] {
                let is_right = are_same(&overload.returns, &wanted, &got);
                prop_assert!(is_right, "{}: {wanted:?}, merged {got:?}", overload.name());
            }
        }
    }
}

#[test]
fn an_aggregate_merges_if_all_its_states_have_partials() {
    let env = TestEnvironment::default();
    for overload in all_overloads() {
        let mut state = overload.start();
        let merges = overload.aggregate.merges;
        assert_eq!(state.partial().is_some(), merges, "{}", overload.name());
        if !merges {
            assert!(state.merge(&[], &env).is_err(), "{}", overload.name());
        }
    }
    assert!(merging_overloads().len() > 120);
}

#[test]
fn parts_without_rows_merge_as_nothing() {
    let env = TestEnvironment::default();
    for overload in merging_overloads() {
        let wanted = whole(&overload, &[], &env);
        let got = merged(&overload, &[&[], &[]], &env);
        assert!(are_same(&overload.returns, &wanted, &got), "{}: {got:?}", overload.name());
        let is_count = matches!(overload.aggregate.name, "count" | "regr_count");
        assert_eq!(got.unwrap().is_null(), !is_count, "{}", overload.name());
    }
}

/// The SQLSTATE of parts of one row each, which fail only together.
fn failure(name: &str, ty: &SqlType, literals: [&str; 2]) -> String {
    let env = TestEnvironment::default();
    let is_wanted =
        |overload: &Overload| overload.aggregate.name == name && overload.args.first() == Some(ty);
    let overload = merging_overloads().into_iter().find(is_wanted).unwrap();
    let row = |literal: &str| -> Row {
        let datum = text::parse(ty, literal, &FormatSettings::default(), 0).unwrap();
        vec![datum; overload.args.len()]
    };
    let [first, second] = literals.map(row);
    let error = merged(&overload, &[&[first], &[second]], &env).unwrap_err();
    error.state().code().to_owned()
}

#[test]
fn totals_of_parts_overflow_as_those_of_rows_do() {
    for name in ["sum", "avg", "var_pop", "stddev", "regr_sxx", "covar_pop"] {
        assert_eq!(failure(name, &SqlType::Float8, ["1e308", "1e308"]), "22003", "{name}");
    }
    for name in ["variance", "corr"] {
        assert_eq!(failure(name, &SqlType::Float8, ["1e200", "-1e200"]), "22003", "{name}");
    }
    assert_eq!(failure("sum", &SqlType::Float4, ["3e38", "3e38"]), "22003");
    let amounts = ["92233720368547758.07", "0.01"];
    assert_eq!(failure("sum", &SqlType::Money, amounts), "22003");
    assert_eq!(failure("sum", &SqlType::Interval, ["2147483647 days", "1 day"]), "22008");
    assert_eq!(failure("bit_or", &SqlType::Bit(0), ["101", "1"]), "22026");
}
