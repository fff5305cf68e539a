//! What cells are made of: integers, numerics, counts, text.

use bigdecimal::num_bigint::BigInt;
use braid_types::Numeric;

use crate::numeric::{SCALE_MAX, finite};
use crate::{Error, Result};

/// First byte of a numeric's cell: its scale, or one of these.
pub(super) const NUMERIC_LONG_SCALE: u8 = 0xfc;
pub(super) const NUMERIC_NEG_INFINITY: u8 = 0xfd;
pub(super) const NUMERIC_INFINITY: u8 = 0xfe;
pub(super) const NUMERIC_NAN: u8 = 0xff;

/// Deeper values are refused rather than read recursively.
pub(super) const DEPTH_MAX: u32 = 1_100;

/// As few bytes of the two's complement as keep the number, little end first; none for 0.
pub(super) fn put_int(out: &mut Vec<u8>, value: i64) {
    let significant = if value < 0 { !value } else { value } as u64;
    let bits = 64 - significant.leading_zeros() as usize;
    let count = if value == 0 { 0 } else { bits / 8 + 1 };
    out.extend_from_slice(&value.to_le_bytes()[..count]);
}

/// Seven bits a byte, low ones first, the top bit set on all but the last.
pub(super) fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Scale and coefficient.
pub(super) fn put_numeric(out: &mut Vec<u8>, value: &Numeric) {
    match value {
        Numeric::NaN => out.push(NUMERIC_NAN),
        Numeric::Infinity => out.push(NUMERIC_INFINITY),
        Numeric::NegInfinity => out.push(NUMERIC_NEG_INFINITY),
        Numeric::Small(coefficient, scale) => {
            put_scale(out, *scale);
            let coefficient = coefficient.get();
            match i64::try_from(coefficient) {
                Ok(small) => put_int(out, small),
                Err(_) => out.extend_from_slice(&coefficient.to_le_bytes()),
            }
        }
        Numeric::Finite(_) => match value.parts() {
            Some((coefficient, scale)) => {
                put_scale(out, scale);
                out.extend_from_slice(&coefficient.to_signed_bytes_le());
            }
            None => out.push(NUMERIC_NAN),
        },
    }
}

fn put_scale(out: &mut Vec<u8>, scale: u16) {
    match u8::try_from(scale) {
        Ok(short) if short < NUMERIC_LONG_SCALE => out.push(short),
        _ => {
            out.push(NUMERIC_LONG_SCALE);
            out.extend_from_slice(&scale.to_le_bytes());
        }
    }
}

/// The integer in a cell: `int2` to `int8`, oids, and the number in a date, time or timestamp.
#[inline]
pub fn cell_i64(bytes: &[u8]) -> Result<i64> {
    // The last byte has the sign.
    Ok(match *bytes {
        [] => 0,
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c] => i64::from(i32::from_le_bytes([0, a, b, c]) >> 8),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e] => i64::from_le_bytes([0, 0, 0, a, b, c, d, e]) >> 24,
        [a, b, c, d, e, f] => i64::from_le_bytes([0, 0, a, b, c, d, e, f]) >> 16,
        [a, b, c, d, e, f, g] => i64::from_le_bytes([0, a, b, c, d, e, f, g]) >> 8,
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return Err(Error::corrupt("integer")),
    })
}

/// The digits and the scale in a cell of `numeric`; `None` if the digits do not fit 64 bits, or the
/// cell needs a closer look.
#[inline]
pub fn cell_decimal(bytes: &[u8]) -> Option<(i64, u16)> {
    match bytes {
        [scale @ 0..NUMERIC_LONG_SCALE, digits @ ..] => {
            cell_i64(digits).ok().map(|digits| (digits, u16::from(*scale)))
        }
        _ => None,
    }
}

/// The text in a cell of a string type or of `json`.
pub fn cell_str(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::corrupt("text"))
}

/// What [`put_numeric`] has written.
pub(super) fn decode_numeric(bytes: &[u8]) -> Result<Numeric> {
    let (&scale, rest) = bytes.split_first().ok_or(Error::corrupt("numeric"))?;
    let (scale, digits) = match scale {
        NUMERIC_NAN => return Ok(Numeric::NaN),
        NUMERIC_INFINITY => return Ok(Numeric::Infinity),
        NUMERIC_NEG_INFINITY => return Ok(Numeric::NegInfinity),
        NUMERIC_LONG_SCALE => {
            let (scale, rest) = rest.split_first_chunk().ok_or(Error::corrupt("numeric"))?;
            (u16::from_le_bytes(*scale), rest)
        }
        short => (u16::from(short), rest),
    };
    match cell_i64(digits) {
        Ok(small) if scale <= SCALE_MAX => Ok(Numeric::from_parts(i128::from(small), scale)),
        _ => finite(BigInt::from_signed_bytes_le(digits), scale),
    }
}

/// Takes the first `len` bytes off.
pub(super) fn take<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8]> {
    let len = usize::try_from(len).map_err(|_| Error::corrupt("length"))?;
    let (taken, left) = rest.split_at_checked(len).ok_or(Error::corrupt("length"))?;
    *rest = left;
    Ok(taken)
}

/// What [`put_uvarint`] has written.
pub(super) fn read_uvarint(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, left) = rest.split_first().ok_or(Error::corrupt("number"))?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Error::corrupt("number"))
}
