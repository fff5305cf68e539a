//! Filters: comparisons, `starts with`, `like_regex`, `exists` and their logic of three values.

use std::cmp::Ordering;

use braid_types::Result;
use braid_types::jsonpath::{Comparison, Expr, LikeRegex, Predicate};
use braid_types::{Json, work};

use super::evaluate::{Evaluator, Outcome};
use super::item::{Item, Kind};
use super::moments::compare_moments;

/// What is asked of an item, or of a pair of items.
enum Test<'p> {
    Compare(Comparison),
    StartsWith,
    LikeRegex(&'p LikeRegex),
}

/// Whether a condition holds; `None` is unknown.
pub(crate) fn evaluate_condition<'a>(
    evaluator: &mut Evaluator<'a>,
    predicate: &Predicate,
    item: &Item<'a>,
) -> Result<Option<bool>> {
    evaluator.enter()?;
    let holds = match predicate {
        Predicate::And(both) => match evaluate_condition(evaluator, &both.0, item)? {
            Some(false) => Some(false),
            // An error on one side does not hide that the other side is false.
            left => match evaluate_condition(evaluator, &both.1, item)? {
                Some(true) => left,
                right => right,
            },
        },
        Predicate::Or(both) => match evaluate_condition(evaluator, &both.0, item)? {
            Some(true) => Some(true),
            left => match evaluate_condition(evaluator, &both.1, item)? {
                Some(false) => left,
                right => right,
            },
        },
        Predicate::Not(inner) => evaluate_condition(evaluator, inner, item)?.map(|holds| !holds),
        Predicate::IsUnknown(inner) => Some(evaluate_condition(evaluator, inner, item)?.is_none()),
        Predicate::Compare(comparison, both) => {
            let right = Some((&both.1, true));
            evaluate_test(evaluator, &both.0, right, item, &Test::Compare(*comparison))?
        }
        Predicate::StartsWith(whole, prefix) => {
            let prefix = prefix.to_expr();
            evaluate_test(evaluator, whole, Some((&prefix, false)), item, &Test::StartsWith)?
        }
        Predicate::LikeRegex(whole, like) => {
            evaluate_test(evaluator, whole, None, item, &Test::LikeRegex(like))?
        }
        Predicate::Exists(inner) => {
            let throws = std::mem::replace(&mut evaluator.options.throws, false);
            let exists = evaluator.exists_at(inner, item)?;
            evaluator.options.throws = throws;
            exists
        }
    };
    evaluator.leave();
    Ok(holds)
}

/// The items of an operand; in lax mode with `unwraps`, arrays give their elements. `None`
/// after a suppressed error.
pub(crate) fn evaluate_operand<'a>(
    evaluator: &mut Evaluator<'a>,
    expr: &Expr,
    item: &Item<'a>,
    unwraps: bool,
) -> Result<Option<Vec<Item<'a>>>> {
    let mut found = Vec::new();
    if evaluator.expr(expr, item, Some(&mut found))? == Outcome::Failed {
        return Ok(None);
    }
    if !unwraps || !evaluator.is_lax || found.iter().all(|one| one.array_length().is_none()) {
        return Ok(Some(found));
    }
    let mut unwrapped = Vec::new();
    for one in found {
        match one.array_length() {
            Some(length) => {
                for element in (0..length).filter_map(|place| one.child(place)) {
                    Evaluator::push(&mut unwrapped, element)?;
                }
            }
            None => Evaluator::push(&mut unwrapped, one)?,
        }
    }
    Ok(Some(unwrapped))
}

fn evaluate_quiet_operand<'a>(
    evaluator: &mut Evaluator<'a>,
    expr: &Expr,
    item: &Item<'a>,
    unwraps: bool,
) -> Result<Option<Vec<Item<'a>>>> {
    let throws = std::mem::replace(&mut evaluator.options.throws, false);
    let found = evaluate_operand(evaluator, expr, item, unwraps)?;
    evaluator.options.throws = throws;
    Ok(found)
}

/// Tests each item on the left with each on the right. Lax mode ends at the first that passes;
/// strict mode looks for errors in all of them.
fn evaluate_test<'a>(
    evaluator: &mut Evaluator<'a>,
    left: &Expr,
    right: Option<(&Expr, bool)>,
    item: &Item<'a>,
    test: &Test<'_>,
) -> Result<Option<bool>> {
    let Some(left) = evaluate_quiet_operand(evaluator, left, item, true)? else { return Ok(None) };
    let right = match right {
        Some((expr, unwraps)) => evaluate_quiet_operand(evaluator, expr, item, unwraps)?,
        None => Some(vec![Item::Scalar(Json::Null)]),
    };
    let Some(right) = right else { return Ok(None) };
    let (mut is_found, mut is_unknown) = (false, false);
    for one in &left {
        for other in &right {
            work::tick()?;
            match passes(evaluator, test, one, other)? {
                None if !evaluator.is_lax => return Ok(None),
                None => is_unknown = true,
                Some(true) if evaluator.is_lax => return Ok(Some(true)),
                Some(true) => is_found = true,
                Some(false) => {}
            }
        }
    }
    Ok(if is_unknown { None } else { Some(is_found) })
}

fn passes<'a>(
    evaluator: &Evaluator<'a>,
    test: &Test<'_>,
    left: &Item<'a>,
    right: &Item<'a>,
) -> Result<Option<bool>> {
    match test {
        Test::Compare(comparison) => compare_items(evaluator, *comparison, left, right),
        Test::StartsWith => Ok(match (left.as_str(), right.as_str()) {
            (Some(whole), Some(prefix)) => Some(whole.starts_with(prefix)),
            _ => None,
        }),
        Test::LikeRegex(like) => match left.as_str() {
            Some(text) => like.compiled()?.is_match(text).map(Some),
            None => Ok(None),
        },
    }
}

fn compare_items<'a>(
    evaluator: &Evaluator<'a>,
    comparison: Comparison,
    left: &Item<'a>,
    right: &Item<'a>,
) -> Result<Option<bool>> {
    let (kind, other) = (left.kind(), right.kind());
    if kind != other {
        // Null differs from everything else; other kinds do not compare.
        let has_null = kind == Kind::Null || other == Kind::Null;
        return Ok(has_null.then_some(comparison == Comparison::NotEqual));
    }
    let order = match (left, right) {
        (Item::Moment(left), Item::Moment(right)) => compare_moments(evaluator, left, right)?,
        _ if left.is_container() => None,
        _ => match (left.as_json(), right.as_json()) {
            (Some(Json::Bool(left)), Some(Json::Bool(right))) => Some(left.cmp(right)),
            (Some(Json::Number(left)), Some(Json::Number(right))) => Some(left.cmp(right)),
            (Some(Json::String(left)), Some(Json::String(right))) => {
                work::spend_bytes(left.len().min(right.len()))?;
                Some(left.as_bytes().cmp(right.as_bytes()))
            }
            _ => Some(Ordering::Equal),
        },
    };
    Ok(order.map(|order| match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}
