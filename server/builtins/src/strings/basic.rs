//! Length, case, cutting, padding, trimming, searching and joining of text.
//!
//! Positions count characters from 1.

use braid_types::{Datum, Error, Result, SqlState, SqlType, work};

use crate::Call;
use crate::registry::call::{count, invalid, may_return, text};
use crate::registry::tables::Registry;

/// Bytes that are repeated at once.
const PIECE_BYTES: usize = 64 << 10;

/// The part of a text from character `from` (0-based) on, at most `length` characters.
fn slice(value: &str, from: usize, length: Option<usize>) -> &str {
    let start = value.char_indices().nth(from).map_or(value.len(), |(at, _)| at);
    let rest = &value[start..];
    match length {
        None => rest,
        Some(length) => {
            let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
            &rest[..end]
        }
    }
}

/// SQL's substring bounds as (0-based start, length); a negative length is 22011.
pub(crate) fn bounds(start: i64, length: Option<i64>) -> Result<(usize, Option<usize>)> {
    let from = (start - 1).max(0) as usize;
    let Some(length) = length else { return Ok((from, None)) };
    if length < 0 {
        return Err(Error::new(SqlState::SubstringError, "negative substring length not allowed"));
    }
    let end = (start - 1).saturating_add(length).max(0) as usize;
    Ok((from, Some(end.saturating_sub(from))))
}

fn substring(call: &Call<'_>) -> Result<Datum> {
    let length = if call.args.len() > 2 { Some(call.int(2)?) } else { None };
    let (from, length) = bounds(call.int(1)?, length)?;
    text(slice(call.text(0)?, from, length))
}

fn left(call: &Call<'_>) -> Result<Datum> {
    let (value, n) = (call.text(0)?, call.int(1)?);
    let keep = if n >= 0 {
        n as usize
    } else {
        value.chars().count().saturating_sub(n.unsigned_abs() as usize)
    };
    text(slice(value, 0, Some(keep)))
}

fn right(call: &Call<'_>) -> Result<Datum> {
    let (value, n) = (call.text(0)?, call.int(1)?);
    let skip = if n >= 0 {
        value.chars().count().saturating_sub(n as usize)
    } else {
        n.unsigned_abs() as usize
    };
    text(slice(value, skip, None))
}

fn padded(call: &Call<'_>, at_left: bool) -> Result<Datum> {
    let (value, wanted) = (call.text(0)?, call.int(1)?.max(0) as usize);
    let fill = if call.args.len() > 2 { call.text(2)? } else { " " };
    let have = value.chars().count();
    if have >= wanted || fill.is_empty() {
        return text(slice(value, 0, Some(wanted)));
    }
    let missing = wanted - have;
    may_return(missing.saturating_mul(4))?;
    let mut padding = String::new();
    for c in fill.chars().cycle().take(missing) {
        work::tick()?;
        padding.push(c);
    }
    text(if at_left { padding + value } else { value.to_owned() + &padding })
}

fn trim_set(call: &Call<'_>) -> Result<Vec<char>> {
    Ok(if call.args.len() > 1 { call.text(1)?.chars().collect() } else { vec![' '] })
}

fn trim_both(call: &Call<'_>) -> Result<Datum> {
    let set = trim_set(call)?;
    text(call.text(0)?.trim_matches(set.as_slice()))
}

fn trim_left(call: &Call<'_>) -> Result<Datum> {
    let set = trim_set(call)?;
    text(call.text(0)?.trim_start_matches(set.as_slice()))
}

fn trim_right(call: &Call<'_>) -> Result<Datum> {
    let set = trim_set(call)?;
    text(call.text(0)?.trim_end_matches(set.as_slice()))
}

fn replace(call: &Call<'_>) -> Result<Datum> {
    let (value, from, to) = (call.text(0)?, call.text(1)?, call.text(2)?);
    if from.is_empty() {
        return Ok(call.datum(0).clone());
    }
    let mut out = String::new();
    let mut rest = 0;
    for (at, _) in value.match_indices(from) {
        work::spend_bytes(at - rest + to.len())?;
        out.push_str(&value[rest..at]);
        out.push_str(to);
        may_return(out.len())?;
        rest = at + from.len();
    }
    out.push_str(&value[rest..]);
    text(out)
}

fn translate(call: &Call<'_>) -> Result<Datum> {
    let from: Vec<char> = call.text(1)?.chars().collect();
    let to: Vec<char> = call.text(2)?.chars().collect();
    let mut mapped = String::new();
    for c in call.text(0)?.chars() {
        work::spend_bytes(from.len())?;
        match from.iter().position(|one| *one == c) {
            Some(at) => mapped.extend(to.get(at)),
            None => mapped.push(c),
        }
    }
    text(mapped)
}

fn position_of(value: &str, part: &str) -> Result<Datum> {
    count(value.find(part).map_or(0, |at| value[..at].chars().count() + 1))
}

fn repeat(call: &Call<'_>) -> Result<Datum> {
    let (value, times) = (call.text(0)?, call.int(1)?.max(0) as usize);
    may_return(value.len().saturating_mul(times))?;
    if value.is_empty() || times == 0 {
        return text("");
    }
    // In pieces, so that a stop is noticed.
    let piece = value.repeat(times.min(PIECE_BYTES.div_ceil(value.len())));
    let mut left = value.len() * times;
    let mut out = String::with_capacity(left);
    while left > 0 {
        let taken = left.min(piece.len());
        work::spend_bytes(taken)?;
        out.push_str(&piece[..taken]);
        left -= taken;
    }
    text(out)
}

fn initcap(call: &Call<'_>) -> Result<Datum> {
    let mut inside = false;
    let mut out = String::new();
    for c in call.text(0)?.chars() {
        work::tick()?;
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = c.is_alphanumeric();
    }
    text(out)
}

/// Upper and lower case keep the number of characters, as PostgreSQL's C library does.
fn map_case(value: &str, upper: bool) -> Result<Datum> {
    if value.is_ascii() {
        work::spend_bytes(value.len())?;
        return text(if upper { value.to_ascii_uppercase() } else { value.to_ascii_lowercase() });
    }
    fn one(c: char, mut mapped: impl Iterator<Item = char>) -> char {
        match (mapped.next(), mapped.next()) {
            (Some(mapped), None) => mapped,
            _ => c,
        }
    }
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        work::tick()?;
        out.push(if upper { one(c, c.to_uppercase()) } else { one(c, c.to_lowercase()) });
    }
    text(out)
}

fn concat(call: &Call<'_>) -> Result<Datum> {
    let mut out = String::new();
    for index in 0..call.args.len() {
        if !call.is_null(index) {
            out.push_str(&call.display(index));
        }
    }
    text(out)
}

fn concat_with_separator(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) {
        return Ok(Datum::Null);
    }
    let parts: Vec<String> =
        (1..call.args.len()).filter(|i| !call.is_null(*i)).map(|i| call.display(i)).collect();
    text(parts.join(call.text(0)?))
}

fn join(call: &Call<'_>) -> Result<Datum> {
    let (left, right) = (call.text(0)?, call.text(1)?);
    let mut out = String::with_capacity(left.len() + right.len());
    out.push_str(left);
    out.push_str(right);
    text(out)
}

/// `text || anything`: the other side becomes text as a cast would make it.
fn join_any(call: &Call<'_>) -> Result<Datum> {
    let (left, right) = (call.cast(0, &SqlType::Text)?, call.cast(1, &SqlType::Text)?);
    match (left.as_str(), right.as_str()) {
        (Some(left), Some(right)) => text(format!("{left}{right}")),
        _ => Ok(Datum::Null),
    }
}

fn overlay(call: &Call<'_>) -> Result<Datum> {
    let (value, new, start) = (call.text(0)?, call.text(1)?, call.int(2)?);
    let length = if call.args.len() > 3 { call.int(3)? } else { new.chars().count() as i64 };
    if start <= 0 {
        return Err(Error::new(SqlState::SubstringError, "negative substring length not allowed"));
    }
    let before = slice(value, 0, Some((start - 1) as usize));
    let after = start.saturating_add(length) - 1;
    may_return(value.len() + new.len())?;
    text(format!("{before}{new}{}", slice(value, after.max(0) as usize, None)))
}

fn ascii(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Int(call.text(0)?.chars().next().map_or(0, |c| i64::from(u32::from(c)))))
}

fn chr(call: &Call<'_>) -> Result<Datum> {
    let code = call.int(0)?;
    if code == 0 {
        let message = "null character not permitted";
        return Err(Error::new(SqlState::ProgramLimitExceeded, message));
    }
    if code < 0 {
        return Err(invalid("character number must be positive"));
    }
    let found = u32::try_from(code).ok().and_then(char::from_u32);
    let found = found.ok_or_else(|| {
        let problem = if code > 0x10_ffff { "too large" } else { "not valid" };
        let message = format!("requested character {problem} for encoding: {code}");
        Error::new(SqlState::ProgramLimitExceeded, message)
    })?;
    text(found.to_string())
}

/// The operators of `text_pattern_ops` and `bpchar_pattern_ops`: they compare bytes, whatever the
/// collation.
macro_rules! by_bytes {
    ($registry:ident: $($name:literal => $op:tt),*) => {$(
        $registry.add(concat!("~", $name, "~(text, text) -> bool"), |c| {
            Ok(Datum::Bool(c.text(0)? $op c.text(1)?))
        });
        $registry.add(concat!("~", $name, "~(bpchar, bpchar) -> bool"), |c| {
            Ok(Datum::Bool(c.text(0)?.trim_end_matches(' ') $op c.text(1)?.trim_end_matches(' ')))
        });
    )*};
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("length|char_length|character_length|textlen(text) -> int4", |c| {
        let value = c.text(0)?;
        count(if value.is_ascii() { value.len() } else { value.chars().count() })
    });
    registry.add("length|char_length|character_length(bpchar) -> int4", |c| {
        count(c.text(0)?.trim_end_matches(' ').chars().count())
    });
    registry.add("octet_length(text) -> int4", |c| count(c.text(0)?.len()));
    registry.add("octet_length(bpchar) -> int4", |c| count(c.text(0)?.len()));
    registry.add("bit_length(text) -> int4", |c| count(c.text(0)?.len() * 8));
    registry.add("lower(text) -> text", |c| map_case(c.text(0)?, false));
    registry.add("upper(text) -> text", |c| map_case(c.text(0)?, true));
    registry.add("initcap(text) -> text", initcap);
    registry.add("substr|substring(text, int4) -> text", substring);
    registry.add("substr|substring(text, int4, int4) -> text", substring);
    registry.add("left(text, int4) -> text", left);
    registry.add("right(text, int4) -> text", right);
    registry.add("lpad(text, int4) -> text", |c| padded(c, true));
    registry.add("lpad(text, int4, text) -> text", |c| padded(c, true));
    registry.add("rpad(text, int4) -> text", |c| padded(c, false));
    registry.add("rpad(text, int4, text) -> text", |c| padded(c, false));
    registry.add("btrim(text) -> text", trim_both);
    registry.add("btrim(text, text) -> text", trim_both);
    registry.add("ltrim(text) -> text", trim_left);
    registry.add("ltrim(text, text) -> text", trim_left);
    registry.add("rtrim(text) -> text", trim_right);
    registry.add("rtrim(text, text) -> text", trim_right);
    registry.add("replace(text, text, text) -> text", replace);
    registry.add("translate(text, text, text) -> text", translate);
    registry.add("strpos(text, text) -> int4", |c| position_of(c.text(0)?, c.text(1)?));
    // `POSITION(part IN whole)` arrives with the whole first.
    registry.add("position(text, text) -> int4", |c| position_of(c.text(0)?, c.text(1)?));
    registry.add("repeat(text, int4) -> text", repeat);
    registry.add("reverse(text) -> text", |c| text(c.text(0)?.chars().rev().collect::<String>()));
    registry.add("concat(variadic any) -> text stable lax", concat);
    registry.add("concat_ws(text, variadic any) -> text stable lax", concat_with_separator);
    registry.add("||(text, text) -> text", join);
    registry.add("textcat(text, text) -> text", join);
    registry.add("||(text, anynonarray) -> text stable", join_any);
    registry.add("||(anynonarray, text) -> text stable", join_any);
    registry.add("overlay(text, text, int4) -> text", overlay);
    registry.add("overlay(text, text, int4, int4) -> text", overlay);
    registry.add("ascii(text) -> int4", ascii);
    registry.add("chr(int4) -> text", chr);
    registry.add("starts_with(text, text) -> bool", |c| {
        Ok(Datum::Bool(c.text(0)?.starts_with(c.text(1)?)))
    });
    by_bytes!(registry: "<" => <, "<=" => <=, ">=" => >=, ">" => >);
    registry.add("^@(text, text) -> bool", |c| Ok(Datum::Bool(c.text(0)?.starts_with(c.text(1)?))));
}
