//! Functions and operators on arrays.
//!
//! Subscripts begin at the array's own lower bounds, 1 unless a literal said otherwise.

use braid_types::array::{self, Array, Dimension};
use braid_types::scratch::Scratch;
use braid_types::{Datum, Error, Result, SqlState, SqlType, work};

use crate::Call;
use crate::registry::call::{may_return, text};
use crate::registry::tables::Registry;
use crate::scalars::classes::check_class;

fn element_type(call: &Call<'_>) -> SqlType {
    call.returns.element().cloned().unwrap_or(SqlType::Text)
}

fn array_of(call: &Call<'_>, lower: i32, items: Vec<Datum>) -> Datum {
    let lower = if items.is_empty() { 1 } else { lower };
    let lower = if call.returns.is_vector() { 0 } else { lower };
    Array::from_lower(element_type(call), lower, items).into()
}

fn same(array: &Array, left: &Datum, right: &Datum) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => left.compare_typed(right, &array.element).is_eq(),
        (left, right) => left && right,
    }
}

fn subscript_error(message: impl Into<String>) -> Error {
    Error::new(SqlState::ArraySubscriptError, message)
}

/// 0A000 for an array of several dimensions.
fn one_dimension(array: &Array, doing: &str) -> Result<()> {
    if array.inner.is_empty() {
        return Ok(());
    }
    let message = format!("{doing} multidimensional arrays is not supported");
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// The dimensions of the first argument; a vector has one even if it is empty.
fn dimensions_of(call: &Call<'_>) -> Result<Vec<Dimension>> {
    let array = call.array(0)?;
    if call.ty(0).is_vector() {
        return Ok(vec![Dimension { lower: 0, length: array.items.len() }]);
    }
    Ok(array.dimensions())
}

fn dimension(call: &Call<'_>) -> Result<Option<Dimension>> {
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
    let shown = |dimension: &Dimension| format!("[{}:{}]", dimension.lower, dimension.upper());
    text(dims.iter().map(shown).collect::<String>())
}

/// The array that an element is added to: none, or one of at most one dimension.
fn to_grow<'a>(call: &Call<'a>, index: usize) -> Result<Option<&'a Array>> {
    match call.datum(index) {
        Datum::Array(array) if array.inner.is_empty() => Ok(Some(array)),
        Datum::Array(_) => {
            let message = "argument must be empty or one-dimensional array";
            Err(Error::new(SqlState::DataException, message))
        }
        _ => Ok(None),
    }
}

fn append(call: &Call<'_>) -> Result<Datum> {
    let Some(array) = to_grow(call, 0)? else {
        return Ok(array_of(call, 1, vec![call.datum(1).clone()]));
    };
    if array.lower > 1 && i64::from(array.lower) + array.items.len() as i64 > i64::from(i32::MAX) {
        return Err(crate::registry::call::out_of_range("integer"));
    }
    may_return((array.items.len() + 1) * size_of::<Datum>())?;
    let mut items = array.items.clone();
    items.push(call.datum(1).clone());
    Ok(array_of(call, array.lower, items))
}

fn prepend(call: &Call<'_>) -> Result<Datum> {
    let Some(array) = to_grow(call, 1)? else {
        return Ok(array_of(call, 1, vec![call.datum(0).clone()]));
    };
    may_return((array.items.len() + 1) * size_of::<Datum>())?;
    let mut items = vec![call.datum(0).clone()];
    items.extend(array.items.iter().cloned());
    Ok(array_of(call, array.lower, items))
}

/// Arrays one after another, or one as an element of the other, which has a dimension more.
fn concatenate(call: &Call<'_>) -> Result<Datum> {
    let (left, right) = match (call.datum(0), call.datum(1)) {
        (Datum::Null, other) | (other, Datum::Null) => return Ok(other.clone()),
        (Datum::Array(left), Datum::Array(right)) => (left, right),
        _ => return Err(Error::internal("not an array")),
    };
    if left.items.is_empty() {
        return Ok(call.datum(1).clone());
    }
    if right.items.is_empty() {
        return Ok(call.datum(0).clone());
    }
    let incompatible =
        |detail: String| subscript_error("cannot concatenate incompatible arrays").detail(detail);
    let (a, b) = (left.dimensions(), right.dimensions());
    let (mut dimensions, added, what) = match a.len() as i64 - b.len() as i64 {
        0 => (a.clone(), b[0].length, "element dimensions"),
        1 => (a.clone(), 1, "dimensions"),
        -1 => (b.clone(), 1, "dimensions"),
        _ => {
            return Err(incompatible(format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                a.len(),
                b.len()
            )));
        }
    };
    let elements = |own: &[Dimension]| own[own.len() + 1 - dimensions.len()..].to_vec();
    if elements(&a) != elements(&b) {
        return Err(incompatible(format!(
            "Arrays with differing {what} are not compatible for concatenation."
        )));
    }
    dimensions[0].length += added;
    array::check_dimensions(&dimensions)?;
    may_return((left.items.len() + right.items.len()) * size_of::<Datum>())?;
    let items = left.items.iter().chain(&right.items).cloned().collect();
    if call.returns.is_vector() {
        return Ok(array_of(call, 0, items));
    }
    Ok(Array::from_dimensions(element_type(call), &dimensions, items).into())
}

fn position(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    check_class(&array.element, false)?;
    one_dimension(array, "searching for elements in")?;
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
    check_class(&array.element, false)?;
    one_dimension(array, "searching for elements in")?;
    let found = (0..array.items.len())
        .filter(|i| same(array, &array.items[*i], call.datum(1)))
        .map(|index| Datum::Int(index as i64 + i64::from(array.lower)))
        .collect();
    Ok(Datum::array(SqlType::Int4, found))
}

fn remove(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    check_class(&array.element, false)?;
    one_dimension(array, "removing elements from")?;
    let (mut kept, mut scratch) = (Vec::new(), Scratch::default());
    for item in &array.items {
        work::tick()?;
        if !same(array, item, call.datum(1)) {
            kept.push(scratch.keep(item.clone())?);
        }
    }
    Ok(array_of(call, array.lower, kept))
}

fn replace(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(array) = call.datum(0) else { return Ok(Datum::Null) };
    check_class(&array.element, false)?;
    let (mut items, mut scratch) = (Vec::with_capacity(array.items.len()), Scratch::default());
    for item in &array.items {
        work::tick()?;
        let is_swapped = same(array, item, call.datum(1));
        let item = if is_swapped { call.datum(2) } else { item };
        items.push(scratch.keep(item.clone())?);
    }
    Ok(array.with_items(element_type(call), items).into())
}

/// The numbers of an array that says what dimensions another one has.
fn dimension_values<'a>(call: &Call<'a>, index: usize) -> Result<&'a [Datum]> {
    let array = call.array(index)?;
    if !array.inner.is_empty() {
        return Err(subscript_error("wrong number of array subscripts")
            .detail("Dimension array must be one dimensional."));
    }
    if array.items.iter().any(Datum::is_null) {
        let message = "dimension values cannot be null";
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    Ok(&array.items)
}

fn fill(call: &Call<'_>) -> Result<Datum> {
    let has_lowers = call.args.len() > 2;
    if call.is_null(1) || (has_lowers && call.is_null(2)) {
        let message = "dimension array or low bound array cannot be null";
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    let lengths = dimension_values(call, 1)?;
    if lengths.len() > array::DIMENSIONS_MAX {
        return Err(array::too_many_dimensions(lengths.len()));
    }
    let lowers = if has_lowers { Some(dimension_values(call, 2)?) } else { None };
    if lowers.is_some_and(|lowers| lowers.len() != lengths.len()) {
        return Err(subscript_error("wrong number of array subscripts")
            .detail("Low bound array has different size than dimensions array."));
    }
    let mut dimensions = Vec::with_capacity(lengths.len());
    for (at, length) in lengths.iter().enumerate() {
        let length = usize::try_from(length.as_int().unwrap_or(0));
        let length = length.map_err(|_| array::too_many_items())?;
        let lower = lowers.map_or(Some(1), |lowers| lowers[at].as_int()).unwrap_or(1);
        dimensions.push(Dimension { lower: lower as i32, length });
    }
    let count = array::check_dimensions(&dimensions)?;
    may_return(count.saturating_mul(call.datum(0).size_bytes()))?;
    work::spend_bytes(count * size_of::<Datum>())?;
    let items = vec![call.datum(0).clone(); count];
    Ok(Array::from_dimensions(element_type(call), &dimensions, items).into())
}

fn trim(call: &Call<'_>) -> Result<Datum> {
    let (array, count) = (call.array(0)?, call.int(1)?);
    let length = array.outer_len();
    if count < 0 || count > length as i64 {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(subscript_error(message));
    }
    let upper = i64::from(array.lower) + length as i64 - count - 1;
    let kept = array.slice(&[(None, Some(upper))]);
    if call.returns.is_vector() { Ok(array_of(call, 0, kept.items)) } else { Ok(kept.into()) }
}

/// Whether an array has an item, which is not NULL.
fn has(array: &Array, wanted: &Datum) -> Result<bool> {
    for item in &array.items {
        work::tick()?;
        if same(array, item, wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains(outer: &Array, inner: &Array) -> Result<Datum> {
    check_class(&outer.element, false)?;
    for wanted in &inner.items {
        if wanted.is_null() || !has(outer, wanted)? {
            return Ok(Datum::Bool(false));
        }
    }
    Ok(Datum::Bool(true))
}

fn overlaps(left: &Array, right: &Array) -> Result<Datum> {
    check_class(&left.element, false)?;
    for item in left.items.iter().filter(|item| !item.is_null()) {
        if has(right, item)? {
            return Ok(Datum::Bool(true));
        }
    }
    Ok(Datum::Bool(false))
}

fn null_count(call: &Call<'_>, nulls: bool) -> Result<Datum> {
    crate::registry::call::count(call.args.iter().filter(|arg| arg.is_null() == nulls).count())
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("array_length(anyarray, int4) -> int4", |c| {
        or_null(dimension(c)?.map(|dimension| dimension.length as i64))
    });
    registry.add("array_lower(anyarray, int4) -> int4", |c| {
        or_null(dimension(c)?.map(|dimension| dimension.lower))
    });
    registry.add("array_upper(anyarray, int4) -> int4", |c| {
        or_null(dimension(c)?.map(|dimension| dimension.upper()))
    });
    registry.add("array_ndims(anyarray) -> int4", |c| {
        let dims = dimensions_of(c)?.len();
        Ok(if dims == 0 { Datum::Null } else { Datum::Int(dims as i64) })
    });
    registry.add("array_dims(anyarray) -> text", array_dims);
    registry.add("cardinality(anyarray) -> int4", |c| {
        crate::registry::call::count(c.array(0)?.items.len())
    });
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
    registry.add("@>(anyarray, anyarray) -> bool", |c| contains(c.array(0)?, c.array(1)?));
    registry.add("<@(anyarray, anyarray) -> bool", |c| contains(c.array(1)?, c.array(0)?));
    registry.add("&&(anyarray, anyarray) -> bool", |c| overlaps(c.array(0)?, c.array(1)?));
    registry.add("num_nulls(variadic any) -> int4 lax", |c| null_count(c, true));
    registry.add("num_nonnulls(variadic any) -> int4 lax", |c| null_count(c, false));
}

/// The subscripts of one dimension.
pub(crate) fn subscripts(call: &Call<'_>) -> Result<Option<(i64, i64)>> {
    let found = dimension(call)?;
    Ok(found.map(|dimension| (i64::from(dimension.lower), dimension.upper())))
}
