//! Keys, subscripts and wildcards.

use braid_types::jsonpath::{Expr, LEVEL_MAX, Step, Subscript};
use braid_types::numeric::rounding;
use braid_types::{Result, SqlState, work};

use super::evaluate::{Evaluator, Outcome, Sink};
use super::item::{Item, Kind};

/// The levels below an item that a wildcard looks at.
#[derive(Clone, Copy)]
struct Levels {
    /// The level of the item's children; 1 at first.
    level: u32,
    first: u32,
    last: u32,
    /// What is not there is no error for steps from here.
    ignores_structure: bool,
}

/// The children only.
const CHILDREN: Levels = Levels { level: 1, first: 1, last: 1, ignores_structure: false };

pub(crate) fn evaluate_key<'a>(
    evaluator: &mut Evaluator<'a>,
    name: &str,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    if item.kind() != Kind::Object {
        let message = "jsonpath member accessor can only be applied to an object";
        return evaluator.misfit(SqlState::JsonMemberNotFound, message);
    }
    match item.member(name) {
        Some(value) => evaluator.follow(rest, &value, sink),
        None => {
            let message = format!("JSON object does not contain key \"{name}\"");
            evaluator.misfit(SqlState::JsonMemberNotFound, message)
        }
    }
}

pub(crate) fn evaluate_any_key<'a>(
    evaluator: &mut Evaluator<'a>,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    if item.kind() == Kind::Object {
        return evaluate_each(evaluator, rest, item, sink, evaluator.is_lax);
    }
    let message = "jsonpath wildcard member accessor can only be applied to an object";
    evaluator.misfit(SqlState::JsonObjectNotFound, message)
}

pub(crate) fn evaluate_any_element<'a>(
    evaluator: &mut Evaluator<'a>,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    if item.kind() == Kind::Array {
        return evaluate_each(evaluator, rest, item, sink, evaluator.is_lax);
    }
    if evaluator.is_lax {
        return evaluator.follow(rest, item, sink);
    }
    let message = "jsonpath wildcard array accessor can only be applied to an array";
    evaluator.misfit(SqlState::JsonArrayNotFound, message)
}

/// Applies steps to each child of an array or object.
pub(crate) fn evaluate_each<'a>(
    evaluator: &mut Evaluator<'a>,
    steps: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
    unwraps: bool,
) -> Result<Outcome> {
    evaluate_descend(evaluator, CHILDREN, steps, item, sink, unwraps)
}

/// `.**{first to last}`
pub(crate) fn evaluate_any<'a>(
    evaluator: &mut Evaluator<'a>,
    first: u32,
    last: u32,
    (rest, item): (&[Step], &Item<'a>),
    mut sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    let mut outcome = Outcome::NotFound;
    if first == 0 {
        let outer = std::mem::replace(&mut evaluator.ignores_structure, true);
        outcome = evaluator.follow(rest, item, sink.as_deref_mut())?;
        evaluator.ignores_structure = outer;
        if outcome == Outcome::Found && sink.is_none() {
            return Ok(outcome);
        }
    }
    if !item.is_container() {
        return Ok(outcome);
    }
    let levels = Levels { level: 1, first, last, ignores_structure: true };
    evaluate_descend(evaluator, levels, rest, item, sink, evaluator.is_lax)
}

fn evaluate_descend<'a>(
    evaluator: &mut Evaluator<'a>,
    levels: Levels,
    steps: &[Step],
    item: &Item<'a>,
    mut sink: Sink<'_, 'a>,
    unwraps: bool,
) -> Result<Outcome> {
    let mut outcome = Outcome::NotFound;
    if levels.level > levels.last {
        return Ok(outcome);
    }
    evaluator.enter()?;
    let leaves_only = levels.first == LEVEL_MAX && levels.last == LEVEL_MAX;
    let is_over = |outcome: Outcome, has_sink: bool| {
        outcome == Outcome::Failed || (outcome == Outcome::Found && !has_sink)
    };
    let mut place = 0;
    while let Some(child) = item.child(place) {
        work::tick()?;
        place += 1;
        let is_container = child.is_container();
        if levels.level >= levels.first || (leaves_only && !is_container) {
            if steps.is_empty() {
                match sink.as_deref_mut() {
                    Some(list) => Evaluator::push(list, child.clone())?,
                    None => outcome = Outcome::Found,
                }
            } else {
                let outer = evaluator.ignores_structure;
                evaluator.ignores_structure |= levels.ignores_structure;
                outcome = evaluator.step(steps, &child, sink.as_deref_mut(), unwraps)?;
                evaluator.ignores_structure = outer;
            }
            if is_over(outcome, sink.is_some()) {
                break;
            }
        }
        if levels.level < levels.last && is_container {
            let below = Levels { level: levels.level + 1, ..levels };
            outcome =
                evaluate_descend(evaluator, below, steps, &child, sink.as_deref_mut(), unwraps)?;
            if is_over(outcome, sink.is_some()) {
                break;
            }
        }
    }
    evaluator.leave();
    Ok(outcome)
}

pub(crate) fn evaluate_elements<'a>(
    evaluator: &mut Evaluator<'a>,
    subscripts: &[Subscript],
    rest: &[Step],
    item: &Item<'a>,
    mut sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    if item.kind() != Kind::Array && !evaluator.is_lax {
        let message = "jsonpath array accessor can only be applied to an array";
        return evaluator.misfit(SqlState::JsonArrayNotFound, message);
    }
    // Anything else is an array of one in lax mode.
    let length = item.array_length().unwrap_or(1);
    let outer = evaluator.array_length.replace(length);
    let mut outcome = Outcome::NotFound;
    for subscript in subscripts {
        let range = evaluate_range(evaluator, subscript, item, length)?;
        let Some((first, last)) = range else {
            outcome = Outcome::Failed;
            break;
        };
        outcome = Outcome::NotFound;
        for place in first..=last {
            let Ok(place) = usize::try_from(place) else { continue };
            let element = match item.array_length() {
                Some(_) => item.child(place),
                None => Some(item.clone()),
            };
            let Some(element) = element else { continue };
            outcome = evaluator.follow(rest, &element, sink.as_deref_mut())?;
            if outcome == Outcome::Failed || (outcome == Outcome::Found && sink.is_none()) {
                break;
            }
        }
        if outcome == Outcome::Failed || (outcome == Outcome::Found && sink.is_none()) {
            break;
        }
    }
    evaluator.array_length = outer;
    Ok(outcome)
}

/// The first and last place of a subscript, within the array; `None` after a suppressed error.
fn evaluate_range<'a>(
    evaluator: &mut Evaluator<'a>,
    subscript: &Subscript,
    item: &Item<'a>,
    length: usize,
) -> Result<Option<(i64, i64)>> {
    let length = length as i64;
    let Some(first) = evaluate_subscript(evaluator, &subscript.from, item)? else {
        return Ok(None);
    };
    let last = match &subscript.to {
        Some(to) => evaluate_subscript(evaluator, to, item)?,
        None => Some(first),
    };
    let Some(last) = last else { return Ok(None) };
    if !evaluator.ignores_structure && (first < 0 || first > last || last >= length) {
        let message = "jsonpath array subscript is out of bounds";
        evaluator.fail(SqlState::InvalidJsonSubscript, message)?;
        return Ok(None);
    }
    Ok(Some((first.max(0), last.min(length - 1))))
}

fn evaluate_subscript<'a>(
    evaluator: &mut Evaluator<'a>,
    expr: &Expr,
    item: &Item<'a>,
) -> Result<Option<i64>> {
    let mut found = Vec::new();
    if evaluator.expr(expr, item, Some(&mut found))? == Outcome::Failed {
        return Ok(None);
    }
    let number = match found.as_slice() {
        [one] => one.as_number(),
        _ => None,
    };
    let Some(number) = number else {
        let message = "jsonpath array subscript is not a single numeric value";
        evaluator.fail(SqlState::InvalidJsonSubscript, message)?;
        return Ok(None);
    };
    let place = rounding::trunc(number, 0)?.to_i64().filter(|place| i32::try_from(*place).is_ok());
    if place.is_none() {
        let message = "jsonpath array subscript is out of integer range";
        evaluator.fail(SqlState::InvalidJsonSubscript, message)?;
    }
    Ok(place)
}
