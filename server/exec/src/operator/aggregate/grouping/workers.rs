//! Groups of rows that several workers read.
//!
//! ```text
//!   leader   reads parts of the scan ─┬─▶ groups ──merge──▶ all groups ──▶ results
//!   worker   reads parts of the scan ─┴─▶ groups ───┘
//! ```
//!
//! The leader is the aggregate itself. It reads as the workers do, so nobody waits for rows.
//!
//! A worker that has no memory for further groups ends, and leaves the rest of its input to the
//! leader. When the leader itself has none, it first takes the groups of all workers. Only then are
//! rows of new groups deferred: a deferred row must not belong to a group that a worker has.

use std::sync::Arc;

use braid_plan::AggregateNode;
use braid_types::{Result, Row};

use crate::operator::aggregate::call::State;
use crate::operator::aggregate::grouping::AggregateOperator;
use crate::operator::aggregate::grouping::team::{Part, Role, Team};
use crate::operator::eval::Evaluator;
use crate::operator::parallel::shares::Shares;
use crate::operator::reservation::broken;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, OuterRow, build, build_sharing};

/// The operator of an aggregate, with its workers.
pub(crate) fn aggregated(
    node: &AggregateNode,
    run: &Arc<ExecutionState>,
    outer: &OuterRow,
) -> Result<BoxedOperator> {
    let over =
        |input| AggregateOperator::new(input, node, Evaluator::new(run.clone(), outer.clone()));
    let Some(shares) = Shares::of(node.parallel.as_ref(), run) else {
        return Ok(Box::new(over(build(&node.input, run, Some(outer.clone()))?)));
    };
    let input = || build_sharing(&node.input, run, Some(outer.clone()), Some(shares.top()));
    let mut leader = over(input()?);
    let mut team = Team {
        stop: shares.stop.clone(),
        disjoint: node.parallel.as_ref().is_some_and(|parallel| parallel.disjoint),
        waiting: Vec::new(),
        running: Vec::new(),
        left_over: Vec::new(),
    };
    for _ in 1..shares.workers {
        let mut worker = over(input()?);
        worker.role = Role::Worker(shares.stop.clone());
        team.waiting.push(Box::pin(work(worker)));
    }
    leader.role = Role::Leader(team);
    Ok(Box::new(leader))
}

/// What a worker does.
async fn work(mut worker: AggregateOperator) -> Result<Part> {
    // If the statement fails, the others need not go on.
    let is_at_end = worker.read_input().await.inspect_err(|_| worker.role.call_off())?;
    Ok(Part {
        groups: worker.groups,
        held: worker.held,
        fixed: worker.fixed,
        rest: (!is_at_end).then_some((worker.input, worker.columns)),
    })
}

impl AggregateOperator {
    /// Waits for all workers and takes their groups.
    pub(super) async fn gather(&mut self) -> Result<()> {
        let (parts, are_whole) = self.role.parts(&self.evaluator.run).await?;
        for part in parts {
            match are_whole {
                true => {
                    self.held.absorb(part.held);
                    self.groups.extend(part.groups);
                }
                false => self.merge(part).await?,
            }
        }
        Ok(())
    }

    async fn merge(&mut self, part: Part) -> Result<()> {
        let Part { groups, held, fixed, rest } = part;
        if let Role::Leader(team) = &mut self.role {
            team.left_over.extend(rest);
        }
        self.held.absorb(held);
        self.fixed += fixed;
        let mut scratch = Row::new();
        for (at, group) in groups.into_iter().enumerate() {
            if at.is_multiple_of(BATCH_ROWS) {
                self.evaluator.run.check_interrupts().await?;
            }
            let next = self.groups.len();
            let (known, new) = self.sets[0].find(|n| &group.key[n], &mut scratch, next);
            if new.is_some() {
                self.groups.push(group);
                continue;
            }
            for (state, other) in self.groups[known].states.iter_mut().zip(&group.states) {
                match (state, other) {
                    (State::Plain(state), State::Plain(other)) => {
                        state.merge(other, &self.evaluator)?;
                    }
                    _ => return Err(broken("a state that keeps rows is merged")),
                }
            }
        }
        Ok(())
    }
}
