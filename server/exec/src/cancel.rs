//! The switch that stops a statement.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use braid_types::work::Statement;
use braid_types::{Error, Result, SqlState};
use pin_project_lite::pin_project;
use tokio::sync::futures::Notified;

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
        match self.unless_stopped(std::future::pending::<Infallible>()).await {
            Err(error) => error,
        }
    }

    /// Waits for something, or until the statement is to stop.
    pub fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T>> {
        UnlessStopped { cancel: self, work, notified: None }
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

pin_project! {
    /// What [`Cancel::unless_stopped`] gives. An `async fn` would keep room for `work` twice.
    struct UnlessStopped<'c, F> {
        cancel: &'c Cancel,
        #[pin]
        work: F,
        #[pin]
        notified: Option<Notified<'c>>,
    }
}

impl<F: Future> Future for UnlessStopped<'_, F> {
    type Output = Result<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(value) = this.work.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        loop {
            // Made before the look, so that no stop is missed between the two.
            if this.notified.is_none() {
                this.notified.set(Some(this.cancel.notify.notified()));
            }
            if let Err(error) = this.cancel.check() {
                return Poll::Ready(Err(error));
            }
            let Some(notified) = this.notified.as_mut().as_pin_mut() else { continue };
            ready!(notified.poll(cx));
            this.notified.set(None);
        }
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
