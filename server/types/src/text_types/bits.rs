//! Bit strings: the values of `bit(n)` and `bit varying(n)`.
//!
//! A value is held as [`Datum::Text`]: a character `0` or `1` for each bit. Such texts sort and
//! compare as PostgreSQL's bit strings do, and a part of one is a part of the text. The price is a
//! byte of memory for each bit; stored cells and binary formats are packed.
//!
//! Rule: a bit string consists of `0` and `1` only.

use crate::{Datum, Error, Result, SqlState, SqlType};

/// Whether it is `bit(n)` or `bit varying(n)`.
pub fn is_bits(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Bit(_) | SqlType::Varbit(_))
}

/// Parses digits of base 2, or of base 16 after an `x`. 22P02 for another character.
pub fn parse(text: &str) -> Result<String> {
    if let Some(digits) = text.strip_prefix(['x', 'X']) {
        return from_hex(digits);
    }
    let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
    match digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
        Some(wrong) => Err(no_digit(wrong, "binary")),
        None => Ok(digits.to_owned()),
    }
}

/// The bits of digits of base 16.
pub fn from_hex(digits: &str) -> Result<String> {
    let mut bits = String::with_capacity(digits.len().saturating_mul(4));
    for digit in digits.chars() {
        let value = digit.to_digit(16).ok_or_else(|| no_digit(digit, "hexadecimal"))?;
        push_number(&mut bits, u64::from(value), 4);
    }
    Ok(bits)
}

fn no_digit(wrong: char, base: &str) -> Error {
    let message = format!("\"{wrong}\" is not a valid {base} digit");
    Error::new(SqlState::InvalidTextRepresentation, message)
}

/// Appends the low bits of a number, the highest of them first.
fn push_number(bits: &mut String, value: u64, count: u32) {
    bits.extend((0..count).rev().map(|place| if value >> place & 1 == 1 { '1' } else { '0' }));
}

/// Bits made to fit their type. An explicit cast cuts at the end, and fills up a `bit(n)` there.
/// Else a `bit(n)` of another length is 22026, and a `bit varying(n)` that is too long 22001.
pub fn fit(ty: &SqlType, mut bits: String, explicit: bool) -> Result<String> {
    match ty {
        SqlType::Bit(wanted) if *wanted > 0 && bits.len() != *wanted as usize => {
            if !explicit {
                let length = bits.len();
                let message =
                    format!("bit string length {length} does not match type bit({wanted})");
                return Err(Error::new(SqlState::StringDataLengthMismatch, message));
            }
            bits.truncate(*wanted as usize);
            let missing = (*wanted as usize).saturating_sub(bits.len());
            bits.extend(std::iter::repeat_n('0', missing));
        }
        SqlType::Varbit(Some(most)) if bits.len() > *most as usize => {
            if !explicit {
                let message = format!("bit string too long for type bit varying({most})");
                return Err(Error::new(SqlState::StringDataRightTruncation, message));
            }
            bits.truncate(*most as usize);
        }
        _ => {}
    }
    Ok(bits)
}

/// A cast from or to a bit string; `None` if there is none of these types.
pub fn cast(datum: &Datum, from: &SqlType, to: &SqlType, explicit: bool) -> Result<Option<Datum>> {
    Ok(match (datum, to) {
        (Datum::Text(bits), to) if is_bits(from) && is_bits(to) => {
            Some(Datum::text(fit(to, bits.to_string(), explicit)?))
        }
        (Datum::Text(bits), SqlType::Int4 | SqlType::Int8) if is_bits(from) => {
            Some(Datum::Int(to_int(bits, to)?))
        }
        (Datum::Int(value), SqlType::Bit(length)) => {
            Some(Datum::text(from_int(*value, (*length).max(1))))
        }
        _ => None,
    })
}

/// The low bits of a number, with its sign before them if it has fewer.
pub fn from_int(value: i64, length: u32) -> String {
    let sign = if value < 0 { '1' } else { '0' };
    let mut bits: String = std::iter::repeat_n(sign, length.saturating_sub(64) as usize).collect();
    push_number(&mut bits, value.cast_unsigned(), length.min(64));
    bits
}

/// The number that the bits are; 22003 for more bits than its type has.
fn to_int(bits: &str, to: &SqlType) -> Result<i64> {
    let (width, name) = if *to == SqlType::Int8 { (64, "bigint") } else { (32, "integer") };
    if bits.len() > width {
        return Err(Error::new(SqlState::NumericValueOutOfRange, format!("{name} out of range")));
    }
    let value = bits.bytes().fold(0_u64, |value, bit| value << 1 | u64::from(bit == b'1'));
    Ok(if *to == SqlType::Int8 { value.cast_signed() } else { i64::from(value as u32 as i32) })
}

/// The bits eight to a byte, the first one highest; zeros fill the last byte.
pub fn pack(bits: &str) -> Vec<u8> {
    let pack_byte = |chunk: &[u8]| {
        let value = chunk.iter().fold(0_u8, |value, bit| value << 1 | u8::from(*bit == b'1'));
        value << (8 - chunk.len())
    };
    bits.as_bytes().chunks(8).map(pack_byte).collect()
}

/// The first bits of packed bytes.
pub fn unpack(packed: &[u8], length: usize) -> String {
    let mut bits = String::with_capacity(packed.len().saturating_mul(8));
    packed.iter().for_each(|byte| push_number(&mut bits, u64::from(*byte), 8));
    bits.truncate(length);
    bits
}

/// Appends the binary format: the number of bits, then the packed bits.
pub fn encode(bits: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(bits.len() as i32).to_be_bytes());
    out.extend(pack(bits));
}

/// Reads the binary format; 22P03 if it is something else.
pub fn decode(ty: &SqlType, bytes: &[u8]) -> Result<Datum> {
    let wrong = |message: &str| Error::new(SqlState::InvalidBinaryRepresentation, message);
    let (length, packed) =
        bytes.split_first_chunk::<4>().ok_or_else(|| wrong("incorrect binary data format"))?;
    let length = usize::try_from(i32::from_be_bytes(*length))
        .map_err(|_| wrong("invalid length in external bit string"))?;
    if packed.len() != length.div_ceil(8) {
        return Err(wrong("incorrect binary data format"));
    }
    Ok(Datum::text(fit(ty, unpack(packed, length), false)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_bits_come_back() {
        for bits in ["", "1", "0", "10110", "11111111", "000000001", "1010101010101010"] {
            assert_eq!(unpack(&pack(bits), bits.len()), bits);
        }
    }

    #[test]
    fn numbers_keep_their_low_bits() {
        assert_eq!(from_int(44, 3), "100");
        assert_eq!(from_int(-44, 12), "111111010100");
        assert_eq!(from_int(-1, 66), "1".repeat(66));
        assert_eq!(to_int(&"1".repeat(32), &SqlType::Int4).ok(), Some(-1));
        assert_eq!(to_int("101", &SqlType::Int8).ok(), Some(5));
        assert!(to_int(&"1".repeat(33), &SqlType::Int4).is_err());
    }
}
