//! Tasks of workers.

use std::sync::Arc;

use braid_types::{Error, Result};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::operator::ExecutionState;
use crate::operator::parallel::worker_task::WorkerTask;

/// A worker that runs.
pub(crate) struct Worker<T> {
    result: oneshot::Receiver<Result<T>>,
    _task: WorkerTask,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a worker.
    pub(crate) fn start(run: &Arc<ExecutionState>, work: BoxFuture<'static, Result<T>>) -> Self {
        let (sender, result) = oneshot::channel();
        let work = async move {
            let result = work.await;
            // If nobody waits for it, the statement has ended.
            sender.send(result).ok();
        };
        let task = run.cx.services.start_worker(run.cx.cancel.clone(), Box::pin(work));
        Self { result, _task: task }
    }

    /// Waits for its result, or until the statement is to stop.
    pub(crate) async fn finish(self, run: &ExecutionState) -> Result<T> {
        let result = run.cx.cancel.unless_stopped(self.result).await?;
        result.unwrap_or_else(|_| Err(Error::internal("a worker has ended without a result")))
    }
}
