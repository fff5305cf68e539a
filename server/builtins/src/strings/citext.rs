//! Functions and operators of `citext`: those of text, for which case does not count.

use braid_types::{Datum, Result, SqlType, citext};

use super::{like, regexp};
use crate::registry::call::{cast_any, text};
use crate::registry::tables::Registry;
use crate::{Call, Rows};

/// A call of a function of regular expressions with the option `i`, unless its options, which stand
/// at that place, have a `c`.
fn ignoring_case<R>(
    call: &Call<'_>,
    options_at: usize,
    function: impl FnOnce(&Call<'_>) -> Result<R>,
) -> Result<R> {
    let given = if call.args.len() > options_at { call.text(options_at)? } else { "" };
    let options = if given.contains('c') { given.to_owned() } else { format!("{given}i") };
    let mut args: Vec<Datum> = call.args.iter().take(options_at).cloned().collect();
    args.push(Datum::text(options));
    function(&Call { args: &args, ..*call })
}

/// A text as a regular expression that matches it.
fn literal_pattern(part: &str) -> String {
    let mut pattern = String::with_capacity(part.len());
    for c in part.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

fn replace(call: &Call<'_>) -> Result<Datum> {
    let texts = [call.text(0)?, &literal_pattern(call.text(1)?), call.text(2)?, "gi"];
    let args = texts.map(Datum::text);
    regexp::regexp_replace(&Call { args: &args, ..*call })
}

/// The piece of that number; NULL if there is none.
fn split_part(call: &Call<'_>) -> Result<Datum> {
    let args = [call.text(0)?, &literal_pattern(call.text(1)?), "i"].map(Datum::text);
    let pieces = regexp::split_pieces(&Call { args: &args, ..*call }, "split_part()")?;
    let at = usize::try_from(call.int(2)? - 1).ok();
    Ok(at.and_then(|at| pieces.into_iter().nth(at)).unwrap_or(Datum::Null))
}

fn strpos(call: &Call<'_>) -> Result<Datum> {
    let (value, part) = (citext::folded(call.text(0)?), citext::folded(call.text(1)?));
    let found = value.find(&part).and_then(|at| value.get(..at));
    Ok(Datum::Int(found.map_or(0, |before| before.chars().count() as i64 + 1)))
}

/// As the function of text, for the characters in either case.
fn translate(call: &Call<'_>) -> Result<Datum> {
    let (from, to): (Vec<char>, Vec<char>) =
        (citext::folded(call.text(1)?).chars().collect(), call.text(2)?.chars().collect());
    let mut out = String::new();
    for c in call.text(0)?.chars() {
        let lower = citext::folded(c.encode_utf8(&mut [0; 4]));
        match from.iter().position(|one| lower.starts_with(*one)) {
            Some(at) => out.extend(to.get(at)),
            None => out.push(c),
        }
    }
    text(out)
}

fn column(values: Vec<Datum>) -> Result<Rows> {
    Ok(Box::new(values.into_iter().map(|value| Ok(vec![value]))))
}

/// A value of another type as a `citext`.
fn converted(call: &Call<'_>) -> Result<Datum> {
    cast_any(call.datum(0), call.ty(0), &SqlType::Citext, call.env)
}

fn register_matching(registry: &mut Registry) {
    for signature in ["~~(citext, citext) -> bool", "~~(citext, text) -> bool"] {
        registry.add(signature, |c| like::ilike(c).map(Datum::Bool));
    }
    for signature in ["!~~(citext, citext) -> bool", "!~~(citext, text) -> bool"] {
        registry.add(signature, |c| like::ilike(c).map(|is_like| Datum::Bool(!is_like)));
    }
    for signature in ["~~*(citext, citext) -> bool", "~~*(citext, text) -> bool"] {
        registry.add(signature, |c| like::ilike(c).map(Datum::Bool));
    }
    for signature in ["!~~*(citext, citext) -> bool", "!~~*(citext, text) -> bool"] {
        registry.add(signature, |c| like::ilike(c).map(|is_like| Datum::Bool(!is_like)));
    }
    for signature in [
        "~(citext, citext) -> bool",
        "~(citext, text) -> bool",
        "~*(citext, citext) -> bool",
        "~*(citext, text) -> bool",
    ] {
        registry.add(signature, |c| regexp::matches_ignoring_case(c).map(Datum::Bool));
    }
    for signature in [
        "!~(citext, citext) -> bool",
        "!~(citext, text) -> bool",
        "!~*(citext, citext) -> bool",
        "!~*(citext, text) -> bool",
    ] {
        registry
            .add(signature, |c| regexp::matches_ignoring_case(c).map(|found| Datum::Bool(!found)));
    }
}

pub(super) fn register(registry: &mut Registry) {
    register_matching(registry);
    for signature in [
        "citext(citext) -> citext",
        "citext(text) -> citext",
        "citext(bool) -> citext",
        "citext(inet) -> citext",
    ] {
        registry.add(signature, converted);
    }
    registry.add("citext_cmp(citext, citext) -> int4", |c| {
        Ok(Datum::Int(citext::compare(c.text(0)?, c.text(1)?) as i64))
    });
    for signature in
        ["regexp_match(citext, citext) -> text[]", "regexp_match(citext, citext, text) -> text[]"]
    {
        registry.add(signature, |c| ignoring_case(c, 2, regexp::regexp_match));
    }
    for signature in [
        "regexp_replace(citext, citext, text) -> text",
        "regexp_replace(citext, citext, text, text) -> text",
    ] {
        registry.add(signature, |c| ignoring_case(c, 3, regexp::regexp_replace));
    }
    for signature in [
        "regexp_split_to_array(citext, citext) -> text[]",
        "regexp_split_to_array(citext, citext, text) -> text[]",
    ] {
        registry.add(signature, |c| {
            let split = |c: &Call<'_>| regexp::split_pieces(c, "regexp_split_to_array()");
            Ok(Datum::array(SqlType::Text, ignoring_case(c, 2, split)?))
        });
    }
    for signature in [
        "regexp_split_to_table(citext, citext) -> text",
        "regexp_split_to_table(citext, citext, text) -> text",
    ] {
        registry.set(signature, |c| {
            let split = |c: &Call<'_>| regexp::split_pieces(c, "regexp_split_to_table()");
            column(ignoring_case(c, 2, split)?)
        });
    }
    for signature in [
        "regexp_matches(citext, citext) -> text[]",
        "regexp_matches(citext, citext, text) -> text[]",
    ] {
        registry.set(signature, |c| column(ignoring_case(c, 2, regexp::matches)?));
    }
    registry.add("replace(citext, citext, citext) -> text", replace);
    registry.add("split_part(citext, citext, int4) -> text", split_part);
    registry.add("strpos(citext, citext) -> int4", strpos);
    registry.add("translate(citext, citext, text) -> text", translate);
}
