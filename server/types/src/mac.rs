//! `macaddr` and `macaddr8`: six and eight bytes, which sort as they are.

use crate::text::{invalid_syntax, is_blank};
use crate::{Error, Result, SqlState, SqlType};

/// Appends `08:00:2b:01:02:03`.
pub fn format(bytes: &[u8], out: &mut Vec<u8>) {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    out.extend_from_slice(pairs.join(":").as_bytes());
}

/// The bytes of a literal; 22P02 if it is none, 22003 for a part above ff.
pub fn parse(ty: &SqlType, text: &str) -> Result<Vec<u8>> {
    let found = match ty {
        SqlType::Macaddr8 => parse_eight(text),
        _ => parse_six(text)?,
    };
    found.ok_or_else(|| invalid_syntax(ty.plain_name(), text))
}

fn hex_pairs(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let pair = |at: usize| {
        let pair = &digits[at..at + 2];
        let is_hex = pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex { u8::from_str_radix(pair, 16).ok() } else { None }
    };
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// Six numbers between colons or hyphens, or twelve digits in one, two or three parts.
fn parse_six(text: &str) -> Result<Option<Vec<u8>>> {
    let text = text.trim_matches(is_blank);
    for separator in [':', '-'] {
        let parts: Vec<&str> = text.split(separator).collect();
        if parts.len() != 6 {
            continue;
        }
        let mut bytes = Vec::with_capacity(6);
        for part in parts {
            let is_hex = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_hex {
                return Ok(None);
            }
            let octet = u32::from_str_radix(part, 16).ok().and_then(|n| u8::try_from(n).ok());
            bytes.push(octet.ok_or_else(|| {
                let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
                Error::new(SqlState::NumericValueOutOfRange, message)
            })?);
        }
        return Ok(Some(bytes));
    }
    let shapes: [(char, &[usize]); 5] =
        [(':', &[6, 6]), ('-', &[6, 6]), ('.', &[4, 4, 4]), ('-', &[4, 4, 4]), (':', &[12])];
    for (separator, lengths) in shapes {
        let parts: Vec<&str> = text.split(separator).collect();
        if parts.iter().map(|part| part.len()).eq(lengths.iter().copied()) {
            return Ok(hex_pairs(&parts.concat()));
        }
    }
    Ok(None)
}

/// Six or eight pairs of digits; what stands between pairs is the same everywhere.
fn parse_eight(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_matches(is_blank);
    let mut bytes = Vec::with_capacity(8);
    let mut separator = None;
    let mut rest = text;
    while !rest.is_empty() {
        bytes.extend(hex_pairs(rest.get(..2)?)?);
        rest = &rest[2..];
        if bytes.len() > 8 {
            return None;
        }
        if let Some(found) = rest.chars().next().filter(|c| matches!(c, ':' | '-' | '.')) {
            if separator.is_some_and(|known| known != found) || rest.len() == 1 {
                return None;
            }
            separator = Some(found);
            rest = &rest[1..];
        }
    }
    match bytes.len() {
        8 => Some(bytes),
        6 => Some(to_eight(&bytes)),
        _ => None,
    }
}

/// A `macaddr` as a `macaddr8`.
pub fn to_eight(bytes: &[u8]) -> Vec<u8> {
    let (first, last) = bytes.split_at(bytes.len().min(3));
    [first, &[0xff, 0xfe], last].concat()
}

/// A `macaddr8` as a `macaddr`; 22003 if it was none.
pub fn to_six(bytes: &[u8]) -> Result<Vec<u8>> {
    match bytes {
        [a, b, c, 0xff, 0xfe, d, e, f] => Ok(vec![*a, *b, *c, *d, *e, *f]),
        _ => Err(Error::new(
            SqlState::NumericValueOutOfRange,
            "macaddr8 data out of range to convert to macaddr",
        )
        .hint(
            "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, \
             for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to \
             macaddr.",
        )),
    }
}
