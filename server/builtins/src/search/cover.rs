//! How near the words of a query are to each other in a text: `ts_rank_cd`.
//!
//! ```text
//!   query a & b    text  a x b x x a b     covers  [a x b]  [b x x a]  [a b]
//! ```
//!
//! A cover is a shortest part of the text that matches the query. The shorter it is, and the more
//! its words weigh, the more it counts.

use braid_types::search::{Found, Item, Place, Query, Vector, matches};
use braid_types::{Result, work};

/// Ways to make long texts count less, as bits of an argument.
pub(super) mod normalization {
    pub(in super::super) const LOG_LENGTH: i64 = 1;
    pub(in super::super) const LENGTH: i64 = 2;
    pub(in super::super) const DISTANCE: i64 = 4;
    pub(in super::super) const UNIQUE: i64 = 8;
    pub(in super::super) const LOG_UNIQUE: i64 = 16;
    pub(in super::super) const BELOW_ONE: i64 = 32;
}
use normalization::{BELOW_ONE, DISTANCE, LENGTH, LOG_LENGTH, LOG_UNIQUE, UNIQUE};

/// The number of places of a vector; a lexeme without places counts as one.
pub(super) fn places_of(vector: &Vector<'_>) -> usize {
    vector.lexemes.iter().map(|lexeme| lexeme.count().max(1)).sum()
}

/// A word of the text that values of the query ask for.
struct Word {
    place: Place,
    /// The values, by their places among the items of the query.
    items: Vec<usize>,
}

/// The words that a query asks for, in the order of the text.
fn words(vector: &Vector<'_>, query: &Query) -> Result<Vec<Word>> {
    let mut found: Vec<(Place, &str, usize)> = Vec::new();
    for (at, item) in query.items.iter().enumerate() {
        let Item::Value { text, weights, is_prefix } = item else { continue };
        for lexeme in vector.lookup(text, *is_prefix) {
            for place in lexeme.places() {
                work::tick()?;
                if *weights == 0 || weights & (1 << place.weight) > 0 {
                    found.push((place, lexeme.text, at));
                }
            }
        }
    }
    found.sort_by_key(|(place, text, _)| (place.position, place.weight, *text));
    let mut words: Vec<Word> = Vec::new();
    let mut last: Option<(Place, &str)> = None;
    for (place, text, item) in found {
        match words.last_mut() {
            Some(word) if last == Some((place, text)) => word.items.push(item),
            _ => words.push(Word { place, items: vec![item] }),
        }
        last = Some((place, text));
    }
    Ok(words)
}

/// The words between two places of a text, as a query sees them.
struct Seen {
    positions: Vec<Option<Vec<u32>>>,
    inside: Vec<bool>,
}

impl Seen {
    fn clear(&mut self) {
        self.positions.iter_mut().for_each(|positions| *positions = None);
    }

    fn add(&mut self, word: &Word) {
        for item in &word.items {
            let Some(slot) = self.positions.get_mut(*item) else { continue };
            let positions = slot.get_or_insert_default();
            let position = u32::from(word.place.position);
            if positions.last() != Some(&position) {
                positions.push(position);
            }
        }
    }

    /// Whether the query matches them. Words may have been added from the last to the first.
    fn matches(&self, query: &Query, is_reverse: bool) -> Result<bool> {
        matches(query, &self.inside, &mut |at, _, with_positions| {
            let Some(Some(positions)) = self.positions.get(at) else {
                return (Found::No, Vec::new());
            };
            let mut positions = if with_positions { positions.clone() } else { Vec::new() };
            if is_reverse {
                positions.reverse();
            }
            (Found::Yes, positions)
        })
    }
}

/// A cover: its first and last word.
type Cover = (usize, usize);

/// The next cover that begins at a word or after it, and where to look for the one after it.
fn next_cover(
    words: &[Word],
    query: &Query,
    seen: &mut Seen,
    from: &mut usize,
) -> Result<Option<Cover>> {
    loop {
        seen.clear();
        let mut end = None;
        for (at, word) in words.iter().enumerate().skip(*from) {
            work::tick()?;
            seen.add(word);
            if seen.matches(query, false)? {
                end = Some(at).filter(|_| word.place.position > 0);
                break;
            }
        }
        let Some(end) = end else { return Ok(None) };
        seen.clear();
        for at in (*from..=end).rev() {
            work::tick()?;
            let Some(word) = words.get(at) else { continue };
            seen.add(word);
            if seen.matches(query, true)? {
                *from = at + 1;
                return Ok(Some((at, end)));
            }
        }
        *from += 1;
    }
}

/// The rank by covers.
pub(super) fn cover_density(
    weights: &[f32; 4],
    vector: &Vector<'_>,
    query: &Query,
    method: i64,
) -> Result<f32> {
    let words = words(vector, query)?;
    if words.is_empty() {
        return Ok(0.0);
    }
    let mut seen =
        Seen { positions: vec![None; query.items.len()], inside: query.inside_of_phrases() };
    let (mut rank, mut apart, mut covers, mut from) = (0.0f64, 0.0f64, 0usize, 0);
    let mut last_middle = 0.0f64;
    while let Some((begin, end)) = next_cover(&words, query, &mut seen, &mut from)? {
        let inside = words.get(begin..=end).unwrap_or_default();
        let heaviness: f64 = inside
            .iter()
            .map(|word| weights.get(usize::from(word.place.weight)).copied().unwrap_or(1.0))
            .map(|weight| 1.0 / f64::from(weight))
            .sum();
        let position = |at: usize| words.get(at).map_or(0, |word| i64::from(word.place.position));
        let (first, last) = (position(begin), position(end));
        let distance = (end - begin) as i64;
        // Beyond the last position nothing is known of the words between.
        let noise = match last - first - distance {
            negative if negative < 0 => distance / 2,
            noise => noise,
        };
        rank += inside.len() as f64 / heaviness / (1 + noise) as f64;
        let middle = (first + last) as f64 / 2.0;
        if covers > 0 && middle > last_middle {
            apart += 1.0 / (middle - last_middle);
        }
        (last_middle, covers) = (middle, covers + 1);
    }
    let (length, unique) = (places_of(vector), vector.lexemes.len());
    if method & LOG_LENGTH > 0 {
        rank /= ((length + 1) as f64).ln();
    }
    if method & LENGTH > 0 && length > 0 {
        rank /= length as f64;
    }
    if method & DISTANCE > 0 && covers > 0 && apart > 0.0 {
        rank /= covers as f64 / apart;
    }
    if method & UNIQUE > 0 {
        rank /= unique as f64;
    }
    if method & LOG_UNIQUE > 0 {
        rank /= ((unique + 1) as f64).ln() / 2f64.ln();
    }
    if method & BELOW_ONE > 0 {
        rank /= rank + 1.0;
    }
    Ok(rank as f32)
}
