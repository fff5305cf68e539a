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
//!
//! If the left side does not fit into memory, both sides are divided into partitions of their keys;
//! their rows come in no order then.

use std::sync::Arc;

use braid_plan::explain::DiskUse;
use braid_plan::{Join, JoinKind, JoinMethod};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::join::build_side::{BuildSide, Loading};
use crate::operator::join::keys::{KeyExprs, Keys};
use crate::operator::join::pairs::{PAIRS_PER_CHECK, fill_pair};
use crate::operator::join::probe_side::{Needs, Passing, ProbeSide};
use crate::operator::postponed::Postponed;
use crate::operator::reservation::broken;
use crate::operator::spilled::overflow::{Overflow, is_lopsided};
use crate::operator::spilled::queue::Queue;
use crate::operator::spilled::stream_scan::StreamScan;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};
use crate::spill::stream::RowStream;

/// What joins over partitions have in common.
pub(crate) struct Parts {
    pub(crate) kind: JoinKind,
    pub(crate) keys: Arc<KeyExprs>,
    pub(crate) on: Arc<Exprs>,
    pub(crate) right_width: usize,
}

/// A join with its left side in a hash table.
pub(crate) struct LeftBuildJoinOperator {
    kind: JoinKind,
    left: BuildSide,
    right: ProbeSide,
    /// The right side of a join in blocks, read again for each block.
    right_again: Option<Arc<RowStream>>,
    right_width: usize,
    on: Arc<Exprs>,
    evaluator: Evaluator,
    overflow: Overflow,
    /// The joins over partitions, once both sides are divided.
    below: Option<Queue>,
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
    pub(crate) fn new(
        node: &Join,
        left: BoxedOperator,
        right: BoxedOperator,
        evaluator: Evaluator,
    ) -> Result<Self> {
        let JoinMethod::Hash { left: build, right: probe, .. } = &node.method else {
            return Err(broken("a join without a hash table builds its left side"));
        };
        let keys = Keys { probe, build }.compile();
        let parts = Parts {
            kind: node.kind,
            keys,
            on: Arc::new(Exprs::new(node.on.clone())),
            right_width: node.right.slots().len(),
        };
        Ok(Self::over(parts, (left, right), evaluator, Overflow::default()))
    }

    fn over(
        parts: Parts,
        (left, right): (BoxedOperator, BoxedOperator),
        evaluator: Evaluator,
        overflow: Overflow,
    ) -> Self {
        Self {
            kind: parts.kind,
            left: BuildSide::new(Some(parts.keys), left, &evaluator),
            right: ProbeSide::new(right, Needs::Found, parts.right_width),
            right_again: None,
            right_width: parts.right_width,
            on: parts.on,
            evaluator,
            overflow,
            below: None,
            current: None,
            right_done: false,
            matches: 0,
            rest: 0,
            pairs: 0,
            failed: Postponed::default(),
        }
    }

    /// The join of two partitions; in blocks, if dividing them further is of no use.
    pub(crate) fn of_partitions(
        parts: Parts,
        (left, right): (Arc<RowStream>, Arc<RowStream>),
        in_blocks: bool,
        evaluator: &Evaluator,
        overflow: &Overflow,
    ) -> Self {
        let scan = |stream| StreamScan::new(&evaluator.run, stream) as BoxedOperator;
        let inputs = (scan(left), scan(right.clone()));
        let mut join = Self::over(parts, inputs, evaluator.clone(), overflow.below());
        if in_blocks {
            join.left = join.left.in_blocks();
            join.right_again = Some(right);
        }
        join
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.failed.check()?;
        if self.below.is_none() {
            let mut out = Vec::new();
            if let Err(error) = self.fill(&mut out).await {
                self.failed.keep(error, !out.is_empty())?;
            }
            if self.below.is_none() {
                return Ok((!out.is_empty()).then_some(out));
            }
        }
        match &mut self.below {
            Some(below) => below.next().await,
            None => Ok(None),
        }
    }

    /// Divides both sides into partitions, and makes the joins over these.
    async fn divide(&mut self) -> Result<()> {
        // A semi join needs no left row that matches nothing.
        let keeps = (self.kind != JoinKind::Semi, false);
        let divided = self
            .left
            .divide(&self.evaluator, (Vec::new(), self.right.input()), keeps, &mut self.overflow)
            .await?;
        let total: u64 = divided.iter().map(|(left, _)| left.memory_bytes()).sum();
        let mut below = Queue::default();
        for (left, right) in divided {
            if left.rows() == 0 {
                continue;
            }
            let Some(keys) = self.left.keys().cloned() else { continue };
            let (kind, on) = (self.kind, self.on.clone());
            let parts = Parts { kind, keys, on, right_width: self.right_width };
            let in_blocks = is_lopsided(&self.overflow, &left, total);
            let (evaluator, overflow) = (&self.evaluator, &self.overflow);
            let streams = (Arc::new(left), Arc::new(right));
            let join = Self::of_partitions(parts, streams, in_blocks, evaluator, overflow);
            below.push(join);
        }
        self.below = Some(below);
        Ok(())
    }

    /// Goes on to the next block of the left side; false if there is none.
    fn next_block(&mut self) -> bool {
        let Some(right) = &self.right_again else { return false };
        if !self.left.next_block() {
            return false;
        }
        self.right.restart(StreamScan::new(&self.evaluator.run, right.clone()));
        (self.right_done, self.matches, self.rest) = (false, 0, 0);
        self.current = None;
        true
    }

    /// Adds the rows of the next batch.
    async fn fill(&mut self, out: &mut Vec<Row>) -> Result<()> {
        loop {
            if self.left.load(&self.evaluator, true).await? != Loading::Loaded {
                return self.divide().await;
            }
            self.fill_block(out).await?;
            if out.len() >= BATCH_ROWS || !self.is_block_done() || !self.next_block() {
                return Ok(());
            }
        }
    }

    /// Whether everything of the left rows in memory was given.
    fn is_block_done(&self) -> bool {
        self.right_done && self.rest >= self.left.rows().len()
    }

    /// Adds the rows of the next batch, as far as they are of the left rows in memory.
    async fn fill_block(&mut self, out: &mut Vec<Row>) -> Result<()> {
        while out.len() < BATCH_ROWS && !self.right_done {
            self.look().await?;
            if let Some((row, at)) = self.current.take() {
                match self.kind {
                    JoinKind::Left => self.give_pairs(row, at, out).await?,
                    _ => self.mark(&row, at).await?,
                }
            } else if let Some(passing) = self.right.next() {
                self.current = self.candidate(passing).await?;
            } else if self.is_decided() {
                self.right_done = true;
            } else if !out.is_empty() {
                break;
            } else {
                self.right_done = !self.right.read(self.left.lookup()).await?;
            }
        }
        if self.right_done {
            self.give_left(out)?;
        }
        Ok(())
    }

    /// A right row with its first candidate, if it has one. Where nobody reads the row it is empty.
    async fn candidate(&mut self, passing: Passing) -> Result<Option<(Row, usize)>> {
        Ok(match passing {
            Passing::Row(row) => {
                let first = self.left.first(&self.evaluator, &row).await?;
                first.map(|at| (row, at))
            }
            Passing::Place(_, None) => None,
            Passing::Place(_, Some(at)) if self.on.is_empty() && self.kind != JoinKind::Left => {
                Some((Row::new(), at))
            }
            Passing::Place(place, Some(at)) => Some((self.right.row(place), at)),
        })
    }

    /// Whether no further right row changes anything.
    fn is_decided(&self) -> bool {
        match self.kind {
            JoinKind::Left => self.left.hashed() == 0,
            _ => self.matches == self.left.hashed(),
        }
    }

    /// Looks for a cancel request now and then.
    async fn look(&mut self) -> Result<()> {
        self.pairs += 1;
        if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
            self.evaluator.run.check_interrupts().await?;
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
                    fill_pair(&mut pair, &self.left.rows()[at], right);
                    self.on.hold(&self.evaluator, &pair).await?
                };
                self.left.matched[at] = has_match;
                self.matches += usize::from(has_match);
            }
            match before {
                // The first of a list stays in it.
                Some(before) if has_match => self.left.skip(before, next)?,
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
            fill_pair(&mut pair, &self.left.rows()[at], &right);
            if self.on.is_empty() || self.on.hold(&self.evaluator, &pair).await? {
                self.left.matched[at] = true;
                out.push(pair);
            }
        }
        Ok(())
    }

    /// Left rows that are given after the last right row, until a full batch.
    fn give_left(&mut self, out: &mut Vec<Row>) -> Result<()> {
        let wanted = self.kind == JoinKind::Semi;
        while out.len() < BATCH_ROWS && self.rest < self.left.rows().len() {
            if self.left.matched[self.rest] == wanted {
                let mut row = self.left.take_row(self.rest)?;
                if self.kind == JoinKind::Left {
                    row.resize(row.len() + self.right_width, Datum::Null);
                }
                out.push(row);
            }
            self.rest += 1;
        }
        Ok(())
    }
}

impl Operator for LeftBuildJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn spilled(&self) -> Option<DiskUse> {
        self.overflow.spilled()
    }
}
