//! Booleans, integers, floats, strings with a length, bytea and uuid.

use std::fmt::Write as _;
use std::sync::Arc;

use super::syntax::{invalid_syntax, is_blank};
use crate::{Error, Result, SqlState, SqlType};

/// A boolean: `t`, `yes`, `on`, `1` and their prefixes, in any case.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(is_blank).to_ascii_lowercase();
    let prefix = |whole: &str| !word.is_empty() && whole.starts_with(&word);
    if prefix("true") || prefix("yes") || word == "on" || word == "1" {
        Ok(true)
    } else if prefix("false") || prefix("no") || word == "off" || word == "of" || word == "0" {
        Ok(false)
    } else {
        Err(invalid_syntax("boolean", text))
    }
}

fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::NumericValueOutOfRange,
        format!("value \"{text}\" is out of range for type {type_name}"),
    )
}

/// A decimal integer in the range of `smallint`, `integer` or `bigint`.
pub fn parse_int(ty: &SqlType, text: &str) -> Result<i64> {
    let (low, high) = match ty {
        SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    if let Some(value) = plain_int(text).filter(|value| (low..=high).contains(value)) {
        return Ok(value);
    }
    let name = ty.plain_name();
    let body = text.trim_matches(is_blank);
    let digits = body.strip_prefix(['+', '-']).unwrap_or(body);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid_syntax(name, text));
    }
    match body.parse::<i64>() {
        Ok(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(out_of_range(name, text)),
    }
}

/// The usual integer: a few digits, nothing around them. `None` for everything else.
fn plain_int(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (is_negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // 18 digits always fit.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for digit in digits.iter().map(|byte| byte.wrapping_sub(b'0')) {
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if is_negative { -value } else { value })
}

/// An oid: 0 to 4294967295; negative ones wrap as in PostgreSQL. `-` is 0 for the `reg*` types.
pub(super) fn parse_oid(ty: &SqlType, text: &str) -> Result<i64> {
    let body = text.trim_matches(is_blank);
    if ty.is_reg() && body == "-" {
        return Ok(0);
    }
    let digits = body.strip_prefix(['+', '-']).unwrap_or(body);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid_syntax("oid", text));
    }
    match body.parse::<i64>() {
        Ok(value) if (0..=i64::from(u32::MAX)).contains(&value) => Ok(value),
        Ok(value) if value >= i64::from(i32::MIN) && value < 0 => Ok(i64::from(value as u32)),
        _ => Err(out_of_range("oid", text)),
    }
}

/// The integer at the front of a text, as C's `strtoull` reads it with base 0: blanks, a sign, `0x`
/// or a leading zero for octal. No digits are 0; what does not fit is the largest number.
pub(crate) fn leading_integer(text: &str) -> u64 {
    let body = text.trim_start_matches(is_blank);
    let (negative, body) = match body.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let hex = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X"));
    let hex = hex.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (base, digits) = match hex {
        Some(rest) => (16, rest),
        None if body.starts_with('0') => (8, body),
        None => (10, body),
    };
    let mut value = Some(0u64);
    for digit in digits.chars().map_while(|c| c.to_digit(base)) {
        value = value
            .and_then(|value| value.checked_mul(u64::from(base)))
            .and_then(|value| value.checked_add(u64::from(digit)));
    }
    match value {
        Some(value) if negative => value.wrapping_neg(),
        Some(value) => value,
        None => u64::MAX,
    }
}

fn parse_float_word(body: &str) -> Option<f64> {
    let (sign, word) = match body.as_bytes().first()? {
        b'-' => (-1.0, &body[1..]),
        b'+' => (1.0, &body[1..]),
        _ => (1.0, body),
    };
    match word.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

/// Whether a text is digits with an optional point and exponent.
fn is_decimal(body: &str) -> bool {
    body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'))
        && body.bytes().any(|b| b.is_ascii_digit())
}

fn mantissa_is_zero(body: &str) -> bool {
    !body.bytes().take_while(|b| !matches!(b, b'e' | b'E')).any(|b| b.is_ascii_digit() && b != b'0')
}

fn float_out_of_range(name: &str, text: &str) -> Error {
    Error::new(
        SqlState::NumericValueOutOfRange,
        format!("\"{text}\" is out of range for type {name}"),
    )
}

/// A `double precision`.
pub fn parse_f64(text: &str) -> Result<f64> {
    const NAME: &str = "double precision";
    let body = text.trim_matches(is_blank);
    if let Some(word) = parse_float_word(body) {
        return Ok(word);
    }
    if !is_decimal(body) {
        return Err(invalid_syntax(NAME, text));
    }
    let value: f64 = body.parse().map_err(|_| invalid_syntax(NAME, text))?;
    if value.is_infinite() || (value == 0.0 && !mantissa_is_zero(body)) {
        return Err(float_out_of_range(NAME, body));
    }
    Ok(value)
}

/// A `real`.
pub fn parse_f32(text: &str) -> Result<f32> {
    const NAME: &str = "real";
    let body = text.trim_matches(is_blank);
    if let Some(word) = parse_float_word(body) {
        return Ok(word as f32);
    }
    if !is_decimal(body) {
        return Err(invalid_syntax(NAME, text));
    }
    let value: f32 = body.parse().map_err(|_| invalid_syntax(NAME, text))?;
    if value.is_infinite() || (value == 0.0 && !mantissa_is_zero(body)) {
        return Err(float_out_of_range(NAME, body));
    }
    Ok(value)
}

/// Appends an integer.
pub(super) fn format_int(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a `double precision`: the shortest text that reads back the same. With
/// `extra_float_digits` of 0 or less it has 15 digits plus that number.
pub fn format_f64(value: f64, extra_digits: i32, out: &mut Vec<u8>) {
    if special_float(value, out) {
        return;
    }
    if extra_digits > 0 {
        spread(zmij::Buffer::new().format_finite(value), 15, out);
    } else {
        general(value, (15 + extra_digits).max(1) as usize, out);
    }
}

/// Appends a `real`, as [`format_f64`] does.
pub fn format_f32(value: f32, extra_digits: i32, out: &mut Vec<u8>) {
    if special_float(f64::from(value), out) {
        return;
    }
    if extra_digits > 0 {
        spread(zmij::Buffer::new().format_finite(value), 6, out);
    } else {
        general(f64::from(value), (6 + extra_digits).max(1) as usize, out);
    }
}

fn special_float(value: f64, out: &mut Vec<u8>) -> bool {
    let word: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.extend_from_slice(word);
    true
}

/// C's `%.{digits}g`.
fn general(value: f64, digits: usize, out: &mut Vec<u8>) {
    spread(&format!("{value:.*e}", digits - 1), digits as i32, out);
}

/// Writes a number, plain or as `d.ddde±x`, plainly, or with PostgreSQL's exponent if that is below
/// -4 or at the limit. Zeros behind the last digit go.
fn spread(number: &str, limit: i32, out: &mut Vec<u8>) {
    let number = match number.strip_prefix('-') {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => number,
    };
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let start = out.len();
    out.extend_from_slice(whole.as_bytes());
    out.extend_from_slice(fraction.as_bytes());
    let zeros = out[start..].iter().take_while(|digit| **digit == b'0').count();
    let significant = out.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    if significant <= start + zeros {
        out.truncate(start);
        return out.push(b'0');
    }
    out.truncate(significant);
    out.drain(start..start + zeros);
    let exponent = exponent.parse().unwrap_or(0) + whole.len() as i32 - 1 - zeros as i32;
    place_point(exponent, limit, start, out);
}

/// Puts the point into the digits from `start` on, of which the first counts 10 to the `exponent`.
fn place_point(exponent: i32, limit: i32, start: usize, out: &mut Vec<u8>) {
    let count = out.len() - start;
    if exponent < -4 || exponent >= limit {
        if count > 1 {
            out.insert(start + 1, b'.');
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        out.extend_from_slice(format!("e{sign}{:02}", exponent.abs()).as_bytes());
    } else if exponent < 0 {
        let zeros = &b"0.000"[..1 + exponent.unsigned_abs() as usize];
        out.splice(start..start, zeros.iter().copied());
    } else {
        let whole = exponent as usize + 1;
        if count <= whole {
            out.resize(start + whole, b'0');
        } else {
            out.insert(start + whole, b'.');
        }
    }
}

/// A string made to fit its type: `char(n)` padded; too long is 22001 unless only blanks are
/// lost or the cast is explicit; `name` cut to 63 bytes, `"char"` to one character.
pub fn apply_length(ty: &SqlType, text: &str, explicit: bool) -> Result<Arc<str>> {
    match ty {
        SqlType::Varchar(Some(length)) => {
            Ok(cut(text, *length, explicit, || format!("character varying({length})"))?.into())
        }
        SqlType::Char(length) if *length > 0 => {
            let kept = cut(text, *length, explicit, || format!("character({length})"))?;
            let missing = *length as usize - kept.chars().count();
            if missing == 0 {
                return Ok(kept.into());
            }
            let mut padded = String::with_capacity(kept.len() + missing);
            padded.push_str(kept);
            padded.extend(std::iter::repeat_n(' ', missing));
            Ok(padded.into())
        }
        SqlType::Name => {
            let mut end = text.len().min(63);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            Ok(text[..end].into())
        }
        SqlType::InternalChar => {
            Ok(internal_char(text).map_or_else(String::new, String::from).into())
        }
        _ => Ok(text.into()),
    }
}

/// The one byte of a `"char"`, as the character with its number: `\ooo` or the first byte.
fn internal_char(text: &str) -> Option<char> {
    if let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] = text.as_bytes() {
        let byte = (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0');
        return (byte != 0).then(|| char::from(byte));
    }
    text.bytes().next().map(char::from)
}

/// Prints a `"char"`: a byte beyond ASCII as `\ooo`.
pub(super) fn format_internal_char(text: &str, out: &mut Vec<u8>) {
    match text.chars().next().map(|c| u32::from(c) as u8) {
        Some(byte) if byte > 127 => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        Some(byte) => out.push(byte),
        None => {}
    }
}

fn cut(text: &str, length: u32, explicit: bool, type_name: impl Fn() -> String) -> Result<&str> {
    let length = length as usize;
    if text.len() <= length {
        return Ok(text);
    }
    let Some((end, _)) = text.char_indices().nth(length) else { return Ok(text) };
    if !explicit && text[end..].bytes().any(|b| b != b' ') {
        let message = format!("value too long for type {}", type_name());
        return Err(Error::new(SqlState::StringDataRightTruncation, message));
    }
    Ok(&text[..end])
}

/// A bytea in hex (`\x6162`) or escape (`a\\\001`) form.
pub fn parse_bytes(text: &str) -> Result<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        return parse_hex(hex);
    }
    let invalid =
        || Error::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type bytea");
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        if bytes.get(at + 1) == Some(&b'\\') {
            out.push(b'\\');
            at += 2;
            continue;
        }
        match bytes.get(at + 1..at + 4) {
            Some([a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7']) => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                at += 4;
            }
            _ => return Err(invalid()),
        }
    }
    Ok(out)
}

fn parse_hex(hex: &str) -> Result<Vec<u8>> {
    let invalid = |message: String| Error::new(SqlState::InvalidParameterValue, message);
    let mut out = Vec::with_capacity(hex.len() / 2);
    let mut high = None;
    for c in hex.chars() {
        if is_blank(c) && high.is_none() {
            continue;
        }
        let Some(digit) = c.to_digit(16) else {
            return Err(invalid(format!("invalid hexadecimal digit: \"{c}\"")));
        };
        match high.take() {
            None => high = Some(digit as u8),
            Some(high) => out.push(high << 4 | digit as u8),
        }
    }
    if high.is_some() {
        return Err(invalid("invalid hexadecimal data: odd number of digits".to_owned()));
    }
    Ok(out)
}

/// Appends a bytea in hex or escape form.
pub fn format_bytes(value: &[u8], escape: bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if !escape {
        out.extend_from_slice(b"\\x");
        for byte in value {
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
        return;
    }
    for byte in value {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x20..=0x7e => out.push(*byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
}

/// A uuid: 32 hex digits, with a hyphen after any group of four, perhaps in braces.
pub fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let invalid = || invalid_syntax("uuid", text);
    let mut rest = text.as_bytes();
    let braces = rest.first() == Some(&b'{');
    if braces {
        rest = &rest[1..];
    }
    let mut out = [0u8; 16];
    for (at, byte) in out.iter_mut().enumerate() {
        let [high, low, ..] = rest else { return Err(invalid()) };
        let digit = |b: u8| char::from(b).to_digit(16).map(|digit| digit as u8);
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
            return Err(invalid());
        };
        *byte = high << 4 | low;
        rest = &rest[2..];
        if at % 2 == 1 && at < 15 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
    }
    if rest != if braces { b"}".as_slice() } else { b"" } {
        return Err(invalid());
    }
    Ok(out)
}

/// Appends a uuid in its usual form.
pub(super) fn format_uuid(value: &[u8; 16], out: &mut Vec<u8>) {
    let mut text = String::with_capacity(36);
    for (at, byte) in value.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    out.extend_from_slice(text.as_bytes());
}
