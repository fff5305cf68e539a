//! Integers of 64 bits without a sign: `xid8` and `pg_lsn`.
//!
//! Here: how a datum holds them, and their text forms. Not here: arithmetic (`builtins`).
//!
//! Rule: the datum is a [`Datum::Int`] whose sign bit is flipped, so that datums and keys order as
//! the numbers do.

use crate::text::{invalid_syntax, leading_integer};
use crate::{Datum, Error, Result, SqlType};

/// The datum that holds a number.
pub fn to_datum(value: u64) -> Datum {
    Datum::Int((value ^ 1 << 63) as i64)
}

/// The number that a datum's integer stands for.
pub fn from_int(held: i64) -> u64 {
    held as u64 ^ 1 << 63
}

/// The number that a datum holds; XX000 for a datum of another kind.
pub fn from_datum(datum: &Datum) -> Result<u64> {
    datum.as_int().map(from_int).ok_or_else(|| Error::internal("not an xid8 or pg_lsn"))
}

/// Parses an `xid8` (as C's `strtoull` does, like PostgreSQL 15) or a `pg_lsn`.
pub(crate) fn parse(ty: &SqlType, text: &str) -> Result<u64> {
    if *ty == SqlType::PgLsn {
        return parse_lsn(text).ok_or_else(|| invalid_syntax("pg_lsn", text));
    }
    Ok(leading_integer(text))
}

/// Two numbers of up to eight hexadecimal digits, separated by a slash.
fn parse_lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let part = |digits: &str| {
        let known =
            (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if known { u64::from_str_radix(digits, 16).ok() } else { None }
    };
    Some(part(high)? << 32 | part(low)?)
}

/// Appends the text form.
pub(crate) fn format(ty: &SqlType, held: i64, out: &mut Vec<u8>) {
    let value = from_int(held);
    let text = match ty {
        SqlType::PgLsn => format!("{:X}/{:X}", value >> 32, value & 0xffff_ffff),
        _ => value.to_string(),
    };
    out.extend_from_slice(text.as_bytes());
}
