//! Arithmetic, with the semantics of `numeric`.

use braid_types::jsonpath::{Arithmetic, Expr, Sign, Step};
use braid_types::{Error, Numeric, Result, SqlState};

use super::conditions::evaluate_operand;
use super::evaluate::{Evaluator, Outcome, Sink};
use super::item::Item;

fn single<'i>(found: &'i [Item<'_>]) -> Option<&'i Numeric> {
    match found {
        [one] => one.as_number(),
        _ => None,
    }
}

/// The result of an operator; `None` after a suppressed error.
pub(crate) fn evaluate_arithmetic<'a>(
    evaluator: &mut Evaluator<'a>,
    operator: Arithmetic,
    (left, right): &(Expr, Expr),
    item: &Item<'a>,
) -> Result<Option<Numeric>> {
    let Some(left) = evaluate_operand(evaluator, left, item, true)? else { return Ok(None) };
    let Some(right) = evaluate_operand(evaluator, right, item, true)? else { return Ok(None) };
    let mut numbers = Vec::with_capacity(2);
    for (side, found) in [("left", &left), ("right", &right)] {
        let Some(number) = single(found) else {
            let message = format!(
                "{side} operand of jsonpath operator {} is not a single numeric value",
                operator.symbol()
            );
            evaluator.fail(SqlState::SingletonJsonItemRequired, message)?;
            return Ok(None);
        };
        numbers.push(number);
    }
    let (left, right) = (numbers[0], numbers[1]);
    let result = match operator {
        Arithmetic::Add => left.add(right),
        Arithmetic::Subtract => left.sub(right),
        Arithmetic::Multiply => left.mul(right),
        Arithmetic::Divide => left.div(right),
        Arithmetic::Modulo => left.rem(right),
    };
    unless_suppressed(evaluator, result)
}

/// A number, or `None` for an error of arithmetic that is suppressed.
fn unless_suppressed(
    evaluator: &Evaluator<'_>,
    result: Result<Numeric>,
) -> Result<Option<Numeric>> {
    let of_the_data = |error: &Error| {
        matches!(error.state(), SqlState::DivisionByZero | SqlState::NumericValueOutOfRange)
    };
    match result {
        Err(error) if !evaluator.options.throws && of_the_data(&error) => Ok(None),
        result => result.map(Some),
    }
}

/// A sign before each of several numbers.
pub(crate) fn evaluate_unary<'a>(
    evaluator: &mut Evaluator<'a>,
    sign: Sign,
    inner: &Expr,
    steps: &[Step],
    item: &Item<'a>,
    mut sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    let Some(found) = evaluate_operand(evaluator, inner, item, true)? else {
        return Ok(Outcome::Failed);
    };
    let is_wanted = sink.is_some() || !steps.is_empty();
    let mut outcome = Outcome::NotFound;
    for one in &found {
        let Some(number) = one.as_number() else {
            if !is_wanted {
                continue;
            }
            let message = format!(
                "operand of unary jsonpath operator {} is not a numeric value",
                sign.symbol()
            );
            return evaluator.fail(SqlState::JsonNumberNotFound, message);
        };
        if !is_wanted {
            return Ok(Outcome::Found);
        }
        let signed = if sign == Sign::Minus { number.neg() } else { number.clone() };
        match evaluator.follow(steps, &Item::number(signed), sink.as_deref_mut())? {
            Outcome::Failed => return Ok(Outcome::Failed),
            Outcome::Found if sink.is_none() => return Ok(Outcome::Found),
            Outcome::Found => outcome = Outcome::Found,
            Outcome::NotFound => {}
        }
    }
    Ok(outcome)
}
