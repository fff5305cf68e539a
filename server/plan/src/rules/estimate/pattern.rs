//! LIKE patterns: the text that they begin with, and what they match.

/// What a character of the pattern beyond its prefix leaves of the rows.
const CHARACTER: f64 = 0.2;
/// The same for `_`.
const ANY_CHARACTER: f64 = 0.9;
/// `%` makes up for characters of the pattern that may be anywhere.
const ANY_TEXT: f64 = 5.0;

/// The beginning of a pattern.
pub(crate) struct Prefix {
    /// The text before the first `%` or `_`.
    pub text: String,
    /// There is nothing after it: the pattern is a text.
    pub is_whole: bool,
    /// The part of the rows with the prefix that the rest of the pattern leaves.
    pub rest: f64,
}

impl Prefix {
    /// A text that is above all those with the prefix, and below the others that are.
    pub(crate) fn after(&self) -> Option<String> {
        let mut text: Vec<char> = self.text.chars().collect();
        while let Some(last) = text.pop() {
            if let Some(next) = char::from_u32(u32::from(last) + 1) {
                text.push(next);
                return Some(text.into_iter().collect());
            }
        }
        None
    }
}

/// A character of a pattern, or a wildcard.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Character(char),
    AnyCharacter,
    AnyText,
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut characters = pattern.chars();
    let mut parts = Vec::new();
    while let Some(character) = characters.next() {
        parts.push(match character {
            '\\' => Part::Character(characters.next().unwrap_or('\\')),
            '_' => Part::AnyCharacter,
            '%' => Part::AnyText,
            other => Part::Character(other),
        });
    }
    parts
}

/// The beginning of a pattern.
pub(crate) fn prefix(pattern: &str) -> Prefix {
    let parts = parts(pattern);
    let mut text = String::new();
    for part in &parts {
        let Part::Character(character) = part else { break };
        text.push(*character);
    }
    let rest = &parts[text.chars().count()..];
    let factor = |part: &Part| match part {
        Part::Character(_) => CHARACTER,
        Part::AnyCharacter => ANY_CHARACTER,
        Part::AnyText => ANY_TEXT,
    };
    let selectivity = rest.iter().map(factor).product::<f64>().min(1.0);
    Prefix { text, is_whole: rest.is_empty(), rest: selectivity }
}

/// Whether a text matches a pattern with the escape character `\`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (parts, text): (Vec<Part>, Vec<char>) = (parts(pattern), text.chars().collect());
    let (mut part, mut place) = (0, 0);
    // Where to go on after the last `%`, if what follows it did not match.
    let mut retry: Option<(usize, usize)> = None;
    while place < text.len() {
        match parts.get(part) {
            Some(Part::AnyText) => {
                retry = Some((part, place));
                part += 1;
            }
            Some(Part::AnyCharacter) => (part, place) = (part + 1, place + 1),
            Some(Part::Character(wanted)) if *wanted == text[place] => {
                (part, place) = (part + 1, place + 1);
            }
            _ => {
                let Some((after, from)) = retry else { return false };
                retry = Some((after, from + 1));
                (part, place) = (after + 1, from + 1);
            }
        }
    }
    parts[part..].iter().all(|part| *part == Part::AnyText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_like_does() {
        for (pattern, text, expected) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a%", "abc", true),
            ("%b%", "abc", true),
            ("%bc", "abcbc", true),
            ("a_c", "abc", true),
            ("a_c", "ac", false),
            (r"a\%", "a%", true),
            (r"a\%", "ab", false),
            ("%", "", true),
            ("_", "", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{text} LIKE {pattern}");
        }
    }

    #[test]
    fn prefixes_end_at_wildcards() {
        let found = prefix("ab%c");
        assert_eq!((found.text.as_str(), found.is_whole), ("ab", false));
        assert_eq!(found.after().as_deref(), Some("ac"));
        assert!(prefix(r"a\_b").is_whole);
        assert_eq!(prefix("%").rest, 1.0);
    }
}
