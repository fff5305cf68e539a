//! Functions and operators of `bit(n)` and `bit varying(n)`.
//!
//! A bit string is a text of `0` and `1` (see [`braid_types::bits`]).

use braid_types::bits::encode;
use braid_types::{Datum, Error, Result, SqlState, work};

use crate::Call;
use crate::registry::call::{count, invalid, text};
use crate::registry::tables::Registry;
use crate::strings::bounds;

/// Two bit strings of one length, bit by bit; 22026 for different lengths.
pub(crate) fn combined(
    (left, right): (&str, &str),
    name: &str,
    is_set: fn(bool, bool) -> bool,
) -> Result<String> {
    if left.len() != right.len() {
        let message = format!("cannot {name} bit strings of different sizes");
        return Err(Error::new(SqlState::StringDataLengthMismatch, message));
    }
    work::spend_bytes(left.len())?;
    let pairs = left.bytes().zip(right.bytes());
    let bit = |(a, b): (u8, u8)| if is_set(a == b'1', b == b'1') { '1' } else { '0' };
    Ok(pairs.map(bit).collect())
}

fn combine(call: &Call<'_>, name: &str, is_set: fn(bool, bool) -> bool) -> Result<Datum> {
    text(combined((call.text(0)?, call.text(1)?), name, is_set)?)
}

fn inverted(call: &Call<'_>) -> Result<Datum> {
    let bits = call.text(0)?;
    text(bits.bytes().map(|bit| if bit == b'1' { '0' } else { '1' }).collect::<String>())
}

/// The bits moved by that many places to the left, or to the right if it is negative. Zeros come
/// in.
fn shifted(bits: &str, by: i64) -> Result<Datum> {
    let places = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).min(bits.len());
    let zeros = "0".repeat(places);
    let kept = bits.len() - places;
    text(match by < 0 {
        true => zeros + bits.get(..kept).unwrap_or_default(),
        false => format!("{}{zeros}", bits.get(places..).unwrap_or_default()),
    })
}

fn substring(call: &Call<'_>) -> Result<Datum> {
    let bits = call.text(0)?;
    let length = if call.args.len() > 2 { Some(call.int(2)?) } else { None };
    let (from, length) = bounds(call.int(1)?, length)?;
    let rest = bits.get(from..).unwrap_or_default();
    text(length.and_then(|length| rest.get(..length)).unwrap_or(rest))
}

fn overlay(call: &Call<'_>) -> Result<Datum> {
    let (bits, new, start) = (call.text(0)?, call.text(1)?, call.int(2)?);
    let length = if call.args.len() > 3 { call.int(3)? } else { new.len() as i64 };
    if start <= 0 {
        return Err(Error::new(SqlState::SubstringError, "negative substring length not allowed"));
    }
    let before = bits.get(..(start - 1) as usize).unwrap_or(bits);
    let after = start.saturating_add(length).saturating_sub(1).max(0) as usize;
    text([before, new, bits.get(after..).unwrap_or_default()].concat())
}

/// Where a part begins, counted from 1; 0 if it is not there.
fn position(call: &Call<'_>) -> Result<Datum> {
    let (bits, part) = (call.text(0)?, call.text(1)?);
    if bits.is_empty() {
        return count(0);
    }
    work::spend_bytes(bits.len())?;
    count(bits.find(part).map_or(0, |at| at + 1))
}

/// The place of a bit; 2202E outside of the string.
fn place(index: i64, bits: &str) -> Result<usize> {
    let found = usize::try_from(index).ok().filter(|at| *at < bits.len());
    found.ok_or_else(|| {
        let last = bits.len() as i64 - 1;
        let message = format!("bit index {index} out of valid range (0..{last})");
        Error::new(SqlState::ArraySubscriptError, message)
    })
}

fn get_bit(call: &Call<'_>) -> Result<Datum> {
    let bits = call.text(0)?;
    let at = place(call.int(1)?, bits)?;
    Ok(Datum::Int(i64::from(bits.as_bytes().get(at) == Some(&b'1'))))
}

fn set_bit(call: &Call<'_>) -> Result<Datum> {
    let bits = call.text(0)?;
    let at = place(call.int(1)?, bits)?;
    let new = match call.int(2)? {
        0 => "0",
        1 => "1",
        _ => return Err(invalid("new bit must be 0 or 1")),
    };
    let after = bits.get(at + 1..).unwrap_or_default();
    text([bits.get(..at).unwrap_or_default(), new, after].concat())
}

/// The value in the binary format of the protocol.
fn send(call: &Call<'_>) -> Result<Datum> {
    let mut out = Vec::new();
    encode(call.text(0)?, &mut out);
    Ok(Datum::bytes(out))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("&(bit, bit) -> bit", |c| combine(c, "AND", |a, b| a && b));
    registry.add("|(bit, bit) -> bit", |c| combine(c, "OR", |a, b| a || b));
    registry.add("#(bit, bit) -> bit", |c| combine(c, "XOR", |a, b| a != b));
    registry.add("~(bit) -> bit", inverted);
    registry.add("<<(bit, int4) -> bit", |c| shifted(c.text(0)?, c.int(1)?));
    registry.add(">>(bit, int4) -> bit", |c| shifted(c.text(0)?, -c.int(1)?));
    registry.add("||(varbit, varbit) -> varbit", |c| text([c.text(0)?, c.text(1)?].concat()));
    registry.add("length|bit_length(bit) -> int4", |c| count(c.text(0)?.len()));
    registry.add("octet_length(bit) -> int4", |c| count(c.text(0)?.len().div_ceil(8)));
    registry.add("bit_count(bit) -> int8", |c| {
        count(c.text(0)?.bytes().filter(|bit| *bit == b'1').count())
    });
    registry.add("substring(bit, int4) -> bit", substring);
    registry.add("substring(bit, int4, int4) -> bit", substring);
    registry.add("overlay(bit, bit, int4) -> bit", overlay);
    registry.add("overlay(bit, bit, int4, int4) -> bit", overlay);
    registry.add("position(bit, bit) -> int4", position);
    registry.add("get_bit(bit, int4) -> int4", get_bit);
    registry.add("set_bit(bit, int4, int4) -> bit", set_bit);
    registry.add("int4(bit) -> int4", |c| c.cast(0, c.returns));
    registry.add("int8(bit) -> int8", |c| c.cast(0, c.returns));
    registry.add("bit_send(bit) -> bytea", send);
    registry.add("varbit_send(varbit) -> bytea", send);
}
