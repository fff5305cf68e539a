//! Numerics of any size in a key.
//!
//! A finite number is written as `0.d1d2d3… × 10^e` with `d1 ≠ 0`: its sign (the tag), e as an
//! integer, two digits a byte (1 to 100), and a zero byte. Trailing zeros are dropped, so that
//! equal numbers have one form. For negative numbers everything behind the tag is turned over.

use bigdecimal::num_bigint::BigInt;
use braid_types::Numeric;

use super::parts::{put_int, read_int};
use super::reader::Reader;
use super::tag;
use crate::numeric::finite;
use crate::{Error, Result};

/// PostgreSQL's numerics end at 10^131072; far beyond, a key is garbage.
const EXPONENT_MAX: i64 = 200_000;

pub(super) fn put(out: &mut Vec<u8>, value: &Numeric) {
    let (text, scale) = match value {
        Numeric::NaN => return out.push(tag::NUMERIC_NAN),
        Numeric::Infinity => return out.push(tag::NUMERIC_INFINITY),
        Numeric::NegInfinity => return out.push(tag::NUMERIC_NEG_INFINITY),
        Numeric::Small(coefficient, scale) => {
            (coefficient.get().unsigned_abs().to_string(), *scale)
        }
        Numeric::Finite(_) => match value.parts() {
            Some((coefficient, scale)) => (coefficient.magnitude().to_string(), scale),
            None => return out.push(tag::NUMERIC_NAN),
        },
    };
    let sign = value.signum();
    match sign {
        0 => return out.push(tag::NUMERIC_ZERO),
        1 => out.push(tag::NUMERIC_POSITIVE),
        _ => out.push(tag::NUMERIC_NEGATIVE),
    }
    let start = out.len();
    put_int(out, text.len() as i64 - i64::from(scale));
    let digits = text.trim_end_matches('0').as_bytes();
    for pair in digits.chunks(2) {
        let low = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + low + 1);
    }
    out.push(0);
    if sign < 0 {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

pub(super) fn read(reader: &mut Reader<'_>, tag: u8) -> Result<Numeric> {
    let negative = match tag {
        tag::NUMERIC_NAN => return Ok(Numeric::NaN),
        tag::NUMERIC_INFINITY => return Ok(Numeric::Infinity),
        tag::NUMERIC_NEG_INFINITY => return Ok(Numeric::NegInfinity),
        tag::NUMERIC_ZERO => return Ok(Numeric::ZERO),
        tag::NUMERIC_POSITIVE => false,
        tag::NUMERIC_NEGATIVE => true,
        _ => return Err(Error::corrupt("numeric")),
    };
    if negative {
        reader.invert();
    }
    let result = read_digits(reader, negative);
    if negative {
        reader.invert();
    }
    result
}

fn read_digits(reader: &mut Reader<'_>, negative: bool) -> Result<Numeric> {
    let tag = reader.byte()?;
    let exponent = read_int(reader, tag)?;
    if exponent.abs() > EXPONENT_MAX {
        return Err(Error::corrupt("numeric exponent"));
    }
    let mut digits = Vec::new();
    loop {
        match reader.byte()? {
            0 => break,
            pair @ 1..=100 => {
                digits.push(b'0' + (pair - 1) / 10);
                digits.push(b'0' + (pair - 1) % 10);
            }
            _ => return Err(Error::corrupt("numeric digit")),
        }
    }
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    // Whole numbers get their trailing zeros back rather than a negative scale.
    let whole = usize::try_from(exponent).unwrap_or(0);
    while digits.len() < whole {
        digits.push(b'0');
    }
    let scale = u16::try_from(digits.len() as i64 - exponent);
    let scale = scale.map_err(|_| Error::corrupt("numeric scale"))?;
    let coefficient = BigInt::parse_bytes(&digits, 10).ok_or(Error::corrupt("numeric"))?;
    finite(if negative { -coefficient } else { coefficient }, scale)
}

pub(super) fn skip(reader: &mut Reader<'_>, tag: u8) -> Result<()> {
    let negative = tag == tag::NUMERIC_NEGATIVE;
    if !negative && tag != tag::NUMERIC_POSITIVE {
        return Ok(());
    }
    if negative {
        reader.invert();
    }
    let exponent_tag = reader.byte();
    let result =
        exponent_tag.and_then(|tag| read_int(reader, tag)).and_then(|_| reader.skip_escaped());
    if negative {
        reader.invert();
    }
    result
}
