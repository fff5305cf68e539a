//! Dates, times and timestamps in paths: how they print, and how they compare.

use std::cmp::Ordering;

use braid_types::cast::{self, CastEnv};
use braid_types::datetime::{DAY_MICROS, Moment, SECOND_MICROS, local_to_utc, timestamp_in_range};
use braid_types::timetz::TimeTz;
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType, text};

use super::evaluate::Evaluator;

/// What `.type()` answers.
pub(super) fn type_name(moment: &Moment) -> &'static str {
    match moment {
        Moment::Date(_) => "date",
        Moment::Time(_) => "time without time zone",
        Moment::Timetz(_) => "time with time zone",
        Moment::Timestamp(_) => "timestamp without time zone",
        Moment::Timestamptz { .. } => "timestamp with time zone",
    }
}

fn offset(seconds_east: i32) -> String {
    let sign = if seconds_east < 0 { '-' } else { '+' };
    let seconds = seconds_east.unsigned_abs();
    let rest = match seconds % 60 {
        0 => String::new(),
        rest => format!(":{rest:02}"),
    };
    format!("{sign}{:02}:{:02}{rest}", seconds / 3600, seconds / 60 % 60)
}

/// The text after ISO 8601, whatever the session's styles are.
pub(super) fn print(moment: &Moment) -> String {
    let settings = FormatSettings::default();
    let shown = |ty: &SqlType, datum: &Datum| text::to_string(ty, datum, &settings);
    let timestamp = |local: i64| {
        let shown = shown(&SqlType::Timestamp, &Datum::Timestamp(local)).replacen(' ', "T", 1);
        match shown.strip_suffix(" BC") {
            Some(main) => (main.to_owned(), " BC"),
            None => (shown, ""),
        }
    };
    match moment {
        Moment::Date(days) => shown(&SqlType::Date, &Datum::Date(*days)),
        Moment::Time(micros) => shown(&SqlType::Time, &Datum::Time(*micros)),
        Moment::Timetz(time) => {
            shown(&SqlType::Time, &Datum::Time(time.micros)) + &offset(-time.west)
        }
        Moment::Timestamp(local) => {
            let (main, era) = timestamp(*local);
            main + era
        }
        Moment::Timestamptz { utc, east } => {
            let (main, era) = timestamp(utc + i64::from(*east) * SECOND_MICROS);
            main + &offset(*east) + era
        }
    }
}

/// Midnight of a date, which may be beyond every timestamp.
fn midnight(days: i32) -> i128 {
    i128::from(days) * i128::from(DAY_MICROS)
}

fn allow_zone(evaluator: &Evaluator<'_>, from: &str, to: &str) -> Result<()> {
    if evaluator.options.uses_zone {
        return Ok(());
    }
    let message = format!("cannot convert value from {from} to {to} without time zone usage");
    Err(Error::new(SqlState::FeatureNotSupported, message)
        .hint("Use *_tz() function for time zone support."))
}

/// An instant of the session's zone, from local microseconds.
fn instant_of(evaluator: &Evaluator<'_>, local: i128) -> Result<i128> {
    match i64::try_from(local).ok().filter(|local| timestamp_in_range(*local)) {
        Some(local) => {
            let zone = &evaluator.env.settings().time_zone;
            local_to_utc(zone, local).map(i128::from)
        }
        None => Ok(local),
    }
}

fn with_zone(evaluator: &Evaluator<'_>, micros: i64) -> Result<Datum> {
    let env = CastEnv {
        settings: evaluator.env.settings(),
        now_micros: evaluator.env.transaction_micros(),
    };
    cast::cast(&Datum::Time(micros), &SqlType::Time, &SqlType::Timetz, true, &env)
}

/// The order of two; `None` if they do not compare.
pub(crate) fn compare_moments(
    evaluator: &Evaluator<'_>,
    left: &Moment,
    right: &Moment,
) -> Result<Option<Ordering>> {
    use Moment::{Date, Time, Timestamp, Timestamptz, Timetz};
    Ok(Some(match (left, right) {
        (Date(left), Date(right)) => left.cmp(right),
        (Time(left), Time(right)) => left.cmp(right),
        (Timetz(left), Timetz(right)) => left.to_datum().cmp(&right.to_datum()),
        (Timestamp(left), Timestamp(right)) => left.cmp(right),
        (Timestamptz { utc, .. }, Timestamptz { utc: other, .. }) => utc.cmp(other),
        (Time(micros), Timetz(other)) => compare_times(evaluator, *micros, other)?,
        (Date(days), Timestamp(at)) => midnight(*days).cmp(&i128::from(*at)),
        (Date(days), Timestamptz { utc, .. }) => {
            allow_zone(evaluator, "date", "timestamptz")?;
            instant_of(evaluator, midnight(*days))?.cmp(&i128::from(*utc))
        }
        (Timestamp(at), Timestamptz { utc, .. }) => {
            allow_zone(evaluator, "timestamp", "timestamptz")?;
            instant_of(evaluator, i128::from(*at))?.cmp(&i128::from(*utc))
        }
        (Timetz(_), Time(_))
        | (Timestamp(_), Date(_))
        | (Timestamptz { .. }, Date(_) | Timestamp(_)) => {
            return Ok(compare_moments(evaluator, right, left)?.map(Ordering::reverse));
        }
        (Time(_) | Timetz(_), _) | (_, Time(_) | Timetz(_)) => return Ok(None),
    }))
}

fn compare_times(evaluator: &Evaluator<'_>, micros: i64, other: &TimeTz) -> Result<Ordering> {
    allow_zone(evaluator, "time", "timetz")?;
    Ok(with_zone(evaluator, micros)?.cmp(&other.to_datum()))
}
