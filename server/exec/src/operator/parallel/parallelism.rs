//! How many workers a query may have.

use braid_plan::{Parallel, RowSource};

/// How many workers a query may have, and for how much work.
#[derive(Clone, Copy, Debug)]
pub struct Parallelism {
    /// `max_parallel_workers_per_query`: workers that share the rows of one source, the one that
    /// would read them alone included.
    pub workers_max: usize,
    /// `min_parallel_cost`: the least estimated work that is shared, in rows that a scan reads.
    pub cost_min: u64,
}

impl Parallelism {
    /// How many workers there are for a plan that can have several; 1: nobody else.
    pub fn workers(&self, parallel: &Parallel) -> usize {
        if parallel.cost < self.cost_min as f64 {
            return 1;
        }
        let parts = match &parallel.source {
            RowSource::Spans { bounds, .. } => bounds.len() + 1,
            RowSource::Rows(_) => usize::MAX,
        };
        self.workers_max.min(parts).max(1)
    }
}
