//! The task of a worker, for the session that runs it.

/// A task that is stopped when nobody is interested in it any more.
pub struct WorkerTask(pub tokio::task::AbortHandle);

impl Drop for WorkerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
