//! `money`: hundredths, held as a [`Datum::Int`], as PostgreSQL has it in the locale `C`.

use crate::text::{invalid_syntax, is_blank};
use crate::{Datum, Error, Numeric, Result, SqlState, SqlType};

/// Digits after the point.
const DIGITS: usize = 2;

/// 22003 for a result that no `money` holds.
pub fn out_of_range() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "money out of range")
}

/// The amount of a literal; 22P02 if it is none, 22003 for one that is too large.
pub(crate) fn parse(text: &str) -> Result<i64> {
    let wrong = || invalid_syntax("money", text);
    let (mut is_negative, body) = sign_and_body(text);
    let mut amount = Amount { text, negated: 0 };
    let mut decimals = None;
    let mut rest = body.len();
    for (at, sign) in body.char_indices() {
        match (sign, decimals) {
            ('0'..='9', None) => amount.push(sign)?,
            ('0'..='9', Some(count)) if count < DIGITS => {
                amount.push(sign)?;
                decimals = Some(count + 1);
            }
            ('.', None) => decimals = Some(0),
            (',', _) => {}
            _ => {
                rest = at;
                break;
            }
        }
    }
    let rest = body.get(rest..).unwrap_or_default();
    let rounds_up = rest.starts_with(|digit: char| ('5'..='9').contains(&digit));
    for _ in decimals.unwrap_or(0)..DIGITS {
        amount.push('0')?;
    }
    if rounds_up {
        amount.subtract(1)?;
    }
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    for sign in after.chars() {
        match sign {
            '-' => is_negative = true,
            '+' | '$' | ')' => {}
            sign if is_blank(sign) => {}
            _ => return Err(wrong()),
        }
    }
    if is_negative {
        return Ok(amount.negated);
    }
    amount.negated.checked_neg().ok_or_else(|| amount.too_large())
}

/// Whether the amount is negative, and what follows the signs before it.
fn sign_and_body(text: &str) -> (bool, &str) {
    let skip = |text: &str, sign: char| -> (bool, usize) {
        (text.starts_with(sign), usize::from(text.starts_with(sign)))
    };
    let mut rest = text.trim_start_matches(is_blank);
    rest = rest.get(skip(rest, '$').1..).unwrap_or_default().trim_start_matches(is_blank);
    let is_negative = rest.starts_with(['-', '(']);
    if rest.starts_with(['-', '(', '+']) {
        rest = rest.get(1..).unwrap_or_default();
    }
    rest = rest.trim_start_matches(is_blank);
    rest = rest.get(skip(rest, '$').1..).unwrap_or_default().trim_start_matches(is_blank);
    (is_negative, rest)
}

/// An amount that is read digit by digit, negated, as the smallest value has no positive one.
struct Amount<'t> {
    text: &'t str,
    negated: i64,
}

impl Amount<'_> {
    fn too_large(&self) -> Error {
        let message = format!("value \"{}\" is out of range for type money", self.text);
        Error::new(SqlState::NumericValueOutOfRange, message)
    }

    fn subtract(&mut self, digit: i64) -> Result<()> {
        self.negated = self.negated.checked_sub(digit).ok_or_else(|| self.too_large())?;
        Ok(())
    }

    fn push(&mut self, digit: char) -> Result<()> {
        self.negated = self.negated.checked_mul(10).ok_or_else(|| self.too_large())?;
        self.subtract(digit.to_digit(10).unwrap_or_default().into())
    }
}

/// Appends `$1,234.56`.
pub(crate) fn format(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let (whole, cents) = (value.unsigned_abs() / 100, value.unsigned_abs() % 100);
    let digits = whole.to_string();
    for (at, digit) in digits.bytes().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    out.extend_from_slice(format!(".{cents:02}").as_bytes());
}

/// A cast from or to `money`; `None` if there is none between these types.
pub(crate) fn cast(datum: &Datum, from: &SqlType, to: &SqlType) -> Result<Option<Datum>> {
    let too_large = || Error::new(SqlState::NumericValueOutOfRange, "bigint out of range");
    Ok(match (datum, from, to) {
        (Datum::Int(value), SqlType::Money, SqlType::Numeric(_)) => {
            Some(Datum::Numeric(Numeric::from_parts(i128::from(*value), DIGITS as u16)))
        }
        (Datum::Int(value), SqlType::Int4 | SqlType::Int8, SqlType::Money) => {
            Some(Datum::Int(value.checked_mul(100).ok_or_else(too_large)?))
        }
        (Datum::Numeric(value), SqlType::Numeric(_), SqlType::Money) => {
            let cents = value.mul(&Numeric::from_i64(100))?;
            Some(Datum::Int(cents.to_i64().ok_or_else(too_large)?))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        let mut out = Vec::new();
        format(parse(text).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn amounts_print_as_in_postgresql() {
        for (text, expected) in [
            ("", "$0.00"),
            ("1.005", "$1.01"),
            ("1,2,3", "$123.00"),
            ("($1,234.5)", "-$1,234.50"),
            ("1-", "-$1.00"),
            ("- $ 5", "-$5.00"),
            (".994", "$0.99"),
            ("-92233720368547758.08", "-$92,233,720,368,547,758.08"),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
        for text in ["x", "1e3", "1.2.3", "92233720368547758.08"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
