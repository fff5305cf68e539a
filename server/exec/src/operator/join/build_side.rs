//! One side of a join in memory, with a hash table or not; or the right side, run again for each
//! left row.

use std::collections::HashMap;
use std::sync::Arc;

use braid_plan::{Expr, Join, Node};
use braid_types::{Datum, Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, build};

/// No further row.
const END: usize = usize::MAX;

/// The keys of a hash table: expressions over a row that looks for others, and over one in it.
pub struct Keys<'p> {
    /// Over a row of the other side.
    pub probe: &'p [Expr],
    /// Over a row of the build side.
    pub build: &'p [Expr],
}

/// The rows of one side, read once.
pub struct BuildSide {
    input: Option<BoxedOperator>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Which of them met a row of the other side; empty if nobody asks.
    pub matched: Vec<bool>,
    /// How many of them are in the hash table.
    pub hashed: usize,
    hash: Option<Hash>,
    held: MemoryReservation,
}

struct Hash {
    probe: Exprs,
    build: Exprs,
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
    /// A side of a join, not read yet; without keys it has no hash table.
    pub fn new(keys: Option<Keys<'_>>, input: BoxedOperator, evaluator: &Evaluator) -> Self {
        let hash = keys.map(|keys| Hash {
            probe: Exprs::new(keys.probe.to_vec()),
            build: Exprs::new(keys.build.to_vec()),
            table: match keys.build.len() {
                1 => Table::One(HashMap::new()),
                _ => Table::Many(HashMap::new()),
            },
            chain: Vec::new(),
            key: Row::new(),
        });
        let (rows, matched) = (Vec::new(), Vec::new());
        let held = MemoryReservation::new(&evaluator.run);
        Self { input: Some(input), rows, matched, hashed: 0, hash, held }
    }

    /// Whether it is to be read before the other side.
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
            hash.build.eval_into(evaluator, row, &mut hash.key).await?;
            if hash.key.iter().any(Datum::is_null) {
                continue;
            }
            let next = match &mut hash.table {
                Table::One(table) => hash.key.pop().and_then(|key| table.insert(key, i)),
                Table::Many(table) => table.insert(std::mem::take(&mut hash.key), i),
            };
            hash.chain[i] = next.unwrap_or(END);
            self.hashed += 1;
        }
        Ok(())
    }

    /// The first candidate for a row of the other side.
    pub async fn first(&mut self, evaluator: &Evaluator, other: &[Datum]) -> Result<Option<usize>> {
        let Some(hash) = &mut self.hash else {
            return Ok((!self.rows.is_empty()).then_some(0));
        };
        if let (Table::One(table), [Expr::Input(place, _)]) =
            (&hash.table, hash.probe.list.as_slice())
        {
            let key = &other[*place];
            return Ok(if key.is_null() { None } else { table.get(key).copied() });
        }
        hash.probe.eval_into(evaluator, other, &mut hash.key).await?;
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

    /// Leaves out what is between two candidates of one key from now on.
    pub fn skip(&mut self, before: usize, next: Option<usize>) {
        if let Some(hash) = &mut self.hash {
            hash.chain[before] = next.unwrap_or(END);
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
