//! Trigrams: three characters that follow each other in a word of a text.
//!
//! ```text
//!   text      Main St.       "  m" " ma" "mai" "ain" "in "   "  s" " st" "st "
//!   pattern   %ain s%        "ain" "in "   "  s"
//! ```
//!
//! Letters are made small. A word is letters and digits; two blanks stand before it and one behind
//! it. The words of a pattern have blanks only where a text that matches has the end of a word.

use super::Term;

/// The trigrams of a text, sorted, each once.
pub fn trigrams(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let folded: Vec<char> = folded(text).collect();
    for word in folded.split(|c| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        push_trigrams(word, (true, true), &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The trigrams of each word of a text, in the order of the text.
pub fn trigrams_by_word(text: &str) -> Vec<Vec<String>> {
    let folded: Vec<char> = folded(text).collect();
    let words = folded.split(|c| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let of_word = |word: &[char]| {
        let mut found = Vec::new();
        push_trigrams(word, (true, true), &mut found);
        found
    };
    words.map(of_word).collect()
}

/// How much alike two texts are: common trigrams among all of both.
pub fn similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (trigrams(a), trigrams(b));
    let common = a.iter().filter(|trigram| b.binary_search(trigram).is_ok()).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 0.0 } else { common as f32 / all as f32 }
}

/// The terms of a text.
pub(super) fn terms(text: &str) -> Vec<Term> {
    trigrams(text).into_iter().map(String::into_bytes).collect()
}

/// The terms of every text that matches a pattern of LIKE or ILIKE.
pub(super) fn terms_of_pattern(pattern: &str) -> Vec<Term> {
    let mut found = Vec::new();
    for piece in pieces(pattern) {
        piece.push_trigrams(&mut found);
    }
    found.into_iter().map(String::into_bytes).collect()
}

/// Small letters, one character at a time: what stands around a character makes no difference.
fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c })
}

/// The trigrams of a word; at a known end it has blanks.
fn push_trigrams(word: &[char], (begins, ends): (bool, bool), found: &mut Vec<String>) {
    let before = std::iter::repeat_n(' ', if begins { 2 } else { 0 });
    let after = std::iter::repeat_n(' ', usize::from(ends));
    let padded: Vec<char> = before.chain(word.iter().copied()).chain(after).collect();
    found.extend(padded.windows(3).map(|three| three.iter().collect::<String>()));
}

/// Characters between two wildcards of a pattern.
#[derive(Default)]
struct Piece {
    characters: Vec<char>,
    /// The text begins with it.
    is_first: bool,
    /// The text ends with it.
    is_last: bool,
}

impl Piece {
    fn push_trigrams(&self, found: &mut Vec<String>) {
        let mut at = 0;
        let words = self.characters.split(|c| !c.is_alphanumeric());
        for word in words {
            let (start, end) = (at, at + word.len());
            at = end + 1;
            if word.is_empty() {
                continue;
            }
            let begins = start > 0 || self.is_first;
            let ends = end < self.characters.len() || self.is_last;
            push_trigrams(word, (begins, ends), found);
        }
    }
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut found = vec![Piece { is_first: true, ..Piece::default() }];
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let literal = match c {
            '%' | '_' => {
                found.push(Piece::default());
                continue;
            }
            '\\' => rest.next(),
            c => Some(c),
        };
        if let (Some(piece), Some(c)) = (found.last_mut(), literal) {
            let mut bytes = [0; 4];
            piece.characters.extend(folded(c.encode_utf8(&mut bytes)));
        }
    }
    if let Some(piece) = found.last_mut() {
        piece.is_last = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_pattern(pattern: &str) -> Vec<String> {
        let terms = terms_of_pattern(pattern).into_iter();
        terms.map(|term| String::from_utf8(term).expect("text")).collect()
    }

    #[test]
    fn words_have_blanks_around_them() {
        assert_eq!(trigrams("Cat"), ["  c", " ca", "at ", "cat"]);
        assert_eq!(trigrams("a, a"), ["  a", " a "]);
        assert!(trigrams(" -- ").is_empty());
    }

    #[test]
    fn patterns_know_the_ends_of_words_only_where_they_are() {
        assert_eq!(of_pattern("%ain s%"), ["ain", "in ", "  s"]);
        assert_eq!(of_pattern("foo%"), ["  f", " fo", "foo"]);
        assert_eq!(of_pattern("%bar"), ["bar", "ar "]);
        assert_eq!(of_pattern("a_c"), ["  a"]);
        assert_eq!(of_pattern(r"%50\%%"), ["50 "]);
        assert!(of_pattern("%ab%").is_empty());
    }

    #[test]
    fn equal_texts_are_alike() {
        assert!((similarity("word", "word") - 1.0).abs() < f32::EPSILON);
        assert!((similarity("word", "two words") - 4.0 / 11.0).abs() < 1e-6);
        assert!(similarity("", "").abs() < f32::EPSILON);
    }
}
