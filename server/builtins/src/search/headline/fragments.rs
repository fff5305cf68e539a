//! Which parts of a text a headline shows.

use braid_types::search::{Found, Query, matches};
use braid_types::{Result, work};

use super::word::{Options, Word};
use crate::search::parser::Token;

/// The covers of a query: the shortest parts that match it and begin at some word of it.
struct Covers<'q> {
    query: &'q Query,
    inside: Vec<bool>,
    /// Tokens of a cover at most.
    longest: usize,
}

impl Covers<'_> {
    fn matches(&self, words: &[Word<'_>]) -> Result<bool> {
        matches(self.query, &self.inside, &mut |at, _, with_positions| {
            let mut positions: Vec<u32> = Vec::new();
            for word in words.iter().filter(|word| word.item == Some(at)) {
                if !with_positions {
                    return (Found::Yes, positions);
                }
                if positions.last().is_none_or(|last| *last < word.position) {
                    positions.push(word.position);
                }
            }
            let found = if positions.is_empty() { Found::No } else { Found::Yes };
            (found, positions)
        })
    }

    /// The first and last word of the next cover from a word on.
    fn next(&self, words: &[Word<'_>], from: usize) -> Result<Option<(usize, usize)>> {
        let wanted = |from: usize| {
            let rest = words.iter().enumerate().skip(from);
            rest.filter(|(_, word)| word.item.is_some()).map(|(at, _)| at)
        };
        for begin in wanted(from) {
            for end in wanted(begin) {
                work::spend_bytes((end - begin) * 8)?;
                if end > begin && end - begin >= self.longest {
                    break;
                }
                if self.matches(words.get(begin..=end).unwrap_or_default())? {
                    return Ok(Some((begin, end)));
                }
            }
        }
        Ok(None)
    }
}

fn mark(words: &mut [Word<'_>], highlights_all: bool, (from, to): (usize, usize)) {
    for word in words.iter_mut().take(to + 1).skip(from) {
        word.is_selected |= word.item.is_some();
        let is_whole = matches!(
            word.token,
            Token::Url | Token::NumHyphenated | Token::AsciiHyphenated | Token::Hyphenated
        );
        word.is_replaced |= !highlights_all && word.token == Token::Tag;
        word.is_skipped |= is_whole;
        word.is_in = !word.is_repeated;
    }
}

/// Marks the first words, as few as there should be.
fn first_words(words: &[Word<'_>], words_min: i32) -> (usize, usize) {
    let (mut count, mut last) = (0, 0);
    for (at, word) in words.iter().enumerate() {
        if count >= words_min {
            break;
        }
        count += i32::from(word.counts());
        last = at;
    }
    (0, last)
}

/// A part that may be shown.
#[derive(Clone, Copy)]
struct Part {
    from: usize,
    to: usize,
    /// Words of the query in it.
    interesting: i32,
    has_cover: bool,
}

/// The part around a cover, neither too long nor too short.
fn part_around(words: &[Word<'_>], (p, q): (usize, usize), options: &Options) -> Result<Part> {
    let (words_min, words_max) = (options.words_min, options.words_max);
    let word = |at: usize| words.get(at);
    let counts = |at: usize| i32::from(word(at).is_some_and(Word::counts));
    let is_interesting = |at: usize| i32::from(word(at).is_some_and(Word::is_interesting));
    let is_bad = |at: usize| word(at).is_some_and(|word| word.is_bad_end(options.short_word));
    let (mut from, mut to, mut count, mut interesting) = (p, p, 0, 0);
    let mut at = p;
    while at <= q && count < words_max {
        count += counts(at);
        interesting += is_interesting(at);
        to = at;
        at += 1;
    }
    if count < words_max {
        // The last word of the cover is looked at again, as a possible end.
        at = at.saturating_sub(1);
        while at < words.len() && count < words_max {
            work::tick()?;
            if at > q {
                count += counts(at);
                interesting += is_interesting(at);
            }
            to = at;
            if !is_bad(at) && count >= words_min {
                break;
            }
            at += 1;
        }
        if count < words_min {
            from = 0;
            for at in (0..p).rev() {
                work::tick()?;
                count += counts(at);
                interesting += is_interesting(at);
                if count >= words_max || (!is_bad(at) && count >= words_min) {
                    from = at;
                    break;
                }
            }
        }
    } else {
        at = at.min(q);
        while count > words_min && is_bad(at) {
            count -= counts(at);
            interesting -= is_interesting(at);
            let Some(before) = at.checked_sub(1) else { break };
            (to, at) = (before, before);
        }
    }
    Ok(Part { from, to, interesting, has_cover: from <= p && to >= q })
}

/// Marks the one part that shows most of a query.
pub(super) fn mark_best_words(
    words: &mut [Word<'_>],
    query: &Query,
    options: &Options,
    longest: usize,
) -> Result<()> {
    if options.highlights_all {
        mark(words, true, (0, words.len().saturating_sub(1)));
        return Ok(());
    }
    let covers = Covers { query, inside: query.inside_of_phrases(), longest };
    let is_bad = |at: usize| words.get(at).is_some_and(|w| w.is_bad_end(options.short_word));
    let (mut best, mut next) = (None::<Part>, 0);
    while let Some(cover) = covers.next(words, next)? {
        let part = part_around(words, cover, options)?;
        let is_better = best.is_none_or(|best| {
            let order = (part.has_cover, part.interesting).cmp(&(best.has_cover, best.interesting));
            order.is_gt() || (order.is_eq() && !is_bad(part.to) && is_bad(best.to))
        });
        if is_better {
            best = Some(part);
        }
        next = cover.0 + 1;
    }
    let place = match best {
        Some(best) => (best.from, best.to),
        None => first_words(words, options.words_min),
    };
    mark(words, false, place);
    Ok(())
}

/// A part of a cover that begins and ends with a word of the query.
struct Fragment {
    from: usize,
    to: usize,
    words: i32,
    interesting: i32,
    is_out: bool,
}

/// The first part of a cover that is not too long.
fn first_fragment(words: &[Word<'_>], (from, to): (usize, usize), words_max: i32) -> Fragment {
    let word = |at: usize| words.get(at);
    let is_interesting = |at: usize| word(at).is_some_and(Word::is_interesting);
    let counts = |at: usize| i32::from(word(at).is_some_and(Word::counts));
    let from = (from..=to).find(|at| is_interesting(*at)).unwrap_or(to);
    let mut found = Fragment { from, to, words: 0, interesting: 0, is_out: false };
    let mut at = from;
    while at <= to && found.words < words_max {
        found.words += counts(at);
        found.interesting += i32::from(is_interesting(at));
        at += 1;
    }
    if to > at {
        found.to = from;
        for at in (from..=at).rev() {
            found.to = at;
            if is_interesting(at) {
                break;
            }
            found.words -= counts(at);
        }
    }
    found
}

/// Makes a fragment longer at both ends, up to other ones.
fn stretched(words: &[Word<'_>], fragment: &Fragment, options: &Options) -> (usize, usize) {
    let (mut from, mut to, mut count) = (fragment.from, fragment.to, fragment.words);
    if count >= options.words_max {
        return (from, to);
    }
    let is_bad = |at: usize| words.get(at).is_some_and(|w| w.is_bad_end(options.short_word));
    let counts = |at: usize| i32::from(words.get(at).is_some_and(Word::counts));
    let is_free = |at: usize| words.get(at).is_some_and(|word| !word.is_in);
    let (stretch_max, mut stretch, mut marker) = ((options.words_max - count) / 2, 0, from);
    for at in (0..from).rev() {
        if stretch >= stretch_max || !is_free(at) {
            break;
        }
        count += counts(at);
        stretch += counts(at);
        marker = at;
    }
    while marker < from && is_bad(marker) {
        count -= counts(marker);
        marker += 1;
    }
    from = marker;
    marker = to;
    for at in to + 1..words.len() {
        if count >= options.words_max || !is_free(at) {
            break;
        }
        count += counts(at);
        marker = at;
    }
    while marker > to && is_bad(marker) {
        marker -= 1;
    }
    to = marker;
    (from, to)
}

/// Marks several parts that show most of a query.
pub(super) fn mark_fragments(
    words: &mut [Word<'_>],
    query: &Query,
    options: &Options,
    (fragments_max, longest): (usize, usize),
) -> Result<()> {
    let covers = Covers { query, inside: query.inside_of_phrases(), longest };
    let (mut fragments, mut next) = (Vec::<Fragment>::new(), 0);
    while let Some((p, q)) = covers.next(words, next)? {
        let mut from = p;
        while from <= q {
            work::tick()?;
            let fragment = first_fragment(words, (from, q), options.words_max);
            from = fragment.to + 1;
            fragments.push(fragment);
        }
        next = p + 1;
    }
    let mut is_any = false;
    for _ in 0..fragments_max.min(fragments.len()) {
        let free = fragments.iter().enumerate().filter(|(_, fragment)| !fragment.is_out);
        // Most words of the query, then the fewest words, then the first one.
        let best =
            free.filter(|(_, fragment)| fragment.interesting > 0 || fragment.words < i32::MAX);
        let best = best.min_by_key(|(_, fragment)| (-fragment.interesting, fragment.words));
        let Some((at, fragment)) = best else { break };
        let (from, to) = stretched(words, fragment, options);
        mark(words, options.highlights_all, (from, to));
        is_any = true;
        for (other, fragment) in fragments.iter_mut().enumerate() {
            work::tick()?;
            fragment.is_out |= other == at || (fragment.from <= to && fragment.to >= from);
        }
    }
    if !is_any {
        let place = first_words(words, options.words_min);
        mark(words, options.highlights_all, place);
    }
    Ok(())
}
