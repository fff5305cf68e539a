//! All the work of a session, and its end from outside.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::compute::{Pool, run};
use crate::entry::SessionEntry;

/// Ends a session from outside, while it works.
#[derive(Clone)]
pub struct SessionTerminator {
    entry: Arc<SessionEntry>,
    compute: Arc<Pool>,
}

impl SessionTerminator {
    pub(crate) fn new(entry: Arc<SessionEntry>, compute: Arc<Pool>) -> SessionTerminator {
        SessionTerminator { entry, compute }
    }

    /// Stops the running statement and ends the session.
    pub fn end(&self) {
        self.entry.terminate();
    }

    /// Does all the work of the session. It may compute for long without keeping other sessions
    /// waiting; the session ends when its client is `gone` meanwhile.
    pub async fn attend<T: Send + 'static>(
        &self,
        work: BoxFuture<'static, T>,
        gone: impl Future<Output = ()> + Send,
    ) -> T {
        let gone = async {
            gone.await;
            self.end();
        };
        run(&self.compute, self.entry.clone(), work, gone).await
    }
}
