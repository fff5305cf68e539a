//! What an aggregate has to do with others that read parts of the same rows.

use std::sync::Arc;

use braid_rows::Columns;
use braid_types::Result;
use futures_util::future::BoxFuture;

use crate::operator::aggregate::grouping::groups::Group;
use crate::operator::parallel::stop_signal::StopSignal;
use crate::operator::parallel::workers::Worker;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BoxedOperator, ExecutionState};

/// What an aggregate has to do with others over the same rows.
pub(super) enum Role {
    /// There are no others.
    Alone,
    /// It merges the groups of the others.
    Leader(Team),
    /// It hands its groups over.
    Worker(Arc<StopSignal>),
}

/// The workers of a leader.
pub(super) struct Team {
    pub(super) stop: Arc<StopSignal>,
    /// The rows of a group are in one part of the source.
    pub(super) disjoint: bool,
    /// What workers will do that have not begun.
    pub(super) waiting: Vec<BoxFuture<'static, Result<Part>>>,
    pub(super) running: Vec<Worker<Part>>,
    /// What workers have not read of their inputs.
    pub(super) left_over: Vec<Rest>,
}

/// An input that is not at its end, and its last batch by columns.
pub(super) type Rest = (BoxedOperator, Columns);

/// What a worker hands over.
pub(super) struct Part {
    pub(super) groups: Vec<Group>,
    pub(super) held: MemoryReservation,
    /// Bytes of the groups.
    pub(super) fixed: usize,
    /// The input, if it is not at its end.
    pub(super) rest: Option<Rest>,
}

impl Role {
    /// Starts the workers of a leader.
    pub(super) fn start(&mut self, run: &Arc<ExecutionState>) {
        if let Role::Leader(team) = self {
            let start = |work| Worker::start(run, work);
            team.running.extend(team.waiting.drain(..).map(start));
        }
    }

    /// Whether reading ends early: a worker hands its groups over, a leader takes those of workers.
    pub(super) fn is_called_off(&self) -> bool {
        match self {
            Role::Alone => false,
            Role::Leader(team) => !team.running.is_empty() && team.stop.is_given(),
            Role::Worker(stop) => stop.is_given(),
        }
    }

    /// The others are to stop.
    pub(super) fn call_off(&self) {
        match self {
            Role::Alone => {}
            Role::Leader(Team { stop, .. }) | Role::Worker(stop) => stop.give(),
        }
    }

    /// Waits for the parts of all workers. Also says whether each of their groups is whole, so that
    /// it need not be merged.
    pub(super) async fn parts(&mut self, run: &ExecutionState) -> Result<(Vec<Part>, bool)> {
        let Role::Leader(team) = self else { return Ok((Vec::new(), true)) };
        let mut parts = Vec::with_capacity(team.running.len());
        for worker in std::mem::take(&mut team.running) {
            parts.push(worker.finish(run).await?);
        }
        let was_called_off = team.stop.is_given();
        team.stop.take_back();
        let all_read = parts.iter().all(|part| part.rest.is_none()) && !was_called_off;
        Ok((parts, team.disjoint && all_read))
    }

    /// An input that a worker has not read to its end.
    pub(super) fn left_over(&mut self) -> Option<Rest> {
        match self {
            Role::Leader(team) => team.left_over.pop(),
            Role::Alone | Role::Worker(_) => None,
        }
    }
}
