//! The number itself: representation, text form, order and hash.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};

use super::digits::{DIGITS_MAX, SCALE_MAX, digit_count, overflow, pow10, pow10_i128, rescale};
use crate::floats::hash_float;
use crate::{Error, Result, SqlState};

/// 128 bits aligned like 64, so that a [`Numeric`] takes 24 bytes.
#[derive(Clone, Copy)]
#[repr(Rust, packed(8))]
pub struct Coefficient(i128);

impl Coefficient {
    /// The integer.
    pub fn get(self) -> i128 {
        self.0
    }
}

impl fmt::Debug for Coefficient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// PostgreSQL's `numeric`: a finite decimal with a display scale, NaN or an infinity.
#[derive(Clone, Debug)]
pub enum Numeric {
    /// A finite number `coefficient / 10^scale` whose coefficient fits 128 bits.
    Small(Coefficient, u16),
    /// A larger finite number; trailing zeros count for display only.
    Finite(Box<BigDecimal>),
    /// Not a number: equal to itself and larger than everything else.
    NaN,
    /// `Infinity`
    Infinity,
    /// `-Infinity`
    NegInfinity,
}

impl Numeric {
    /// Zero, scale 0.
    pub const ZERO: Numeric = Numeric::Small(Coefficient(0), 0);
    /// One, scale 0.
    pub const ONE: Numeric = Numeric::Small(Coefficient(1), 0);

    /// From an integer, scale 0.
    pub fn from_i64(value: i64) -> Self {
        Numeric::Small(Coefficient(i128::from(value)), 0)
    }

    /// `coefficient / 10^scale`.
    pub fn from_parts(coefficient: i128, scale: u16) -> Self {
        Numeric::Small(Coefficient(coefficient), scale.min(SCALE_MAX as u16))
    }

    /// From a coefficient and a scale of any size; 22003 outside the format's limits.
    pub(super) fn from_big(coefficient: BigInt, scale: i64) -> Result<Self> {
        let (coefficient, scale) = if scale < 0 {
            let zeros = u32::try_from(-scale).map_err(|_| overflow())?;
            if coefficient.sign() == Sign::NoSign {
                (coefficient, 0)
            } else if i64::from(zeros) > DIGITS_MAX {
                return Err(overflow());
            } else {
                (coefficient * pow10(zeros), 0)
            }
        } else {
            (coefficient, scale)
        };
        if let Ok(small) = i128::try_from(&coefficient)
            && let Ok(small_scale) = u16::try_from(scale)
            && scale <= SCALE_MAX
        {
            return Ok(Numeric::Small(Coefficient(small), small_scale));
        }
        if scale > SCALE_MAX {
            let rounded = rescale(&coefficient, scale, SCALE_MAX);
            return Numeric::from_big(rounded, SCALE_MAX);
        }
        // Cheap bound first: 3.32 bits a digit.
        if coefficient.bits() as i64 > (DIGITS_MAX + scale) * 3
            && digit_count(&coefficient) - scale > DIGITS_MAX
        {
            return Err(overflow());
        }
        Ok(Numeric::Finite(Box::new(BigDecimal::new(coefficient, scale))))
    }

    /// Coefficient and scale of a finite number.
    pub(super) fn to_big(&self) -> Option<(BigInt, i64)> {
        match self {
            Numeric::Small(coefficient, scale) => {
                Some((BigInt::from(coefficient.get()), i64::from(*scale)))
            }
            Numeric::Finite(value) => {
                let (coefficient, scale) = value.as_bigint_and_exponent();
                if scale < 0 {
                    let zeros = u32::try_from(-scale).unwrap_or(u32::MAX).min(DIGITS_MAX as u32);
                    Some((coefficient * pow10(zeros), 0))
                } else {
                    Some((coefficient, scale))
                }
            }
            _ => None,
        }
    }

    /// Coefficient and scale of a finite number; `None` for NaN and the infinities.
    pub fn parts(&self) -> Option<(BigInt, u16)> {
        let (coefficient, scale) = self.to_big()?;
        Some((coefficient, u16::try_from(scale).unwrap_or(u16::MAX)))
    }

    /// Parses PostgreSQL's text form (22P02 if it is not a number, 22003 if it is too long).
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = || {
            Error::new(
                SqlState::InvalidTextRepresentation,
                format!("invalid input syntax for type numeric: \"{text}\""),
            )
        };
        let body = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let (negative, digits) = match body.as_bytes().first() {
            Some(b'-') => (true, &body[1..]),
            Some(b'+') => (false, &body[1..]),
            _ => (false, body),
        };
        match digits.to_ascii_lowercase().as_str() {
            // A sign before NaN is refused.
            "nan" if digits.len() == body.len() => return Ok(Numeric::NaN),
            "inf" | "infinity" if negative => return Ok(Numeric::NegInfinity),
            "inf" | "infinity" => return Ok(Numeric::Infinity),
            _ => {}
        }
        parse_finite(negative, digits, invalid)
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Numeric::NaN)
    }

    /// Whether it is a number, not NaN or an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Small(..) | Numeric::Finite(_))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.signum() == 0 && self.is_finite()
    }

    /// -1, 0 or 1; 0 for NaN.
    pub fn signum(&self) -> i32 {
        match self {
            Numeric::Small(value, _) => value.get().signum() as i32,
            Numeric::Finite(value) => match value.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
            Numeric::NaN => 0,
            Numeric::Infinity => 1,
            Numeric::NegInfinity => -1,
        }
    }

    /// The display scale; `None` for NaN and the infinities.
    pub fn scale(&self) -> Option<i32> {
        match self {
            Numeric::Small(_, scale) => Some(i32::from(*scale)),
            Numeric::Finite(value) => {
                Some(value.fractional_digit_count().clamp(0, SCALE_MAX) as i32)
            }
            _ => None,
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Numeric::Finite(value) => 48 + value.digits() as usize / 2,
            _ => 0,
        }
    }

    /// Appends the text form.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let (digits, negative, scale) = match self {
            Numeric::NaN => return out.extend_from_slice(b"NaN"),
            Numeric::Infinity => return out.extend_from_slice(b"Infinity"),
            Numeric::NegInfinity => return out.extend_from_slice(b"-Infinity"),
            Numeric::Small(value, scale) => {
                let value = value.get();
                (value.unsigned_abs().to_string(), value < 0, usize::from(*scale))
            }
            Numeric::Finite(_) => {
                let Some((value, scale)) = self.to_big() else { return };
                (value.magnitude().to_string(), value.sign() == Sign::Minus, scale as usize)
            }
        };
        if negative {
            out.push(b'-');
        }
        let digits = digits.as_bytes();
        if scale == 0 {
            out.extend_from_slice(digits);
        } else if digits.len() > scale {
            let point = digits.len() - scale;
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        } else {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - digits.len(), b'0');
            out.extend_from_slice(digits);
        }
    }
}

fn parse_finite(negative: bool, digits: &str, invalid: impl Fn() -> Error) -> Result<Numeric> {
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() == 0 {
        return Err(invalid());
    }
    let exponent = match exponent {
        None => 0i64,
        Some(text) => {
            let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
            if unsigned.is_empty() || !all_digits(unsigned) {
                return Err(invalid());
            }
            let value = text.parse::<i64>().unwrap_or(i64::MAX);
            if value.unsigned_abs() > i32::MAX as u64 / 2 {
                return Err(overflow());
            }
            value
        }
    };
    let scale = fraction.len() as i64 - exponent;
    if scale > SCALE_MAX {
        return Err(overflow());
    }
    if whole.len() + fraction.len() <= 38 && (0..=SCALE_MAX).contains(&scale) {
        let mut value = 0i128;
        for digit in whole.bytes().chain(fraction.bytes()) {
            value = value * 10 + i128::from(digit - b'0');
        }
        let value = if negative { -value } else { value };
        return Ok(Numeric::Small(Coefficient(value), scale as u16));
    }
    let joined = format!("{whole}{fraction}");
    let value = BigInt::parse_bytes(joined.as_bytes(), 10).ok_or_else(&invalid)?;
    Numeric::from_big(if negative { -value } else { value }, scale)
}

/// Where NaN and the infinities are in the order; 0 for every finite number.
fn special_rank(number: &Numeric) -> i8 {
    match number {
        Numeric::NegInfinity => -1,
        Numeric::Small(..) | Numeric::Finite(_) => 0,
        Numeric::Infinity => 1,
        Numeric::NaN => 2,
    }
}

/// Both coefficients at the larger scale, if they fit.
pub(super) fn align(a: i128, a_scale: u16, b: i128, b_scale: u16) -> Option<(i128, i128)> {
    if a_scale < b_scale {
        Some((a.checked_mul(pow10_i128(u32::from(b_scale - a_scale))?)?, b))
    } else {
        Some((a, b.checked_mul(pow10_i128(u32::from(a_scale - b_scale))?)?))
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write_text(&mut out);
        f.pad(&String::from_utf8_lossy(&out))
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Numeric {}
impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
/// SQL order: NaN is the largest, and the scale does not count.
impl Ord for Numeric {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Numeric::Small(a, a_scale), Numeric::Small(b, b_scale)) = (self, other) {
            let (a, b) = (a.get(), b.get());
            if a_scale == b_scale {
                return a.cmp(&b);
            }
            if let Some((a, b)) = align(a, *a_scale, b, *b_scale) {
                return a.cmp(&b);
            }
        }
        match (special_rank(self), special_rank(other)) {
            (0, 0) => {}
            (a, b) => return a.cmp(&b),
        }
        let signs = self.signum().cmp(&other.signum());
        if signs != Ordering::Equal {
            return signs;
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ordering::Equal;
        };
        match a_scale.cmp(&b_scale) {
            Ordering::Equal => a.cmp(&b),
            Ordering::Less => (a * pow10((b_scale - a_scale) as u32)).cmp(&b),
            Ordering::Greater => a.cmp(&(b * pow10((a_scale - b_scale) as u32))),
        }
    }
}

/// Integers that fit 64 bits hash as such, the rest as the nearest float: equal to the hash of
/// the equal integer or float datum.
impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Numeric::Small(value, scale) = self {
            let (mut value, mut scale) = (value.get(), *scale);
            while scale > 0 && value % 10 == 0 {
                if value == 0 {
                    scale = 0;
                    break;
                }
                value /= 10;
                scale -= 1;
            }
            if scale == 0
                && let Ok(value) = i64::try_from(value)
            {
                return value.hash(state);
            }
            if scale <= 22 && value.unsigned_abs() < 1 << 53 {
                // Both operands are exact, so the quotient is the nearest float.
                return hash_float(value as f64 / 10f64.powi(i32::from(scale)), state);
            }
        }
        if let Numeric::Finite(value) = self {
            let (coefficient, scale) = value.normalized().into_bigint_and_exponent();
            if scale == 0
                && let Ok(value) = i64::try_from(coefficient)
            {
                return value.hash(state);
            }
        }
        hash_float(self.to_f64(), state);
    }
}
