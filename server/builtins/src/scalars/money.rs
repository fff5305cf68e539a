//! Arithmetic of `money`. A result that no `money` holds is refused (22003).

use braid_types::money::out_of_range;
use braid_types::{Datum, Result};

use crate::Call;
use crate::numbers::integers::division_by_zero;
use crate::registry::call::text;
use crate::registry::tables::Registry;

fn fitting(value: Option<i64>) -> Result<Datum> {
    value.map(Datum::Int).ok_or_else(out_of_range)
}

/// A number of hundredths, rounded to the nearest one, halves to even ones.
fn rounded(value: f64) -> Result<Datum> {
    // The first number beyond the largest amount.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let value = value.round_ties_even();
    fitting((-LIMIT..LIMIT).contains(&value).then_some(value as i64))
}

fn quotient(call: &Call<'_>) -> Result<Datum> {
    match call.int(1)? {
        0 => Err(division_by_zero()),
        by => fitting(call.int(0)?.checked_div(by)),
    }
}

fn fraction(call: &Call<'_>) -> Result<Datum> {
    match call.float(1)? {
        0.0 => Err(division_by_zero()),
        by => rounded(call.int(0)? as f64 / by),
    }
}

fn ratio(call: &Call<'_>) -> Result<Datum> {
    match call.int(1)? {
        0 => Err(division_by_zero()),
        by => Ok(Datum::Float(call.int(0)? as f64 / by as f64)),
    }
}

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const POWERS: [(u64, &str); 5] = [
    (1_000_000_000_000_000, "quadrillion"),
    (1_000_000_000_000, "trillion"),
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1_000, "thousand"),
];

fn word(list: &[&'static str], place: u64) -> &'static str {
    usize::try_from(place).ok().and_then(|place| list.get(place)).copied().unwrap_or_default()
}

/// A number below a thousand in words, as PostgreSQL joins them.
fn hundreds(value: u64) -> String {
    let below = |value: u64| match (value / 10, value % 10) {
        (0 | 1, _) => word(&UNITS, value).to_owned(),
        (tens, 0) => word(&TENS, tens).to_owned(),
        (tens, units) => format!("{} {}", word(&TENS, tens), word(&UNITS, units)),
    };
    match (value / 100, value % 100) {
        (0, rest) => below(rest),
        (hundreds, 0) => format!("{} hundred", word(&UNITS, hundreds)),
        (hundreds, rest @ 1..20) => {
            format!("{} hundred and {}", word(&UNITS, hundreds), below(rest))
        }
        (hundreds, rest) => format!("{} hundred {}", word(&UNITS, hundreds), below(rest)),
    }
}

fn words(call: &Call<'_>) -> Result<Datum> {
    let value = call.int(0)?;
    let (dollars, cents) = (value.unsigned_abs() / 100, value.unsigned_abs() % 100);
    let mut all = String::from(if value < 0 { "minus " } else { "" });
    for (power, name) in POWERS {
        let part = dollars / power % 1000;
        if part > 0 {
            // As in PostgreSQL, two blanks follow where nothing smaller comes.
            all.push_str(&format!("{} {name} ", hundreds(part)));
        }
    }
    if dollars == 0 || dollars % 1000 > 0 {
        all.push_str(&hundreds(dollars % 1000));
    }
    all.push_str(if dollars == 1 { " dollar and " } else { " dollars and " });
    all.push_str(&hundreds(cents));
    all.push_str(if cents == 1 { " cent" } else { " cents" });
    let mut letters = all.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    text(first.into_iter().chain(letters).collect::<String>())
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("+(money, money) -> money", |c| fitting(c.int(0)?.checked_add(c.int(1)?)));
    registry.add("-(money, money) -> money", |c| fitting(c.int(0)?.checked_sub(c.int(1)?)));
    for signature in [
        "*(money, int2) -> money",
        "*(money, int4) -> money",
        "*(money, int8) -> money",
        "*(int2, money) -> money",
        "*(int4, money) -> money",
        "*(int8, money) -> money",
    ] {
        registry.add(signature, |c| fitting(c.int(0)?.checked_mul(c.int(1)?)));
    }
    for signature in [
        "*(money, float4) -> money",
        "*(money, float8) -> money",
        "*(float4, money) -> money",
        "*(float8, money) -> money",
    ] {
        registry.add(signature, |c| rounded(c.float(0)? * c.float(1)?));
    }
    for signature in
        ["/(money, int2) -> money", "/(money, int4) -> money", "/(money, int8) -> money"]
    {
        registry.add(signature, quotient);
    }
    for signature in ["/(money, float4) -> money", "/(money, float8) -> money"] {
        registry.add(signature, fraction);
    }
    registry.add("/(money, money) -> float8", ratio);
    registry.add("cash_words(money) -> text", words);
    registry.add("money(int4) -> money stable", |c| c.cast(0, c.returns));
    registry.add("money(int8) -> money stable", |c| c.cast(0, c.returns));
    registry.add("money(numeric) -> money stable", |c| c.cast(0, c.returns));
    registry.add("numeric(money) -> numeric stable", |c| c.cast(0, c.returns));
    registry.add("cashlarger(money, money) -> money", |c| fitting(Some(c.int(0)?.max(c.int(1)?))));
    registry.add("cashsmaller(money, money) -> money", |c| fitting(Some(c.int(0)?.min(c.int(1)?))));
    registry.add("cash_cmp(money, money) -> int4", |c| {
        Ok(Datum::Int(c.int(0)?.cmp(&c.int(1)?) as i64))
    });
    registry
        .add("cash_send(money) -> bytea", |c| Ok(Datum::bytes(c.int(0)?.to_be_bytes().to_vec())));
}
