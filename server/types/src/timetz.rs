//! `timetz`: a time of day with the offset of its zone.
//!
//! A datum holds it as bytes that sort as PostgreSQL sorts it: by the time in UTC, then by zone.
//!
//! ```text
//!   8 bytes  time in UTC, microseconds since midnight, sign turned over
//!   4 bytes  seconds west of Greenwich, sign turned over
//! ```

use crate::datetime::{DAY_MICROS, SECOND_MICROS};
use crate::{Datum, Error, Interval, Result, SqlState};

/// The largest offset in seconds, without it.
const ZONE_LIMIT: i32 = 16 * 3600;

/// A time of day in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    /// Microseconds since midnight, in the zone.
    pub micros: i64,
    /// Seconds west of Greenwich.
    pub west: i32,
}

impl TimeTz {
    /// Microseconds since midnight in UTC; below zero or above a day near midnight.
    pub fn utc_micros(&self) -> i64 {
        self.micros + i64::from(self.west) * SECOND_MICROS
    }

    /// The datum that holds it.
    pub fn to_datum(&self) -> Datum {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&(self.utc_micros() ^ i64::MIN).to_be_bytes());
        bytes[8..].copy_from_slice(&(self.west ^ i32::MIN).to_be_bytes());
        Datum::bytes(bytes)
    }

    /// The value of a datum; `None` if it holds none.
    pub fn from_bytes(bytes: &[u8]) -> Option<TimeTz> {
        let (utc, west) = bytes.split_first_chunk::<8>()?;
        let west = i32::from_be_bytes(west.try_into().ok()?) ^ i32::MIN;
        let utc = i64::from_be_bytes(*utc) ^ i64::MIN;
        let micros = utc.checked_sub(i64::from(west) * SECOND_MICROS)?;
        Some(TimeTz { micros, west })
    }

    /// Reads the binary form: microseconds, then seconds west.
    pub fn decode(micros: i64, west: i32) -> Result<TimeTz> {
        if !(0..=DAY_MICROS).contains(&micros) {
            return Err(Error::new(SqlState::DatetimeFieldOverflow, "time out of range"));
        }
        if west <= -ZONE_LIMIT || west >= ZONE_LIMIT {
            let message = "time zone displacement out of range";
            return Err(Error::new(SqlState::InvalidTimeZoneDisplacement, message));
        }
        Ok(TimeTz { micros, west })
    }

    /// The time an interval later, its days and months left out.
    #[must_use]
    pub fn plus(&self, interval: &Interval) -> TimeTz {
        let added = interval.micros.rem_euclid(DAY_MICROS);
        TimeTz { micros: (self.micros + added).rem_euclid(DAY_MICROS), west: self.west }
    }

    /// The same moment of the day in another zone.
    #[must_use]
    pub fn in_zone(&self, west: i32) -> TimeTz {
        let micros = self.utc_micros() - i64::from(west) * SECOND_MICROS;
        TimeTz { micros: micros.rem_euclid(DAY_MICROS), west }
    }
}
