//! Trigrams: three characters that follow each other in a word of a text.
//!
//! ```text
//!   text      Main St.       "  m" " ma" "mai" "ain" "in "   "  s" " st" "st "
//!   pattern   %ain s%        "ain" "in "   "  s"
//! ```
//!
//! Letters are made small. A word is letters and digits; two blanks stand before it and one behind
//! it. The words of a pattern have blanks only where a text that matches has the end of a word.

use braid_types::{Result, work};

use super::bytes::Term;

/// Trigrams that are collected before those that occur again are dropped.
const COLLECTED_MIN: usize = 4096;

type Trigram = [char; 3];

/// The trigrams of a text, sorted, each once. Fails once the statement is to stop.
pub fn trigrams(text: &str) -> Result<Vec<String>> {
    Ok(found_in(text, work::tick)?.iter().map(String::from_iter).collect())
}

/// The trigrams of each word of a text, in the order of the text. Fails once the statement is to
/// stop.
pub fn trigrams_by_word(text: &str) -> Result<Vec<Vec<String>>> {
    let (mut words, mut word) = (Vec::new(), Vec::new());
    let mut each = |trigram: Trigram, is_last| {
        word.push(String::from_iter(trigram));
        if is_last {
            words.push(std::mem::take(&mut word));
        }
    };
    for_each(text, work::tick, &mut each)?;
    Ok(words)
}

/// How much alike two texts are: common trigrams among all of both. Fails once the statement is to
/// stop.
pub fn similarity(a: &str, b: &str) -> Result<f32> {
    let (a, b) = (found_in(a, work::tick)?, found_in(b, work::tick)?);
    let mut common = 0;
    for trigram in &a {
        work::tick()?;
        common += usize::from(b.binary_search(trigram).is_ok());
    }
    let all = a.len() + b.len() - common;
    Ok(if all == 0 { 0.0 } else { common as f32 / all as f32 })
}

/// The terms of a text.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let count = || {
        work::note(1);
        Ok(())
    };
    // What only counts its work does not fail.
    let found = found_in(text, count).unwrap_or_default();
    found.iter().map(|trigram| String::from_iter(trigram).into_bytes()).collect()
}

/// The trigrams of a text, sorted, each once. `step` is called for each character.
fn found_in(text: &str, step: impl Fn() -> Result<()>) -> Result<Vec<Trigram>> {
    let (mut found, mut limit) = (Vec::new(), COLLECTED_MIN);
    let mut each = |trigram, _| {
        found.push(trigram);
        if found.len() >= limit {
            found.sort_unstable();
            found.dedup();
            limit = COLLECTED_MIN.max(2 * found.len());
        }
    };
    for_each(text, step, &mut each)?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Calls `each` with every trigram of a text and whether it is the last one of its word. `step` is
/// called for each character.
fn for_each(
    text: &str,
    step: impl Fn() -> Result<()>,
    each: &mut dyn FnMut(Trigram, bool),
) -> Result<()> {
    // The last two characters of the word, blanks before it included.
    let mut last = None;
    for c in folded(text).chain([' ']) {
        step()?;
        let is_inside = c.is_alphanumeric();
        let Some((first, second)) = last.or(is_inside.then_some((' ', ' '))) else { continue };
        each([first, second, if is_inside { c } else { ' ' }], !is_inside);
        last = is_inside.then_some((second, c));
    }
    Ok(())
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
    use std::sync::Arc;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use braid_types::{Error, SqlState};

    use super::*;

    fn of_pattern(pattern: &str) -> Vec<String> {
        let terms = terms_of_pattern(pattern).into_iter();
        terms.map(|term| String::from_utf8(term).expect("text")).collect()
    }

    fn of_text(text: &str) -> Vec<String> {
        trigrams(text).expect("no statement")
    }

    fn alike(a: &str, b: &str) -> f32 {
        similarity(a, b).expect("no statement")
    }

    #[test]
    fn what_occurs_again_is_kept_once() {
        let many = "abc de ".repeat(COLLECTED_MIN);
        assert_eq!(of_text(&many), ["  a", "  d", " ab", " de", "abc", "bc ", "de "]);
        let letters: String = (0..30_000_u32).filter_map(char::from_u32).collect();
        let sorted = of_text(&letters);
        assert!(sorted.len() > COLLECTED_MIN && sorted.is_sorted_by(|a, b| a < b));
    }

    struct Stopped;

    impl work::Statement for Stopped {
        fn check(&self) -> Result<()> {
            Err(Error::new(SqlState::QueryCanceled, "stopped"))
        }
    }

    #[test]
    fn long_texts_end_with_their_statement() {
        let statement: Arc<dyn work::Statement> = Arc::new(Stopped);
        let place = work::Place { slice: Duration::MAX, is_shared: false, aside: None };
        let mut compared = Box::pin(async {
            let long = "abc ".repeat(1000);
            let all = [
                similarity(&long, "abc").is_err(),
                trigrams(&long).is_err(),
                trigrams_by_word(&long).is_err(),
            ];
            (all, terms(&long).len())
        });
        let polled = work::poll(
            &statement,
            place,
            compared.as_mut(),
            &mut Context::from_waker(Waker::noop()),
        );
        // The terms of an index are what they are; the statement ends behind them.
        assert!(matches!(polled, work::Polled::Ready(([true, true, true], 4))));
    }

    #[test]
    fn words_have_their_own_trigrams() {
        let words = trigrams_by_word("a, bc").expect("no statement");
        assert_eq!(words, [vec!["  a", " a "], vec!["  b", " bc", "bc "]]);
    }

    #[test]
    fn words_have_blanks_around_them() {
        assert_eq!(of_text("Cat"), ["  c", " ca", "at ", "cat"]);
        assert_eq!(of_text("a, a"), ["  a", " a "]);
        assert!(of_text(" -- ").is_empty());
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
        assert!((alike("word", "word") - 1.0).abs() < f32::EPSILON);
        assert!((alike("word", "two words") - 4.0 / 11.0).abs() < 1e-6);
        assert!(alike("", "").abs() < f32::EPSILON);
    }
}
