//! Sort keys of texts by the rules of languages.
//!
//! The planner compares texts with a collation of ICU by their sort keys, which are bytes:
//!
//! ```text
//! a < b COLLATE "sv-x-icu"    is    braid_sort_key(a, 'sv') < braid_sort_key(b, 'sv')
//! ```
//!
//! - `braid_sort_key` has the key of the locale, a zero byte and the text itself. So texts with one
//!   key of the locale compare by their bytes, and only equal texts have equal sort keys.
//! - `braid_equality_key` has the key of the locale alone, for nondeterministic collations.
//! - `braid_sorted_text` gives the text of a sort key, for `min` and its like.
//!
//! Keys of a locale have no zero byte. Indexes keep these keys, so that another version of the
//! library needs a new format of data.

use std::cell::RefCell;

use braid_types::{Datum, Error, Result, SqlState, SqlType};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use icu_locale_core::subtags::Script;

use crate::Call;
use crate::registry::tables::Registry;

/// The version of the orders, as `pg_collation.collversion` shows it.
pub const COLLATION_VERSION: &str = "icu4x-2.4";

/// Collators that a thread keeps.
const COLLATORS_MAX: usize = 64;

thread_local! {
    static COLLATORS: RefCell<Vec<(Box<str>, CollatorBorrowed<'static>)>> =
        const { RefCell::new(Vec::new()) };
}

/// 22023 unless there is a collator for the locale; 0A000 for options that none has.
pub fn check_locale(locale: &str) -> Result<()> {
    collator(locale).map(|_| ())
}

fn collator(locale: &str) -> Result<CollatorBorrowed<'static>> {
    let invalid = || {
        let message =
            format!("could not open collator for locale \"{locale}\": U_ILLEGAL_ARGUMENT_ERROR");
        Error::new(SqlState::InvalidParameterValue, message)
    };
    let parsed: Locale = tag(locale).and_then(|tag| tag.parse().ok()).ok_or_else(invalid)?;
    if lacks_order(&parsed) {
        return Err(Error::unsupported(format!("the order of texts in the locale \"{locale}\"")));
    }
    let options = options_of(&parsed, locale)?;
    CollatorBorrowed::try_new(CollatorPreferences::from(&parsed), options).map_err(|_| invalid())
}

/// A locale as a BCP 47 tag: of `de@collation=phonebook` it is `de-u-co-phonebk`. `None` for an
/// option that is not known.
fn tag(locale: &str) -> Option<String> {
    let (language, options) = locale.split_once('@').unwrap_or((locale, ""));
    let mut tag = match language {
        "" | "root" => "und".to_owned(),
        language => language.replace('_', "-"),
    };
    let mut start = "-u";
    for option in options.split(';').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=')?;
        let value = value.to_ascii_lowercase();
        let key = match name.to_ascii_lowercase().as_str() {
            "collation" => "co",
            "colstrength" => "ks",
            "colalternate" => "ka",
            "colcaselevel" => "kc",
            "colcasefirst" => "kf",
            "colnumeric" => "kn",
            "colbackwards" => "kb",
            "colnormalization" => "kk",
            "colreorder" => "kr",
            _ => return None,
        };
        let value = match value.as_str() {
            "yes" => "true",
            "no" => "false",
            "phonebook" => "phonebk",
            "traditional" => "trad",
            "dictionary" => "dict",
            "gb2312han" => "gb2312",
            "non-ignorable" => "noignore",
            "primary" => "level1",
            "secondary" => "level2",
            "tertiary" => "level3",
            "quaternary" => "level4",
            "identical" => "identic",
            other => other,
        };
        tag.push_str(&format!("{start}-{key}-{value}"));
        start = "";
    }
    Some(tag)
}

/// Whether the library has no rules for a locale for which CLDR has some. It would take those of
/// all languages.
fn lacks_order(parsed: &Locale) -> bool {
    let script = parsed.id.script.as_ref().map(Script::as_str);
    match (parsed.id.language.as_str(), script) {
        ("haw" | "kl" | "lkt" | "se" | "smn" | "yi", _) => true,
        ("az" | "uz", Some("Cyrl" | "Arab")) | ("pa", Some("Arab")) => true,
        _ => parsed.extensions.unicode.keywords.iter().any(|(key, _)| key.as_str() == "va"),
    }
}

/// The options of a locale that are not preferences of the library: `und-u-ks-level2`.
fn options_of(parsed: &Locale, locale: &str) -> Result<CollatorOptions> {
    let mut options = CollatorOptions::default();
    for (key, value) in parsed.extensions.unicode.keywords.iter() {
        let value = value.to_string();
        let wrong = || {
            Error::unsupported(format!(
                "the option {}-{value} of locale \"{locale}\"",
                key.as_str()
            ))
        };
        match (key.as_str(), value.as_str()) {
            ("ks", level) => options.strength = Some(strength(level).ok_or_else(wrong)?),
            ("ka", "shifted") => options.alternate_handling = Some(AlternateHandling::Shifted),
            ("ka", "noignore") => {
                options.alternate_handling = Some(AlternateHandling::NonIgnorable);
            }
            ("kc", "" | "true" | "yes") => options.case_level = Some(CaseLevel::On),
            ("kc", "false" | "no") => options.case_level = Some(CaseLevel::Off),
            ("kv", "space") => options.max_variable = Some(MaxVariable::Space),
            ("kv", "punct") => options.max_variable = Some(MaxVariable::Punctuation),
            ("kv", "symbol") => options.max_variable = Some(MaxVariable::Symbol),
            ("kv", "currency") => options.max_variable = Some(MaxVariable::Currency),
            ("ka" | "kc" | "kv" | "kb" | "kh" | "kr", _) => return Err(wrong()),
            _ => {}
        }
    }
    Ok(options)
}

fn strength(level: &str) -> Option<Strength> {
    Some(match level {
        "level1" => Strength::Primary,
        "level2" => Strength::Secondary,
        "level3" => Strength::Tertiary,
        "level4" => Strength::Quaternary,
        "identic" => Strength::Identical,
        _ => return None,
    })
}

/// Calls `f` with the collator of a locale, which the thread keeps.
fn with_collator<R>(locale: &str, f: impl FnOnce(&CollatorBorrowed<'static>) -> R) -> Result<R> {
    COLLATORS.with_borrow_mut(|kept| {
        if let Some((_, known)) = kept.iter().find(|(name, _)| **name == *locale) {
            return Ok(f(known));
        }
        if kept.len() >= COLLATORS_MAX {
            kept.clear();
        }
        let opened = collator(locale)?;
        let result = f(&opened);
        kept.push((locale.into(), opened));
        Ok(result)
    })
}

/// The key of one text, or those of the elements of an array.
fn keys(value: &Datum, ty: &SqlType, key: &dyn Fn(&str, &mut Vec<u8>)) -> Datum {
    match (value, ty) {
        (Datum::Array(array), _) => {
            let items = array.items.iter().map(|item| keys(item, &array.element, key)).collect();
            array.with_items(SqlType::Bytes, items).into()
        }
        (Datum::Text(text), ty) => {
            // Blanks at the end of a `char(n)` do not count.
            let text = match ty {
                SqlType::Char(_) => text.trim_end_matches(' '),
                _ => text,
            };
            let mut bytes = Vec::with_capacity(text.len() * 3 + 8);
            key(text, &mut bytes);
            Datum::Bytes(bytes.into())
        }
        _ => Datum::Null,
    }
}

fn put_key(collator: &CollatorBorrowed<'static>, text: &str, bytes: &mut Vec<u8>) {
    let Ok(()) = collator.write_sort_key_to(text, bytes);
}

fn sort_key(call: &Call<'_>) -> Result<Datum> {
    with_collator(call.text(1)?, |collator| {
        keys(call.datum(0), call.ty(0), &|text, bytes| {
            put_key(collator, text, bytes);
            bytes.push(0);
            bytes.extend_from_slice(text.as_bytes());
        })
    })
}

fn equality_key(call: &Call<'_>) -> Result<Datum> {
    with_collator(call.text(1)?, |collator| {
        keys(call.datum(0), call.ty(0), &|text, bytes| put_key(collator, text, bytes))
    })
}

/// The sort key of a `char(n)`, from which its blanks can be had as well.
fn padded_key(call: &Call<'_>) -> Result<Datum> {
    let text = call.text(0)?;
    with_collator(call.text(1)?, |collator| {
        let mut bytes = Vec::with_capacity(text.len() * 3 + 8);
        put_key(collator, text.trim_end_matches(' '), &mut bytes);
        bytes.push(0);
        bytes.extend_from_slice(text.as_bytes());
        Datum::Bytes(bytes.into())
    })
}

fn sorted_text(call: &Call<'_>) -> Result<Datum> {
    text_of(call.datum(0))
}

fn text_of(key: &Datum) -> Result<Datum> {
    let damaged = || Error::new(SqlState::InvalidParameterValue, "invalid sort key of a text");
    Ok(match key {
        Datum::Bytes(bytes) => {
            let end = bytes.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
            let text = bytes.get(end + 1..).unwrap_or_default();
            Datum::text(std::str::from_utf8(text).map_err(|_| damaged())?)
        }
        Datum::Array(array) => {
            let items = array.items.iter().map(text_of).collect::<Result<Vec<_>>>()?;
            array.with_items(SqlType::Text, items).into()
        }
        _ => Datum::Null,
    })
}

/// The mark of `COLLATE`, which the planner takes away.
fn collate(_: &Call<'_>) -> Result<Datum> {
    Err(Error::unsupported("COLLATE in this place"))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("braid_collate(text, text) -> text lax", collate);
    registry.add("braid_sort_key(text, text) -> bytea", sort_key);
    registry.add("braid_sort_key(text[], text) -> bytea[]", sort_key);
    registry.add("braid_padded_key(bpchar, text) -> bytea", padded_key);
    registry.add("braid_equality_key(text, text) -> bytea", equality_key);
    registry.add("braid_equality_key(text[], text) -> bytea[]", equality_key);
    registry.add("braid_sorted_text(bytea) -> text", sorted_text);
    registry.add("braid_sorted_text(bytea[]) -> text[]", sorted_text);
}
