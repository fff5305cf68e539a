//! Which conditions of a lookup join its bounds have decided, so that no pair is checked for them.
//!
//! ```text
//!   a JOIN b ON b.k = a.k AND b.v > a.v     index (k): k = a.k      left to check: b.v > a.v
//! ```

use braid_catalog::Index;
use braid_plan::{Bound, CompareOp, Expr, Join, Scan};
use braid_types::SqlType;

/// The conditions of a join with a lookup of an index that are not decided by its bounds.
pub(crate) fn undecided(join: &Join, scan: &Scan, index: &Index) -> Vec<Expr> {
    let left_width = join.left.slots().len();
    let bounded = |left: &Expr, right: &Expr| {
        let (Expr::Input(left_at, left_type), Expr::Input(right_at, right_type)) = (left, right)
        else {
            return false;
        };
        *left_at < left_width
            && are_alike(left_type, right_type)
            && right_at
                .checked_sub(left_width)
                .and_then(|at| outer_of(scan, index, at))
                .and_then(|outer| join.outer.get(outer))
                .is_some_and(|outer| matches!(outer, Expr::Input(at, _) if at == left_at))
    };
    let is_decided = |e: &&Expr| match e {
        Expr::Compare(CompareOp::Eq, a, b) => bounded(a, b) || bounded(b, a),
        _ => false,
    };
    join.on.iter().filter(|e| !is_decided(e)).cloned().collect()
}

/// Which value of the left row a column of the right side is bound to, if to one alone.
fn outer_of(scan: &Scan, index: &Index, at: usize) -> Option<usize> {
    let (_, place) = scan.columns.get(at)?;
    let id = scan.table.columns.get(*place)?.id;
    let key = index.keys.iter().position(|key| key.column == id)?;
    match scan.access.bounds.get(key)? {
        Bound::In(list) => match list.as_slice() {
            [Expr::Outer(outer, _)] => Some(*outer),
            _ => None,
        },
        _ => None,
    }
}

/// Whether values of two types are equal exactly if one is found by the other's key.
fn are_alike(a: &SqlType, b: &SqlType) -> bool {
    let is_integer = |ty: &SqlType| matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
    (is_integer(a) && is_integer(b)) || (a == b && matches!(a, SqlType::Date | SqlType::Uuid))
}
