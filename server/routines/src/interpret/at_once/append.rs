//! `a := a || x`: the value of the variable grows in place.

use std::sync::Arc;

use braid_types::{Datum, Result, SqlType};

use crate::interpret::state::Run;
use crate::plpgsql::Slot;
use crate::simple::{Append, Simple};

/// Appends to the variable. What is appended is evaluated first, so an error leaves the variable as
/// it was.
pub(super) fn append(
    run: &mut Run<'_>,
    slot: Slot,
    (simple, append): (&Simple, &Append),
) -> Result<()> {
    run.frame.show(simple.reads.get(1..).unwrap_or_default());
    let values = append.values(&run.cx, &run.frame.values)?;
    let left = match &simple.ty {
        SqlType::Text => append_text(run, slot, append, values)?,
        SqlType::Jsonb => append_json(run, slot, values)?,
        ty => append_elements(run, slot, (append, ty), values)?,
    };
    let Some(values) = left else { return Ok(()) };
    run.frame.show(&[slot]);
    let whole = append.by_calls(&run.cx, run.frame.values[slot].clone(), values)?;
    run.frame.set(slot, whole)
}

/// The values come back if the text cannot grow in place.
fn append_text(
    run: &mut Run<'_>,
    slot: Slot,
    append: &Append,
    values: Vec<Datum>,
) -> Result<Option<Vec<Datum>>> {
    let mut texts = Vec::with_capacity(values.len());
    for (call, value) in append.calls.iter().zip(&values) {
        match Append::added_text(&run.cx, call, value.clone())? {
            Some(text) => texts.push(text),
            None => return Ok(Some(values)),
        }
    }
    let joined: Arc<str> = match texts.as_slice() {
        [Datum::Text(only)] => only.clone(),
        texts => texts.iter().filter_map(Datum::as_str).collect::<String>().into(),
    };
    let is_done = run.frame.append_text(slot, &joined)?;
    Ok((!is_done).then_some(values))
}

/// The value comes back if the JSON value cannot grow in place.
fn append_json(run: &mut Run<'_>, slot: Slot, values: Vec<Datum>) -> Result<Option<Vec<Datum>>> {
    let is_done = match values.as_slice() {
        [Datum::Json(other)] => run.frame.append_json(slot, other)?,
        _ => false,
    };
    Ok((!is_done).then_some(values))
}

/// The values come back if the array cannot grow in place.
fn append_elements(
    run: &mut Run<'_>,
    slot: Slot,
    (append, ty): (&Append, &SqlType),
    values: Vec<Datum>,
) -> Result<Option<Vec<Datum>>> {
    let Some(element) = ty.element() else { return Ok(Some(values)) };
    let is_element = |place: usize| append.calls[place].types[1].element().is_none();
    let is_plain = |(place, value): (usize, &Datum)| match value {
        _ if is_element(place) => true,
        Datum::Array(added) => added.inner.is_empty() && !added.items.is_empty(),
        _ => false,
    };
    if !values.iter().enumerate().all(is_plain) {
        return Ok(Some(values));
    }
    let items = |(place, value): (usize, &Datum)| match value {
        Datum::Array(added) if !is_element(place) => added.items.clone(),
        value => vec![value.clone()],
    };
    let items = values.iter().enumerate().flat_map(items).collect();
    Ok(run.frame.append_elements(slot, element, items)?.map(|_| values))
}
