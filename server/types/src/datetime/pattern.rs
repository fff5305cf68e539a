//! The template patterns of `to_char`, `to_timestamp` and `to_date`: split once into parts.

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    Keyword { word: &'static str, written: String, fill: bool, ordinal: Option<bool> },
}

/// Longest first, so that a prefix never wins.
pub(super) const KEYWORDS: &[&str] = &[
    "Y,YYY", "SSSSS", "MONTH", "A.D.", "B.C.", "A.M.", "P.M.", "IDDD", "IYYY", "YYYY", "SSSS",
    "HH12", "HH24", "IYY", "YYY", "DAY", "DDD", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "MON",
    "TZH", "TZM", "AD", "AM", "BC", "CC", "DD", "DY", "HH", "ID", "IW", "IY", "MI", "MM", "MS",
    "OF", "PM", "RM", "SS", "TZ", "US", "WW", "YY", "D", "I", "J", "Q", "W", "Y",
];

/// Whether a text begins with a word in lower case.
fn begins_lower(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len()
        && text.iter().zip(word).all(|(found, wanted)| *found == wanted.to_ascii_lowercase())
}

/// A keyword in upper or lower case; names may begin with one capital.
pub(super) fn keyword_at(rest: &str) -> Option<&'static str> {
    let capitalised = |word: &str| {
        let after = rest.strip_prefix(&word[..1]);
        after.is_some_and(|after| begins_lower(after.as_bytes(), &word.as_bytes()[1..]))
    };
    let alike = |word: &str| {
        let is_name = matches!(word, "MONTH" | "MON" | "DAY" | "DY");
        prefix(rest, word).is_some() || (is_name && capitalised(word))
    };
    KEYWORDS.iter().copied().find(|word| alike(word))
}

/// What follows a word of a template in upper or lower case.
pub(crate) fn prefix<'a>(rest: &'a str, word: &str) -> Option<&'a str> {
    let bytes = rest.as_bytes();
    let begins = bytes.starts_with(word.as_bytes()) || begins_lower(bytes, word.as_bytes());
    begins.then(|| &rest[word.len()..])
}

/// The parts of a template. `FM` before a keyword drops its padding, `TH` behind it adds an
/// ordinal suffix, `"text"` and `\"` stand for themselves.
pub(super) fn split(template: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = template;
    let literal = |parts: &mut Vec<Part>, c: char| match parts.last_mut() {
        Some(Part::Literal(text)) => text.push(c),
        _ => parts.push(Part::Literal(c.to_string())),
    };
    while !rest.is_empty() {
        let mut fill = true;
        let mut after = rest;
        if let Some(next) = prefix(after, "FM") {
            fill = false;
            after = next;
        } else if let Some(next) = prefix(after, "TM") {
            // A translated name has no padding.
            let names = ["MONTH", "MON", "DAY", "DY"];
            fill = !keyword_at(next).is_some_and(|word| names.contains(&word));
            after = next;
        }
        if let Some(word) = keyword_at(after) {
            let written = after[..word.len()].to_owned();
            after = &after[word.len()..];
            let mut ordinal = None;
            if let Some(next) = prefix(after, "TH") {
                ordinal = Some(after.starts_with('T'));
                after = next;
            } else if let Some(next) = after.strip_prefix("SP") {
                after = next;
            }
            parts.push(Part::Keyword { word, written, fill, ordinal });
            rest = after;
            continue;
        }
        // It concerns how a text is read.
        if let Some(next) = prefix(after, "FX") {
            rest = next;
            continue;
        }
        let Some(c) = after.chars().next() else { break };
        rest = &after[c.len_utf8()..];
        match c {
            '"' => {
                while let Some(c) = rest.chars().next() {
                    rest = &rest[c.len_utf8()..];
                    match c {
                        '"' => break,
                        '\\' => {
                            if let Some(c) = rest.chars().next() {
                                literal(&mut parts, c);
                                rest = &rest[c.len_utf8()..];
                            }
                        }
                        c => literal(&mut parts, c),
                    }
                }
            }
            '\\' if rest.starts_with('"') => {
                literal(&mut parts, '"');
                rest = &rest[1..];
            }
            c => literal(&mut parts, c),
        }
    }
    parts
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
