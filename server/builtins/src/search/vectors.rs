//! What is asked of vectors and made of them.

use std::collections::HashSet;

use braid_types::search::{Lexeme, LexemeRef, POSITION_MAX, Place, Vector};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType, work};

use crate::registry::call::{count, invalid};
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, Rows};

/// The vector of an argument.
pub(super) fn vector<'a>(call: &Call<'a>, at: usize) -> Result<Vector<'a>> {
    Vector::read(call.bytes(at)?)
}

/// 3 for `A` to 0 for `D`.
fn weight_of(letter: &str) -> Result<u8> {
    Ok(match letter {
        "a" | "A" => 3,
        "b" | "B" => 2,
        "c" | "C" => 1,
        "d" | "D" => 0,
        other => {
            let code = other.bytes().next().unwrap_or(0);
            return Err(invalid(format!("unrecognized weight: {code}")));
        }
    })
}

/// The strings of an array. NULLs are passed over.
fn words<'a>(call: &Call<'a>, at: usize) -> Result<HashSet<&'a str>> {
    Ok(call.texts(at)?.into_iter().flatten().collect())
}

fn nulls(what: &str) -> Error {
    let message = format!("{what} array may not contain nulls");
    Error::new(SqlState::NullValueNotAllowed, message)
}

/// A vector of some of the lexemes, perhaps changed.
fn changed(
    call: &Call<'_>,
    mut change: impl FnMut(LexemeRef<'_>) -> Result<Option<Lexeme>>,
) -> Result<Datum> {
    let vector = vector(call, 0)?;
    let mut lexemes = Vec::with_capacity(vector.lexemes.len());
    for lexeme in vector.lexemes {
        work::tick()?;
        lexemes.extend(change(lexeme)?);
    }
    Vector::make(lexemes)
}

fn set_weight(call: &Call<'_>, chosen: Option<&HashSet<&str>>) -> Result<Datum> {
    let weight = weight_of(call.text(1)?)?;
    changed(call, |lexeme| {
        let mut own = lexeme.to_lexeme();
        if chosen.is_none_or(|chosen| chosen.contains(lexeme.text)) {
            own.places.iter_mut().for_each(|place| place.weight = weight);
        }
        Ok(Some(own))
    })
}

fn delete(call: &Call<'_>, words: &HashSet<&str>) -> Result<Datum> {
    changed(call, |lexeme| Ok((!words.contains(lexeme.text)).then(|| lexeme.to_lexeme())))
}

fn filter(call: &Call<'_>) -> Result<Datum> {
    let mut mask = 0u8;
    for letter in call.texts(1)? {
        let letter = letter.ok_or_else(|| nulls("weight"))?;
        let weight = weight_of(letter).map_err(|_| {
            invalid(format!("unrecognized weight: \"{}\"", letter.chars().next().unwrap_or(' ')))
        })?;
        mask |= 1 << weight;
    }
    changed(call, |lexeme| {
        let places: Vec<Place> =
            lexeme.places().filter(|place| mask & (1 << place.weight) > 0).collect();
        Ok((!places.is_empty()).then(|| Lexeme { text: lexeme.text.to_owned(), places }))
    })
}

/// Both vectors, the second one behind the last position of the first one.
fn concat(call: &Call<'_>) -> Result<Datum> {
    let (first, second) = (vector(call, 0)?, vector(call, 1)?);
    let last_of = |lexeme: &LexemeRef<'_>| lexeme.places().last().map_or(0, |last| last.position);
    let shift = first.lexemes.iter().map(last_of).max().unwrap_or(0);
    let mut lexemes: Vec<Lexeme> = Vec::with_capacity(first.lexemes.len() + second.lexemes.len());
    lexemes.extend(first.lexemes.iter().map(|lexeme| lexeme.to_lexeme()));
    for lexeme in &second.lexemes {
        work::tick()?;
        let mut own = lexeme.to_lexeme();
        for place in &mut own.places {
            place.position = (place.position.saturating_add(shift)).min(POSITION_MAX);
        }
        own.places.dedup_by_key(|place| place.position);
        lexemes.push(own);
    }
    Vector::make(lexemes)
}

fn texts(items: impl Iterator<Item = String>) -> Datum {
    Datum::array(SqlType::Text, items.map(Datum::text).collect())
}

fn from_array(call: &Call<'_>) -> Result<Datum> {
    let words = call.texts(0)?.into_iter().map(|word| word.ok_or_else(|| nulls("lexeme")));
    let words = words.collect::<Result<Vec<_>>>()?;
    if words.iter().any(|word| word.is_empty()) {
        let message = "lexeme array may not contain empty strings";
        return Err(Error::new(SqlState::ZeroLengthCharacterString, message));
    }
    Vector::make(
        words.into_iter().map(|word| Lexeme { text: word.into(), places: vec![] }).collect(),
    )
}

const WEIGHTS: [&str; 4] = ["D", "C", "B", "A"];

fn unnest(call: &Call<'_>) -> Result<Rows> {
    let mut found = Vec::new();
    for lexeme in vector(call, 0)?.lexemes {
        work::tick()?;
        let mut row = Row::from([Datum::text(lexeme.text), Datum::Null, Datum::Null]);
        if lexeme.count() > 0 {
            let positions = lexeme.places().map(|place| Datum::Int(place.position.into()));
            row[1] = Datum::array(SqlType::Int2, positions.collect());
            let letter = |place: Place| WEIGHTS.get(usize::from(place.weight)).copied();
            row[2] = texts(lexeme.places().filter_map(letter).map(str::to_owned));
        }
        found.push(row);
    }
    rows(found.into_iter())
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("setweight(tsvector, \"char\") -> tsvector", |c| set_weight(c, None));
    registry.add("setweight(tsvector, \"char\", text[]) -> tsvector", |c| {
        set_weight(c, Some(&words(c, 2)?))
    });
    registry
        .add("ts_delete(tsvector, text) -> tsvector", |c| delete(c, &HashSet::from([c.text(1)?])));
    registry.add("ts_delete(tsvector, text[]) -> tsvector", |c| delete(c, &words(c, 1)?));
    registry.add("ts_filter(tsvector, \"char\"[]) -> tsvector", filter);
    registry.add("strip(tsvector) -> tsvector", |c| {
        changed(c, |lexeme| Ok(Some(Lexeme { text: lexeme.text.to_owned(), places: vec![] })))
    });
    registry.add("length(tsvector) -> int4", |c| count(vector(c, 0)?.lexemes.len()));
    for signature in
        ["||(tsvector, tsvector) -> tsvector", "tsvector_concat(tsvector, tsvector) -> tsvector"]
    {
        registry.add(signature, concat);
    }
    registry.add("tsvector_to_array(tsvector) -> text[]", |c| {
        Ok(texts(vector(c, 0)?.lexemes.into_iter().map(|lexeme| lexeme.text.to_owned())))
    });
    registry.add("array_to_tsvector(text[]) -> tsvector", from_array);
    registry.set("unnest(tsvector) -> lexeme text, positions int2[], weights text[]", unnest);
}
