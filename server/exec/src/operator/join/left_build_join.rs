//! Left, semi and anti joins whose left side is in a hash table, while the right side passes by.
//!
//! ```text
//!   left (in memory)   1  2  2  3      right   2  5  3 …
//!   matched            -  x  x  x
//!
//!   semi   2 2 3        anti   1        left   (2,2) (2,2) (3,3), then (1,∅)
//! ```
//!
//! A semi or anti join gives its rows in the order of the left side, after the last right row. It
//! stops reading when every left row has a match. A left join gives pairs as right rows come, and
//! then the left rows without a match.
//!
//! A left row of a semi or anti join that has a match is not looked at again: candidates of one key
//! are a list, and the next right row of that key takes the row out of it.

use braid_plan::{Join, JoinKind, JoinMethod};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::join::build_side::{BuildSide, Keys};
use crate::operator::join::plain_join::{PAIRS_PER_CHECK, fill_pair};
use crate::operator::postponed::Postponed;
use crate::operator::reservation::broken;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// A join with its left side in a hash table.
pub struct LeftBuildJoinOperator {
    kind: JoinKind,
    left: BuildSide,
    right: BoxedOperator,
    right_width: usize,
    on: Exprs,
    evaluator: Evaluator,
    /// Right rows that have been read.
    rows: std::vec::IntoIter<Row>,
    /// The right row whose pairs are being given, and the next left row for it.
    current: Option<(Row, usize)>,
    right_done: bool,
    /// How many left rows of the hash table have a match.
    matches: usize,
    /// Where the left rows are being given out.
    rest: usize,
    pairs: usize,
    failed: Postponed,
}

impl LeftBuildJoinOperator {
    /// A hash join of a kind that may build its left side.
    pub fn new(
        node: &Join,
        left: BoxedOperator,
        right: BoxedOperator,
        evaluator: Evaluator,
    ) -> Result<Self> {
        let JoinMethod::Hash { left: build, right: probe, .. } = &node.method else {
            return Err(broken("a join without a hash table builds its left side"));
        };
        let keys = Keys { probe, build };
        Ok(Self {
            kind: node.kind,
            left: BuildSide::new(Some(keys), left, &evaluator),
            right,
            right_width: node.right.slots().len(),
            on: Exprs::new(node.on.clone()),
            evaluator,
            rows: Vec::new().into_iter(),
            current: None,
            right_done: false,
            matches: 0,
            rest: 0,
            pairs: 0,
            failed: Postponed::default(),
        })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.failed.check()?;
        let mut out = Vec::new();
        if let Err(error) = self.fill(&mut out).await {
            self.failed.keep(error, !out.is_empty())?;
        }
        Ok((!out.is_empty()).then_some(out))
    }

    /// Adds the rows of the next batch.
    async fn fill(&mut self, out: &mut Vec<Row>) -> Result<()> {
        self.left.load(&self.evaluator, true).await?;
        while out.len() < BATCH_ROWS && !self.right_done {
            self.look().await?;
            if let Some((row, at)) = self.current.take() {
                match self.kind {
                    JoinKind::Left => self.give_pairs(row, at, out).await?,
                    _ => self.mark(&row, at).await?,
                }
            } else if let Some(row) = self.rows.next() {
                let first = self.left.first(&self.evaluator, &row).await?;
                self.current = first.map(|at| (row, at));
            } else if self.is_decided() {
                self.right_done = true;
            } else if !out.is_empty() {
                break;
            } else {
                match self.right.next().await? {
                    Some(rows) => self.rows = rows.into_iter(),
                    None => self.right_done = true,
                }
            }
        }
        if self.right_done {
            self.give_left(out);
        }
        Ok(())
    }

    /// Whether no further right row changes anything.
    fn is_decided(&self) -> bool {
        match self.kind {
            JoinKind::Left => self.left.hashed == 0,
            _ => self.matches == self.left.hashed,
        }
    }

    /// Looks for a cancel request now and then.
    async fn look(&mut self) -> Result<()> {
        self.pairs += 1;
        if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
            self.evaluator.run.breathe().await?;
        }
        Ok(())
    }

    /// Marks the left rows that a right row matches, from a candidate on.
    async fn mark(&mut self, right: &[Datum], first: usize) -> Result<()> {
        let mut pair = Row::new();
        let (mut before, mut next) = (None, Some(first));
        while let Some(at) = next {
            next = self.left.after(at);
            let mut has_match = self.left.matched[at];
            if !has_match {
                self.look().await?;
                has_match = self.on.is_empty() || {
                    fill_pair(&mut pair, &self.left.rows[at], right);
                    self.on.hold(&self.evaluator, &pair).await?
                };
                self.left.matched[at] = has_match;
                self.matches += usize::from(has_match);
            }
            match before {
                // The first of a list stays in it.
                Some(before) if has_match => self.left.skip(before, next),
                _ => before = Some(at),
            }
        }
        Ok(())
    }

    /// Pairs of a right row with left rows, until their end or a full batch.
    async fn give_pairs(&mut self, right: Row, first: usize, out: &mut Vec<Row>) -> Result<()> {
        let mut next = Some(first);
        while let Some(at) = next {
            if out.len() >= BATCH_ROWS {
                self.current = Some((right, at));
                return Ok(());
            }
            next = self.left.after(at);
            self.look().await?;
            let mut pair = Row::new();
            fill_pair(&mut pair, &self.left.rows[at], &right);
            if self.on.is_empty() || self.on.hold(&self.evaluator, &pair).await? {
                self.left.matched[at] = true;
                out.push(pair);
            }
        }
        Ok(())
    }

    /// Left rows that are given after the last right row, until a full batch.
    fn give_left(&mut self, out: &mut Vec<Row>) {
        let wanted = self.kind == JoinKind::Semi;
        while out.len() < BATCH_ROWS && self.rest < self.left.rows.len() {
            if self.left.matched[self.rest] == wanted {
                let mut row = std::mem::take(&mut self.left.rows[self.rest]);
                if self.kind == JoinKind::Left {
                    row.resize(row.len() + self.right_width, Datum::Null);
                }
                out.push(row);
            }
            self.rest += 1;
        }
    }
}

impl Operator for LeftBuildJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
