//! What columns and prefixes are made of: integers, counts, escaped bytes.

use super::reader::Reader;
use super::tag;
use crate::{Error, Result};

/// Deeper values are refused rather than read recursively.
pub(super) const DEPTH_MAX: u32 = 1_100;

/// Microseconds in a day.
pub(super) const DAY_MICROS: i128 = 86_400_000_000;
/// Days in a month, as intervals compare.
pub(super) const MONTH_DAYS: i128 = 30;
/// Added to an interval's microseconds, so that they are positive; below half of ten bytes' range.
pub(super) const INTERVAL_BIAS: i128 = 1 << 79;

/// Beside a bound of a range: what sorts first, an infinite lower bound or a finite upper one; an
/// inclusive lower bound or an exclusive upper one.
pub(super) const BOUND_FIRST: i64 = 0;
/// The other one of each pair.
pub(super) const BOUND_SECOND: i64 = 1;

/// A tag for sign and length, then that many bytes, most significant first.
pub(super) fn put_int(out: &mut Vec<u8>, value: i64) {
    let small_max = i64::from(tag::INT_SMALL_MAX - tag::INT_ZERO);
    if (0..=small_max).contains(&value) {
        out.push(tag::INT_ZERO + value as u8);
        return;
    }
    // The bits that the sign does not already tell.
    let significant = if value < 0 { !value } else { value } as u64;
    let count = (8 - significant.leading_zeros() as usize / 8).max(1);
    out.push(if value < 0 {
        tag::INT_ZERO - count as u8
    } else {
        tag::INT_SMALL_MAX + count as u8
    });
    out.extend_from_slice(&value.to_be_bytes()[8 - count..]);
}

/// Reads the bytes after an integer's tag.
pub(super) fn read_int(reader: &mut Reader<'_>, tag: u8) -> Result<i64> {
    match tag {
        tag::INT_MIN..tag::INT_ZERO => {
            let count = u32::from(tag::INT_ZERO - tag);
            let sign = u64::MAX.checked_shl(8 * count).unwrap_or(0);
            let value = (reader.big_endian(count as usize)? | sign) as i64;
            if value < 0 { Ok(value) } else { Err(Error::corrupt("integer")) }
        }
        tag::INT_ZERO..=tag::INT_SMALL_MAX => Ok(i64::from(tag - tag::INT_ZERO)),
        tag::INT_ONE_BYTE..=tag::INT_MAX => {
            let value = reader.big_endian(usize::from(tag - tag::INT_SMALL_MAX))?;
            i64::try_from(value).map_err(|_| Error::corrupt("integer"))
        }
        _ => Err(Error::corrupt("integer")),
    }
}

/// Bytes whose end is a single zero: 0 becomes `1 1`, 1 becomes `1 2`.
pub(super) fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 1);
    for &byte in bytes {
        if byte <= 1 {
            out.push(1);
            out.push(byte + 1);
        } else {
            out.push(byte);
        }
    }
    out.push(0);
}

/// Values up to this are one byte; `UVARINT_SMALL_MAX + n` announces n bytes.
const UVARINT_SMALL_MAX: u8 = 0xef;

pub(super) fn put_uvarint(out: &mut Vec<u8>, value: u64) {
    match u8::try_from(value) {
        Ok(small) if small <= UVARINT_SMALL_MAX => out.push(small),
        _ => {
            let bytes = value.to_be_bytes();
            let skipped = value.leading_zeros() as usize / 8;
            out.push(UVARINT_SMALL_MAX + (8 - skipped) as u8);
            out.extend_from_slice(&bytes[skipped..]);
        }
    }
}

pub(super) fn read_uvarint(reader: &mut Reader<'_>) -> Result<u64> {
    let first = reader.byte()?;
    if first <= UVARINT_SMALL_MAX {
        return Ok(u64::from(first));
    }
    let count = first - UVARINT_SMALL_MAX;
    if count > 8 {
        return Err(Error::corrupt("number"));
    }
    let mut value = 0u64;
    for _ in 0..count {
        value = value << 8 | u64::from(reader.byte()?);
    }
    Ok(value)
}
