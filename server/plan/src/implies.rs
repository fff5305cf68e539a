//! Whether conditions imply a predicate, by PostgreSQL's simple rules.
//!
//! A partial index may answer a query if the query's conditions imply the index's predicate.
//! `ON CONFLICT` chooses its partial indexes in the same way.
//!
//! Rules: a condition counts only where it is true, since WHERE drops what is false or NULL. The
//! answer `false` may mean that nothing is known. Parameters have no value while a plan is made.
//! So they imply only what holds for every value: the same condition, and `IS NOT NULL`.

use braid_types::Datum;

use crate::eval::is_plain_any;
use crate::tree::expr::{CompareOp, Expr, conjuncts};

/// Longer lists of IN are not compared value by value.
const LIST_MAX: usize = 100;

/// Whether a predicate is true wherever all of these conditions are.
pub(crate) fn implies(given: &[Expr], predicate: &Expr) -> bool {
    let mut parts = Vec::new();
    conjuncts(predicate.clone(), &mut parts);
    let mut known = Vec::new();
    given.iter().cloned().for_each(|e| conjuncts(e, &mut known));
    parts.iter().all(|part| known.iter().any(|known| follows(known, part)))
}

fn follows(known: &Expr, part: &Expr) -> bool {
    if known.same_value(part) {
        return true;
    }
    if let Expr::And(list) = part {
        return list.iter().all(|part| follows(known, part));
    }
    if let Expr::Or(list) = known {
        return list.iter().all(|known| follows(known, part));
    }
    if let Expr::Or(list) = part
        && list.iter().any(|part| follows(known, part))
    {
        return true;
    }
    if let Expr::And(list) = known {
        return list.iter().any(|known| follows(known, part));
    }
    if let Expr::Not(inner) = part
        && let Expr::IsNull(subject) = &**inner
    {
        return is_untrue_of_null(known, subject);
    }
    if let Some(equalities) = equalities(part)
        && equalities.iter().any(|part| follows(known, part))
    {
        return true;
    }
    match equalities(known) {
        Some(equalities) => equalities.iter().all(|known| follows(known, part)),
        None => truth_follows(known, part) || bound_follows(known, part),
    }
}

/// A list of IN as the equalities of which one holds; `None` if it is none, or too long.
fn equalities(e: &Expr) -> Option<Vec<Expr>> {
    let equal = |left: &Expr, value: Expr| {
        Expr::Compare(CompareOp::Eq, Box::new(left.clone()), Box::new(value))
    };
    let of_values = |left: &Expr, values: &mut dyn Iterator<Item = &Datum>| {
        let values = values.filter(|value| !value.is_null());
        values.map(|value| equal(left, Expr::Const(value.clone(), left.ty()))).collect()
    };
    match e {
        Expr::InSet(left, set, _) if set.len() <= LIST_MAX => {
            Some(of_values(left, &mut set.iter()))
        }
        Expr::InList(left, list) if list.len() <= LIST_MAX => {
            Some(list.iter().map(|value| equal(left, value.clone())).collect())
        }
        Expr::Quantified(q) if is_plain_any(q) => match &q.array {
            Expr::Const(Datum::Array(array), _) if array.items.len() <= LIST_MAX => {
                Some(of_values(&q.left, &mut array.items.iter()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a condition is not true wherever `subject` is NULL.
fn is_untrue_of_null(e: &Expr, subject: &Expr) -> bool {
    match e {
        Expr::And(list) => list.iter().any(|e| is_untrue_of_null(e, subject)),
        Expr::Or(list) => list.iter().all(|e| is_untrue_of_null(e, subject)),
        Expr::IsBool(e, Some(_)) | Expr::InList(e, _) | Expr::InSet(e, ..) => {
            is_null_of_null(e, subject)
        }
        Expr::Quantified(q) if is_plain_any(q) => is_null_of_null(&q.left, subject),
        e => is_null_of_null(e, subject),
    }
}

/// Whether an expression is NULL wherever `subject` is.
fn is_null_of_null(e: &Expr, subject: &Expr) -> bool {
    if e.same_value(subject) {
        return true;
    }
    match e {
        Expr::Compare(_, a, b) => is_null_of_null(a, subject) || is_null_of_null(b, subject),
        Expr::Not(e) => is_null_of_null(e, subject),
        Expr::Cast(cast) => is_null_of_null(&cast.expr, subject),
        Expr::Call(call) if call.function.strict => {
            call.args.iter().any(|e| is_null_of_null(e, subject))
        }
        _ => false,
    }
}

/// A condition that is true exactly if a boolean expression has this value.
fn truth(e: &Expr) -> Option<(&Expr, bool)> {
    match e {
        Expr::Compare(op @ (CompareOp::Eq | CompareOp::Ne), a, b) => {
            let (e, value) = match (&**a, &**b) {
                (e, Expr::Const(Datum::Bool(value), _))
                | (Expr::Const(Datum::Bool(value), _), e) => (e, *value),
                _ => return None,
            };
            Some((e, value == (*op == CompareOp::Eq)))
        }
        Expr::IsBool(e, Some(value)) => Some((e, *value)),
        // `IS NOT TRUE` is true of NULL as well.
        Expr::Not(inner) => match &**inner {
            Expr::IsBool(..) => None,
            inner => truth(inner).map(|(e, value)| (e, !value)),
        },
        e => Some((e, true)),
    }
}

/// Whether a part about the value of a boolean follows from another condition about it.
fn truth_follows(known: &Expr, part: &Expr) -> bool {
    let Some((e, value)) = truth(known) else { return false };
    if let Expr::Not(inner) = part
        && let Expr::IsBool(wanted, Some(refused)) = &**inner
    {
        return value != *refused && e.same_value(wanted);
    }
    truth(part).is_some_and(|(wanted, of)| of == value && e.same_value(wanted))
}

/// A comparison with a constant, which is on its right side.
fn comparison(e: &Expr) -> Option<(CompareOp, &Expr, &Datum)> {
    match e {
        Expr::Compare(op, a, b) => match (&**a, &**b) {
            (e, Expr::Const(value, _)) => Some((*op, e, value)),
            (Expr::Const(value, _), e) => Some((op.flipped(), e, value)),
            _ => None,
        },
        Expr::Not(inner) => match &**inner {
            Expr::Compare(..) => comparison(inner).map(|(op, e, value)| (op.negated(), e, value)),
            _ => None,
        },
        _ => None,
    }
    .filter(|(.., value)| !value.is_null())
}

/// Whether a comparison with a constant follows from another one.
fn bound_follows(known: &Expr, part: &Expr) -> bool {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    let (Some((op, e, x)), Some((wanted, of, y))) = (comparison(known), comparison(part)) else {
        return false;
    };
    if !e.same_value(of) {
        return false;
    }
    let order = x.compare(y);
    match (op, wanted) {
        (Eq, wanted) => wanted.holds(order),
        (Ne, Ne) => order.is_eq(),
        (Gt, Gt | Ge | Ne) | (Ge, Ge) => order.is_ge(),
        (Ge, Gt | Ne) => order.is_gt(),
        (Lt, Lt | Le | Ne) | (Le, Le) => order.is_le(),
        (Le, Lt | Ne) => order.is_lt(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use braid_types::SqlType;

    use super::*;

    fn column(slot: u32) -> Expr {
        Expr::Column(slot, SqlType::Int4)
    }

    fn number(n: i64) -> Expr {
        Expr::Const(Datum::Int(n), SqlType::Int4)
    }

    fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
        Expr::Compare(op, Box::new(a), Box::new(b))
    }

    fn not(e: Expr) -> Expr {
        Expr::Not(Box::new(e))
    }

    fn is_not_null(e: Expr) -> Expr {
        not(Expr::IsNull(Box::new(e)))
    }

    /// Whether `a op x` implies `a wanted y` is what all numbers around them say.
    #[test]
    fn comparisons_imply_what_holds_for_every_number() {
        use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let all = [Eq, Ne, Lt, Le, Gt, Ge];
        for (op, wanted) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            for (x, y) in (1..4).flat_map(|x| (1..4).map(move |y| (x * 2, y * 2))) {
                let known = compare(op, column(1), number(x));
                let part = compare(wanted, column(1), number(y));
                // Halves are between the numbers: no rule knows that these are whole.
                let holds =
                    (0..10).filter(|n| op.holds(n.cmp(&x))).all(|n| wanted.holds(n.cmp(&y)));
                assert_eq!(
                    implies(std::slice::from_ref(&known), &part),
                    holds,
                    "{op:?} {x} {wanted:?} {y}"
                );
                let turned = compare(op.flipped(), number(x), column(1));
                assert_eq!(implies(&[turned], &part), holds);
                let negated = not(compare(op.negated(), column(1), number(x)));
                assert_eq!(implies(&[negated], &part), holds);
                let other = compare(wanted, column(2), number(y));
                assert!(!implies(&[known], &other));
            }
        }
    }

    #[test]
    fn conditions_that_drop_null_imply_is_not_null() {
        let param = || Expr::Param(0, SqlType::Int4);
        let part = is_not_null(column(1));
        for known in [
            compare(CompareOp::Eq, column(1), param()),
            compare(CompareOp::Ne, number(1), column(1)),
            Expr::InList(Box::new(column(1)), vec![param(), number(2)]),
            not(compare(CompareOp::Lt, column(1), column(2))),
            Expr::And(vec![column(3), compare(CompareOp::Eq, column(1), param())]),
            Expr::Or(vec![
                compare(CompareOp::Lt, column(1), param()),
                compare(CompareOp::Gt, column(1), number(7)),
            ]),
        ] {
            assert!(implies(&[known], &part));
        }
        for known in [
            Expr::IsNull(Box::new(column(1))),
            not(Expr::IsBool(Box::new(column(1)), Some(true))),
            Expr::IsDistinct(Box::new(column(1)), Box::new(number(1))),
            Expr::Or(vec![compare(CompareOp::Eq, column(1), param()), column(3)]),
            Expr::Coalesce(vec![column(1), number(1)]),
        ] {
            assert!(!implies(&[known], &part));
        }
    }

    #[test]
    fn booleans_are_written_in_many_ways() {
        let done = || Expr::Column(1, SqlType::Bool);
        let is = |value| Expr::IsBool(Box::new(done()), Some(value));
        let equals = |value| compare(CompareOp::Eq, done(), Expr::bool(value));
        let differs = |value| compare(CompareOp::Ne, done(), Expr::bool(value));
        let of_false = [not(done()), equals(false), differs(true), is(false), not(equals(true))];
        let of_true = [done(), equals(true), differs(false), is(true), not(not(done()))];
        for known in &of_false {
            assert!(of_false.iter().all(|part| implies(std::slice::from_ref(known), part)));
            assert!(!of_true.iter().any(|part| implies(std::slice::from_ref(known), part)));
            assert!(implies(std::slice::from_ref(known), &not(is(true))));
            assert!(implies(std::slice::from_ref(known), &is_not_null(done())));
            // A row whose value is NULL is not true, but it is not false either.
            assert!(!implies(&[not(is(true))], known));
        }
    }
}
