//! A zone as expressions name it: by abbreviation, by name or by rule.

use jiff::tz::TimeZone;

use super::abbreviation::Abbreviation;
use super::zone::named_zone;
use crate::{Error, Result, SqlState};

/// A zone as expressions name it.
#[derive(Clone, Debug)]
pub enum ZoneName {
    /// A zone of the database, an offset or a POSIX rule.
    Rules(TimeZone),
    /// An abbreviation, whose offset may depend on the time.
    Abbreviation(Abbreviation),
}

impl ZoneName {
    /// The zone that counts for a local time.
    pub fn at_local(&self, local_micros: i64) -> TimeZone {
        match self {
            ZoneName::Rules(zone) => zone.clone(),
            ZoneName::Abbreviation(abbreviation) => abbreviation.at_local(local_micros),
        }
    }

    /// The zone that counts at an instant.
    pub fn at_instant(&self, utc_micros: i64) -> TimeZone {
        match self {
            ZoneName::Rules(zone) => zone.clone(),
            ZoneName::Abbreviation(abbreviation) => abbreviation.at_instant(utc_micros),
        }
    }
}

/// The zone that `AT TIME ZONE` means: an abbreviation, a name or a POSIX rule, in which a bare
/// offset counts west of Greenwich; 22023 for anything else.
pub fn zone_by_name(name: &str) -> Result<ZoneName> {
    if let Some(abbreviation) = Abbreviation::find(name) {
        return Ok(ZoneName::Abbreviation(abbreviation));
    }
    named_zone(name).map(ZoneName::Rules).ok_or_else(|| {
        let message = format!("time zone \"{name}\" not recognized");
        Error::new(SqlState::InvalidParameterValue, message)
    })
}
