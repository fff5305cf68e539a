//! From and to integers and floats.

use bigdecimal::num_bigint::BigInt;

use super::Numeric;
use super::digits::{pow10_i128, rescale};

impl Numeric {
    /// Rounded half away from zero to an integer; `None` if it is not finite or does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.to_i128()?).ok()
    }

    /// Rounded half away from zero to an integer; `None` if it is not finite or does not fit.
    pub fn to_i128(&self) -> Option<i128> {
        if let Numeric::Small(value, scale) = self {
            if *scale == 0 {
                return Some(value.get());
            }
            let Some(divisor) = pow10_i128(u32::from(*scale)) else { return Some(0) };
            let (quotient, rest) = (value.get() / divisor, value.get() % divisor);
            // The divisor is even, so its half is exact.
            let away = if rest.abs() >= divisor / 2 { rest.signum() } else { 0 };
            return Some(quotient + away);
        }
        let (value, scale) = self.to_big()?;
        i128::try_from(rescale(&value, scale, 0)).ok()
    }

    /// The nearest float; infinite if it is beyond the largest.
    pub fn to_f64(&self) -> f64 {
        match self {
            Numeric::NaN => f64::NAN,
            Numeric::Infinity => f64::INFINITY,
            Numeric::NegInfinity => f64::NEG_INFINITY,
            Numeric::Small(value, scale)
                if *scale <= 22 && value.get().unsigned_abs() < 1 << 53 =>
            {
                value.get() as f64 / 10f64.powi(i32::from(*scale))
            }
            other => other.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// From a float as PostgreSQL casts it: 15 significant digits.
    pub fn from_f64(value: f64) -> Self {
        from_float_digits(value, format!("{value:.14e}"))
    }

    /// From a `real` as PostgreSQL casts it: 6 significant digits.
    pub fn from_f32(value: f32) -> Self {
        from_float_digits(f64::from(value), format!("{value:.5e}"))
    }
}

fn from_float_digits(value: f64, digits: String) -> Numeric {
    if let Some(special) = special_float(value) {
        return special;
    }
    let trimmed = match digits.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => {
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            format!("{mantissa}e{exponent}")
        }
        _ => digits,
    };
    Numeric::parse(&trimmed).unwrap_or(Numeric::NaN)
}

fn special_float(value: f64) -> Option<Numeric> {
    if value.is_nan() {
        Some(Numeric::NaN)
    } else if value == f64::INFINITY {
        Some(Numeric::Infinity)
    } else if value == f64::NEG_INFINITY {
        Some(Numeric::NegInfinity)
    } else {
        None
    }
}

/// The exact value of a float, every binary digit; for comparing.
pub(crate) fn from_f64_exact(value: f64) -> Numeric {
    if let Some(special) = special_float(value) {
        return special;
    }
    if value.fract() == 0.0 && value.abs() < 1e18 {
        return Numeric::from_i64(value as i64);
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, power) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let mantissa = BigInt::from(if value < 0.0 { -mantissa } else { mantissa });
    let exact = if power >= 0 {
        Numeric::from_big(mantissa << power as u32, 0)
    } else {
        // m / 2^k = m * 5^k / 10^k
        let power = (-power) as u32;
        Numeric::from_big(mantissa * BigInt::from(5).pow(power), i64::from(power))
    };
    exact.unwrap_or(Numeric::NaN)
}
