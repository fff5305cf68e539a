//! Pairs of a left and a right row.

use braid_plan::JoinKind;
use braid_types::{Datum, Row};

/// How many pairs are looked at between two checks for a cancel request.
pub(crate) const PAIRS_PER_CHECK: usize = 1024;

/// Whether a left row without a match gives nothing.
pub(crate) fn needs_match(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Right)
}

/// Puts the columns of two rows into a row.
pub(crate) fn fill_pair(pair: &mut Row, left: &[Datum], right: &[Datum]) {
    pair.clear();
    pair.reserve_exact(left.len() + right.len());
    pair.extend_from_slice(left);
    pair.extend_from_slice(right);
}
