//! Rows that a cascade has taken from their partitions: an INSERT of their own.

use std::sync::Arc;

use braid_exec::{Evaluator, ExecutionState, Operator};
use braid_plan::Node;
use braid_types::{Error, Result};

use super::moved::NoInput;
use super::routing::RoutingOperator;
use crate::queues::Queues;

/// Inserts the rows that a cascade has taken from partitions of a table. They do not count for the
/// command tag.
pub(crate) async fn insert_moved(
    run: &ExecutionState,
    insert: &Node,
    queues: &Queues,
) -> Result<()> {
    let Node::Insert(insert) = insert else {
        return Err(Error::broken("moved rows are not inserted"));
    };
    let cx = run.cx.renumbered(run.cx.seq, run.cx.cancel.clone());
    let own = Arc::new(ExecutionState::new(Arc::new(cx), run.params.clone()));
    let outer = own.no_outer();
    let evaluator = Evaluator::new(own, outer);
    let mut routing = RoutingOperator::new(Box::new(NoInput), insert, evaluator, queues)?;
    while routing.next().await?.is_some() {}
    Ok(())
}
