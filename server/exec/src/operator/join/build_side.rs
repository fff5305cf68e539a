//! One side of a join in memory, with a hash table or not; or the right side, run again for each
//! left row.
//!
//! A side with a hash table that does not fit into memory is written into partitions of its keys,
//! and so is the other side: the join is carried out over each pair of partitions. A partition that
//! cannot be divided further is read in blocks that fit, and the other side once for each block.
//! A side without keys is one partition: to every row it gives the empty key.

use std::sync::Arc;

use braid_plan::{Expr, Join, Node};
use braid_rows::Columns;
use braid_types::{Datum, Result, Row};

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::join::hash_table::HashTable;
use crate::operator::reservation::{MemoryReservation, broken};
use crate::operator::spilled::overflow::Overflow;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, build};
use crate::spill::partitions::Partitions;
use crate::spill::stream::RowStream;

/// No further row.
const END: usize = usize::MAX;

/// The keys of a hash table: expressions over a row that looks for others, and over one in it.
pub(crate) struct Keys<'p> {
    /// Over a row of the other side.
    pub probe: &'p [Expr],
    /// Over a row of the build side.
    pub build: &'p [Expr],
}

/// The same, compiled.
pub(crate) struct KeyExprs {
    probe: Exprs,
    build: Exprs,
    /// The places of the probe's keys in its row, if all are columns.
    probe_places: Option<Vec<usize>>,
}

/// Finds candidates for rows by columns.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'b> {
    rows: &'b [Row],
    table: &'b HashTable,
    /// The columns of the key.
    pub places: &'b [usize],
}

/// Partitions of the build side and of the other side.
pub(crate) type Divided = Vec<(RowStream, RowStream)>;

/// Memory of a row in the hash table, roughly.
const ENTRY_BYTES: usize = 64;

/// The rows of one side, read once.
pub(crate) struct BuildSide {
    /// `None` at its end.
    input: Option<BoxedOperator>,
    is_loaded: bool,
    /// Whether it is loaded in blocks.
    in_blocks: bool,
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
    keys: Arc<KeyExprs>,
    table: HashTable,
    /// For each row the next one with the same key.
    chain: Vec<usize>,
    key: Row,
}

impl Hash {
    fn new(keys: Arc<KeyExprs>) -> Self {
        Self { table: keys.table(), keys, chain: Vec::new(), key: Row::new() }
    }
}

impl Keys<'_> {
    /// The keys, compiled.
    pub(crate) fn compile(&self) -> Arc<KeyExprs> {
        KeyExprs::new(self.probe.to_vec(), self.build.to_vec())
    }
}

impl KeyExprs {
    fn new(probe: Vec<Expr>, build: Vec<Expr>) -> Arc<Self> {
        let (probe, build) = (Exprs::new(probe), Exprs::new(build));
        let probe_places = probe.places();
        Arc::new(Self { probe, build, probe_places })
    }

    /// The places of the probe's keys in its row, if all are columns.
    pub(crate) fn probe_places(&self) -> Option<&[usize]> {
        self.probe_places.as_deref()
    }

    /// The same keys with the other side as the build side.
    pub(crate) fn swapped(&self) -> Arc<Self> {
        Self::new(self.build.list.clone(), self.probe.list.clone())
    }

    fn table(&self) -> HashTable {
        HashTable::new(&self.probe.list, &self.build.list)
    }
}

impl Lookup<'_> {
    /// The first candidate for row `i` of a batch.
    pub(crate) fn first(&self, columns: &Columns, i: usize) -> Option<usize> {
        self.table.find_column(self.rows, columns, self.places, i)
    }
}

impl BuildSide {
    /// A side of a join, not read yet; without keys it has no hash table.
    pub(crate) fn new(
        keys: Option<Arc<KeyExprs>>,
        input: BoxedOperator,
        evaluator: &Evaluator,
    ) -> Self {
        Self {
            input: Some(input),
            is_loaded: false,
            in_blocks: false,
            rows: Vec::new(),
            matched: Vec::new(),
            hashed: 0,
            hash: keys.map(Hash::new),
            held: MemoryReservation::new(&evaluator.run),
        }
    }

    /// The same, loaded in blocks that fit into memory.
    #[must_use]
    pub(crate) fn in_blocks(mut self) -> Self {
        self.in_blocks = true;
        self
    }

    /// Whether it is to be read before the other side.
    pub(crate) fn is_hashed(&self) -> bool {
        self.hash.is_some()
    }

    /// The keys of its hash table.
    pub(crate) fn keys(&self) -> Option<&Arc<KeyExprs>> {
        self.hash.as_ref().map(|hash| &hash.keys)
    }

    /// Reads the input or its next block, if that has not been done. False if the input does not
    /// fit into memory; then it is to be divided.
    pub(crate) async fn load(&mut self, evaluator: &Evaluator, mark: bool) -> Result<bool> {
        if self.is_loaded {
            return Ok(true);
        }
        if let Some(mut input) = self.input.take() {
            let mut fits = true;
            while fits && let Some(batch) = input.next().await? {
                evaluator.run.check_interrupts().await?;
                fits = self.count(&batch)?;
                self.rows.extend(batch);
            }
            if !fits {
                self.input = Some(input);
                if !self.in_blocks {
                    self.hash.get_or_insert_with(|| Hash::new(KeyExprs::new(vec![], vec![])));
                    return Ok(false);
                }
            }
        }
        self.is_loaded = true;
        if mark {
            self.matched = vec![false; self.rows.len()];
        }
        self.fill_table(evaluator).await?;
        Ok(true)
    }

    /// Counts rows; false if there is no room for more.
    fn count(&mut self, batch: &[Row]) -> Result<bool> {
        let bytes: usize = batch.iter().map(|row| row_bytes(row)).sum();
        let entries = if self.is_hashed() { batch.len() * ENTRY_BYTES } else { 0 };
        self.held.try_take(bytes + entries)
    }

    async fn fill_table(&mut self, evaluator: &Evaluator) -> Result<()> {
        let Some(hash) = &mut self.hash else { return Ok(()) };
        hash.chain = vec![END; self.rows.len()];
        hash.table.clear(self.rows.len());
        // From the end, so that equal keys are found in the input's order.
        for (i, row) in self.rows.iter().enumerate().rev() {
            if i.is_multiple_of(BATCH_ROWS) {
                evaluator.run.check_interrupts().await?;
            }
            let next = if hash.table.needs_values() {
                let key = hash.keys.build.eval(evaluator, row).await?;
                hash.table.add_values(key, i)?
            } else {
                hash.table.add(&self.rows, i)?
            };
            if let Some(next) = next {
                hash.chain[i] = next.unwrap_or(END);
                self.hashed += 1;
            }
        }
        Ok(())
    }

    /// Goes on to the next block; false if there is none.
    pub(crate) fn next_block(&mut self) -> bool {
        if self.input.is_none() {
            return false;
        }
        self.is_loaded = false;
        self.rows = Vec::new();
        self.matched = Vec::new();
        self.hashed = 0;
        self.held.clear();
        if let Some(hash) = &mut self.hash {
            hash.table = hash.keys.table();
            hash.chain = Vec::new();
        }
        true
    }

    /// Writes this side and the other one into partitions: of the other one the rows that have been
    /// read, and those that its input still gives. `keeps` says of this side and of the other one
    /// whether rows that match nothing are needed.
    pub(crate) async fn divide(
        &mut self,
        evaluator: &Evaluator,
        (read, other): (Vec<Row>, &mut BoxedOperator),
        keeps: (bool, bool),
        overflow: &mut Overflow,
    ) -> Result<Divided> {
        let keys = match &self.hash {
            Some(hash) => hash.keys.clone(),
            None => return Err(broken("a build side without keys cannot be divided")),
        };
        let rows = std::mem::take(&mut self.rows);
        self.held.clear();
        let mut build = overflow.partitions(&evaluator.run, &mut self.held)?;
        write(evaluator, &keys.build, rows, keeps.0, &mut build).await?;
        if let Some(mut input) = self.input.take() {
            while let Some(batch) = input.next().await? {
                write(evaluator, &keys.build, batch, keeps.0, &mut build).await?;
            }
        }
        let build = build.finish()?;
        let mut probe = overflow.partitions(&evaluator.run, &mut self.held)?;
        write(evaluator, &keys.probe, read, keeps.1, &mut probe).await?;
        while let Some(batch) = other.next().await? {
            write(evaluator, &keys.probe, batch, keeps.1, &mut probe).await?;
        }
        let probe = probe.finish()?;
        self.held.clear();
        let divided: Divided = build.into_iter().zip(probe).collect();
        overflow.add_batches(divided.iter().filter(|pair| pair.0.rows() > 0).count());
        Ok(divided)
    }

    /// The first candidate for a row of the other side.
    pub(crate) async fn first(
        &mut self,
        evaluator: &Evaluator,
        other: &[Datum],
    ) -> Result<Option<usize>> {
        let Some(hash) = &mut self.hash else {
            return Ok((!self.rows.is_empty()).then_some(0));
        };
        if let Some(places) = hash.keys.probe_places() {
            return Ok(hash.table.find(&self.rows, other, Some(places)));
        }
        hash.keys.probe.eval_into(evaluator, other, &mut hash.key).await?;
        Ok(hash.table.find(&self.rows, &hash.key, None))
    }

    /// What finds candidates for rows by columns; `None` unless the keys are columns.
    pub(crate) fn lookup(&self) -> Option<Lookup<'_>> {
        let hash = self.hash.as_ref()?;
        let places = hash.keys.probe_places()?;
        Some(Lookup { rows: &self.rows, table: &hash.table, places })
    }

    /// The candidate after this one.
    pub(crate) fn after(&self, at: usize) -> Option<usize> {
        match &self.hash {
            Some(hash) => Some(hash.chain[at]).filter(|next| *next != END),
            None => Some(at + 1).filter(|next| *next < self.rows.len()),
        }
    }

    /// Leaves out what is between two candidates of one key from now on.
    pub(crate) fn skip(&mut self, before: usize, next: Option<usize>) {
        if let Some(hash) = &mut self.hash {
            hash.chain[before] = next.unwrap_or(END);
        }
    }
}

/// Writes rows into the partitions of their keys; those that match nothing only if `keeps_all`.
async fn write(
    evaluator: &Evaluator,
    keys: &Exprs,
    rows: Vec<Row>,
    keeps_all: bool,
    partitions: &mut Partitions,
) -> Result<()> {
    let mut key = Row::new();
    for (place, row) in rows.iter().enumerate() {
        if place.is_multiple_of(BATCH_ROWS) {
            evaluator.run.check_interrupts().await?;
        }
        keys.eval_into(evaluator, row, &mut key).await?;
        if keeps_all || !key.iter().any(Datum::is_null) {
            partitions.push(&key, row)?;
        }
    }
    Ok(())
}

/// The right side, run again for each left row.
pub(crate) struct Lateral {
    plan: Arc<Node>,
    outer: Exprs,
    current: Option<BoxedOperator>,
    rows: std::vec::IntoIter<Row>,
}

impl Lateral {
    /// The right side of a join that may read the left row.
    pub(crate) fn new(node: &Join, run: &ExecutionState) -> Self {
        Self {
            plan: run.copy(&node.right),
            outer: Exprs::new(node.outer.clone()),
            current: None,
            rows: Vec::new().into_iter(),
        }
    }

    /// Starts it for a left row.
    pub(crate) async fn start(&mut self, evaluator: &Evaluator, left: &[Datum]) -> Result<()> {
        let outer = self.outer.eval(evaluator, left).await?;
        self.stop();
        self.current = Some(build(&self.plan, &evaluator.run, Some(outer.into()))?);
        Ok(())
    }

    /// The next row for that left row.
    pub(crate) async fn next(&mut self, evaluator: &Evaluator) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            evaluator.run.check_interrupts().await?;
            match current.next().await? {
                Some(rows) => self.rows = rows.into_iter(),
                None => self.current = None,
            }
        }
    }

    /// Leaves the rest.
    pub(crate) fn stop(&mut self) {
        self.current = None;
        self.rows = Vec::new().into_iter();
    }
}
