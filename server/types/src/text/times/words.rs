//! Words of date, time and interval literals: months, days of the week, units.

/// The month of a name or abbreviation in lower case.
pub(super) fn month_of(word: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    if word == "sept" {
        return Some(9);
    }
    let found = NAMES
        .iter()
        .position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))?;
    Some(found as u32 + 1)
}

/// Whether a word in lower case names a day of the week.
pub(super) fn is_weekday(word: &str) -> bool {
    const NAMES: [&str; 7] =
        ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    matches!(word, "tues" | "weds" | "wed" | "thur" | "thurs")
        || NAMES.iter().any(|name| *name == word || (word.len() == 3 && name.starts_with(word)))
}

/// What a number in an interval counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

/// The unit of a word in lower case.
pub(crate) fn unit_of(word: &str) -> Option<Unit> {
    // PostgreSQL looks at ten letters of a word.
    let end = word.char_indices().nth(10).map_or(word.len(), |(at, _)| at);
    Some(match &word[..end] {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
        _ => return None,
    })
}
