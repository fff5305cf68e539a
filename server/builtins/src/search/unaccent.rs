//! `unaccent`: letters without their accents, and signs that ASCII has.
//!
//! The replacements are those of PostgreSQL's `unaccent.rules`, which come from the Latin-ASCII
//! transliteration of Unicode's CLDR. Each line of `unaccent.txt` has a replacement and the
//! characters that it replaces.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use braid_types::search::configs::UNACCENT_DICTIONARY;
use braid_types::{Datum, Error, Result, work};

use crate::Call;
use crate::registry::tables::Registry;

static REPLACEMENTS: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("unaccent.txt").lines().filter_map(|line| line.split_once('\t'));
    lines.flat_map(|(new, old)| old.chars().map(move |c| (c, new))).collect()
});

/// Marks over and around the character before them. They go.
const MARKS: [RangeInclusive<char>; 3] =
    ['\u{300}'..='\u{362}', '\u{20dd}'..='\u{20e0}', '\u{20e2}'..='\u{20e4}'];

fn unaccented(text: &str) -> Result<String> {
    work::spend_bytes(text.len())?;
    if text.is_ascii() {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match REPLACEMENTS.get(&c) {
            Some(new) => out.push_str(new),
            None if MARKS.iter().any(|marks| marks.contains(&c)) => {}
            None => out.push(c),
        }
    }
    Ok(out)
}

/// With the dictionary that is named: there is one.
fn by_dictionary(call: &Call<'_>) -> Result<String> {
    match call.oid(0)? {
        UNACCENT_DICTIONARY => unaccented(call.text(1)?),
        other => Err(Error::unsupported(format!("unaccent by the dictionary {other}"))),
    }
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("unaccent(text) -> text", |c| Ok(Datum::text(unaccented(c.text(0)?)?)));
    registry.add("unaccent(regdictionary, text) -> text", |c| Ok(Datum::text(by_dictionary(c)?)));
}
