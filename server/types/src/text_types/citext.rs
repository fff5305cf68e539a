//! How values of `citext` compare: as their lower case does, byte by byte.
//!
//! Rule: [`compare`], [`hash`] and [`folded`] agree, since keys hold what [`folded`] gives.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The characters of the form that counts. UTF-8 sorts as its code points do.
fn characters(text: &str) -> impl Iterator<Item = char> + '_ {
    // As `lower()`: a character whose lower case is several ones stays as it is.
    text.chars().map(|c| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(only), None) => only,
            _ => c,
        }
    })
}

/// The form of a value that counts in comparisons.
pub fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { characters(text).collect() }
}

/// The order of two values.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        let pairs = a.bytes().zip(b.bytes());
        let differs = |(x, y): (u8, u8)| x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase());
        let first = pairs.map(differs).find(|order| order.is_ne());
        return first.unwrap_or_else(|| a.len().cmp(&b.len()));
    }
    characters(a).cmp(characters(b))
}

/// Hashes a value so that equal ones have one hash.
pub fn hash<H: Hasher>(text: &str, state: &mut H) {
    folded(text).hash(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_folded_values() {
        let values =
            ["", "a", "A", "aB", "Ab", "b", "É", "é", "z", "Ünder", "ünder", "ſ", "İ", "A_", "A["];
        for a in values {
            for b in values {
                assert_eq!(compare(a, b), folded(a).cmp(&folded(b)), "{a} {b}");
            }
        }
    }
}
