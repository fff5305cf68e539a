//! How much a lookup join reads at once below a LIMIT: as many left rows as are likely to give what
//! is left to be given, and a few right rows for each row that is left to be given.
//!
//! The first wait has as many left rows as the limit takes rows. The following ones go by what the
//! earlier ones have given, and grow at most fourfold. So does the number of right rows.

use braid_plan::LimitHint;

use crate::operator::basic::limit::rows_taken;
use crate::operator::eval::Evaluator;

/// How many times as many rows as all before them the next wait may have.
const GROWTH_MAX: usize = 4;
/// The fewest right rows of one wait.
const PAGE_MIN: usize = 64;

/// The number of rows that a LIMIT above a join takes, and the number that it already has.
pub(crate) struct LimitGoal {
    hint: Option<LimitHint>,
    /// Rows that the limit takes, once it has been evaluated.
    taken: Option<usize>,
    looked_up: usize,
    /// Right rows that were read.
    read: usize,
    given: usize,
}

impl LimitGoal {
    /// Nothing has been read yet. Without a hint there is no limit.
    pub(crate) fn new(hint: Option<LimitHint>) -> Self {
        Self { hint, taken: None, looked_up: 0, read: 0, given: 0 }
    }

    /// The most left rows that are worth looking up next, at least 1, and the most right rows that
    /// are worth reading for each of them; `usize::MAX` where nothing is known.
    pub(crate) async fn next(&mut self, evaluator: &Evaluator) -> (usize, usize) {
        let Some(hint) = &self.hint else { return (usize::MAX, usize::MAX) };
        let taken = match self.taken {
            Some(taken) => taken,
            None => rows_taken(evaluator, (Some(&hint.limit), hint.offset.as_ref())).await,
        };
        self.taken = Some(taken);
        let left = taken.saturating_sub(self.given).max(1);
        let most = self.looked_up.saturating_mul(GROWTH_MAX);
        let lookups = match (self.looked_up, self.given) {
            (0, _) => left,
            (_, 0) => most,
            (looked_up, given) => (left.saturating_mul(looked_up) / given).clamp(1, most),
        };
        (lookups, if hint.is_final { left } else { usize::MAX })
    }

    /// The most right rows that are worth reading next; `usize::MAX` where nothing is known.
    pub(crate) fn page_rows(&self) -> usize {
        let Some(taken) = self.taken else { return usize::MAX };
        let left = taken.saturating_sub(self.given);
        let first = left.saturating_mul(GROWTH_MAX).max(PAGE_MIN);
        first.max(self.read.saturating_mul(GROWTH_MAX - 1))
    }

    /// Notes how many left rows were looked up, and how many right rows were read for them.
    pub(crate) fn looked_up(&mut self, left_rows: usize, right_rows: usize) {
        self.looked_up += left_rows;
        self.read += right_rows;
    }

    /// Notes how many rows were given.
    pub(crate) fn gave(&mut self, rows: usize) {
        self.given += rows;
    }
}
