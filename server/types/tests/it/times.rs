//! Calendar operations compared with what PostgreSQL 15 answered.

use braid_types::datetime as dt;
use braid_types::text::{self, DateOrder, DateStyle, IntervalStyle};
use braid_types::{Datum, Error, FormatSettings, Interval, Result, SqlType};

fn settings() -> FormatSettings {
    FormatSettings::default()
}

fn timestamp(text: &str) -> Result<i64> {
    text::parse_timestamp(text, &settings(), 0, false)
}

fn interval(text: &str) -> Result<Interval> {
    text::parse_interval(text, IntervalStyle::Postgres)
}

fn print(datum: Datum) -> String {
    let ty = match datum {
        Datum::Interval(_) => SqlType::Interval,
        Datum::Timestamptz(_) => SqlType::Timestamptz,
        Datum::Date(_) => SqlType::Date,
        _ => SqlType::Timestamp,
    };
    text::to_string(&ty, &datum, &settings())
}

fn type_named(name: &str) -> SqlType {
    SqlType::from_name(name).expect("a known type")
}

fn interval_style(name: &str) -> IntervalStyle {
    match name {
        "postgres" => IntervalStyle::Postgres,
        "postgres_verbose" => IntervalStyle::PostgresVerbose,
        "sql_standard" => IntervalStyle::SqlStandard,
        _ => IntervalStyle::Iso8601,
    }
}

/// A timestamptz, its date and its timestamp in one date style, in New York.
fn in_date_style(style: &str, text: &str) -> Result<String> {
    let mut settings = settings();
    let utc = text::parse_timestamp(text, &settings, 0, true)?;
    let (output, order) = style.split_once(", ").expect("two words");
    settings.date_style = match output {
        "SQL" => DateStyle::Sql,
        "Postgres" => DateStyle::Postgres,
        "German" => DateStyle::German,
        _ => DateStyle::Iso,
    };
    settings.date_order = match order {
        "DMY" => DateOrder::Dmy,
        "YMD" => DateOrder::Ymd,
        _ => DateOrder::Mdy,
    };
    settings.time_zone = dt::zone_by_name("America/New_York")?.at_instant(utc);
    let local = dt::utc_to_local(&settings.time_zone, utc);
    let date = match local {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        local => local.div_euclid(dt::DAY_MICROS) as i32,
    };
    let texts = [
        text::to_string(&SqlType::Timestamptz, &Datum::Timestamptz(utc), &settings),
        text::to_string(&SqlType::Date, &Datum::Date(date), &settings),
        text::to_string(&SqlType::Timestamp, &Datum::Timestamp(local), &settings),
    ];
    Ok(texts.join("|"))
}

fn evaluate(operation: &str, kind: &str, a: &str, b: &str) -> Result<String> {
    let utc = jiff::tz::TimeZone::UTC;
    Ok(match operation {
        "extract" => {
            let value = text::parse(&type_named(kind), b, &settings(), 0)?;
            match dt::extract(a, &value, &utc)? {
                Some(number) => number.to_string(),
                None => "<null>".to_owned(),
            }
        }
        "trunc" if kind == "interval" => {
            print(Datum::Interval(dt::trunc_interval(a, &interval(b)?)?))
        }
        "trunc" => print(Datum::Timestamp(dt::trunc_timestamp(a, timestamp(b)?)?)),
        "plus" => {
            let sum = dt::timestamp_plus(timestamp(a)?, &interval(b)?)?;
            assert_eq!(dt::timestamptz_plus(timestamp(a)?, &interval(b)?, &utc)?, sum);
            print(Datum::Timestamp(sum))
        }
        "minus" => print(Datum::Interval(dt::timestamp_minus(timestamp(a)?, timestamp(b)?)?)),
        "age" => print(Datum::Interval(dt::age(timestamp(a)?, timestamp(b)?)?)),
        "iadd" => print(Datum::Interval(interval(a)?.checked_add(&interval(b)?)?)),
        "imul" => print(Datum::Interval(interval(a)?.checked_mul(b.parse().expect("a factor"))?)),
        "idiv" => print(Datum::Interval(interval(a)?.checked_div(b.parse().expect("a factor"))?)),
        "justify_hours" => print(Datum::Interval(dt::justify_hours(&interval(a)?)?)),
        "justify_days" => print(Datum::Interval(dt::justify_days(&interval(a)?)?)),
        "justify_interval" => print(Datum::Interval(dt::justify_interval(&interval(a)?)?)),
        "to_char" if kind == "interval" => dt::interval_to_char(&interval(b)?, a)?,
        "to_char" => dt::timestamp_to_char(timestamp(b)?, a),
        "to_timestamp" => print(Datum::Timestamptz(dt::to_timestamp(b, a, &utc)?)),
        "to_date" => print(Datum::Date(dt::to_date(b, a)?)),
        "istyle" => {
            let settings = FormatSettings { interval_style: interval_style(kind), ..settings() };
            text::to_string(&SqlType::Interval, &Datum::Interval(interval(a)?), &settings)
        }
        "dstyle" => in_date_style(kind, a)?,
        other => panic!("no such operation: {other}"),
    })
}

fn shown(error: &Error) -> String {
    format!("ERROR {} {}", error.state().code(), error.message())
}

#[test]
fn operations_answer_as_postgres_answers() {
    let mut faults = Vec::new();
    for line in include_str!("times.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [operation, kind, a, b, expected] = fields[..] else { panic!("five: {line}") };
        let got = evaluate(operation, kind, a, b).unwrap_or_else(|error| shown(&error));
        let empty_null = operation == "to_char" && expected == "<null>" && got.is_empty();
        if got != expected && !empty_null {
            faults.push(format!("{operation} {kind} {a} {b}\n  want {expected}\n  got  {got}"));
        }
    }
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}
