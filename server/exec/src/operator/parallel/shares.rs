//! What the operators of several workers have in common.

use std::collections::HashMap;
use std::sync::Arc;

use braid_plan::{Join, Parallel, RowSource};
use braid_types::Result;
use parking_lot::Mutex;

use crate::operator::parallel::morsels::Morsels;
use crate::operator::parallel::shared_build::SharedBuild;
use crate::operator::parallel::shared_rows::{SharedRows, SharedRowsScan};
use crate::operator::parallel::stop_signal::StopSignal;
use crate::operator::{BoxedOperator, ExecutionState};

/// What the operators of several workers have in common.
pub(crate) struct Shares {
    /// How many workers there are.
    pub(crate) workers: usize,
    pub(crate) stop: Arc<StopSignal>,
    source: Source,
    /// The build sides of hash joins, by the place of the join in memory while operators are built.
    builds: Mutex<HashMap<usize, Arc<SharedBuild>>>,
}

/// The rows that the workers share.
enum Source {
    Spans(Arc<Morsels>),
    /// Of the operator at this distance from the top, once the first worker has built it.
    Rows(usize, Mutex<Option<Arc<SharedRows>>>),
}

/// A place in the pipeline of one worker while it is built.
#[derive(Clone, Copy)]
pub(crate) struct Step<'s> {
    shares: &'s Shares,
    depth: usize,
}

impl Shares {
    /// For the workers of a plan; `None` if there is one.
    pub(crate) fn of(plan: Option<&Parallel>, run: &ExecutionState) -> Option<Self> {
        let plan = plan?;
        let workers = run.cx.parallelism.workers(plan);
        if workers < 2 {
            return None;
        }
        let stop = Arc::new(StopSignal::default());
        let source = match &plan.source {
            RowSource::Spans { bounds, rows } => {
                let morsels = Morsels::new(bounds.clone(), *rows, workers, stop.clone());
                Source::Spans(Arc::new(morsels))
            }
            RowSource::Rows(depth) => Source::Rows(*depth, Mutex::default()),
        };
        Some(Self { workers, stop, source, builds: Mutex::default() })
    }

    /// The top of a worker's pipeline.
    pub(crate) fn top(&self) -> Step<'_> {
        Step { shares: self, depth: 0 }
    }
}

impl<'s> Step<'s> {
    /// The next operator.
    #[must_use]
    pub(crate) fn below(self) -> Step<'s> {
        Step { shares: self.shares, depth: self.depth + 1 }
    }

    /// The parts of the scan.
    pub(crate) fn morsels(self) -> Option<Arc<Morsels>> {
        match &self.shares.source {
            Source::Spans(morsels) => Some(morsels.clone()),
            Source::Rows(..) => None,
        }
    }

    /// The build side of a join.
    pub(crate) fn build_of(self, join: &Join) -> Arc<SharedBuild> {
        let place = std::ptr::from_ref(join) as usize;
        self.shares.builds.lock().entry(place).or_default().clone()
    }

    /// A share of the rows, if they are those of the operator at this step.
    pub(crate) fn rows(
        self,
        run: &Arc<ExecutionState>,
        build: impl FnOnce() -> Result<BoxedOperator>,
    ) -> Result<Option<BoxedOperator>> {
        let Source::Rows(depth, built) = &self.shares.source else { return Ok(None) };
        if *depth != self.depth {
            return Ok(None);
        }
        let mut built = built.lock();
        let shared = match &*built {
            Some(shared) => shared.clone(),
            None => {
                let Shares { workers, stop, .. } = self.shares;
                let shared = Arc::new(SharedRows::new(build()?, *workers, stop.clone()));
                built.insert(shared).clone()
            }
        };
        Ok(Some(Box::new(SharedRowsScan::new(run, shared))))
    }
}
