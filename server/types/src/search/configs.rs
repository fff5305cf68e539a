//! The configurations and dictionaries that there are, and how their names read and print.

use crate::text::is_blank;
use crate::{Error, Result, SqlState, SqlType};

/// The number of the configuration `simple`.
pub const SIMPLE: u32 = 3748;
/// The number of the configuration `english`.
pub const ENGLISH: u32 = 13_164;
/// The number of the dictionary `simple`.
pub const SIMPLE_DICTIONARY: u32 = 3765;
/// The number of the dictionary `english_stem`.
pub const ENGLISH_DICTIONARY: u32 = 13_163;

/// The number of the dictionary `unaccent`, which the function of that name may be given.
pub const UNACCENT_DICTIONARY: u32 = 15_020;

/// The configurations: number, name, and the dictionary of its words.
pub const CONFIGS: [(u32, &str, u32); 2] =
    [(SIMPLE, "simple", SIMPLE_DICTIONARY), (ENGLISH, "english", ENGLISH_DICTIONARY)];
/// The dictionaries: number and name.
pub const DICTIONARIES: [(u32, &str); 2] =
    [(SIMPLE_DICTIONARY, "simple"), (ENGLISH_DICTIONARY, "english_stem")];

fn known(ty: &SqlType) -> Vec<(u32, &'static str)> {
    match ty {
        SqlType::Regconfig => CONFIGS.iter().map(|(oid, name, _)| (*oid, *name)).collect(),
        _ => {
            let of_extension = (UNACCENT_DICTIONARY, "unaccent");
            DICTIONARIES.into_iter().chain([of_extension]).collect()
        }
    }
}

/// The number of a `regconfig` or `regdictionary`: 42704 if there is none of that name.
pub fn parse_name(ty: &SqlType, text: &str) -> Result<u32> {
    let text = text.trim_matches(is_blank);
    if text == "-" {
        return Ok(0);
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| {
            let message = format!("value \"{text}\" is out of range for type oid");
            Error::new(SqlState::NumericValueOutOfRange, message)
        });
    }
    let parts =
        split(text).ok_or_else(|| Error::new(SqlState::InvalidName, "invalid name syntax"))?;
    let name = match parts.as_slice() {
        [name] => Some(name),
        [schema, name] if schema == "pg_catalog" => Some(name),
        [schema, name] if schema == "public" && name == "unaccent" => Some(name),
        _ => None,
    };
    let found = known(ty).into_iter().find(|(_, known)| name.is_some_and(|name| name == known));
    found.map(|(oid, _)| oid).ok_or_else(|| {
        let kind = if *ty == SqlType::Regconfig { "configuration" } else { "dictionary" };
        let message = format!("text search {kind} \"{}\" does not exist", parts.join("."));
        Error::new(SqlState::UndefinedObject, message)
    })
}

/// How a number of these types prints.
pub fn print_name(ty: &SqlType, oid: i64) -> String {
    let found = known(ty).into_iter().find(|(known, _)| i64::from(*known) == oid);
    match found {
        Some((_, name)) => name.to_owned(),
        None if oid == 0 => "-".to_owned(),
        None => oid.to_string(),
    }
}

/// The parts of a name, perhaps in quotes, with points between them.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start_matches(is_blank);
        let mut part = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut inside = quoted;
            loop {
                let end = inside.find('"')?;
                part.push_str(&inside[..end]);
                inside = &inside[end + 1..];
                match inside.strip_prefix('"') {
                    Some(after) => {
                        part.push('"');
                        inside = after;
                    }
                    None => break,
                }
            }
            rest = inside;
        } else {
            let end = rest.find(|c| c == '.' || is_blank(c)).unwrap_or(rest.len());
            part = rest[..end].to_lowercase();
            rest = &rest[end..];
        }
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        rest = rest.trim_start_matches(is_blank);
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?;
    }
}
