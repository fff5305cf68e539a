//! The switch that stops a statement.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use braid_types::work::Statement;
use braid_types::{Error, Result, SqlState};

/// Memory of a statement, as the values of functions are counted in it.
pub(crate) trait Account: Send + Sync {
    /// Counts bytes; 53200 beyond the limit.
    fn take(&self, bytes: usize) -> Result<()>;
    /// Gives bytes back.
    fn give(&self, bytes: usize);
}

/// A switch that stops a statement, and why.
#[derive(Default)]
pub struct Cancel {
    stopped: AtomicBool,
    reason: parking_lot::Mutex<Option<Error>>,
    notify: tokio::sync::Notify,
    /// The account of the statement that runs, for values that functions make.
    account: parking_lot::Mutex<Option<Weak<dyn Account>>>,
}

impl Cancel {
    /// Stops the statement with this error.
    pub fn stop(&self, error: Error) {
        let mut reason = self.reason.lock();
        reason.get_or_insert(error);
        self.stopped.store(true, Ordering::Release);
        self.notify.notify_waiters();
    }

    /// Functions count their values in this account, that of the statement that begins.
    pub(crate) fn charge_to(&self, account: Weak<dyn Account>) {
        *self.account.lock() = Some(account);
    }

    /// Makes it ready for the next statement.
    pub fn reset(&self) {
        let mut reason = self.reason.lock();
        *reason = None;
        self.stopped.store(false, Ordering::Release);
    }

    /// 57014 (or what [`Cancel::stop`] was given) once the statement is to stop.
    pub fn check(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) { Err(self.error()) } else { Ok(()) }
    }

    /// Waits until the statement is to stop.
    pub async fn stopped(&self) -> Error {
        loop {
            let notified = self.notify.notified();
            if self.stopped.load(Ordering::Acquire) {
                return self.error();
            }
            notified.await;
        }
    }

    /// Waits for something, or until the statement is to stop.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            biased;
            value = work => Ok(value),
            error = self.stopped() => Err(error),
        }
    }

    fn account(&self) -> Option<Arc<dyn Account>> {
        self.account.lock().as_ref().and_then(Weak::upgrade)
    }

    fn error(&self) -> Error {
        self.reason.lock().clone().unwrap_or_else(|| {
            Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
        })
    }
}

impl Statement for Cancel {
    fn check(&self) -> Result<()> {
        Cancel::check(self)
    }

    fn take(&self, bytes: usize) -> Result<()> {
        self.account().map_or(Ok(()), |account| account.take(bytes))
    }

    fn give(&self, bytes: usize) {
        if let Some(account) = self.account() {
            account.give(bytes);
        }
    }
}
