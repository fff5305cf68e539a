//! Functions and operators of `hstore`. What a value is and how it is written: [`Hstore`].

use braid_types::hstore::{Hstore, Pair, null_key, pairs_of};
use braid_types::text::parse;
use braid_types::{Array, Datum, Dimension, Error, Json, Result, SqlState, SqlType, work};

use crate::registry::call::{cast_any, display, text};
use crate::registry::tables::Registry;
use crate::{Call, Rows};

fn set(call: &Call<'_>, index: usize) -> Result<Hstore> {
    let value = call.text(index)?;
    work::spend_bytes(value.len())?;
    Hstore::parse(value)
}

fn datum(pairs: Vec<Pair>) -> Result<Datum> {
    text(Hstore::new(pairs).print())
}

fn optional(value: Option<&str>) -> Datum {
    value.map_or(Datum::Null, Datum::text)
}

fn texts(items: impl Iterator<Item = Datum>) -> Datum {
    Datum::array(SqlType::Text, items.collect())
}

fn fetch(call: &Call<'_>) -> Result<Datum> {
    Ok(optional(set(call, 0)?.get(call.text(1)?).flatten()))
}

/// The values of these keys; NULL for keys that are not there.
fn fetch_each(call: &Call<'_>) -> Result<Datum> {
    let (set, keys) = (set(call, 0)?, call.texts(1)?);
    let value = |key: Option<&str>| optional(key.and_then(|key| set.get(key)).flatten());
    Ok(texts(keys.into_iter().map(value)))
}

fn slice(call: &Call<'_>) -> Result<Datum> {
    let (set, keys) = (set(call, 0)?, call.texts(1)?);
    let found = keys.into_iter().flatten().filter_map(|key| {
        let value = set.get(key)?;
        Some((key.to_owned(), value.map(str::to_owned)))
    });
    datum(found.collect())
}

fn exist(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Bool(set(call, 0)?.get(call.text(1)?).is_some()))
}

fn exists_any(call: &Call<'_>) -> Result<Datum> {
    let (set, keys) = (set(call, 0)?, call.texts(1)?);
    Ok(Datum::Bool(keys.into_iter().flatten().any(|key| set.get(key).is_some())))
}

fn exists_all(call: &Call<'_>) -> Result<Datum> {
    let (set, keys) = (set(call, 0)?, call.texts(1)?);
    Ok(Datum::Bool(keys.into_iter().flatten().all(|key| set.get(key).is_some())))
}

fn defined(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Bool(set(call, 0)?.get(call.text(1)?).flatten().is_some()))
}

fn contains(outer: &Hstore, inner: &Hstore) -> Datum {
    let has = |(key, value): &Pair| outer.get(key) == Some(value.as_deref());
    Datum::Bool(inner.iter().all(has))
}

/// The pairs of the set for which that holds.
fn kept(call: &Call<'_>, is_kept: impl Fn(&Pair) -> bool) -> Result<Datum> {
    datum(set(call, 0)?.into_pairs().into_iter().filter(is_kept).collect())
}

fn delete_key(call: &Call<'_>) -> Result<Datum> {
    let gone = call.text(1)?;
    kept(call, |(key, _)| key != gone)
}

fn delete_keys(call: &Call<'_>) -> Result<Datum> {
    let gone = call.texts(1)?;
    kept(call, |(key, _)| !gone.contains(&Some(key)))
}

fn delete_pairs(call: &Call<'_>) -> Result<Datum> {
    let gone = set(call, 1)?;
    kept(call, |(key, value)| gone.get(key) != Some(value.as_deref()))
}

/// Both sets; of keys that both have the second one's value.
fn concat(call: &Call<'_>) -> Result<Datum> {
    let mut pairs = set(call, 1)?.into_pairs();
    pairs.extend(set(call, 0)?.into_pairs());
    datum(pairs)
}

fn of_pair(call: &Call<'_>) -> Result<Datum> {
    let Some(key) = call.datum(0).as_str() else { return Ok(Datum::Null) };
    datum(vec![(key.to_owned(), call.datum(1).as_str().map(str::to_owned))])
}

fn of_array(call: &Call<'_>) -> Result<Datum> {
    datum(pairs_of(call.array(0)?)?)
}

/// Keys, and their values in an array of the same shape, which may be NULL.
fn of_arrays(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) {
        return Ok(Datum::Null);
    }
    let wrong = |message: &str| Error::new(SqlState::ArraySubscriptError, message);
    let keys = call.array(0)?;
    let values = if call.is_null(1) { None } else { Some(call.array(1)?) };
    let several = |array: &Array| array.dimensions().len() > 1;
    if several(keys) || values.is_some_and(several) {
        return Err(wrong("wrong number of array subscripts"));
    }
    let is_like = |values: &Array| {
        let (a, b) = (keys.dimensions(), values.dimensions());
        a.len() == b.len()
            && a.iter().zip(&b).all(|(a, b)| a.length == b.length && a.lower == b.lower)
    };
    if !values.is_none_or(is_like) {
        return Err(wrong("arrays must have same bounds"));
    }
    let pair = |(place, key): (usize, &Datum)| {
        let key = key.as_str().ok_or_else(null_key)?;
        let value = values.and_then(|values| values.items.get(place)).and_then(Datum::as_str);
        Ok((key.to_owned(), value.map(str::to_owned)))
    };
    datum(keys.items.iter().enumerate().map(pair).collect::<Result<_>>()?)
}

/// The columns of a row with their values as texts. Without a row all values are NULL.
fn of_record(call: &Call<'_>) -> Result<Datum> {
    let SqlType::Record(fields) = call.ty(0) else {
        return Err(Error::internal("a row of no row type"));
    };
    let values: &[Datum] = match call.datum(0) {
        Datum::Record(values) => values,
        _ if fields.is_empty() => return Ok(Datum::Null),
        _ => &[],
    };
    let pair = |(place, (name, ty)): (usize, &(String, SqlType))| {
        let value = values.get(place).filter(|value| !value.is_null());
        (name.clone(), value.map(|value| display(ty, value, call.env)))
    };
    datum(fields.iter().enumerate().map(pair).collect())
}

/// A row whose columns take the values of the keys of their names; the others stay.
fn populate_record(call: &Call<'_>) -> Result<Datum> {
    let SqlType::Record(fields) = call.ty(0) else {
        let message = "first argument must be a rowtype";
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    };
    if call.is_null(1) {
        return Ok(call.datum(0).clone());
    }
    let set = set(call, 1)?;
    let before: &[Datum] = match call.datum(0) {
        Datum::Record(before) => before,
        _ => &[],
    };
    let mut row = Vec::with_capacity(fields.len());
    for (place, (name, ty)) in fields.iter().enumerate() {
        row.push(match set.get(name) {
            None => before.get(place).cloned().unwrap_or(Datum::Null),
            Some(None) => Datum::Null,
            Some(Some(value)) if ty.is_reg() => {
                cast_any(&Datum::text(value), &SqlType::Unknown, ty, call.env)?
            }
            Some(Some(value)) => {
                parse(ty, value, call.env.settings(), call.env.transaction_micros())?
            }
        });
    }
    Ok(Datum::Record(row.into()))
}

/// Keys and values in turn.
fn alternating(set: Hstore) -> Vec<Datum> {
    let pair = |(key, value): Pair| [Datum::text(key), value.map_or(Datum::Null, Datum::text)];
    set.into_pairs().into_iter().flat_map(pair).collect()
}

fn to_matrix(call: &Call<'_>) -> Result<Datum> {
    let set = set(call, 0)?;
    let dimensions = [set.len(), 2].map(|length| Dimension { lower: 1, length });
    Ok(Array::from_dimensions(SqlType::Text, &dimensions, alternating(set)).into())
}

fn keys(call: &Call<'_>) -> Result<Vec<Datum>> {
    Ok(set(call, 0)?.into_pairs().into_iter().map(|(key, _)| Datum::text(key)).collect())
}

fn values(call: &Call<'_>) -> Result<Vec<Datum>> {
    let value = |(_, value): Pair| value.map_or(Datum::Null, Datum::text);
    Ok(set(call, 0)?.into_pairs().into_iter().map(value).collect())
}

fn column(values: Vec<Datum>) -> Result<Rows> {
    Ok(Box::new(values.into_iter().map(|value| Ok(vec![value]))))
}

fn to_json(call: &Call<'_>, is_loose: bool) -> Result<Datum> {
    Ok(Datum::json(Json::Raw(set(call, 0)?.to_json(is_loose).into())))
}

fn to_jsonb(call: &Call<'_>, is_loose: bool) -> Result<Datum> {
    Ok(Datum::json(Json::parse(&set(call, 0)?.to_json(is_loose))?))
}

fn register_operators(registry: &mut Registry) {
    registry.add("->(hstore, text) -> text", fetch);
    registry.add("->(hstore, text[]) -> text[]", fetch_each);
    registry.add("?(hstore, text) -> bool", exist);
    registry.add("?|(hstore, text[]) -> bool", exists_any);
    registry.add("?&(hstore, text[]) -> bool", exists_all);
    registry.add("@>(hstore, hstore) -> bool", |c| Ok(contains(&set(c, 0)?, &set(c, 1)?)));
    registry.add("<@(hstore, hstore) -> bool", |c| Ok(contains(&set(c, 1)?, &set(c, 0)?)));
    registry.add("||(hstore, hstore) -> hstore", concat);
    registry.add("-(hstore, text) -> hstore", delete_key);
    registry.add("-(hstore, text[]) -> hstore", delete_keys);
    registry.add("-(hstore, hstore) -> hstore", delete_pairs);
    registry.add("#=(anyelement, hstore) -> anyelement lax stable", populate_record);
    registry.add("%%(hstore) -> text[]", |c| Ok(texts(alternating(set(c, 0)?).into_iter())));
    registry.add("%#(hstore) -> text[]", to_matrix);
}

pub(super) fn register(registry: &mut Registry) {
    register_operators(registry);
    registry.add("fetchval(hstore, text) -> text", fetch);
    registry.add("slice_array(hstore, text[]) -> text[]", fetch_each);
    registry.add("slice(hstore, text[]) -> hstore", slice);
    registry.add("exist|isexists(hstore, text) -> bool", exist);
    registry.add("exists_any(hstore, text[]) -> bool", exists_any);
    registry.add("exists_all(hstore, text[]) -> bool", exists_all);
    registry.add("defined|isdefined(hstore, text) -> bool", defined);
    registry.add("delete(hstore, text) -> hstore", delete_key);
    registry.add("delete(hstore, text[]) -> hstore", delete_keys);
    registry.add("delete(hstore, hstore) -> hstore", delete_pairs);
    registry.add("hs_concat(hstore, hstore) -> hstore", concat);
    registry.add("hs_contains(hstore, hstore) -> bool", |c| Ok(contains(&set(c, 0)?, &set(c, 1)?)));
    registry
        .add("hs_contained(hstore, hstore) -> bool", |c| Ok(contains(&set(c, 1)?, &set(c, 0)?)));
    registry.add("hstore(hstore) -> hstore", |c| Ok(c.datum(0).clone()));
    registry.add("hstore|tconvert(text, text) -> hstore lax", of_pair);
    registry.add("hstore(text[]) -> hstore", of_array);
    registry.add("hstore(text[], text[]) -> hstore lax", of_arrays);
    registry.add("hstore(record) -> hstore lax stable", of_record);
    registry.add("populate_record(anyelement, hstore) -> anyelement lax stable", populate_record);
    registry.add("akeys(hstore) -> text[]", |c| Ok(texts(keys(c)?.into_iter())));
    registry.add("avals(hstore) -> text[]", |c| Ok(texts(values(c)?.into_iter())));
    registry.set("skeys(hstore) -> text", |c| column(keys(c)?));
    registry.set("svals(hstore) -> text", |c| column(values(c)?));
    registry.set("each(hstore) -> key text, value text", |c| {
        let pair =
            |(key, value): Pair| Ok(vec![Datum::text(key), value.map_or(Datum::Null, Datum::text)]);
        Ok(Box::new(set(c, 0)?.into_pairs().into_iter().map(pair)))
    });
    registry.add("hstore_to_array(hstore) -> text[]", |c| {
        Ok(texts(alternating(set(c, 0)?).into_iter()))
    });
    registry.add("hstore_to_matrix(hstore) -> text[]", to_matrix);
    registry.add("hstore_to_json(hstore) -> json", |c| to_json(c, false));
    registry.add("hstore_to_json_loose(hstore) -> json", |c| to_json(c, true));
    registry.add("hstore_to_jsonb(hstore) -> jsonb", |c| to_jsonb(c, false));
    registry.add("hstore_to_jsonb_loose(hstore) -> jsonb", |c| to_jsonb(c, true));
}
