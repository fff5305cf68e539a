//! Finite numerics from their coefficient and scale.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use braid_types::Numeric;

use crate::{Error, Result};

/// Digits after the decimal point that PostgreSQL's numerics can have.
pub(crate) const SCALE_MAX: u16 = 16_383;

/// `coefficient / 10^scale`; corrupt if no numeric has that scale.
pub(crate) fn finite(coefficient: BigInt, scale: u16) -> Result<Numeric> {
    if scale > SCALE_MAX {
        return Err(Error::corrupt("numeric scale"));
    }
    Ok(match i128::try_from(&coefficient) {
        Ok(small) => Numeric::from_parts(small, scale),
        Err(_) => Numeric::Finite(Box::new(BigDecimal::new(coefficient, i64::from(scale)))),
    })
}
