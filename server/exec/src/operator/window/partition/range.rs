//! RANGE frames with an offset: how far a frame reaches from the current row's value.
//!
//! `RANGE BETWEEN 5 PRECEDING AND 2 FOLLOWING` over an ascending key `k` holds the rows whose key
//! is in `[k - 5, k + 2]`; over a descending key, in `[k - 2, k + 5]` from the last to the first.
//! The functions here compute `k ± offset` and compare keys with it. Rows without a key are peers
//! of each other and of nothing else.

use std::cmp::Ordering;

use braid_types::datetime::{timestamp, timestamp_plus, timestamptz_plus};
use braid_types::text::FormatSettings;
use braid_types::{Datum, Error, Interval, Result, SqlState};

/// The end of a frame among the values of its key.
pub(super) enum Reach {
    /// Every key is inside of this end: the current key and the offset are infinite. NaN, which is
    /// greater than all others, is above it.
    Everything,
    /// Below every value: the sum does not fit its type.
    Below,
    /// This value.
    At(Datum),
    /// Above every value.
    Above,
}

/// 22013 if an offset is negative.
pub(super) fn check_offset(offset: &Datum, key: &Datum) -> Result<()> {
    let negative = match (offset, key) {
        (Datum::Int(n), _) => *n < 0,
        // NaN is refused, too.
        (Datum::Float(x), _) => x.is_nan() || *x < 0.0,
        (Datum::Numeric(x), _) => x.is_nan() || x.signum() < 0,
        // Months and days move no time of day.
        (Datum::Interval(i), Datum::Time(_)) => i.micros < 0,
        (Datum::Interval(i), _) => Datum::Interval(*i) < Datum::Interval(Interval::default()),
        _ => return Err(Error::internal("a RANGE offset of an unexpected type")),
    };
    if negative {
        let message = "invalid preceding or following size in window function";
        return Err(Error::new(SqlState::InvalidPrecedingOrFollowingSize, message));
    }
    Ok(())
}

impl Reach {
    /// `key + offset`, or `key - offset` without `up`. 22008 if no date is that far away.
    pub(super) fn new(
        key: &Datum,
        offset: &Datum,
        up: bool,
        settings: &FormatSettings,
    ) -> Result<Self> {
        let interval =
            |interval: &Interval| if up { Ok(*interval) } else { interval.checked_neg() };
        Ok(match (key, offset) {
            (Datum::Int(key), Datum::Int(offset)) => match up {
                true => key.checked_add(*offset).map_or(Self::Above, |n| Self::At(Datum::Int(n))),
                false => key.checked_sub(*offset).map_or(Self::Below, |n| Self::At(Datum::Int(n))),
            },
            (Datum::Float(key), Datum::Float(offset)) => {
                let reach = if up { key + offset } else { key - offset };
                match reach.is_nan() && !key.is_nan() {
                    true => Self::Everything,
                    false => Self::At(Datum::Float(reach)),
                }
            }
            (Datum::Numeric(key), Datum::Numeric(offset)) => {
                let reach = if up { key.add(offset)? } else { key.sub(offset)? };
                match reach.is_nan() && !key.is_nan() {
                    true => Self::Everything,
                    false => Self::At(Datum::Numeric(reach)),
                }
            }
            // Beyond midnight, so that a frame does not begin again on the other side.
            (Datum::Time(key), Datum::Interval(offset)) => {
                let micros = if up { offset.micros } else { -offset.micros };
                Self::At(Datum::Time(key.saturating_add(micros)))
            }
            (Datum::Date(i32::MAX | i32::MIN), _) => Self::At(key.clone()),
            (Datum::Date(days), Datum::Interval(offset)) => {
                let midnight = timestamp(i64::from(*days), 0).ok_or_else(|| {
                    let message = "date out of range for timestamp";
                    Error::new(SqlState::DatetimeFieldOverflow, message)
                })?;
                Self::At(Datum::Timestamp(timestamp_plus(midnight, &interval(offset)?)?))
            }
            (Datum::Timestamp(key), Datum::Interval(offset)) => {
                Self::At(Datum::Timestamp(timestamp_plus(*key, &interval(offset)?)?))
            }
            (Datum::Timestamptz(key), Datum::Interval(offset)) => {
                let reach = timestamptz_plus(*key, &interval(offset)?, &settings.time_zone)?;
                Self::At(Datum::Timestamptz(reach))
            }
            (Datum::Interval(key), Datum::Interval(offset)) => {
                Self::At(Datum::Interval(key.checked_add(&interval(offset)?)?))
            }
            _ => return Err(Error::internal("a RANGE offset of an unexpected type")),
        })
    }

    /// Whether a key is at this end of the frame or beyond it in the direction `side`.
    pub(super) fn admits(&self, key: &Datum, side: Ordering) -> bool {
        let order = match self {
            Self::Everything => return side.is_gt() || !is_nan(key),
            Self::Below => Ordering::Greater,
            Self::Above => Ordering::Less,
            Self::At(end) => key.cmp(end),
        };
        order.is_eq() || order == side
    }
}

fn is_nan(key: &Datum) -> bool {
    match key {
        Datum::Float(x) => x.is_nan(),
        Datum::Numeric(x) => x.is_nan(),
        _ => false,
    }
}
