//! Numerics of one scale as integers of 64 bits.
//!
//! Most columns of `numeric(p, s)` are such: what they store has the scale `s`. Comparisons and
//! sums of them are those of integers.

use braid_codec::value::cell_decimal;
use braid_types::{Datum, Numeric};

/// Numerics of one scale: 1.50 is 150 at scale 2.
#[derive(Default)]
pub struct Decimals {
    /// The scale of all values; `None` before the first one.
    scale: Option<u16>,
    /// The values without their decimal points; where the column is NULL, any value.
    pub coefficients: Vec<i64>,
}

impl Decimals {
    /// The scale of all values: their digits behind the decimal point.
    pub fn scale(&self) -> u16 {
        self.scale.unwrap_or_default()
    }

    /// Value `i` as a datum.
    pub(crate) fn datum(&self, i: usize) -> Datum {
        Datum::Numeric(Numeric::from_parts(i128::from(self.coefficients[i]), self.scale()))
    }

    /// Appends a value; false if it has another scale.
    #[inline]
    fn push(&mut self, coefficient: i64, scale: u16) -> bool {
        let fits = *self.scale.get_or_insert(scale) == scale;
        if fits {
            self.coefficients.push(coefficient);
        }
        fits
    }

    /// Appends a stored cell; false also if it does not fit 64 bits or is not finite.
    #[inline]
    pub(crate) fn push_cell(&mut self, cell: &[u8]) -> bool {
        cell_decimal(cell).is_some_and(|(digits, scale)| self.push(digits, scale))
    }

    /// The same for a number.
    pub(crate) fn push_number(&mut self, number: &Numeric) -> bool {
        let Numeric::Small(digits, scale) = number else { return false };
        i64::try_from(digits.get()).is_ok_and(|digits| self.push(digits, *scale))
    }

    /// Whether the values of another column can be appended as they are: it has the same scale.
    pub(crate) fn takes(&mut self, other: &Decimals) -> bool {
        other.scale.is_none_or(|scale| *self.scale.get_or_insert(scale) == scale)
    }
}
