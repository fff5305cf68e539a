//! The rows of several inputs in a common order that each of them has.

use std::collections::VecDeque;

use braid_plan::SortKey;
use braid_types::{Result, Row};
use futures_util::future::{BoxFuture, try_join_all};

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::heap::Heap;
use crate::operator::sort::rows::{Directions, key_exprs};
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// The rows of the first batch. An input may be read no further than that.
const ROWS_FIRST: usize = 64;

/// The rows of several inputs in order; of equal ones those of the earlier input come first.
pub(crate) struct MergeAppendOperator {
    sources: Vec<Source>,
    directions: Directions,
    keys: Exprs,
    heap: Heap,
    is_started: bool,
    /// The source whose next row must be there before the merge goes on.
    exhausted: Option<usize>,
    rows: usize,
    evaluator: Evaluator,
}

/// An input, and its rows that are there already, with their keys.
struct Source {
    input: BoxedOperator,
    rows: VecDeque<(Row, Row)>,
}

impl Source {
    /// Waits for the next rows, if none are there.
    async fn fill(&mut self, keys: &Exprs, evaluator: &Evaluator) -> Result<()> {
        if self.rows.is_empty()
            && let Some(batch) = self.input.next().await?
        {
            for row in batch {
                self.rows.push_back((keys.eval(evaluator, &row).await?, row));
            }
        }
        Ok(())
    }
}

/// Whether the head of a source comes before that of another one.
fn is_before<'s>(
    sources: &'s [Source],
    directions: &'s Directions,
) -> impl Fn(usize, usize) -> bool + 's {
    move |a, b| match (sources[a].rows.front(), sources[b].rows.front()) {
        (Some((x, _)), Some((y, _))) => directions.compare(x, y).then(a.cmp(&b)).is_lt(),
        (x, _) => x.is_some(),
    }
}

impl MergeAppendOperator {
    /// The rows of these inputs, merged by sort keys.
    pub(crate) fn new(inputs: Vec<BoxedOperator>, keys: &[SortKey], evaluator: Evaluator) -> Self {
        let source = |input| Source { input, rows: VecDeque::new() };
        Self {
            sources: inputs.into_iter().map(source).collect(),
            directions: Directions::new(keys),
            keys: key_exprs(keys),
            heap: Heap::default(),
            is_started: false,
            exhausted: None,
            rows: ROWS_FIRST,
            evaluator,
        }
    }

    /// Waits for the first rows of all inputs together.
    async fn start(&mut self) -> Result<()> {
        let (keys, evaluator) = (&self.keys, &self.evaluator);
        try_join_all(self.sources.iter_mut().map(|source| source.fill(keys, evaluator))).await?;
        let has_rows = |place: &usize| !self.sources[*place].rows.is_empty();
        let places = (0..self.sources.len()).filter(has_rows).collect();
        self.heap = Heap::new(places, is_before(&self.sources, &self.directions));
        self.is_started = true;
        Ok(())
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if !self.is_started {
            self.start().await?;
        }
        self.evaluator.run.check_interrupts().await?;
        if let Some(place) = self.exhausted.take() {
            self.sources[place].fill(&self.keys, &self.evaluator).await?;
            let is_before = is_before(&self.sources, &self.directions);
            match self.sources[place].rows.is_empty() {
                true => self.heap.drop_first(is_before),
                false => self.heap.sink_first(is_before),
            }
        }
        let mut out = Vec::new();
        while out.len() < self.rows
            && let Some(first) = self.heap.first()
        {
            out.extend(self.sources[first].rows.pop_front().map(|(_, row)| row));
            if self.sources[first].rows.is_empty() {
                self.exhausted = Some(first);
                break;
            }
            self.heap.sink_first(is_before(&self.sources, &self.directions));
        }
        self.rows = (self.rows * 4).min(BATCH_ROWS);
        Ok((!out.is_empty()).then_some(out))
    }
}

impl Operator for MergeAppendOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
