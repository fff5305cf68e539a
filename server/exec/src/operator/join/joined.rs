//! The operator of a join, by its method.

use std::sync::Arc;

use braid_plan::{Join, JoinMethod};
use braid_types::Result;

use crate::operator::eval::Evaluator;
use crate::operator::join::interleaved_join::InterleavedJoinOperator;
use crate::operator::join::left_build_join::LeftBuildJoinOperator;
use crate::operator::join::lookup::LookupJoinOperator;
use crate::operator::join::plain_join::JoinOperator;
use crate::operator::parallel::gather::gathered;
use crate::operator::parallel::shares::Step;
use crate::operator::{BoxedOperator, ExecutionState, OuterRow, build, build_sharing};

/// The operator of a join; `step` is its place in what several workers do.
pub(crate) fn joined(
    join: &Join,
    run: &Arc<ExecutionState>,
    outer: &OuterRow,
    step: Option<Step<'_>>,
) -> Result<BoxedOperator> {
    let evaluator = Evaluator::new(run.clone(), outer.clone());
    let left = || build_sharing(&join.left, run, Some(outer.clone()), step.map(Step::below));
    Ok(match &join.method {
        JoinMethod::Lookup => match LookupJoinOperator::new(join, left()?, &evaluator)? {
            Some(operator) => Box::new(operator),
            None => Box::new(JoinOperator::new(join, left()?, None, evaluator)),
        },
        JoinMethod::Interleaved => Box::new(InterleavedJoinOperator::new(join, evaluator)?),
        JoinMethod::Hash { builds_left: true, .. } => {
            let right = build(&join.right, run, Some(outer.clone()))?;
            Box::new(LeftBuildJoinOperator::new(join, left()?, right, evaluator)?)
        }
        _ => {
            let right = match join.lateral {
                true => None,
                false => Some(gathered(&join.right, run, outer, join.parallel_build.as_ref())?),
            };
            let operator = JoinOperator::new(join, left()?, right, evaluator);
            Box::new(operator.sharing(step.map(|step| step.build_of(join))))
        }
    })
}
