//! Joins of two inputs: by a hash table, by every pair, or with the right side run again for each
//! left row.
//!
//! A row whose keys hold a NULL matches nothing. Output is made on demand, so that a join of many
//! to many does not pile up: the operator stops in the middle of a left row's matches.

use braid_plan::{Join, JoinKind, JoinMethod};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::join::build_side::{BuildSide, Keys, Lateral};
use crate::operator::postponed::Postponed;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// How many pairs are looked at between two checks for a cancel request.
pub const PAIRS_PER_CHECK: usize = 1024;

/// A join.
pub struct JoinOperator {
    kind: JoinKind,
    left: BoxedOperator,
    left_width: usize,
    right: Right,
    right_width: usize,
    on: Exprs,
    evaluator: Evaluator,
    rows: std::vec::IntoIter<Row>,
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

/// The left row whose matches are being given.
struct Current {
    row: Row,
    matched: bool,
    /// The next candidate of a kept right side.
    at: Option<usize>,
}

impl JoinOperator {
    /// A join; without a `right` operator the plan's right side is built for each left row.
    pub fn new(
        node: &Join,
        left: BoxedOperator,
        right: Option<BoxedOperator>,
        evaluator: Evaluator,
    ) -> Self {
        let right = match right {
            Some(input) => {
                let keys = match &node.method {
                    JoinMethod::Hash { left, right, .. } => {
                        Some(Keys { probe: left, build: right })
                    }
                    JoinMethod::Loop | JoinMethod::Lookup | JoinMethod::Interleaved => None,
                };
                Right::BuildSide(Box::new(BuildSide::new(keys, input, &evaluator)))
            }
            None => Right::Lateral(Box::new(Lateral::new(node, &evaluator.run))),
        };
        Self {
            kind: node.kind,
            left,
            left_width: node.left.slots().len(),
            right,
            right_width: node.right.slots().len(),
            on: Exprs::new(node.on.clone()),
            evaluator,
            rows: Vec::new().into_iter(),
            left_done: false,
            current: None,
            rest: 0,
            pairs: 0,
            failed: Postponed::default(),
        }
    }

    fn keeps_right(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full)
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
        let mark = self.keeps_right();
        if let Right::BuildSide(kept) = &mut self.right
            && (kept.is_hashed() || mark)
        {
            kept.load(&self.evaluator, mark).await?;
            if kept.rows.is_empty() && needs_match(self.kind) {
                return Ok(());
            }
        }
        while out.len() < BATCH_ROWS {
            // A left row counts as much as a pair.
            self.pairs += 1;
            if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
                self.evaluator.run.breathe().await?;
            }
            if self.current.is_some() {
                match self.right {
                    Right::BuildSide(_) => self.kept_pairs(out).await?,
                    Right::Lateral(_) => self.lateral_pairs(out).await?,
                }
                continue;
            }
            if let Some(row) = self.rows.next() {
                self.start(row).await?;
                continue;
            }
            if !self.left_done {
                if !out.is_empty() {
                    break;
                }
                match self.left.next().await? {
                    Some(rows) => self.rows = rows.into_iter(),
                    None => self.left_done = true,
                }
                continue;
            }
            if !self.unmatched_right(out) {
                break;
            }
        }
        Ok(())
    }

    async fn start(&mut self, row: Row) -> Result<()> {
        let at = match &mut self.right {
            Right::BuildSide(kept) => {
                kept.load(&self.evaluator, false).await?;
                if kept.rows.is_empty() && needs_match(self.kind) {
                    self.rows = Vec::new().into_iter();
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
        let mut pair = Row::new();
        while let Some(at) = current.at {
            let right = &kept.rows[at];
            current.at = kept.after(at);
            self.pairs += 1;
            if self.pairs.is_multiple_of(PAIRS_PER_CHECK) {
                self.evaluator.run.breathe().await?;
            }
            if !self.on.is_empty() {
                fill_pair(&mut pair, &current.row, right);
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
            if self.on.is_empty() {
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
                self.evaluator.run.breathe().await?;
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
    fn unmatched_right(&mut self, out: &mut Vec<Row>) -> bool {
        let Right::BuildSide(kept) = &mut self.right else { return false };
        while out.len() < BATCH_ROWS {
            let Some(matched) = kept.matched.get(self.rest) else { return false };
            if !matched {
                let mut row = vec![Datum::Null; self.left_width];
                row.append(&mut kept.rows[self.rest]);
                out.push(row);
            }
            self.rest += 1;
        }
        true
    }
}

/// Whether a left row without a match gives nothing.
fn needs_match(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Right)
}

/// Puts the columns of two rows into a row.
pub fn fill_pair(pair: &mut Row, left: &[Datum], right: &[Datum]) {
    pair.clear();
    pair.reserve_exact(left.len() + right.len());
    pair.extend_from_slice(left);
    pair.extend_from_slice(right);
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
}
