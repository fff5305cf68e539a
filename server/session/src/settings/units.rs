//! Numbers with units, as in PostgreSQL's configuration: `5s`, `64MB`.

/// The unit of a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Kilobytes.
    KiloBytes,
    /// Pages of 8 kB.
    Pages,
}

/// Suffix and size in microseconds or bytes, from the smallest.
const TIMES: &[(&str, f64)] =
    &[("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 60e6), ("h", 3600e6), ("d", 86_400e6)];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1024.0),
    ("MB", 1_048_576.0),
    ("GB", 1_073_741_824.0),
    ("TB", 1_099_511_627_776.0),
];

impl Unit {
    fn suffixes(self) -> &'static [(&'static str, f64)] {
        match self {
            Unit::Millis | Unit::Seconds => TIMES,
            Unit::Bytes | Unit::KiloBytes | Unit::Pages => SIZES,
        }
    }

    fn base(self) -> f64 {
        match self {
            Unit::Millis => 1e3,
            Unit::Seconds => 1e6,
            Unit::Bytes => 1.0,
            Unit::KiloBytes => 1024.0,
            Unit::Pages => 8192.0,
        }
    }

    /// How PostgreSQL names it in a range error.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Millis => "ms",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::KiloBytes => "kB",
            Unit::Pages => "8kB",
        }
    }

    /// PostgreSQL's hint about suffixes.
    pub fn hint(self) -> &'static str {
        match self {
            Unit::Millis | Unit::Seconds => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\"."
            }
            _ => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
        }
    }
}

/// Reads a number with an optional suffix, in the unit given; the error is whether a suffix is
/// at fault.
pub(super) fn parse(text: &str, unit: Option<Unit>) -> Result<f64, bool> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && matches!(c, '-' | '+'))))
        .map_or(text.len(), |(at, _)| at);
    // `1e3` is a number, `1 s` one with a suffix.
    let (number, suffix) = match text.parse::<f64>() {
        Ok(number) if number.is_finite() => (number, ""),
        _ => (text[..end].parse::<f64>().map_err(|_| false)?, text[end..].trim_start()),
    };
    if suffix.is_empty() {
        return Ok(number);
    }
    let unit = unit.ok_or(false)?;
    let (_, size) = unit.suffixes().iter().find(|(name, _)| *name == suffix).ok_or(true)?;
    Ok(number * size / unit.base())
}

/// A canonical value as a whole number of its unit.
pub(crate) fn in_unit(text: &str, unit: Unit) -> Option<i64> {
    parse(text, Some(unit)).ok().map(|number| number.round() as i64)
}

/// Prints a value in the largest unit that divides it, as `SHOW` does.
pub(super) fn format(value: i64, unit: Option<Unit>) -> String {
    let Some(unit) = unit.filter(|_| value > 0) else { return value.to_string() };
    let whole = value as f64 * unit.base();
    for (name, size) in unit.suffixes().iter().rev() {
        if whole % size == 0.0 {
            let shown = (whole / size) as i64;
            return if *name == "B" { shown.to_string() } else { format!("{shown}{name}") };
        }
    }
    value.to_string()
}

/// The same for a number that need not be whole.
pub(super) fn format_real(value: f64, unit: Option<Unit>) -> String {
    let Some(unit) = unit.filter(|_| value > 0.0) else { return value.to_string() };
    let whole = value * unit.base();
    let fits = |size: f64| {
        let shown = whole / size;
        ((shown.round() / shown) - 1.0).abs() <= 1e-8
    };
    match unit.suffixes().iter().rev().find(|(_, size)| fits(*size)) {
        Some((name, size)) => format!("{}{name}", (whole / size).round()),
        None => format!("{value}{}", unit.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_scale() {
        assert_eq!(parse("5s", Some(Unit::Millis)), Ok(5000.0));
        assert_eq!(parse(" 1.5 min", Some(Unit::Millis)), Ok(90_000.0));
        assert_eq!(parse("64MB", Some(Unit::KiloBytes)), Ok(65_536.0));
        assert_eq!(parse("1x", Some(Unit::Millis)), Err(true));
        assert_eq!(parse("x", None), Err(false));
        assert_eq!(parse("-3", None), Ok(-3.0));
        assert_eq!(parse("é", Some(Unit::Millis)), Err(false));
    }

    #[test]
    fn values_print_in_the_largest_fitting_unit() {
        assert_eq!(format(5000, Some(Unit::Millis)), "5s");
        assert_eq!(format(5001, Some(Unit::Millis)), "5001ms");
        assert_eq!(format(0, Some(Unit::Millis)), "0");
        assert_eq!(format(16_384, Some(Unit::Bytes)), "16kB");
        assert_eq!(format(65_536, Some(Unit::KiloBytes)), "64MB");
    }
}
