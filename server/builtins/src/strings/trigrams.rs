//! Functions of pg_trgm: how much alike texts are.

use std::collections::HashMap;

use braid_codec::terms::trigram;
use braid_types::{Datum, Result, SqlType, work};

use crate::Call;
use crate::registry::tables::Registry;

/// The similarity from which on `%` holds, unless `pg_trgm.similarity_threshold` says otherwise.
const THRESHOLD: f64 = 0.3;

fn threshold(call: &Call<'_>) -> f64 {
    let set = call.env.setting("pg_trgm.similarity_threshold");
    set.and_then(|set| set.trim().parse().ok()).unwrap_or(THRESHOLD)
}

fn similarity(call: &Call<'_>) -> Result<f32> {
    trigram::similarity(call.text(0)?, call.text(1)?)
}

/// A `float4` has the digits of the value that is nearest to it.
fn float4(value: f32) -> Datum {
    Datum::Float(f64::from(value))
}

/// Which parts of a text are compared with a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Any trigrams that follow each other.
    Any,
    /// Whole words.
    Words,
}

impl Parts {
    /// The setting of the similarity from which on the operators hold, and its default.
    fn threshold(self, call: &Call<'_>) -> f64 {
        let (name, default) = match self {
            Parts::Any => ("pg_trgm.word_similarity_threshold", 0.6),
            Parts::Words => ("pg_trgm.strict_word_similarity_threshold", 0.5),
        };
        let set = call.env.setting(name);
        set.and_then(|set| set.trim().parse().ok()).unwrap_or(default)
    }
}

/// A trigram of the text that is searched.
struct Step {
    /// The first place of an equal trigram.
    same: usize,
    is_wanted: bool,
    begins_word: bool,
    ends_word: bool,
}

/// The trigrams of a text in their order; `wanted` are those of the word, sorted.
fn steps(text: &str, wanted: &[String]) -> Result<Vec<Step>> {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut steps = Vec::new();
    for word in trigram::trigrams_by_word(text)? {
        let last = word.len().saturating_sub(1);
        for (at, trigram) in word.into_iter().enumerate() {
            work::tick()?;
            let is_wanted = wanted.binary_search(&trigram).is_ok();
            let same = *first.entry(trigram).or_insert(steps.len());
            let (begins_word, ends_word) = (at == 0, at == last);
            steps.push(Step { same, is_wanted, begins_word, ends_word });
        }
    }
    Ok(steps)
}

/// How many different trigrams a part of a text has, and how many of them are wanted.
#[derive(Clone, Copy, Default)]
struct Tally {
    different: usize,
    wanted: usize,
}

impl Tally {
    fn similarity(self, of_word: usize) -> f32 {
        let all = of_word + self.different - self.wanted;
        if all == 0 { 0.0 } else { self.wanted as f32 / all as f32 }
    }
}

/// The similarity of a word to the part of a text that is most like it.
///
/// The part grows to the right. At each place where it may end, its left end moves right as far as
/// that makes it more alike.
fn word_similarity(word: &str, text: &str, parts: Parts) -> Result<f32> {
    let wanted = trigram::trigrams(word)?;
    let steps = steps(text, &wanted)?;
    // The last place in the part at which each trigram stands, by its first place in the text.
    let mut last: Vec<Option<usize>> = vec![None; steps.len()];
    let mut low = (parts == Parts::Words).then_some(0);
    let (mut tally, mut best) = (Tally::default(), 0.0_f32);
    for (place, step) in steps.iter().enumerate() {
        work::tick()?;
        if low.is_some() || step.is_wanted {
            if last[step.same].is_none() {
                tally.different += 1;
                tally.wanted += usize::from(step.is_wanted);
            }
            last[step.same] = Some(place);
        }
        let may_end = if parts == Parts::Words { step.ends_word } else { step.is_wanted };
        if !may_end {
            continue;
        }
        let from = *low.get_or_insert(place);
        let (mut here, mut begin, mut kept) = (tally.similarity(wanted.len()), from, tally);
        let mut rest = tally;
        for (at, step) in steps.iter().enumerate().take(place + 1).skip(from) {
            work::tick()?;
            let similarity = rest.similarity(wanted.len());
            if (parts == Parts::Any || step.begins_word) && similarity > here {
                (here, begin, kept) = (similarity, at, rest);
            }
            if last[step.same] == Some(at) {
                rest.different -= 1;
                rest.wanted -= usize::from(step.is_wanted);
            }
        }
        for (at, step) in steps.iter().enumerate().take(begin).skip(from) {
            if last[step.same] == Some(at) {
                last[step.same] = None;
            }
        }
        (low, tally, best) = (Some(begin), kept, best.max(here));
    }
    Ok(best)
}

/// The similarity of the first argument, a word, to a part of the second one, or the other way
/// round.
fn word_in_text(call: &Call<'_>, parts: Parts, is_swapped: bool) -> Result<f32> {
    let (word, text) = if is_swapped { (1, 0) } else { (0, 1) };
    word_similarity(call.text(word)?, call.text(text)?, parts)
}

/// Whether a word is like a part of a text: the operators `<%`, `%>` and their strict forms.
fn holds(call: &Call<'_>, parts: Parts, is_swapped: bool) -> Result<Datum> {
    let similarity = f64::from(word_in_text(call, parts, is_swapped)?);
    Ok(Datum::Bool(similarity >= parts.threshold(call)))
}

fn register_words(registry: &mut Registry) {
    registry.add("word_similarity(text, text) -> float4 stable", |c| {
        Ok(float4(word_in_text(c, Parts::Any, false)?))
    });
    registry.add("strict_word_similarity(text, text) -> float4 stable", |c| {
        Ok(float4(word_in_text(c, Parts::Words, false)?))
    });
    registry.add("<->(text, text) -> float4", |c| Ok(float4(1.0 - similarity(c)?)));
    registry.add("<<->(text, text) -> float4", |c| {
        Ok(float4(1.0 - word_in_text(c, Parts::Any, false)?))
    });
    registry.add("<->>(text, text) -> float4", |c| {
        Ok(float4(1.0 - word_in_text(c, Parts::Any, true)?))
    });
    registry.add("<<<->(text, text) -> float4", |c| {
        Ok(float4(1.0 - word_in_text(c, Parts::Words, false)?))
    });
    registry.add("<->>>(text, text) -> float4", |c| {
        Ok(float4(1.0 - word_in_text(c, Parts::Words, true)?))
    });
    registry.add("<%(text, text) -> bool stable", |c| holds(c, Parts::Any, false));
    registry.add("%>(text, text) -> bool stable", |c| holds(c, Parts::Any, true));
    registry.add("<<%(text, text) -> bool stable", |c| holds(c, Parts::Words, false));
    registry.add("%>>(text, text) -> bool stable", |c| holds(c, Parts::Words, true));
}

fn show(call: &Call<'_>) -> Result<Datum> {
    let trigrams = trigram::trigrams(call.text(0)?)?;
    Ok(Datum::array(SqlType::Text, trigrams.into_iter().map(Datum::text).collect()))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("show_trgm(text) -> text[]", show);
    registry.add("similarity(text, text) -> float4", |c| Ok(float4(similarity(c)?)));
    registry.add("similarity_dist(text, text) -> float4", |c| Ok(float4(1.0 - similarity(c)?)));
    for signature in ["%(text, text) -> bool stable", "similarity_op(text, text) -> bool stable"] {
        registry.add(signature, |c| Ok(Datum::Bool(f64::from(similarity(c)?) >= threshold(c))));
    }
    register_words(registry);
    registry.add("show_limit() -> float4 stable", |c| Ok(float4(threshold(c) as f32)));
}
