//! Numeric operations compared with what PostgreSQL 15 answered.

use braid_types::cast::{self, CastEnv};
use braid_types::numeric::{self, integers, math, rounding};
use braid_types::{Datum, Error, FormatSettings, Numeric, Result, SqlType};

fn cast_to(value: Numeric, to: &SqlType) -> Result<String> {
    let settings = FormatSettings::default();
    let env = CastEnv { settings: &settings, now_micros: 0 };
    let from = SqlType::Numeric(None);
    let datum = cast::cast(&Datum::Numeric(value), &from, to, true, &env)?;
    Ok(braid_types::text::to_string(to, &datum, &settings))
}

fn evaluate(operation: &str, a: &str, b: &str) -> Result<String> {
    if operation == "to_number" {
        return Ok(numeric::to_number(a, b)?.to_string());
    }
    let x = Numeric::parse(a)?;
    let y = || Numeric::parse(b);
    let value = match operation {
        "add" => x.add(&y()?)?,
        "sub" => x.sub(&y()?)?,
        "mul" => x.mul(&y()?)?,
        "div" => x.div(&y()?)?,
        "rem" => x.rem(&y()?)?,
        "div_trunc" => integers::div_trunc(&x, &y()?)?,
        "cmp" => return Ok((x.cmp(&y()?) as i8).to_string()),
        "pow" => math::pow(&x, &y()?)?,
        "log" => math::log(&y()?, &x)?,
        "sqrt" => math::sqrt(&x)?,
        "ln" => math::ln(&x)?,
        "log10" => math::log10(&x)?,
        "exp" => math::exp(&x)?,
        "ceil" => rounding::ceil(&x)?,
        "floor" => rounding::floor(&x)?,
        "trim_scale" => rounding::trim_scale(&x)?,
        "round" => rounding::round(&x, b.parse().expect("a scale"))?,
        "trunc" => rounding::trunc(&x, b.parse().expect("a scale"))?,
        "to_char" => return numeric::to_char(&x, b),
        "int4" => return cast_to(x, &SqlType::Int4),
        "int8" => return cast_to(x, &SqlType::Int8),
        "float8" => return cast_to(x, &SqlType::Float8),
        other => panic!("no such operation: {other}"),
    };
    Ok(value.to_string())
}

fn shown(error: &Error) -> String {
    format!("ERROR {} {}", error.state().code(), error.message())
}

#[test]
fn operations_answer_as_postgres_answers() {
    let mut faults = Vec::new();
    for line in include_str!("numeric.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [operation, a, b, expected] = fields[..] else { panic!("four fields: {line}") };
        let got = evaluate(operation, a, b).unwrap_or_else(|error| shown(&error));
        if got != expected {
            faults.push(format!("{operation} {a} {b}\n  want {expected}\n  got  {got}"));
        }
    }
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}

/// The largest numbers of digits that PostgreSQL sends: each comes back as it went.
#[test]
fn binary_numbers_have_as_many_digits_as_text() {
    let fraction = "7".repeat(16_383);
    for text in [
        "9".repeat(131_072),
        format!("{}.{fraction}", "8".repeat(131_072)),
        format!("0.{}1", "0".repeat(16_382)),
        format!("-1{}", "0".repeat(131_071)),
    ] {
        let ty = SqlType::Numeric(None);
        let datum = Datum::Numeric(Numeric::parse(&text).expect("a number"));
        let mut bytes = Vec::new();
        braid_types::binary::encode(&ty, &datum, &mut bytes);
        let back = braid_types::binary::decode(&ty, &bytes).expect("what was sent");
        let shown = braid_types::text::to_string(&ty, &back, &FormatSettings::default());
        assert!(shown == text, "{} digits", text.len());
    }
}
