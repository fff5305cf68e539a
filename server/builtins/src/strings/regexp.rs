//! The regular expression operators and functions.

use std::ops::ControlFlow;
use std::rc::Rc;

use braid_types::regex::{Flags, Groups, Pattern, compile};
use braid_types::scratch::Scratch;
use braid_types::{Datum, Result, SqlType, work};

use super::like::{one_escape, similar_pattern};
use crate::Call;
use crate::registry::call::{count, invalid, may_return, text};
use crate::registry::tables::Registry;

/// Whether the text matches, whatever the case.
pub(super) fn matches_ignoring_case(call: &Call<'_>) -> Result<bool> {
    is_match(call, Flags::ignoring_case())
}

fn is_match(call: &Call<'_>, flags: Flags) -> Result<bool> {
    compile(call.text(1)?, flags)?.is_match(call.text(0)?)
}

fn flags(call: &Call<'_>, index: usize) -> Result<Flags> {
    if index < call.args.len() { Flags::parse(call.text(index)?) } else { Ok(Flags::default()) }
}

fn refuse_global(flags: Flags, function: &str) -> Result<()> {
    if flags.global {
        let message = format!("{function} does not support the \"global\" option");
        return Err(invalid(message));
    }
    Ok(())
}

/// A match: its place, and those of its groups.
struct Match {
    start: usize,
    end: usize,
    groups: Groups,
}

/// Hands over every match from a byte position on, until the receiver breaks off. Matches are not
/// collected, since a long text has very many of them.
fn each_match(
    pattern: &Pattern,
    value: &str,
    from: usize,
    mut receive: impl FnMut(Match) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut at = from;
    while at <= value.len() {
        work::tick()?;
        let Some(groups) = pattern.find_at(value, at)? else { break };
        let Some((start, end)) = groups[0] else { break };
        if receive(Match { start, end, groups })?.is_break() {
            break;
        }
        at = end;
        if start == end {
            at += value[end..].chars().next().map_or(1, char::len_utf8);
        }
    }
    Ok(())
}

/// The byte of a 1-based character position; `None` beyond the end.
fn byte_position(value: &str, position: i64) -> Option<usize> {
    let skipped = (position - 1) as usize;
    let total = value.chars().count();
    match skipped.cmp(&total) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal => Some(value.len()),
        std::cmp::Ordering::Less => value.char_indices().nth(skipped).map(|(at, _)| at),
    }
}

fn positive(call: &Call<'_>, index: usize, name: &str, least: i64) -> Result<i64> {
    let value = if index < call.args.len() { call.int(index)? } else { 1.max(least) };
    if value < least {
        return Err(invalid(format!("invalid value for parameter \"{name}\": {value}")));
    }
    Ok(value)
}

fn piece(value: &str, place: Option<(usize, usize)>) -> Datum {
    place.map_or(Datum::Null, |(start, end)| Datum::text(&value[start..end]))
}

fn groups_array(value: &str, groups: &Groups) -> Datum {
    let parts = if groups.len() > 1 { &groups[1..] } else { &groups[..] };
    Datum::array(SqlType::Text, parts.iter().map(|place| piece(value, *place)).collect())
}

pub(super) fn regexp_match(call: &Call<'_>) -> Result<Datum> {
    let flags = flags(call, 2)?;
    if flags.global {
        return Err(invalid("regexp_match() does not support the \"global\" option")
            .hint("Use the regexp_matches function instead."));
    }
    let value = call.text(0)?;
    let found = compile(call.text(1)?, flags)?.find_at(value, 0)?;
    Ok(found.map_or(Datum::Null, |groups| groups_array(value, &groups)))
}

/// The rows of `regexp_matches`.
pub(crate) fn matches(call: &Call<'_>) -> Result<Vec<Datum>> {
    let (flags, value) = (flags(call, 2)?, call.text(0)?);
    let pattern = compile(call.text(1)?, flags)?;
    let (mut rows, mut scratch) = (Vec::new(), Scratch::default());
    each_match(&pattern, value, 0, |found| {
        rows.push(scratch.keep(groups_array(value, &found.groups))?);
        Ok(if flags.global { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(rows)
}

/// The pieces between matches.
pub(crate) fn split_pieces(call: &Call<'_>, function: &str) -> Result<Vec<Datum>> {
    let (flags, value) = (flags(call, 2)?, call.text(0)?);
    refuse_global(flags, function)?;
    let pattern = compile(call.text(1)?, flags)?;
    let (mut pieces, mut scratch) = (Vec::new(), Scratch::default());
    let (mut from, mut previous_end) = (0, 0);
    each_match(&pattern, value, 0, |found| {
        // An empty match at the end of the text, or right after another match, splits nothing.
        if found.start < value.len() && found.end > previous_end {
            pieces.push(scratch.keep(Datum::text(&value[from..found.start]))?);
            from = found.end;
        }
        previous_end = found.end;
        Ok(ControlFlow::Continue(()))
    })?;
    pieces.push(Datum::text(&value[from..]));
    Ok(pieces)
}

/// `\1` to `\9` and `\&` in a replacement stand for parts of the match.
fn expand(replacement: &str, value: &str, groups: &Groups, out: &mut String) {
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let mut rest = chars.clone();
        let group = match rest.next() {
            Some('&') => Some(0),
            Some(digit @ '1'..='9') => digit.to_digit(10).map(|n| n as usize),
            Some('\\') => {
                out.push('\\');
                chars = rest;
                continue;
            }
            _ => None,
        };
        match group {
            Some(index) => {
                if let Some((start, end)) = groups.get(index).copied().flatten() {
                    out.push_str(&value[start..end]);
                }
                chars = rest;
            }
            None => out.push('\\'),
        }
    }
}

/// `nth` 0 replaces every match.
fn replace_in(
    value: &str,
    pattern: &Pattern,
    replacement: &str,
    from: usize,
    nth: i64,
) -> Result<Datum> {
    let mut out = String::new();
    let (mut copied, mut number) = (0, 0);
    each_match(pattern, value, from, |found| {
        number += 1;
        if nth == 0 || number == nth {
            out.push_str(&value[copied..found.start]);
            expand(replacement, value, &found.groups, &mut out);
            copied = found.end;
            may_return(out.len())?;
        }
        Ok(if number == nth { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    out.push_str(&value[copied..]);
    text(out)
}

pub(super) fn regexp_replace(call: &Call<'_>) -> Result<Datum> {
    if let Some(digit) = call.datum(3).as_str().and_then(|f| f.chars().next())
        && digit.is_ascii_digit()
    {
        let message = format!("invalid regular expression option: \"{digit}\"");
        return Err(invalid(message).hint(
            "If you meant to use regexp_replace() with a start parameter, cast the fourth \
             argument to integer explicitly.",
        ));
    }
    let flags = flags(call, 3)?;
    let pattern = compile(call.text(1)?, flags)?;
    replace_in(call.text(0)?, &pattern, call.text(2)?, 0, i64::from(!flags.global))
}

fn regexp_replace_from(call: &Call<'_>) -> Result<Datum> {
    let (value, start) = (call.text(0)?, positive(call, 3, "start", 1)?);
    let flags = flags(call, 5)?;
    let nth =
        if call.args.len() > 4 { positive(call, 4, "n", 0)? } else { i64::from(!flags.global) };
    let pattern = compile(call.text(1)?, flags)?;
    match byte_position(value, start) {
        None => text(value),
        Some(from) => replace_in(value, &pattern, call.text(2)?, from, nth),
    }
}

fn regexp_count(call: &Call<'_>) -> Result<Datum> {
    let (value, start) = (call.text(0)?, positive(call, 2, "start", 1)?);
    let flags = flags(call, 3)?;
    refuse_global(flags, "regexp_count()")?;
    let pattern = compile(call.text(1)?, flags)?;
    let Some(from) = byte_position(value, start) else { return Ok(Datum::Int(0)) };
    let mut number = 0;
    each_match(&pattern, value, from, |_| {
        number += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    count(number)
}

/// The nth match and the asked group of it.
fn nth_match(
    call: &Call<'_>,
    flags: Flags,
    nth: i64,
    group: i64,
) -> Result<Option<(usize, usize)>> {
    let (value, start) = (call.text(0)?, positive(call, 2, "start", 1)?);
    let pattern: Rc<Pattern> = compile(call.text(1)?, flags)?;
    let Some(from) = byte_position(value, start) else { return Ok(None) };
    let (mut number, mut place) = (0, None);
    each_match(&pattern, value, from, |found| {
        number += 1;
        if number < nth {
            return Ok(ControlFlow::Continue(()));
        }
        place = found.groups.get(group as usize).copied().flatten();
        Ok(ControlFlow::Break(()))
    })?;
    Ok(place)
}

fn regexp_instr(call: &Call<'_>) -> Result<Datum> {
    let nth = positive(call, 3, "n", 1)?;
    let end_option = if call.args.len() > 4 { call.int(4)? } else { 0 };
    if !(0..=1).contains(&end_option) {
        let message = format!("invalid value for parameter \"endoption\": {end_option}");
        return Err(invalid(message));
    }
    let flags = flags(call, 5)?;
    refuse_global(flags, "regexp_instr()")?;
    let group = if call.args.len() > 6 { positive(call, 6, "subexpr", 0)? } else { 0 };
    let value = call.text(0)?;
    count(match nth_match(call, flags, nth, group)? {
        None => 0,
        Some((start, end)) => {
            let at = if end_option == 1 { end } else { start };
            value[..at].chars().count() + 1
        }
    })
}

fn regexp_substr(call: &Call<'_>) -> Result<Datum> {
    let nth = positive(call, 3, "n", 1)?;
    let flags = flags(call, 4)?;
    refuse_global(flags, "regexp_substr()")?;
    let group = if call.args.len() > 5 { positive(call, 5, "subexpr", 0)? } else { 0 };
    Ok(piece(call.text(0)?, nth_match(call, flags, nth, group)?))
}

/// `substring(text from pattern)`: the first group if there is one, else the whole match.
fn substring_matching(call: &Call<'_>) -> Result<Datum> {
    let value = call.text(0)?;
    let found = compile(call.text(1)?, Flags::default())?.find_at(value, 0)?;
    Ok(found.map_or(Datum::Null, |groups| piece(value, groups[usize::from(groups.len() > 1)])))
}

fn substring_similar(call: &Call<'_>) -> Result<Datum> {
    let (value, escape) = (call.text(0)?, one_escape(call.text(2)?)?);
    let pattern = similar_pattern(call.text(1)?, escape)?;
    let found = compile(&pattern, Flags::default())?.find_at(value, 0)?;
    Ok(found.map_or(Datum::Null, |groups| piece(value, groups[usize::from(groups.len() > 1)])))
}

pub(super) fn register(registry: &mut Registry) {
    macro_rules! matching {
        ($($signature:literal => $flags:expr, $wanted:literal;)*) => {
            $(registry.add($signature, |c| Ok(Datum::Bool(is_match(c, $flags)? == $wanted)));)*
        };
    }
    matching! {
        "~(text, text) -> bool" => Flags::default(), true;
        "!~(text, text) -> bool" => Flags::default(), false;
        "~*(text, text) -> bool" => Flags::ignoring_case(), true;
        "!~*(text, text) -> bool" => Flags::ignoring_case(), false;
        "~(bpchar, text) -> bool" => Flags::default(), true;
        "!~(bpchar, text) -> bool" => Flags::default(), false;
        "~*(bpchar, text) -> bool" => Flags::ignoring_case(), true;
        "!~*(bpchar, text) -> bool" => Flags::ignoring_case(), false;
        "~(name, text) -> bool" => Flags::default(), true;
        "!~(name, text) -> bool" => Flags::default(), false;
        "~*(name, text) -> bool" => Flags::ignoring_case(), true;
        "!~*(name, text) -> bool" => Flags::ignoring_case(), false;
    }
    for signature in ["regexp_like(text, text) -> bool", "regexp_like(text, text, text) -> bool"] {
        registry.add(signature, |c| {
            let flags = flags(c, 2)?;
            refuse_global(flags, "regexp_like()")?;
            Ok(Datum::Bool(is_match(c, flags)?))
        });
    }
    registry.add("regexp_match(text, text) -> text[]", regexp_match);
    registry.add("regexp_match(text, text, text) -> text[]", regexp_match);
    registry.add("regexp_replace(text, text, text) -> text", regexp_replace);
    registry.add("regexp_replace(text, text, text, text) -> text", regexp_replace);
    registry.add("regexp_replace(text, text, text, int4) -> text", regexp_replace_from);
    registry.add("regexp_replace(text, text, text, int4, int4) -> text", regexp_replace_from);
    registry.add("regexp_replace(text, text, text, int4, int4, text) -> text", regexp_replace_from);
    registry.add("regexp_count(text, text) -> int4", regexp_count);
    registry.add("regexp_count(text, text, int4) -> int4", regexp_count);
    registry.add("regexp_count(text, text, int4, text) -> int4", regexp_count);
    for signature in [
        "regexp_instr(text, text) -> int4",
        "regexp_instr(text, text, int4) -> int4",
        "regexp_instr(text, text, int4, int4) -> int4",
        "regexp_instr(text, text, int4, int4, int4) -> int4",
        "regexp_instr(text, text, int4, int4, int4, text) -> int4",
        "regexp_instr(text, text, int4, int4, int4, text, int4) -> int4",
    ] {
        registry.add(signature, regexp_instr);
    }
    for signature in [
        "regexp_substr(text, text) -> text",
        "regexp_substr(text, text, int4) -> text",
        "regexp_substr(text, text, int4, int4) -> text",
        "regexp_substr(text, text, int4, int4, text) -> text",
        "regexp_substr(text, text, int4, int4, text, int4) -> text",
    ] {
        registry.add(signature, regexp_substr);
    }
    registry.add("substring(text, text) -> text", substring_matching);
    registry.add("substring(text, text, text) -> text", substring_similar);
    for signature in [
        "regexp_split_to_array(text, text) -> text[]",
        "regexp_split_to_array(text, text, text) -> text[]",
    ] {
        registry.add(signature, |c| {
            let pieces = split_pieces(c, "regexp_split_to_array()")?;
            Ok(Datum::array(SqlType::Text, pieces))
        });
    }
}
