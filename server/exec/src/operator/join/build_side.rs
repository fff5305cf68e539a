//! One side of a join in memory, with a hash table or not; or the right side, run again for each
//! left row.
//!
//! A side with a hash table that does not fit into memory is written into partitions of its keys,
//! and so is the other side: the join is carried out over each pair of partitions. A partition that
//! cannot be divided further is read in blocks that fit, and the other side once for each block.
//! A side without keys is one partition: to every row it gives the empty key.

use std::sync::Arc;

use braid_plan::{Join, Node};
use braid_rows::Columns;
use braid_types::{Datum, Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::join::hash_table::HashTable;
use crate::operator::join::keys::KeyExprs;
use crate::operator::join::loaded::{END, Loaded};
use crate::operator::parallel::shared_build::{BuildState, SharedBuild};
use crate::operator::reservation::broken;
use crate::operator::spilled::overflow::Overflow;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, build};
use crate::spill::partitions::Partitions;
use crate::spill::stream::RowStream;

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

/// The rows of one side, read once.
pub(crate) struct BuildSide {
    /// `None` at its end.
    input: Option<BoxedOperator>,
    is_loaded: bool,
    /// Whether it is loaded in blocks.
    in_blocks: bool,
    /// Its rows.
    loaded: Arc<Loaded>,
    /// Which of them met a row of the other side; empty if nobody asks.
    pub matched: Vec<bool>,
    keys: Option<Arc<KeyExprs>>,
    /// The key of a row of the other side, used again and again.
    key: Row,
    run: Arc<ExecutionState>,
    /// The same side of other workers.
    shared: Option<Arc<SharedBuild>>,
}

/// What came of loading a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// It is in memory.
    Loaded,
    /// It does not fit into memory: both sides are to be divided.
    TooLarge,
    /// It does not fit into memory, and another worker does the join alone.
    Elsewhere,
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
            loaded: Arc::new(Loaded::new(keys.as_ref(), &evaluator.run)),
            matched: Vec::new(),
            keys,
            key: Row::new(),
            run: evaluator.run.clone(),
            shared: None,
        }
    }

    /// The same, loaded in blocks that fit into memory.
    #[must_use]
    pub(crate) fn in_blocks(mut self) -> Self {
        self.in_blocks = true;
        self
    }

    /// From now on it is the same side as those of other workers.
    pub(crate) fn share(&mut self, with: Arc<SharedBuild>) {
        self.shared = Some(with);
    }

    /// Whether it is to be read before the other side.
    pub(crate) fn is_hashed(&self) -> bool {
        self.keys.is_some()
    }

    /// The keys of its hash table.
    pub(crate) fn keys(&self) -> Option<&Arc<KeyExprs>> {
        self.keys.as_ref()
    }

    /// Its rows in memory.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.loaded.rows
    }

    /// How many of them are in the hash table.
    pub(crate) fn hashed(&self) -> usize {
        self.loaded.hashed
    }

    /// Takes a row out of memory, whose place stays.
    pub(crate) fn take_row(&mut self, at: usize) -> Result<Row> {
        Ok(self.own()?.rows.get_mut(at).map(std::mem::take).unwrap_or_default())
    }

    /// What is in memory, to be changed: it belongs to no other worker then.
    fn own(&mut self) -> Result<&mut Loaded> {
        Arc::get_mut(&mut self.loaded)
            .ok_or_else(|| broken("a build side of several workers is changed"))
    }

    /// Reads the input or its next block, if that has not been done. If it does not fit into
    /// memory, it is to be divided.
    pub(crate) async fn load(&mut self, evaluator: &Evaluator, mark: bool) -> Result<Loading> {
        if self.is_loaded {
            return Ok(Loading::Loaded);
        }
        let Some(shared) = self.shared.clone() else { return self.read(evaluator, mark).await };
        let mut state = evaluator.run.cx.cancel.unless_stopped(shared.lock()).await?;
        match &*state {
            BuildState::Open => {
                let loading = self.read(evaluator, mark).await?;
                *state = match loading {
                    Loading::Loaded => BuildState::Loaded(self.loaded.clone()),
                    _ => BuildState::Divided,
                };
                Ok(loading)
            }
            BuildState::Loaded(loaded) => {
                (self.loaded, self.input, self.is_loaded) = (loaded.clone(), None, true);
                Ok(Loading::Loaded)
            }
            BuildState::Divided => Ok(Loading::Elsewhere),
        }
    }

    async fn read(&mut self, evaluator: &Evaluator, mark: bool) -> Result<Loading> {
        if let Some(mut input) = self.input.take() {
            let loaded = self.own()?;
            let mut fits = true;
            while fits && let Some(batch) = input.next().await? {
                evaluator.run.check_interrupts().await?;
                fits = loaded.count(&batch)?;
                loaded.rows.extend(batch);
            }
            if !fits {
                self.input = Some(input);
                if !self.in_blocks {
                    self.keys.get_or_insert_with(|| KeyExprs::new(vec![], vec![]));
                    return Ok(Loading::TooLarge);
                }
            }
        }
        self.is_loaded = true;
        if mark {
            self.matched = vec![false; self.rows().len()];
        }
        if let Some(keys) = self.keys.clone() {
            self.own()?.fill_table(&keys, evaluator).await?;
        }
        Ok(Loading::Loaded)
    }

    /// Goes on to the next block; false if there is none.
    pub(crate) fn next_block(&mut self) -> bool {
        if self.input.is_none() {
            return false;
        }
        self.is_loaded = false;
        self.loaded = Arc::new(Loaded::new(self.keys.as_ref(), &self.run));
        self.matched = Vec::new();
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
        let Some(keys) = self.keys.clone() else {
            return Err(broken("a build side without keys cannot be divided"));
        };
        let input = self.input.take();
        let Loaded { rows, held, .. } = self.own()?;
        let rows = std::mem::take(rows);
        held.clear();
        let mut build = overflow.partitions(&evaluator.run, held)?;
        write(evaluator, &keys.build, rows, keeps.0, &mut build).await?;
        if let Some(mut input) = input {
            while let Some(batch) = input.next().await? {
                write(evaluator, &keys.build, batch, keeps.0, &mut build).await?;
            }
        }
        let build = build.finish()?;
        let mut probe = overflow.partitions(&evaluator.run, held)?;
        write(evaluator, &keys.probe, read, keeps.1, &mut probe).await?;
        while let Some(batch) = other.next().await? {
            write(evaluator, &keys.probe, batch, keeps.1, &mut probe).await?;
        }
        let probe = probe.finish()?;
        held.clear();
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
        let Loaded { rows, table, .. } = &*self.loaded;
        let (Some(table), Some(keys)) = (table, &self.keys) else {
            return Ok((!rows.is_empty()).then_some(0));
        };
        if let Some(places) = keys.probe_places() {
            return Ok(table.find(rows, other, Some(places)));
        }
        keys.probe.eval_into(evaluator, other, &mut self.key).await?;
        Ok(table.find(rows, &self.key, None))
    }

    /// What finds candidates for rows by columns; `None` unless the keys are columns.
    pub(crate) fn lookup(&self) -> Option<Lookup<'_>> {
        let (table, places) = (self.loaded.table.as_ref()?, self.keys.as_ref()?.probe_places()?);
        Some(Lookup { rows: &self.loaded.rows, table, places })
    }

    /// The candidate after this one.
    pub(crate) fn after(&self, at: usize) -> Option<usize> {
        match self.loaded.table {
            Some(_) => Some(self.loaded.chain[at]).filter(|next| *next != END),
            None => Some(at + 1).filter(|next| *next < self.loaded.rows.len()),
        }
    }

    /// Leaves out what is between two candidates of one key from now on.
    pub(crate) fn skip(&mut self, before: usize, next: Option<usize>) -> Result<()> {
        if let Some(entry) = self.own()?.chain.get_mut(before) {
            *entry = next.unwrap_or(END);
        }
        Ok(())
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
