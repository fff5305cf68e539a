//! The right side of a join: kept in memory (with a hash table or not), or run again for each
//! left row.

use std::collections::HashMap;
use std::sync::Arc;

use braid_plan::{Join, JoinMethod, Node};
use braid_types::{Datum, Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, build};

/// No further row.
const END: usize = usize::MAX;

/// The right side's rows, read once.
pub struct BuildSide {
    input: Option<BoxedOperator>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Which of them met a left row; empty if nobody asks.
    pub matched: Vec<bool>,
    hash: Option<Hash>,
    held: MemoryReservation,
}

struct Hash {
    left: Exprs,
    right: Exprs,
    table: Table,
    /// For each row the next one with the same key.
    chain: Vec<usize>,
    key: Row,
}

/// The first row of each key.
enum Table {
    One(HashMap<Datum, usize>),
    Many(HashMap<Row, usize>),
}

impl BuildSide {
    /// The right side of a join, not read yet.
    pub fn new(node: &Join, input: BoxedOperator, evaluator: &Evaluator) -> Self {
        let hash = match &node.method {
            JoinMethod::Hash { left, right } => Some(Hash {
                left: Exprs::new(left.clone()),
                right: Exprs::new(right.clone()),
                table: match right.len() {
                    1 => Table::One(HashMap::new()),
                    _ => Table::Many(HashMap::new()),
                },
                chain: Vec::new(),
                key: Row::new(),
            }),
            JoinMethod::Loop | JoinMethod::Lookup | JoinMethod::Interleaved => None,
        };
        let held = MemoryReservation::new(&evaluator.run);
        Self { input: Some(input), rows: Vec::new(), matched: Vec::new(), hash, held }
    }

    /// Whether it is to be read before the left side.
    pub fn is_hashed(&self) -> bool {
        self.hash.is_some()
    }

    /// Reads the input, if that has not been done.
    pub async fn load(&mut self, evaluator: &Evaluator, mark: bool) -> Result<()> {
        let Some(mut input) = self.input.take() else { return Ok(()) };
        while let Some(batch) = input.next().await? {
            evaluator.run.breathe().await?;
            self.held.take_rows(&batch)?;
            self.rows.extend(batch);
        }
        if mark {
            self.matched = vec![false; self.rows.len()];
        }
        let Some(hash) = &mut self.hash else { return Ok(()) };
        self.held.take(self.rows.len() * 64)?;
        hash.chain = vec![END; self.rows.len()];
        // From the end, so that equal keys are found in the input's order.
        for (i, row) in self.rows.iter().enumerate().rev() {
            if i.is_multiple_of(BATCH_ROWS) {
                evaluator.run.breathe().await?;
            }
            hash.right.eval_into(evaluator, row, &mut hash.key).await?;
            if hash.key.iter().any(Datum::is_null) {
                continue;
            }
            let next = match &mut hash.table {
                Table::One(table) => hash.key.pop().and_then(|key| table.insert(key, i)),
                Table::Many(table) => table.insert(std::mem::take(&mut hash.key), i),
            };
            hash.chain[i] = next.unwrap_or(END);
        }
        Ok(())
    }

    /// The first candidate for a left row.
    pub async fn first(&mut self, evaluator: &Evaluator, left: &[Datum]) -> Result<Option<usize>> {
        let Some(hash) = &mut self.hash else {
            return Ok((!self.rows.is_empty()).then_some(0));
        };
        if let (Table::One(table), [braid_plan::Expr::Input(place, _)]) =
            (&hash.table, hash.left.list.as_slice())
        {
            let key = &left[*place];
            return Ok(if key.is_null() { None } else { table.get(key).copied() });
        }
        hash.left.eval_into(evaluator, left, &mut hash.key).await?;
        if hash.key.iter().any(Datum::is_null) {
            return Ok(None);
        }
        Ok(match &hash.table {
            Table::One(table) => hash.key.first().and_then(|key| table.get(key)).copied(),
            Table::Many(table) => table.get(hash.key.as_slice()).copied(),
        })
    }

    /// The candidate after this one.
    pub fn after(&self, at: usize) -> Option<usize> {
        match &self.hash {
            Some(hash) => Some(hash.chain[at]).filter(|next| *next != END),
            None => Some(at + 1).filter(|next| *next < self.rows.len()),
        }
    }
}

/// The right side, run again for each left row.
pub struct Lateral {
    plan: Arc<Node>,
    outer: Exprs,
    current: Option<BoxedOperator>,
    rows: std::vec::IntoIter<Row>,
}

impl Lateral {
    /// The right side of a join that may read the left row.
    pub fn new(node: &Join, run: &ExecutionState) -> Self {
        Self {
            plan: run.copy(&node.right),
            outer: Exprs::new(node.outer.clone()),
            current: None,
            rows: Vec::new().into_iter(),
        }
    }

    /// Starts it for a left row.
    pub async fn start(&mut self, evaluator: &Evaluator, left: &[Datum]) -> Result<()> {
        let outer = self.outer.eval(evaluator, left).await?;
        self.stop();
        self.current = Some(build(&self.plan, &evaluator.run, Some(outer.into()))?);
        Ok(())
    }

    /// The next row for that left row.
    pub async fn next(&mut self, evaluator: &Evaluator) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            evaluator.run.breathe().await?;
            match current.next().await? {
                Some(rows) => self.rows = rows.into_iter(),
                None => self.current = None,
            }
        }
    }

    /// Leaves the rest.
    pub fn stop(&mut self) {
        self.current = None;
        self.rows = Vec::new().into_iter();
    }
}
