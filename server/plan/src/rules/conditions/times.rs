//! Comparisons of dates with times, and of times with and without a zone: both sides get one type,
//! so that indexes, statistics and partitions are of use.
//!
//! The side that reads no column is the one that changes. The outcome is that of the comparison of
//! both types. Only a date which no timestamp reaches would be an error; a constant of that kind
//! stays as it is.

use std::sync::Arc;

use braid_types::datetime::{DAY_MICROS, TIMESTAMP_END, TIMESTAMP_MIN, is_infinite};
use braid_types::{Datum, SqlType};

use crate::rules::push_filters::needs;
use crate::rules::walk;
use crate::tree::expr::{CastExpr, CompareOp, Expr};
use crate::tree::node::Node;

/// Gives both sides of such comparisons one type, subqueries included. Predicates and keys of
/// indexes are compared with conditions, so they change as well.
pub(crate) fn apply(mut node: Node) -> Node {
    walk::exprs_mut(&mut node, &mut align);
    if let Node::Scan(scan) = &mut node {
        align_shared(&mut scan.predicates);
        align_shared(&mut scan.key_exprs);
    }
    walk::map_children(node, &mut apply)
}

/// Other plans may have the same expressions, so what changes is a copy.
fn align_shared<K: Copy>(exprs: &mut Arc<[(K, Expr)]>) {
    let compares = |e: &Expr| match e {
        Expr::Call(call) => CompareOp::from_symbol(call.function.name).is_some(),
        _ => false,
    };
    if exprs.iter().any(|(_, e)| e.any(&mut |e| compares(e))) {
        let mut copies = exprs.to_vec();
        copies.iter_mut().for_each(|(_, e)| align(e));
        *exprs = copies.into();
    }
}

fn align(e: &mut Expr) {
    e.for_each_child_mut(&mut align);
    match e {
        Expr::Subquery(subquery) => {
            let plan = Arc::make_mut(&mut subquery.plan);
            *plan = apply(std::mem::replace(plan, Node::one_row()));
        }
        Expr::Call(call) => {
            let Some(op) = CompareOp::from_symbol(call.function.name) else { return };
            let [a, b] = &mut call.args[..] else { return };
            let aligned = match (reads_column(a), reads_column(b)) {
                (true, false) => aligned(op, &a.ty(), b).map(|(op, b)| (op, take(a), b)),
                (false, true) => {
                    let aligned = aligned(op.flipped(), &b.ty(), a);
                    aligned.map(|(op, a)| (op.flipped(), a, take(b)))
                }
                _ => None,
            };
            if let Some((op, a, b)) = aligned {
                *e = Expr::Compare(op, Box::new(a), Box::new(b));
            }
        }
        _ => {}
    }
}

/// Columns of an index's own expressions are inputs.
fn reads_column(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e, Expr::Input(..))) || !needs(e).is_empty()
}

fn take(e: &mut Expr) -> Expr {
    std::mem::replace(e, Expr::bool(true))
}

/// The value in the type of the column that it is compared with, and the comparison then.
fn aligned(op: CompareOp, column: &SqlType, value: &mut Expr) -> Option<(CompareOp, Expr)> {
    let from = value.ty();
    match (column, &from, &*value) {
        (SqlType::Date, SqlType::Timestamp, Expr::Const(Datum::Timestamp(micros), _)) => {
            let (op, day) = with_date(op, *micros)?;
            Some((op, Expr::Const(Datum::Date(day), SqlType::Date)))
        }
        (SqlType::Timestamp | SqlType::Timestamptz, SqlType::Date, Expr::Const(datum, _))
            if !has_timestamp(datum) =>
        {
            None
        }
        (SqlType::Timestamp, SqlType::Date, Expr::Const(Datum::Date(days), _)) => {
            Some((op, Expr::Const(Datum::Timestamp(midnight(*days)), SqlType::Timestamp)))
        }
        (SqlType::Timestamp, SqlType::Date, _)
        | (SqlType::Timestamptz, SqlType::Date | SqlType::Timestamp, _) => {
            let cast = CastExpr { expr: take(value), from, to: column.clone(), explicit: false };
            Some((op, Expr::Cast(Box::new(cast))))
        }
        _ => None,
    }
}

/// The beginning of a day that timestamps reach.
fn midnight(days: i32) -> i64 {
    match days {
        i32::MAX => i64::MAX,
        i32::MIN => i64::MIN,
        days => i64::from(days) * DAY_MICROS,
    }
}

/// The comparison of a date with another date that is the same as that with a timestamp.
fn with_date(op: CompareOp, micros: i64) -> Option<(CompareOp, i32)> {
    let day = match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        micros => i32::try_from(micros.div_euclid(DAY_MICROS)).ok()?,
    };
    if is_infinite(micros) || micros.rem_euclid(DAY_MICROS) == 0 {
        return Some((op, day));
    }
    // The day began before this moment, and the next one begins after it.
    match op {
        CompareOp::Lt | CompareOp::Le => Some((CompareOp::Le, day)),
        CompareOp::Gt | CompareOp::Ge => Some((CompareOp::Gt, day)),
        _ => None,
    }
}

/// Whether a date is one that a timestamp has, in every time zone.
fn has_timestamp(datum: &Datum) -> bool {
    let Datum::Date(days) = datum else { return true };
    let days = i64::from(*days);
    let (first, last) = (TIMESTAMP_MIN / DAY_MICROS + 1, TIMESTAMP_END / DAY_MICROS - 1);
    *datum == Datum::Date(i32::MAX)
        || *datum == Datum::Date(i32::MIN)
        || (first < days && days < last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATORS: [CompareOp; 6] =
        [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];

    #[test]
    fn a_comparison_with_a_date_is_that_with_the_timestamp() {
        let moments = [-DAY_MICROS, -1, 0, 1, DAY_MICROS - 1, DAY_MICROS, i64::MIN, i64::MAX];
        for (op, micros) in OPERATORS.iter().flat_map(|op| moments.map(|micros| (*op, micros))) {
            let Some((as_date, day)) = with_date(op, micros) else { continue };
            for other in [-2, -1, 0, 1, 2] {
                let expected = op.holds((i64::from(other) * DAY_MICROS).cmp(&micros));
                assert_eq!(as_date.holds(other.cmp(&day)), expected, "{other} {op:?} {micros}");
            }
        }
    }
}
