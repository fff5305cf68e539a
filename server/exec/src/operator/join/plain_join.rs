//! Joins of two inputs: by a hash table, by every pair, or with the right side run again for each
//! left row.
//!
//! A row whose keys hold a NULL matches nothing. Output is made on demand, so that a join of many
//! to many does not pile up: the operator stops in the middle of a left row's matches.
//!
//! If the right side does not fit into memory, both sides are divided into partitions of their
//! keys, and joins over these follow each other. A partition of one key is not divided again, and
//! without keys there is one partition. One of its sides is read in blocks: that whose rows are
//! also given without a match.

use std::sync::Arc;

use braid_plan::explain::DiskUse;
use braid_plan::{Join, JoinKind, JoinMethod};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::join::build_side::{BuildSide, Lateral, Loading};
use crate::operator::join::keys::{KeyExprs, Keys};
use crate::operator::join::left_build_join::{LeftBuildJoinOperator, Parts};
use crate::operator::join::pairs::{PAIRS_PER_CHECK, fill_pair, needs_match};
use crate::operator::join::probe_side::{Needs, Passing, ProbeSide};
use crate::operator::parallel::shared_build::SharedBuild;
use crate::operator::postponed::Postponed;
use crate::operator::spilled::overflow::{Overflow, is_lopsided};
use crate::operator::spilled::queue::Queue;
use crate::operator::spilled::stream_scan::StreamScan;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};
use crate::spill::stream::RowStream;

/// A join.
pub(crate) struct JoinOperator {
    kind: JoinKind,
    left: ProbeSide,
    left_width: usize,
    right: Right,
    right_width: usize,
    on: Arc<Exprs>,
    evaluator: Evaluator,
    overflow: Overflow,
    /// The joins over partitions, once both sides are divided.
    below: Option<Queue>,
    /// What a join in blocks of the right side repeats.
    blocks: Option<Blocks>,
    left_done: bool,
    current: Option<Current>,
    /// Where the unmatched right rows are being given out.
    rest: usize,
    pairs: usize,
    failed: Postponed,
}

enum Right {
    BuildSide(Box<BuildSide>),
    Lateral(Box<Lateral>),
}

/// What a join in blocks of the right side repeats for each block.
struct Blocks {
    left: Arc<RowStream>,
    /// Only right rows without a match are given.
    only_unmatched: bool,
}

/// The left row whose matches are being given.
struct Current {
    row: Row,
    matched: bool,
    /// The next candidate of a kept right side.
    at: Option<usize>,
}

impl JoinOperator {
    /// A join; without a `right` operator the plan's right side is built for each left row.
    pub(crate) fn new(
        node: &Join,
        left: BoxedOperator,
        right: Option<BoxedOperator>,
        evaluator: Evaluator,
    ) -> Self {
        let right = match right {
            Some(input) => {
                let keys = match &node.method {
                    JoinMethod::Hash { left, right, .. } => {
                        Some(Keys { probe: left, build: right }.compile())
                    }
                    JoinMethod::Loop | JoinMethod::Lookup | JoinMethod::Interleaved => None,
                };
                Right::BuildSide(Box::new(BuildSide::new(keys, input, &evaluator)))
            }
            None => Right::Lateral(Box::new(Lateral::new(node, &evaluator.run))),
        };
        let widths = (node.left.slots().len(), node.right.slots().len());
        let on = Arc::new(Exprs::new(node.on.clone()));
        Self::over(node.kind, (left, right), widths, on, evaluator)
    }

    /// The same join. Its build side may be one that several workers read once.
    #[must_use]
    pub(crate) fn sharing(mut self, build: Option<Arc<SharedBuild>>) -> Self {
        if let (Right::BuildSide(kept), Some(build)) = (&mut self.right, build) {
            kept.share(build);
        }
        self
    }

    fn over(
        kind: JoinKind,
        (left, right): (BoxedOperator, Right),
        (left_width, right_width): (usize, usize),
        on: Arc<Exprs>,
        evaluator: Evaluator,
    ) -> Self {
        // Nothing is added to the rows of a semi or anti join: they need no more than is reserved.
        let width = match kind {
            JoinKind::Semi | JoinKind::Anti => left_width,
            _ => left_width + right_width,
        };
        let left = ProbeSide::new(left, needs(kind, &on), width);
        Self {
            kind,
            left,
            left_width,
            right,
            right_width,
            on,
            evaluator,
            overflow: Overflow::default(),
            below: None,
            blocks: None,
            left_done: false,
            current: None,
            rest: 0,
            pairs: 0,
            failed: Postponed::default(),
        }
    }

    /// The join of this or another kind over two partitions; in blocks of the right one, if those
    /// are given.
    fn of_partitions(
        &self,
        kind: JoinKind,
        (left, right): (Arc<RowStream>, Arc<RowStream>),
        keys: &Arc<KeyExprs>,
        blocks: Option<Blocks>,
    ) -> Self {
        let scan = |stream| StreamScan::new(&self.evaluator.run, stream) as BoxedOperator;
        let mut right = BuildSide::new(Some(keys.clone()), scan(right), &self.evaluator);
        if blocks.is_some() {
            right = right.in_blocks();
        }
        let inputs = (scan(left), Right::BuildSide(Box::new(right)));
        let widths = (self.left_width, self.right_width);
        let mut join = Self::over(kind, inputs, widths, self.on.clone(), self.evaluator.clone());
        join.overflow = self.overflow.below();
        join.blocks = blocks;
        join
    }

    /// Divides both sides into partitions, and makes the joins over these. A left row may have been
    /// taken already.
    async fn divide(&mut self, taken: Option<Row>) -> Result<()> {
        let keeps_left = matches!(self.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti);
        let keeps = (self.keeps_right(), keeps_left);
        let Right::BuildSide(kept) = &mut self.right else { return Ok(()) };
        let read = taken.into_iter().chain(self.left.take_rows()).collect();
        let (evaluator, overflow) = (&self.evaluator, &mut self.overflow);
        let divided = kept.divide(evaluator, (read, self.left.input()), keeps, overflow).await?;
        let Some(keys) = kept.keys().cloned() else { return Ok(()) };
        let total: u64 = divided.iter().map(|(right, _)| right.memory_bytes()).sum();
        let mut below = Queue::default();
        for (right, left) in divided {
            let nothing = match (left.rows(), right.rows()) {
                (0, 0) => true,
                (0, _) => !self.keeps_right(),
                (_, 0) => needs_match(self.kind),
                _ => false,
            };
            if nothing {
                continue;
            }
            if is_lopsided(&self.overflow, &right, total) {
                self.add_blocks(left, right, &keys, &mut below);
            } else {
                let streams = (Arc::new(left), Arc::new(right));
                let join = self.of_partitions(self.kind, streams, &keys, None);
                below.push(join);
            }
        }
        self.below = Some(below);
        Ok(())
    }

    /// Adds the joins of two partitions in blocks. Blocks of a side whose rows are given without a
    /// match are independent of each other; those of the other side are not.
    fn add_blocks(
        &self,
        left: RowStream,
        right: RowStream,
        keys: &Arc<KeyExprs>,
        below: &mut Queue,
    ) {
        let (left, right) = (Arc::new(left), Arc::new(right));
        let streams = || (left.clone(), right.clone());
        let by_right = |kind, only_unmatched| {
            let blocks = Blocks { left: left.clone(), only_unmatched };
            self.of_partitions(kind, streams(), keys, Some(blocks))
        };
        let by_left = |kind| {
            let (keys, on) = (keys.swapped(), self.on.clone());
            let parts = Parts { kind, keys, on, right_width: self.right_width };
            let (evaluator, overflow) = (&self.evaluator, &self.overflow);
            LeftBuildJoinOperator::of_partitions(parts, streams(), true, evaluator, overflow)
        };
        match self.kind {
            JoinKind::Inner | JoinKind::Right => below.push(by_right(self.kind, false)),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => below.push(by_left(self.kind)),
            JoinKind::Full => {
                below.push(by_left(JoinKind::Left));
                below.push(by_right(JoinKind::Right, true));
            }
        }
    }

    /// Goes on to the next block of the right side; false if there is none.
    fn next_block(&mut self) -> bool {
        let (Some(blocks), Right::BuildSide(kept)) = (&self.blocks, &mut self.right) else {
            return false;
        };
        if !kept.next_block() {
            return false;
        }
        self.left.restart(StreamScan::new(&self.evaluator.run, blocks.left.clone()));
        (self.left_done, self.rest) = (false, 0);
        true
    }

    fn keeps_right(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full)
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

    /// Adds the rows of the next batch.
    async fn fill(&mut self, out: &mut Vec<Row>) -> Result<()> {
        loop {
            let mark = self.keeps_right();
            if let Right::BuildSide(kept) = &mut self.right
                && (kept.is_hashed() || mark)
            {
                match kept.load(&self.evaluator, mark).await? {
                    Loading::Loaded => {}
                    Loading::TooLarge => return self.divide(None).await,
                    Loading::Elsewhere => return Ok(()),
                }
                if kept.rows().is_empty() && needs_match(self.kind) {
                    return Ok(());
                }
            }
            let is_done = self.fill_block(out).await?;
            if !is_done || !self.next_block() {
                return Ok(());
            }
        }
    }

    /// Adds the rows of the next batch, as far as they are of the right rows in memory. Says
    /// whether all of those were given.
    async fn fill_block(&mut self, out: &mut Vec<Row>) -> Result<bool> {
        while out.len() < BATCH_ROWS {
            // A left row counts as much as a pair.
            self.pairs += 1;
            if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
                self.evaluator.run.check_interrupts().await?;
            }
            if self.current.is_some() {
                match self.right {
                    Right::BuildSide(_) => self.kept_pairs(out).await?,
                    Right::Lateral(_) => self.lateral_pairs(out).await?,
                }
                continue;
            }
            match self.left.next() {
                Some(Passing::Row(row)) => {
                    self.start(row).await?;
                    if self.below.is_some() {
                        return Ok(true);
                    }
                    continue;
                }
                Some(Passing::Place(place, at)) => {
                    let row = self.left.row(place);
                    self.current = Some(Current { row, matched: false, at });
                    continue;
                }
                None => {}
            }
            if !self.left_done {
                if !out.is_empty() {
                    return Ok(false);
                }
                let lookup = match &self.right {
                    Right::BuildSide(kept) => kept.lookup(),
                    Right::Lateral(_) => None,
                };
                self.left_done = !self.left.read(lookup).await?;
                continue;
            }
            if !self.unmatched_right(out)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Begins with a left row. The first one loads the right side, or divides both.
    async fn start(&mut self, row: Row) -> Result<()> {
        let at = match &mut self.right {
            Right::BuildSide(kept) => {
                if kept.load(&self.evaluator, false).await? != Loading::Loaded {
                    return self.divide(Some(row)).await;
                }
                if kept.rows().is_empty() && needs_match(self.kind) {
                    self.left.clear();
                    self.left_done = true;
                    return Ok(());
                }
                kept.first(&self.evaluator, &row).await?
            }
            Right::Lateral(lateral) => {
                lateral.start(&self.evaluator, &row).await?;
                None
            }
        };
        self.current = Some(Current { row, matched: false, at });
        Ok(())
    }

    /// Pairs of the current left row with kept rows, until its end or a full batch.
    async fn kept_pairs(&mut self, out: &mut Vec<Row>) -> Result<()> {
        let Right::BuildSide(kept) = &mut self.right else { return Ok(()) };
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let one_is_enough = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        let only_unmatched = self.blocks.as_ref().is_some_and(|blocks| blocks.only_unmatched);
        let mut pair = Row::new();
        while let Some(at) = current.at {
            current.at = kept.after(at);
            self.pairs += 1;
            if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
                self.evaluator.run.check_interrupts().await?;
            }
            if !self.on.is_empty() {
                fill_pair(&mut pair, &current.row, &kept.rows()[at]);
                if !self.on.hold(&self.evaluator, &pair).await? {
                    continue;
                }
            }
            current.matched = true;
            if let Some(matched) = kept.matched.get_mut(at) {
                *matched = true;
            }
            if one_is_enough {
                break;
            }
            if only_unmatched {
                continue;
            }
            if self.on.is_empty() {
                let right = &kept.rows()[at];
                if current.at.is_none() {
                    // The last match takes the left row itself.
                    current.row.reserve_exact(right.len());
                    current.row.extend_from_slice(right);
                    out.push(current.row);
                    return Ok(());
                }
                fill_pair(&mut pair, &current.row, right);
            }
            out.push(std::mem::take(&mut pair));
            if out.len() >= BATCH_ROWS {
                self.current = Some(current);
                return Ok(());
            }
        }
        finish(self.kind, self.right_width, current, out);
        Ok(())
    }

    /// The same with the right side run for this left row.
    async fn lateral_pairs(&mut self, out: &mut Vec<Row>) -> Result<()> {
        let Right::Lateral(lateral) = &mut self.right else { return Ok(()) };
        let Some(mut current) = self.current.take() else { return Ok(()) };
        while let Some(right) = lateral.next(&self.evaluator).await? {
            let mut pair = Row::new();
            fill_pair(&mut pair, &current.row, &right);
            self.pairs += 1;
            if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
                self.evaluator.run.check_interrupts().await?;
            }
            if !self.on.hold(&self.evaluator, &pair).await? {
                continue;
            }
            current.matched = true;
            if matches!(self.kind, JoinKind::Semi | JoinKind::Anti) {
                break;
            }
            out.push(pair);
            if out.len() >= BATCH_ROWS {
                self.current = Some(current);
                return Ok(());
            }
        }
        lateral.stop();
        finish(self.kind, self.right_width, current, out);
        Ok(())
    }

    /// Right rows that met nothing, at most a batch; false at their end.
    fn unmatched_right(&mut self, out: &mut Vec<Row>) -> Result<bool> {
        let Right::BuildSide(kept) = &mut self.right else { return Ok(false) };
        while out.len() < BATCH_ROWS {
            let Some(matched) = kept.matched.get(self.rest) else { return Ok(false) };
            if !matched {
                let mut row = vec![Datum::Null; self.left_width];
                row.append(&mut kept.take_row(self.rest)?);
                out.push(row);
            }
            self.rest += 1;
        }
        Ok(true)
    }
}

/// The left rows that a join needs, as far as its hash table says it.
fn needs(kind: JoinKind, on: &Exprs) -> Needs {
    match kind {
        JoinKind::Inner | JoinKind::Semi | JoinKind::Right => Needs::Found,
        JoinKind::Anti if on.is_empty() => Needs::NotFound,
        JoinKind::Anti | JoinKind::Left | JoinKind::Full => Needs::All,
    }
}

/// What a left row gives after its last candidate.
fn finish(kind: JoinKind, right_width: usize, current: Current, out: &mut Vec<Row>) {
    let Current { mut row, matched, .. } = current;
    match (kind, matched) {
        (JoinKind::Left | JoinKind::Full, false) => {
            row.resize(row.len() + right_width, Datum::Null);
            out.push(row);
        }
        (JoinKind::Semi, true) | (JoinKind::Anti, false) => out.push(row),
        _ => {}
    }
}

impl Operator for JoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn spilled(&self) -> Option<DiskUse> {
        self.overflow.spilled()
    }
}
