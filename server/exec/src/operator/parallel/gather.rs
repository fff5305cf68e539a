//! The rows of several workers, in any order.
//!
//! ```text
//!   worker 2 ──batches──▶ queue ─┐
//!   worker 3 ──batches──▶ queue ─┼──▶ rows
//!   own share of the rows ───────┘
//! ```

use std::sync::Arc;

use braid_plan::{Node, Parallel};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::operator::parallel::shares::Shares;
use crate::operator::parallel::stop_signal::StopSignal;
use crate::operator::parallel::workers::Worker;
use crate::operator::{BoxedOperator, ExecutionState, Operator, OuterRow, build, build_sharing};

/// Batches that wait to be taken, for each worker.
const BATCHES_OF_WORKER: usize = 4;

/// The operators of a plan whose rows are read in any order, by several workers if it has them.
pub(crate) fn gathered(
    node: &Node,
    run: &Arc<ExecutionState>,
    outer: &OuterRow,
    parallel: Option<&Parallel>,
) -> Result<BoxedOperator> {
    let Some(shares) = Shares::of(parallel, run) else {
        return build(node, run, Some(outer.clone()));
    };
    let input = |_| build_sharing(node, run, Some(outer.clone()), Some(shares.top()));
    let inputs = (0..shares.workers).map(input).collect::<Result<_>>()?;
    Ok(Box::new(GatherOperator::new(inputs, &shares, run)))
}

/// Gives the rows of several workers, of which it is one.
struct GatherOperator {
    run: Arc<ExecutionState>,
    stop: Arc<StopSignal>,
    /// Its own share, until its end.
    own: Option<BoxedOperator>,
    /// The shares of workers that have not begun.
    waiting: Vec<BoxedOperator>,
    running: Vec<Worker<()>>,
    batches: Option<mpsc::Receiver<Vec<Row>>>,
}

impl GatherOperator {
    /// The rows of these operators, which are the parts of one.
    fn new(mut inputs: Vec<BoxedOperator>, shares: &Shares, run: &Arc<ExecutionState>) -> Self {
        let own = inputs.pop();
        let (run, stop) = (run.clone(), shares.stop.clone());
        Self { run, stop, own, waiting: inputs, running: Vec::new(), batches: None }
    }

    fn start(&mut self) -> mpsc::Receiver<Vec<Row>> {
        let count = self.waiting.len().max(1);
        let (sender, batches) = mpsc::channel(count * BATCHES_OF_WORKER);
        for input in self.waiting.drain(..) {
            let work = give_all(input, sender.clone(), self.stop.clone());
            self.running.push(Worker::start(&self.run, Box::pin(work)));
        }
        batches
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        let mut batches = match self.batches.take() {
            Some(batches) => batches,
            None => self.start(),
        };
        let batch = self.next_of(&mut batches).await;
        self.batches = Some(batches);
        batch
    }

    async fn next_of(
        &mut self,
        batches: &mut mpsc::Receiver<Vec<Row>>,
    ) -> Result<Option<Vec<Row>>> {
        // Workers wait while the queue is full.
        if let Ok(batch) = batches.try_recv() {
            return Ok(Some(batch));
        }
        if let Some(own) = &mut self.own {
            if let Some(batch) = own.next().await? {
                return Ok(Some(batch));
            }
            self.own = None;
        }
        let batch = self.run.cx.cancel.unless_stopped(batches.recv()).await?;
        if batch.is_none() {
            for worker in self.running.drain(..) {
                worker.finish(&self.run).await?;
            }
        }
        Ok(batch)
    }
}

/// What a worker does: hands over all rows of its share.
async fn give_all(
    mut input: BoxedOperator,
    to: mpsc::Sender<Vec<Row>>,
    stop: Arc<StopSignal>,
) -> Result<()> {
    loop {
        match input.next().await {
            Ok(Some(batch)) => {
                if to.send(batch).await.is_err() {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                // The statement fails: the others need not go on.
                stop.give();
                return Err(error);
            }
        }
    }
}

impl Operator for GatherOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
