//! Set-returning functions: series, arrays as rows, pieces of text.

use std::sync::Arc;

use braid_types::datetime::{timestamp_plus, timestamptz_plus};
use braid_types::{Datum, Error, Interval, Numeric, Result, Row, SqlType};
use jiff::tz::TimeZone;

use crate::registry::call::invalid;
use crate::registry::tables::Registry;
use crate::scalars::arrays::subscripts;
use crate::strings::{matches, split_pieces, split_text};
use crate::{Call, Rows};

/// Rows from an iterator that cannot fail.
pub(crate) fn rows<I>(rows: I) -> Result<Rows>
where
    I: Iterator<Item = Row> + Send + 'static,
{
    Ok(Box::new(rows.map(Ok)))
}

fn column(values: Vec<Datum>) -> Result<Rows> {
    rows(values.into_iter().map(|value| Row::from([value])))
}

/// A row of `pg_get_keywords`.
fn keyword((word, category, bare_label): (&str, char, bool)) -> Row {
    let described = match category {
        'U' => "unreserved",
        'C' => "unreserved (cannot be function or type name)",
        'T' => "reserved (can be function or type name)",
        _ => "reserved",
    };
    let label = if bare_label { "can be bare label" } else { "requires AS" };
    Row::from([
        Datum::text(word),
        Datum::text(category.to_string()),
        Datum::Bool(bare_label),
        Datum::text(described),
        Datum::text(label),
    ])
}

fn zero_step() -> Error {
    invalid("step size cannot equal zero")
}

fn integers(call: &Call<'_>) -> Result<Rows> {
    let (start, stop) = (call.int(0)?, call.int(1)?);
    let step = if call.args.len() > 2 { call.int(2)? } else { 1 };
    if step == 0 {
        return Err(zero_step());
    }
    let mut next = Some(start);
    rows(std::iter::from_fn(move || {
        let value = next?;
        if (step > 0 && value > stop) || (step < 0 && value < stop) {
            return None;
        }
        next = value.checked_add(step);
        Some(Row::from([Datum::Int(value)]))
    }))
}

fn numerics(call: &Call<'_>) -> Result<Rows> {
    let (start, stop) = (call.numeric(0)?.clone(), call.numeric(1)?.clone());
    let step = if call.args.len() > 2 { call.numeric(2)?.clone() } else { Numeric::ONE };
    for (value, name) in [(&start, "start value"), (&stop, "stop value"), (&step, "step size")] {
        if !value.is_finite() {
            let what = if value.is_nan() { "NaN" } else { "infinity" };
            return Err(invalid(format!("{name} cannot be {what}")));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    let up = step.signum() > 0;
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.take()?;
        let order = value.cmp(&stop);
        if (up && order.is_gt()) || (!up && order.is_lt()) {
            return None;
        }
        match value.add(&step) {
            Ok(following) => next = Some(following),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(Row::from([Datum::Numeric(value)])))
    })))
}

/// A series of timestamps; the step may be months, so each value is added to in turn.
fn timestamps(call: &Call<'_>, zoned: bool) -> Result<Rows> {
    let micros = |datum: &Datum| match datum {
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) => *micros,
        _ => 0,
    };
    let (start, stop) = (micros(call.datum(0)), micros(call.datum(1)));
    let step: Interval = call.interval(2)?;
    let direction = step.cmp(&Interval::default());
    if direction.is_eq() {
        return Err(zero_step());
    }
    let zone = zoned.then(|| call.env.settings().time_zone.clone());
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.take()?;
        if (direction.is_gt() && value > stop) || (direction.is_lt() && value < stop) {
            return None;
        }
        match add_to_timestamp(value, &step, zone.as_ref()) {
            // Infinity would follow itself for ever.
            Ok(following) if following == value => {}
            Ok(following) => next = Some(following),
            Err(error) => return Some(Err(error)),
        }
        let datum = if zoned { Datum::Timestamptz(value) } else { Datum::Timestamp(value) };
        Some(Ok(Row::from([datum])))
    })))
}

/// A timestamp and an interval later; with a zone the days and months move its local time.
fn add_to_timestamp(micros: i64, step: &Interval, zone: Option<&TimeZone>) -> Result<i64> {
    match zone {
        Some(zone) => timestamptz_plus(micros, step, zone),
        None => timestamp_plus(micros, step),
    }
}

/// The elements of a value: those of an array, of all its dimensions; none of NULL.
fn elements(datum: &Datum) -> &[Datum] {
    match datum {
        Datum::Array(array) => &array.items,
        Datum::Null => &[],
        other => std::slice::from_ref(other),
    }
}

/// A multirange as the array of its ranges; any other value itself.
fn with_elements(datum: &Datum) -> Datum {
    let Datum::Multirange(ranges) = datum else { return datum.clone() };
    let items = ranges.iter().map(|range| Datum::Range(Arc::new(range.clone()))).collect();
    Datum::array(SqlType::Unknown, items)
}

/// One column an array or multirange, the shorter ones padded with NULL.
fn unnest(call: &Call<'_>) -> Result<Rows> {
    let columns: Vec<Datum> = call.args.iter().map(with_elements).collect();
    let length = columns.iter().map(|column| elements(column).len()).max().unwrap_or(0);
    let item = |column: &Datum, index: usize| elements(column).get(index).cloned();
    rows((0..length).map(move |index| {
        columns.iter().map(|column| item(column, index).unwrap_or(Datum::Null)).collect()
    }))
}

fn expand_array(call: &Call<'_>) -> Result<Rows> {
    let array = call.datum(0).clone();
    rows((0..elements(&array).len()).map(move |index| {
        let item = elements(&array).get(index).cloned().unwrap_or(Datum::Null);
        Row::from([item, Datum::Int(index as i64 + 1)])
    }))
}

fn generate_subscripts(call: &Call<'_>) -> Result<Rows> {
    let reverse = call.args.len() > 2 && call.bool(2)?;
    let Some((first, last)) = subscripts(call)? else { return rows(std::iter::empty()) };
    rows(
        (0..=last - first).map(move |step| {
            Row::from([Datum::Int(if reverse { last - step } else { first + step })])
        }),
    )
}

fn string_to_table(call: &Call<'_>) -> Result<Rows> {
    column(split_text(call)?.unwrap_or_default())
}

/// `name=value` options as two columns.
fn options_to_table(call: &Call<'_>) -> Result<Rows> {
    let options: Vec<Row> = call
        .texts(0)?
        .into_iter()
        .flatten()
        .map(|option| match option.split_once('=') {
            Some((name, value)) => Row::from([Datum::text(name), Datum::text(value)]),
            None => Row::from([Datum::text(option), Datum::Null]),
        })
        .collect();
    rows(options.into_iter())
}

pub(crate) fn register(registry: &mut Registry) {
    for signature in [
        "generate_series(int4, int4) -> int4",
        "generate_series(int4, int4, int4) -> int4",
        "generate_series(int8, int8) -> int8",
        "generate_series(int8, int8, int8) -> int8",
    ] {
        registry.set(signature, integers);
    }
    registry.set("generate_series(numeric, numeric) -> numeric", numerics);
    registry.set("generate_series(numeric, numeric, numeric) -> numeric", numerics);
    registry.set("generate_series(timestamp, timestamp, interval) -> timestamp", |c| {
        timestamps(c, false)
    });
    registry.set("generate_series(timestamptz, timestamptz, interval) -> timestamptz", |c| {
        timestamps(c, true)
    });
    registry.set("unnest(anyarray) -> anyelement lax", unnest);
    registry.set("unnest(anymultirange) -> anyrange", unnest);
    registry.set("_pg_expandarray(anyarray) -> x anyelement, n int4", expand_array);
    registry.set("generate_subscripts(anyarray, int4) -> int4", generate_subscripts);
    registry.set("generate_subscripts(anyarray, int4, bool) -> int4", generate_subscripts);
    registry.set("string_to_table(text, text) -> text lax", string_to_table);
    registry.set("string_to_table(text, text, text) -> text lax", string_to_table);
    for signature in [
        "regexp_split_to_table(text, text) -> text",
        "regexp_split_to_table(text, text, text) -> text",
    ] {
        registry.set(signature, |c| column(split_pieces(c, "regexp_split_to_table()")?));
    }
    registry.set("regexp_matches(text, text) -> text[]", |c| column(matches(c)?));
    registry.set("regexp_matches(text, text, text) -> text[]", |c| column(matches(c)?));
    registry.set("pg_options_to_table(text[]) -> option_name text, option_value text", |c| {
        options_to_table(c)
    });
    registry.set(
        "pg_get_keywords() -> word text, catcode \"char\", barelabel bool, catdesc text, \
         baredesc text",
        |_| rows(braid_sql::keywords().into_iter().map(keyword)),
    );
    registry.set("pg_listening_channels() -> text", |c| {
        column(c.env.listening_channels().into_iter().map(Datum::text).collect())
    });
}
