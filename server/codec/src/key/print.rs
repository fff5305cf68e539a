//! Shows a key to a human: `/account/primary/42`, for EXPLAIN, logs and golden tests.
//!
//! Without names it falls back to numbers, `/Table/106/1/42`; a column whose type is unknown is
//! shown by its tag. What cannot be read is shown as hex; nothing makes the printer fail.

use std::fmt::Write;
use std::ops::Bound;

use braid_types::{Datum, Json, Range, SqlType};

use super::advisory::AdvisoryKey;
use super::decode::{read, skip_any};
use super::parts::read_uvarint;
use super::prefix::{INTERLEAVE_SENTINEL, SYSTEM};
use super::reader::Reader;
use super::tag;

/// Finds names for the numbers in keys.
pub trait KeyNames {
    /// The name of a table; `None` if it is not known.
    fn table(&self, table: u32) -> Option<String>;
    /// The name and the columns of an index; `None` if it is not known.
    fn index(&self, table: u32, index: u16) -> Option<IndexNames>;
}

/// What the printer wants to know of an index.
#[derive(Clone, Debug)]
pub struct IndexNames {
    /// The name to print: `primary`, or that of the secondary index.
    pub name: String,
    /// The type of each key column and whether it descends; of an interleaved index all columns,
    /// those of the parents first.
    pub columns: Vec<(SqlType, bool)>,
}

/// Knows no names: everything prints as numbers.
#[derive(Clone, Copy, Debug)]
pub struct NoNames;

impl KeyNames for NoNames {
    fn table(&self, _table: u32) -> Option<String> {
        None
    }
    fn index(&self, _table: u32, _index: u16) -> Option<IndexNames> {
        None
    }
}

/// The key for a human, with the names that `names` knows.
pub fn print(key: &[u8], names: &dyn KeyNames) -> String {
    let mut out = String::new();
    if key.is_empty() {
        return "/Min".to_owned();
    }
    if key.iter().all(|&byte| byte == 0xff) {
        return "/Max".to_owned();
    }
    if let Some(advisory) = AdvisoryKey::decode(key) {
        return advisory.to_string();
    }
    if key[0] == SYSTEM {
        out.push_str("/System/");
        out.extend(key[1..].escape_ascii().map(char::from));
        return out;
    }
    let mut reader = Reader::new(key, false);
    let mut columns_read = 0;
    while print_table(&mut out, &mut reader, names, &mut columns_read) {
        out.push_str("/#");
    }
    print_hex(&mut out, reader.rest());
    out
}

/// Prints one level: table, index, columns, family. True if a child of that row follows.
fn print_table(
    out: &mut String,
    reader: &mut Reader<'_>,
    names: &dyn KeyNames,
    columns_read: &mut usize,
) -> bool {
    let Some(table) = read_number(reader) else { return false };
    match names.table(table) {
        Some(name) => push(out, format_args!("/{name}")),
        None => push(out, format_args!("/Table/{table}")),
    }
    let Some(index) = read_number::<u16>(reader) else { return false };
    let known = names.index(table, index);
    match &known {
        Some(index) => push(out, format_args!("/{}", index.name)),
        None => push(out, format_args!("/{index}")),
    }
    match known {
        Some(index) => {
            for (ty, descending) in index.columns.iter().skip(*columns_read) {
                if reader.rest().is_empty() || !print_column(out, reader, ty, *descending) {
                    return false;
                }
                *columns_read += 1;
            }
        }
        None => while print_unknown_column(out, reader) {},
    }
    if reader.peek() == Some(INTERLEAVE_SENTINEL) && reader.byte().is_ok() {
        return true;
    }
    if let Some(family) = read_number::<u16>(reader) {
        push(out, format_args!("/family:{family}"));
    }
    false
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a String does not fail.
    let _ = out.write_fmt(text);
}

fn read_number<T: TryFrom<u64>>(reader: &mut Reader<'_>) -> Option<T> {
    let mut ahead = Reader::new(reader.rest(), false);
    let number = T::try_from(read_uvarint(&mut ahead).ok()?).ok()?;
    *reader = ahead;
    Some(number)
}

fn print_hex(out: &mut String, rest: &[u8]) {
    if !rest.is_empty() {
        out.push_str("/0x");
    }
    for byte in rest {
        push(out, format_args!("{byte:02x}"));
    }
}

fn print_column(out: &mut String, reader: &mut Reader<'_>, ty: &SqlType, descending: bool) -> bool {
    let mut ahead = Reader::new(reader.rest(), descending);
    let Ok(datum) = read(&mut ahead, ty, 0) else { return false };
    *reader = Reader::new(ahead.rest(), false);
    out.push('/');
    print_datum(out, &datum);
    true
}

/// Reads an ascending column by its tag; false if there is none.
fn print_unknown_column(out: &mut String, reader: &mut Reader<'_>) -> bool {
    let Some(ty) = reader.peek().and_then(guess) else { return false };
    let Some(ty) = ty else {
        let start = reader.rest();
        let mut ahead = Reader::new(start, false);
        if skip_any(&mut ahead, 0).is_err() {
            return false;
        }
        print_hex(out, &start[..start.len() - ahead.rest().len()]);
        *reader = ahead;
        return true;
    };
    print_column(out, reader, &ty, false)
}

/// The type a tag stands for; `Some(None)` where it is not enough to decode.
fn guess(tag: u8) -> Option<Option<SqlType>> {
    Some(match tag {
        tag::FALSE | tag::TRUE => Some(SqlType::Bool),
        tag::INT_MIN..=tag::INT_MAX | tag::NULL => Some(SqlType::Int8),
        tag::FLOAT => Some(SqlType::Float8),
        tag::TEXT => Some(SqlType::Text),
        tag::BYTES => Some(SqlType::Bytes),
        tag::UUID => Some(SqlType::Uuid),
        tag::NUMERIC_NEG_INFINITY..=tag::NUMERIC_NAN => Some(SqlType::Numeric(None)),
        tag::INTERVAL => Some(SqlType::Interval),
        tag::JSONB | tag::JSON_TEXT => Some(SqlType::Jsonb),
        tag::ARRAY | tag::RECORD => None,
        _ => return None,
    })
}

fn print_datum(out: &mut String, datum: &Datum) {
    match datum {
        Datum::Null => out.push_str("NULL"),
        Datum::Bool(value) => push(out, format_args!("{value}")),
        Datum::Int(value) => push(out, format_args!("{value}")),
        Datum::Float(value) => push(out, format_args!("{value:?}")),
        Datum::Numeric(value) => push(out, format_args!("{value}")),
        Datum::Text(value) | Datum::Citext(value) => print_text(out, value),
        Datum::Enum(label) => print_text(out, &label.name),
        Datum::Bytes(value) => {
            out.push_str("'\\x");
            value.iter().for_each(|byte| push(out, format_args!("{byte:02x}")));
            out.push('\'');
        }
        Datum::Uuid(value) => {
            for (place, byte) in value.iter().enumerate() {
                let dash = if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
                push(out, format_args!("{dash}{byte:02x}"));
            }
        }
        Datum::Date(i32::MAX) | Datum::Timestamp(i64::MAX) | Datum::Timestamptz(i64::MAX) => {
            out.push_str("infinity");
        }
        Datum::Date(i32::MIN) | Datum::Timestamp(i64::MIN) | Datum::Timestamptz(i64::MIN) => {
            out.push_str("-infinity");
        }
        Datum::Date(days) => print_date(out, i64::from(*days)),
        Datum::Time(micros) => print_time(out, *micros),
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) => {
            print_date(out, micros.div_euclid(DAY_MICROS));
            out.push('T');
            print_time(out, micros.rem_euclid(DAY_MICROS));
            if matches!(datum, Datum::Timestamptz(_)) {
                out.push('Z');
            }
        }
        Datum::Interval(value) => {
            push(out, format_args!("{}mon{}d{}us", value.months, value.days, value.micros));
        }
        Datum::Json(value) => print_json(out, value),
        Datum::Array(array) => print_list(out, &array.items, '{', '}', print_datum),
        Datum::Record(items) => print_list(out, items, '(', ')', print_datum),
        Datum::Range(range) => print_range(out, range),
        Datum::Multirange(ranges) => print_list(out, ranges, '{', '}', print_range),
    }
}

fn print_list<T>(
    out: &mut String,
    items: &[T],
    open: char,
    close: char,
    item: impl Fn(&mut String, &T),
) {
    out.push(open);
    for (place, value) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        item(out, value);
    }
    out.push(close);
}

fn print_range(out: &mut String, range: &Range) {
    let Range::Between(lower, upper) = range else { return out.push_str("empty") };
    out.push(if matches!(lower, Bound::Included(_)) { '[' } else { '(' });
    range.lower_value().into_iter().for_each(|value| print_datum(out, value));
    out.push(',');
    range.upper_value().into_iter().for_each(|value| print_datum(out, value));
    out.push(if matches!(upper, Bound::Included(_)) { ']' } else { ')' });
}

fn print_text(out: &mut String, text: &str) {
    push(out, format_args!("'{}'", text.escape_default()));
}

fn print_json(out: &mut String, value: &Json) {
    match value {
        Json::Raw(text) => out.push_str(text),
        Json::Null => out.push_str("null"),
        Json::Bool(value) => push(out, format_args!("{value}")),
        Json::Number(value) => push(out, format_args!("{value}")),
        Json::String(text) => print_text(out, text),
        Json::Array(items) => print_list(out, items, '[', ']', print_json),
        Json::Object(pairs) => print_list(out, pairs, '{', '}', |out, (name, item)| {
            print_text(out, name);
            out.push(':');
            print_json(out, item);
        }),
    }
}

const DAY_MICROS: i64 = 86_400_000_000;

/// The civil date of a day counted from 2000-01-01, in the proleptic Gregorian calendar.
fn print_date(out: &mut String, days: i64) {
    // Years that start in March put the leap day last; 400 of them are 146097 days.
    let shifted = days + 730_425;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    push(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

fn print_time(out: &mut String, micros: i64) {
    let seconds = micros / 1_000_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    push(out, format_args!("{hour:02}:{minute:02}:{second:02}"));
    let fraction = micros % 1_000_000;
    if fraction != 0 {
        push(out, format_args!(".{fraction:06}"));
    }
}
