//! Checks a value for a variable and brings it into its canonical text.

use braid_types::datetime::{named_zone, offset_at, zone_of_hours};
use braid_types::encoding::{Encoding, Tables};
use braid_types::search::configs;
use braid_types::text::{DateOrder, DateStyle};
use braid_types::{Datum, Error, FormatSettings, Interval, Result, SqlState, SqlType};
use jiff::tz::TimeZone;

use super::setting::{Kind, Setting};
use super::units::{self, Unit};
use crate::observe::traceparent::TraceParent;

fn invalid(setting: &Setting, value: &str) -> Error {
    Error::new(
        SqlState::InvalidParameterValue,
        format!("invalid value for parameter \"{}\": \"{value}\"", setting.name),
    )
}

/// The canonical text of `values` for `setting`; 22023 if it does not accept them.
pub(super) fn canonical(setting: &Setting, values: &[String]) -> Result<String> {
    if let Kind::Names = setting.kind {
        return Ok(names_text(values));
    }
    if let Kind::DateStyle = setting.kind {
        return date_style(setting, values, (DateStyle::Iso, DateOrder::Mdy));
    }
    let [value] = values else {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("SET {} takes only one argument", setting.name),
        ));
    };
    let text = of_kind(setting, value)?;
    refuse_unsupported(setting.name, &text)?;
    match setting.name {
        "default_text_search_config" => search_config(&text),
        _ => Ok(text),
    }
}

/// The full name of a configuration of text search.
fn search_config(value: &str) -> Result<String> {
    let oid = configs::parse_name(&SqlType::Regconfig, value).unwrap_or(0);
    let found = configs::CONFIGS.iter().find(|known| known.0 == oid);
    let (_, name, _) = found.ok_or_else(|| {
        let message =
            format!("invalid value for parameter \"default_text_search_config\": \"{value}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    Ok(format!("pg_catalog.{name}"))
}

/// What PostgreSQL can be set to and we cannot.
fn refuse_unsupported(name: &str, value: &str) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    let invalid = |kind: &str| {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        Err(Error::new(SqlState::InvalidParameterValue, message)
            .detail(format!("{kind} \"{value}\" does not exist.")))
    };
    match (lower.as_str(), value) {
        ("default_with_oids", "on") => Err(Error::new(
            SqlState::FeatureNotSupported,
            "tables declared WITH OIDS are not supported",
        )),
        ("array_nulls", "off") | ("transform_null_equals", "on") => {
            Err(Error::unsupported(format!("{lower} = {value}")))
        }
        ("default_tablespace", "" | "pg_default") => Ok(()),
        ("default_tablespace", _) => invalid("Tablespace"),
        ("default_table_access_method", "heap") => Ok(()),
        ("default_table_access_method", _) => invalid("Table access method"),
        _ => Ok(()),
    }
}

fn of_kind(setting: &Setting, value: &str) -> Result<String> {
    match setting.kind {
        Kind::Bool => {
            parse_bool(value).map(|on| if on { "on" } else { "off" }.to_owned()).ok_or_else(|| {
                Error::new(
                    SqlState::InvalidParameterValue,
                    format!("parameter \"{}\" requires a Boolean value", setting.name),
                )
            })
        }
        Kind::Int { min, max, unit } => integer(setting, value, min, max, unit),
        Kind::Real { min, max, unit } => real(setting, value, (min, max), unit),
        Kind::Enum(words) => enumeration(setting, value, words),
        Kind::TimeZone => {
            time_zone(value).map(|(name, _)| name).ok_or_else(|| invalid(setting, value))
        }
        Kind::Encoding => encoding(setting, value),
        Kind::Uuid => uuid(value),
        Kind::TraceParent => traceparent(setting, value),
        Kind::Text | Kind::Names | Kind::DateStyle => Ok(value.to_owned()),
    }
}

/// 22023 unless it has the form of the W3C, or is empty.
fn traceparent(setting: &Setting, value: &str) -> Result<String> {
    if value.is_empty() || TraceParent::parse(value).is_some() {
        return Ok(value.to_owned());
    }
    Err(invalid(setting, value).hint(
        "Its form is 00-<32 digits: trace>-<16 digits: span>-<2 digits: flags>, all digits \
         hexadecimal and in lower case.",
    ))
}

/// 22P02 if it is none.
fn uuid(value: &str) -> Result<String> {
    let uuid = braid_types::Datum::Uuid(braid_types::text::parse_uuid(value)?);
    Ok(braid_types::text::to_string(&SqlType::Uuid, &uuid, &FormatSettings::default()))
}

/// A boolean as PostgreSQL reads it: any unique prefix of its words.
pub(super) fn parse_bool(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    let is = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    match value.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ if is("on", 2) || is("true", 1) || is("yes", 1) => Some(true),
        _ if is("off", 2) || is("false", 1) || is("no", 1) => Some(false),
        _ => None,
    }
}

/// The number that a text says, in a setting's unit.
fn number_in(setting: &Setting, value: &str, unit: Option<Unit>) -> Result<f64> {
    units::parse(value, unit).map_err(|suffix| {
        let error = invalid(setting, value);
        match unit {
            Some(unit) if suffix => error.hint(unit.hint()),
            _ => error,
        }
    })
}

fn integer(
    setting: &Setting,
    value: &str,
    min: i64,
    max: i64,
    unit: Option<Unit>,
) -> Result<String> {
    let number = number_in(setting, value, unit)?;
    let rounded = number.round_ties_even();
    if rounded < min as f64 || rounded > max as f64 {
        let unit = unit.map_or(String::new(), |unit| format!(" {}", unit.as_str()));
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!(
                "{rounded}{unit} is outside the valid range for parameter \"{}\" ({min} .. {max})",
                setting.name
            ),
        ));
    }
    Ok(units::format(rounded as i64, unit))
}

fn real(
    setting: &Setting,
    value: &str,
    (min, max): (f64, f64),
    unit: Option<Unit>,
) -> Result<String> {
    let number = number_in(setting, value, unit)?;
    if number < min || number > max {
        let unit = unit.map_or(String::new(), |unit| format!(" {}", unit.as_str()));
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!(
                "{}{unit} is outside the valid range for parameter \"{}\" ({} .. {})",
                real_text(number),
                setting.name,
                real_text(min),
                real_text(max)
            ),
        ));
    }
    Ok(units::format_real(number, unit))
}

/// A number in six digits, as C prints it with `%g`.
pub(crate) fn real_text(number: f64) -> String {
    if number == 0.0 || (1e-5..1e6).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

fn enumeration(setting: &Setting, value: &str, words: &[&str]) -> Result<String> {
    let lower = value.trim().to_ascii_lowercase();
    let lower = match (parse_bool(&lower), words.contains(&"on")) {
        (Some(on), true) if !words.contains(&lower.as_str()) => {
            if on {
                "on".to_owned()
            } else {
                "off".to_owned()
            }
        }
        _ => lower,
    };
    if words.contains(&lower.as_str()) {
        return Ok(lower);
    }
    Err(invalid(setting, value).hint(format!("Available values: {}.", words.join(", "))))
}

fn encoding(setting: &Setting, value: &str) -> Result<String> {
    let found = Encoding::named(value).ok_or_else(|| invalid(setting, value))?;
    if found.tables == Tables::Missing {
        let detail = format!("Conversion between {} and UTF8 is not supported.", found.name);
        let message = invalid(setting, value).message().to_owned();
        return Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail));
    }
    Ok(found.name.to_owned())
}

/// Style and order; what is not named stays as it is in `current`.
pub(super) fn date_style(
    setting: &Setting,
    values: &[String],
    current: (DateStyle, DateOrder),
) -> Result<String> {
    let value = values.join(",");
    let found = parse_date_style(&value, current);
    let (style, order) = found.ok_or_else(|| invalid(setting, &value))?;
    let style = match style {
        DateStyle::Iso => "ISO",
        DateStyle::Sql => "SQL",
        DateStyle::Postgres => "Postgres",
        DateStyle::German => "German",
    };
    let order = match order {
        DateOrder::Mdy => "MDY",
        DateOrder::Dmy => "DMY",
        DateOrder::Ymd => "YMD",
    };
    Ok(format!("{style}, {order}"))
}

/// Style and order; what is not named is that of `base`.
pub(super) fn parse_date_style(
    value: &str,
    base: (DateStyle, DateOrder),
) -> Option<(DateStyle, DateOrder)> {
    let (mut style, mut order) = (None, None);
    for word in value.split(',') {
        match word.trim().to_ascii_lowercase().as_str() {
            "iso" => style = Some(DateStyle::Iso),
            "sql" => style = Some(DateStyle::Sql),
            "postgres" | "postgresql" => style = Some(DateStyle::Postgres),
            "german" => {
                style = Some(DateStyle::German);
                order = order.or(Some(DateOrder::Dmy));
            }
            "ymd" => order = Some(DateOrder::Ymd),
            "dmy" | "euro" | "european" => order = Some(DateOrder::Dmy),
            "mdy" | "us" | "noneuro" | "noneuropean" => order = Some(DateOrder::Mdy),
            "default" => {}
            _ => return None,
        }
    }
    Some((style.unwrap_or(base.0), order.unwrap_or(base.1)))
}

/// Name and rules of a time zone, as PostgreSQL reads them: a number is hours east of Greenwich,
/// an interval as well; else an IANA name or a POSIX rule, whose offsets count west.
pub(super) fn time_zone(value: &str) -> Option<(String, TimeZone)> {
    let value = value.trim();
    match value.to_ascii_lowercase().as_str() {
        "utc" => return Some(("UTC".to_owned(), TimeZone::UTC)),
        "gmt" => return Some(("GMT".to_owned(), TimeZone::UTC)),
        "local" | "default" => return Some(("UTC".to_owned(), TimeZone::UTC)),
        _ => {}
    }
    if let Ok(hours) = value.parse::<f64>() {
        return zone_of_hours(hours);
    }
    if let Some(interval) = value.strip_prefix("INTERVAL '").and_then(|v| v.strip_suffix('\'')) {
        return zone_of_interval(interval);
    }
    if let Ok(zone) = TimeZone::get(value) {
        let name = zone.iana_name().unwrap_or(value).to_owned();
        return Some((name, zone));
    }
    // PostgreSQL refuses zones that are off by seconds.
    let zone = named_zone(value).filter(|zone| offset_at(zone, 0) % 60 == 0)?;
    Some((value.to_ascii_uppercase(), zone))
}

/// The zone of an interval without months and days, which counts east of Greenwich.
fn zone_of_interval(interval: &str) -> Option<(String, TimeZone)> {
    let settings = FormatSettings::default();
    let parsed = braid_types::text::parse(&SqlType::Interval, interval, &settings, 0).ok()?;
    let Datum::Interval(Interval { months: 0, days: 0, micros }) = parsed else { return None };
    zone_of_hours(micros.div_euclid(1_000_000) as f64 / 3600.0)
}

/// The names of a list as `SHOW search_path` prints them.
fn names_text(values: &[String]) -> String {
    // A single text may hold the whole list, as `set_config` and start-up options give it.
    let names: Vec<String> = match values {
        [one] if one.contains([',', '"']) => split_names(one),
        many => many.to_vec(),
    };
    let quoted: Vec<String> = names.iter().map(|name| braid_sql::quote_ident(name)).collect();
    quoted.join(", ")
}

/// The names of a list: folded to lower case unless quoted.
pub(super) fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut name, mut quoted, mut was_quoted) = (String::new(), false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                name.push('"');
            }
            '"' => {
                quoted = !quoted;
                was_quoted = true;
            }
            ',' if !quoted => {
                push_name(&mut names, &mut name, &mut was_quoted);
            }
            c if quoted => name.push(c),
            c if c.is_whitespace() => {}
            c => name.extend(c.to_lowercase()),
        }
    }
    push_name(&mut names, &mut name, &mut was_quoted);
    names
}

fn push_name(names: &mut Vec<String>, name: &mut String, was_quoted: &mut bool) {
    if !name.is_empty() || *was_quoted {
        names.push(std::mem::take(name));
    }
    *was_quoted = false;
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn set(name: &str, value: &str) -> Result<String> {
        canonical(find(name).unwrap(), &[value.to_owned()])
    }

    #[test]
    fn values_become_canonical() {
        for (name, value, shown) in [
            ("statement_timeout", "5000", "5s"),
            ("jit", "YES", "on"),
            ("datestyle", "German", "German, DMY"),
            ("datestyle", "iso, ymd", "ISO, YMD"),
            ("timezone", "-7", "<-07>+07"),
            ("timezone", "5.5", "<+05:30>-05:30"),
            ("timezone", "INTERVAL '+05:30'", "<+05:30>-05:30"),
            ("timezone", "<+05:30>-05:30", "<+05:30>-05:30"),
            ("timezone", "+05:30", "+05:30"),
            ("timezone", "europe/berlin", "Europe/Berlin"),
            ("client_encoding", "utf-8", "UTF8"),
            ("client_encoding", "iso-8859-1", "LATIN1"),
            ("search_path", "a, \"B c\" ,public", "a, \"B c\", public"),
            ("search_path", "", "\"\""),
            ("synchronous_commit", "false", "off"),
            ("intervalstyle", "ISO_8601", "iso_8601"),
        ] {
            assert_eq!(set(name, value).unwrap(), shown, "{name} {value}");
        }
    }

    #[test]
    fn others_are_refused() {
        for (name, value, code) in [
            ("statement_timeout", "-1", "22023"),
            ("statement_timeout", "5 lightyears", "22023"),
            ("jit", "maybe", "22023"),
            ("datestyle", "banana", "22023"),
            ("timezone", "Mars/Olympus", "22023"),
            ("client_encoding", "MULE_INTERNAL", "0A000"),
            ("client_encoding", "foo", "22023"),
            ("array_nulls", "off", "0A000"),
        ] {
            assert_eq!(set(name, value).unwrap_err().state().code(), code, "{name} {value}");
        }
    }
}
