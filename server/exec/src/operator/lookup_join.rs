//! A join by primary keys: for each batch of left rows, all the right rows are read in one wait.

use braid_kv::Key;
use braid_plan::{Expr, Join, JoinKind, Node};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use super::eval::Evaluator;
use super::scan::{KeyBounds, Reader};
use super::{BoxedOperator, Operator};

/// A join by primary keys.
pub struct LookupJoinOperator {
    evaluator: Evaluator,
    left: BoxedOperator,
    kind: JoinKind,
    reader: Reader,
    bounds: KeyBounds,
    filter: Vec<Expr>,
    on: Vec<Expr>,
    on_waits: bool,
    outer: Vec<Expr>,
    right_width: usize,
}

impl LookupJoinOperator {
    /// The join, if its right side is read by whole primary keys.
    pub fn new(join: &Join, left: BoxedOperator, evaluator: &Evaluator) -> Result<Option<Self>> {
        let Node::Scan(scan) = &join.right else { return Ok(None) };
        let bounds = KeyBounds::new(scan);
        if scan.access.index != 1 || !bounds.are_points() || scan.lock.is_some() {
            return Ok(None);
        }
        let places: Vec<usize> = scan.columns.iter().map(|(_, place)| *place).collect();
        Ok(Some(Self {
            evaluator: evaluator.clone(),
            left,
            kind: join.kind,
            reader: Reader::new(&scan.table, &places, false),
            bounds,
            filter: scan.filter.clone(),
            on_waits: join.on.iter().any(Expr::waits),
            on: join.on.clone(),
            outer: join.outer.clone(),
            right_width: places.len(),
        }))
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            let Some(batch) = self.left.next().await? else { return Ok(None) };
            self.evaluator.run.check_cancel()?;
            let rows = self.join_batch(batch).await?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
    }

    async fn join_batch(&mut self, batch: Vec<Row>) -> Result<Vec<Row>> {
        let width = self.reader.families.len();
        let mut keys: Vec<Key> = Vec::with_capacity(batch.len() * width);
        let mut inners = Vec::with_capacity(batch.len());
        for row in &batch {
            let outer = self.evaluator.eval_all(&self.outer, true, row).await?;
            let inner = Evaluator::new(self.evaluator.run.clone(), outer.into());
            let from = keys.len() / width;
            for span in self.bounds.spans(&inner).await? {
                self.reader.keys_of(&span.start, &mut keys);
            }
            inners.push((inner, from..keys.len() / width));
        }
        let cx = &self.evaluator.run.cx;
        let values = self.evaluator.run.wait(cx.txn.multi_get(cx.seq, &keys)).await?;
        let found = self.reader.decode(&keys, &values)?;
        let mut result = Vec::with_capacity(batch.len());
        for (left, (inner, range)) in batch.into_iter().zip(inners) {
            let mut matched = false;
            for right in found[range].iter().flatten() {
                if !inner.holds_now(&self.filter, right)? {
                    continue;
                }
                let mut both = left.clone();
                both.extend(right.iter().cloned());
                if !self.evaluator.holds(&self.on, self.on_waits, &both).await? {
                    continue;
                }
                matched = true;
                if matches!(self.kind, JoinKind::Semi | JoinKind::Anti) {
                    break;
                }
                result.push(both);
            }
            match self.kind {
                JoinKind::Left if !matched => {
                    let mut both = left;
                    both.resize(both.len() + self.right_width, Datum::Null);
                    result.push(both);
                }
                JoinKind::Semi if matched => result.push(left),
                JoinKind::Anti if !matched => result.push(left),
                _ => {}
            }
        }
        Ok(result)
    }
}

impl Operator for LookupJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }
}
