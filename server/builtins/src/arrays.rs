//! Functions and operators on one-dimensional arrays.
//!
//! Subscripts begin at the array's own lower bound, 1 unless a literal said otherwise.

use braid_types::{Array, Datum, Error, Result, SqlState, SqlType};

use crate::Call;
use crate::call::{may_return, text};
use crate::registry::Registry;

fn element_type(call: &Call<'_>) -> SqlType {
    call.returns.element().cloned().unwrap_or(SqlType::Text)
}

fn array_of(call: &Call<'_>, lower: i32, items: Vec<Datum>) -> Datum {
    let lower = if items.is_empty() { 1 } else { lower };
    let lower = if call.returns.is_vector() { 0 } else { lower };
    Datum::Array(std::sync::Arc::new(Array { element: element_type(call), lower, items }))
}

fn same(array: &Array, left: &Datum, right: &Datum) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => left.compare_typed(right, &array.element).is_eq(),
        (left, right) => left && right,
    }
}

/// How deep arrays nest in an array of arrays.
fn dimensions(array: &Array) -> Vec<(i32, usize)> {
    let mut found = Vec::new();
    let mut level = array;
    while !level.items.is_empty() {
        found.push((level.lower, level.items.len()));
        match level.items.first() {
            Some(Datum::Array(inner)) => level = inner,
            _ => break,
        }
    }
    found
}

/// The dimensions of the first argument; a vector has one even if it is empty.
fn dimensions_of(call: &Call<'_>) -> Result<Vec<(i32, usize)>> {
    let array = call.array(0)?;
    if call.ty(0).is_vector() { Ok(vec![(0, array.items.len())]) } else { Ok(dimensions(array)) }
}

fn dimension(call: &Call<'_>) -> Result<Option<(i32, usize)>> {
    let index = usize::try_from(call.int(1)? - 1).ok();
    let dimensions = dimensions_of(call)?;
    Ok(index.and_then(|index| dimensions.get(index).copied()))
}

fn or_null<T: Into<i64>>(value: Option<T>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, |value| Datum::Int(value.into())))
}

fn array_dims(call: &Call<'_>) -> Result<Datum> {
    let dims = dimensions_of(call)?;
    if dims.is_empty() {
        return Ok(Datum::Null);
    }
    let shown = |(lower, length): &(i32, usize)| {
        format!("[{lower}:{}]", i64::from(*lower) + *length as i64 - 1)
    };
    text(dims.iter().map(shown).collect::<String>())
}

fn cardinality(array: &Array) -> usize {
    let inner = |item: &Datum| match item {
        Datum::Array(inner) => cardinality(inner),
        _ => 1,
    };
    array.items.iter().map(inner).sum()
}

fn append(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else {
        return Ok(array_of(call, 1, vec![call.datum(1).clone()]));
    };
    let mut items = array.items.clone();
    items.push(call.datum(1).clone());
    Ok(array_of(call, array.lower, items))
}

fn prepend(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(1) else {
        return Ok(array_of(call, 1, vec![call.datum(0).clone()]));
    };
    let mut items = vec![call.datum(0).clone()];
    items.extend(array.items.iter().cloned());
    Ok(array_of(call, array.lower, items))
}

fn concatenate(call: &Call<'_>) -> Result<Datum> {
    match (call.datum(0), call.datum(1)) {
        (Datum::Null, other) | (other, Datum::Null) => Ok(other.clone()),
        (Datum::Array(left), Datum::Array(right)) => {
            if left.items.is_empty() {
                return Ok(call.datum(1).clone());
            }
            let items = left.items.iter().chain(&right.items).cloned().collect();
            Ok(array_of(call, left.lower, items))
        }
        _ => Err(Error::internal("not an array")),
    }
}

fn position(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    let mut start = 0;
    if call.args.len() > 2 {
        if call.is_null(2) {
            let message = "initial position must not be null";
            return Err(Error::new(SqlState::NullValueNotAllowed, message));
        }
        start = (call.int(2)? - i64::from(array.lower)).max(0) as usize;
    }
    let found = (start..array.items.len()).find(|i| same(array, &array.items[*i], call.datum(1)));
    or_null(found.map(|index| index as i64 + i64::from(array.lower)))
}

fn positions(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    let found = (0..array.items.len())
        .filter(|i| same(array, &array.items[*i], call.datum(1)))
        .map(|index| Datum::Int(index as i64 + i64::from(array.lower)))
        .collect();
    Ok(Datum::array(SqlType::Int4, found))
}

fn remove(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    let kept = array.items.iter().filter(|item| !same(array, item, call.datum(1)));
    Ok(array_of(call, array.lower, kept.cloned().collect()))
}

fn replace(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    let swap = |item: &Datum| {
        if same(array, item, call.datum(1)) { call.datum(2).clone() } else { item.clone() }
    };
    Ok(array_of(call, array.lower, array.items.iter().map(swap).collect()))
}

fn fill(call: &Call<'_>) -> Result<Datum> {
    let null = |what| Err(Error::new(SqlState::NullValueNotAllowed, what));
    if call.is_null(1) || (call.args.len() > 2 && call.is_null(2)) {
        return null("dimension array or low bound array cannot be null");
    }
    let lengths = &call.array(1)?.items;
    let lowers = if call.args.len() > 2 { call.array(2)?.items.clone() } else { Vec::new() };
    if lengths.iter().chain(&lowers).any(Datum::is_null) {
        return null("dimension values cannot be null");
    }
    let length = match lengths.as_slice() {
        [] => 0,
        [one] => one.as_int().unwrap_or(0),
        _ => return Err(Error::unsupported("an array of several dimensions")),
    };
    if !(0..=134_217_727).contains(&length) {
        let message = "array size exceeds the maximum allowed (134217727)";
        return Err(Error::new(SqlState::ProgramLimitExceeded, message));
    }
    may_return((length as usize).saturating_mul(call.datum(0).size_bytes()))?;
    let lower = lowers.first().and_then(Datum::as_int).unwrap_or(1);
    Ok(array_of(call, lower as i32, vec![call.datum(0).clone(); length as usize]))
}

fn trim(call: &Call<'_>) -> Result<Datum> {
    let (array, count) = (call.array(0)?, call.int(1)?);
    let length = array.items.len();
    if count < 0 || count > length as i64 {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(Error::new(SqlState::ArraySubscriptError, message));
    }
    Ok(array_of(call, array.lower, array.items[..length - count as usize].to_vec()))
}

fn contains(outer: &Array, inner: &Array) -> bool {
    inner
        .items
        .iter()
        .all(|wanted| !wanted.is_null() && outer.items.iter().any(|item| same(outer, item, wanted)))
}

fn overlaps(left: &Array, right: &Array) -> bool {
    left.items
        .iter()
        .any(|one| !one.is_null() && right.items.iter().any(|other| same(left, one, other)))
}

fn null_count(call: &Call<'_>, nulls: bool) -> Result<Datum> {
    crate::call::count(call.args.iter().filter(|arg| arg.is_null() == nulls).count())
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("array_length(anyarray, int4) -> int4", |c| {
        or_null(dimension(c)?.map(|(_, length)| length as i64))
    });
    registry.add("array_lower(anyarray, int4) -> int4", |c| {
        or_null(dimension(c)?.map(|(lower, _)| lower))
    });
    registry.add("array_upper(anyarray, int4) -> int4", |c| {
        or_null(dimension(c)?.map(|(lower, length)| i64::from(lower) + length as i64 - 1))
    });
    registry.add("array_ndims(anyarray) -> int4", |c| {
        let dims = dimensions_of(c)?.len();
        Ok(if dims == 0 { Datum::Null } else { Datum::Int(dims as i64) })
    });
    registry.add("array_dims(anyarray) -> text", array_dims);
    registry.add("cardinality(anyarray) -> int4", |c| crate::call::count(cardinality(c.array(0)?)));
    for signature in [
        "array_append(anycompatiblearray, anycompatible) -> anycompatiblearray lax",
        "||(anycompatiblearray, anycompatible) -> anycompatiblearray lax",
    ] {
        registry.add(signature, append);
    }
    for signature in [
        "array_prepend(anycompatible, anycompatiblearray) -> anycompatiblearray lax",
        "||(anycompatible, anycompatiblearray) -> anycompatiblearray lax",
    ] {
        registry.add(signature, prepend);
    }
    for signature in [
        "array_cat(anycompatiblearray, anycompatiblearray) -> anycompatiblearray lax",
        "||(anycompatiblearray, anycompatiblearray) -> anycompatiblearray lax",
    ] {
        registry.add(signature, concatenate);
    }
    registry.add("array_position(anycompatiblearray, anycompatible) -> int4 lax", position);
    registry.add("array_position(anycompatiblearray, anycompatible, int4) -> int4 lax", position);
    registry.add("array_positions(anycompatiblearray, anycompatible) -> int4[] lax", positions);
    registry
        .add("array_remove(anycompatiblearray, anycompatible) -> anycompatiblearray lax", remove);
    registry.add(
        "array_replace(anycompatiblearray, anycompatible, anycompatible) \
         -> anycompatiblearray lax",
        replace,
    );
    registry.add("array_fill(anyelement, int4[]) -> anyarray lax", fill);
    registry.add("array_fill(anyelement, int4[], int4[]) -> anyarray lax", fill);
    registry.add("trim_array(anyarray, int4) -> anyarray", trim);
    registry.add("@>(anyarray, anyarray) -> bool", |c| {
        Ok(Datum::Bool(contains(c.array(0)?, c.array(1)?)))
    });
    registry.add("<@(anyarray, anyarray) -> bool", |c| {
        Ok(Datum::Bool(contains(c.array(1)?, c.array(0)?)))
    });
    registry.add("&&(anyarray, anyarray) -> bool", |c| {
        Ok(Datum::Bool(overlaps(c.array(0)?, c.array(1)?)))
    });
    registry.add("num_nulls(variadic any) -> int4 lax", |c| null_count(c, true));
    registry.add("num_nonnulls(variadic any) -> int4 lax", |c| null_count(c, false));
}

/// The subscripts of one dimension.
pub(crate) fn subscripts(call: &Call<'_>) -> Result<Option<(i64, i64)>> {
    let found = dimension(call)?;
    Ok(found.map(|(lower, length)| (i64::from(lower), i64::from(lower) + length as i64 - 1)))
}
