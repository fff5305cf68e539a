//! How well a text matches a query: `ts_rank`.

use braid_types::search::{Item, LexemeRef, Operator, POSITION_MAX, Place, Query, Vector};
use braid_types::{Datum, Error, Result, SqlState, work};

use super::cover::normalization::{BELOW_ONE, LENGTH, LOG_LENGTH, LOG_UNIQUE, UNIQUE};
use super::cover::{cover_density, places_of};
use super::queries::query;
use super::vectors::vector;
use crate::Call;
use crate::registry::call::invalid;
use crate::registry::tables::Registry;

/// What places count, from D to A, unless a call says otherwise.
const WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];
/// The sum of 1/i² over all i.
const SQUARES_SUM: f64 = 1.644_934_066_85;
/// The distance of a word whose place is not known.
const UNKNOWN_DISTANCE: i32 = 16_384;

/// The weights of an argument; negative ones stand for the usual ones.
fn weights(call: &Call<'_>, at: usize) -> Result<[f32; 4]> {
    let array = call.array(at)?;
    let wrong = |message: &str| Error::new(SqlState::ArraySubscriptError, message);
    if array.dimensions().len() != 1 {
        return Err(wrong("array of weight must be one-dimensional"));
    }
    if array.items.len() < WEIGHTS.len() {
        return Err(wrong("array of weight is too short"));
    }
    if array.items.iter().any(Datum::is_null) {
        let message = "array of weight must not contain nulls";
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    let mut weights = WEIGHTS;
    for (weight, item) in weights.iter_mut().zip(&array.items) {
        let Datum::Float(given) = item else { continue };
        if *given >= 0.0 {
            *weight = *given as f32;
        }
        if *weight > 1.0 {
            return Err(invalid("weight out of range"));
        }
    }
    Ok(weights)
}

/// The values of a query in the order of their bytes, each once.
fn operands(query: &Query) -> Vec<(&str, bool)> {
    let mut found: Vec<(&str, bool)> = Vec::new();
    for item in &query.items {
        if let Item::Value { text, is_prefix, .. } = item {
            found.push((text, *is_prefix));
        }
    }
    found.sort_by_key(|(text, _)| *text);
    found.dedup_by_key(|(text, _)| *text);
    found
}

fn weight_at(weights: &[f32; 4], place: Place) -> f32 {
    weights.get(usize::from(place.weight)).copied().unwrap_or(0.0)
}

fn distance_factor(distance: i32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(distance as f32) / 1.5 - 2.0).exp())) as f32
}

/// The places of a lexeme, and whether they are known.
fn known_places(lexeme: LexemeRef<'_>) -> (Vec<Place>, bool) {
    match lexeme.count() {
        0 => (vec![Place { position: POSITION_MAX, weight: 0 }], false),
        _ => (lexeme.places().collect(), true),
    }
}

/// Words that are near each other count more.
fn rank_and(weights: &[f32; 4], vector: &Vector<'_>, query: &Query) -> Result<f32> {
    let operands = operands(query);
    if operands.len() < 2 {
        return rank_or(weights, vector, query);
    }
    let mut result = -1.0f32;
    let mut before: Vec<Option<(Vec<Place>, bool)>> = vec![None; operands.len()];
    for (at, (text, is_prefix)) in operands.iter().enumerate() {
        for lexeme in vector.lookup(text, *is_prefix) {
            let (places, is_known) = known_places(*lexeme);
            for (others, are_known) in before.iter().take(at).flatten() {
                for place in &places {
                    for other in others {
                        work::tick()?;
                        let apart = i32::from(place.position) - i32::from(other.position);
                        let mut distance = apart.abs();
                        if distance == 0 {
                            if is_known && *are_known {
                                continue;
                            }
                            distance = UNKNOWN_DISTANCE;
                        }
                        let both = weight_at(weights, *place) * weight_at(weights, *other);
                        let near = f64::from(both * distance_factor(distance)).sqrt() as f32;
                        result = if result < 0.0 {
                            near
                        } else {
                            (1.0 - (1.0 - f64::from(result)) * (1.0 - f64::from(near))) as f32
                        };
                    }
                }
            }
            if let Some(slot) = before.get_mut(at) {
                *slot = Some((places, is_known));
            }
        }
    }
    Ok(result)
}

/// Words count by themselves.
fn rank_or(weights: &[f32; 4], vector: &Vector<'_>, query: &Query) -> Result<f32> {
    let operands = operands(query);
    let mut result = 0.0f32;
    for (text, is_prefix) in &operands {
        for lexeme in vector.lookup(text, *is_prefix) {
            work::tick()?;
            let (places, _) = known_places(*lexeme);
            let (mut sum, mut best, mut best_at) = (0.0f32, -1.0f32, 0i32);
            for (at, place) in (0i32..).zip(&places) {
                let weight = weight_at(weights, *place);
                sum += weight / ((at + 1) * (at + 1)) as f32;
                if weight > best {
                    (best, best_at) = (weight, at);
                }
            }
            let one = best + sum - best / ((best_at + 1) * (best_at + 1)) as f32;
            result = (f64::from(result) + f64::from(one) / SQUARES_SUM) as f32;
        }
    }
    if !operands.is_empty() {
        result /= operands.len() as f32;
    }
    Ok(result)
}

fn rank(weights: &[f32; 4], vector: &Vector<'_>, query: &Query, method: i64) -> Result<f32> {
    if vector.lexemes.is_empty() || query.items.is_empty() {
        return Ok(0.0);
    }
    let top = Item::Operator(Operator::And);
    let is_and = query
        .items
        .last()
        .is_some_and(|last| *last == top || matches!(last, Item::Operator(Operator::Phrase(_))));
    let mut result = match is_and {
        true => rank_and(weights, vector, query)?,
        false => rank_or(weights, vector, query)?,
    };
    if result < 0.0 {
        result = 1e-20;
    }
    let (length, unique) = (places_of(vector), vector.lexemes.len());
    let divide = |result: f32, by: f64| (f64::from(result) / by) as f32;
    if method & LOG_LENGTH > 0 {
        result = divide(result, ((length + 1) as f64).ln() / 2f64.ln());
    }
    if method & LENGTH > 0 && length > 0 {
        result /= length as f32;
    }
    if method & UNIQUE > 0 {
        result /= unique as f32;
    }
    if method & LOG_UNIQUE > 0 {
        result = divide(result, ((unique + 1) as f64).ln() / 2f64.ln());
    }
    if method & BELOW_ONE > 0 {
        result /= result + 1.0;
    }
    Ok(result)
}

/// Calls a function with weights, vector, query and normalization of a call.
fn ranked(
    call: &Call<'_>,
    has_weights: bool,
    of: fn(&[f32; 4], &Vector<'_>, &Query, i64) -> Result<f32>,
) -> Result<Datum> {
    let first = usize::from(has_weights);
    let weights = if has_weights { weights(call, 0)? } else { WEIGHTS };
    let method = if call.args.len() > first + 2 { call.int(first + 2)? } else { 0 };
    let result = of(&weights, &vector(call, first)?, &query(call, first + 1)?, method)?;
    Ok(Datum::Float(f64::from(result)))
}

pub(super) fn register(registry: &mut Registry) {
    for signature in
        ["ts_rank(tsvector, tsquery) -> float4", "ts_rank(tsvector, tsquery, int4) -> float4"]
    {
        registry.add(signature, |c| ranked(c, false, rank));
    }
    for signature in [
        "ts_rank(float4[], tsvector, tsquery) -> float4",
        "ts_rank(float4[], tsvector, tsquery, int4) -> float4",
    ] {
        registry.add(signature, |c| ranked(c, true, rank));
    }
    for signature in
        ["ts_rank_cd(tsvector, tsquery) -> float4", "ts_rank_cd(tsvector, tsquery, int4) -> float4"]
    {
        registry.add(signature, |c| ranked(c, false, cover_density));
    }
    for signature in [
        "ts_rank_cd(float4[], tsvector, tsquery) -> float4",
        "ts_rank_cd(float4[], tsvector, tsquery, int4) -> float4",
    ] {
        registry.add(signature, |c| ranked(c, true, cover_density));
    }
}
