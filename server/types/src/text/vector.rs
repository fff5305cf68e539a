//! `int2vector` and `oidvector`: numbers separated by blanks.

use super::scalar;
use super::syntax::{invalid_syntax, is_blank};
use crate::{Array, Datum, Result, SqlType};

/// Parses numbers separated by blanks.
pub(super) fn parse_vector(ty: &SqlType, text: &str) -> Result<Array> {
    let element = ty.element().cloned().unwrap_or(SqlType::Int2);
    let words = text.split(is_blank).filter(|word| !word.is_empty());
    let items = words.map(|word| item(&element, word)).collect::<Result<Vec<_>>>()?;
    Ok(Array::from_lower(element, 0, items))
}

fn item(element: &SqlType, word: &str) -> Result<Datum> {
    if *element == SqlType::Int2 {
        return Ok(Datum::Int(scalar::parse_int(element, word)?));
    }
    // PostgreSQL reads one oid after the other and names what is left in its message.
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let number = digits.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &digits[number..];
    if number > 0 && !rest.is_empty() {
        return Err(invalid_syntax("oid", rest));
    }
    Ok(Datum::Int(scalar::parse_oid(element, word)?))
}

/// Appends the numbers, separated by blanks.
pub(super) fn format_vector(array: &Array, out: &mut Vec<u8>) {
    for (at, item) in array.items.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        match item {
            Datum::Int(value) => scalar::format_int(*value, out),
            other => debug_assert!(other.is_null(), "{other:?} in a vector of integers"),
        }
    }
}
