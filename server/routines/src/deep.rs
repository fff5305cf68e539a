//! Futures that call each other recursively without using up the thread's stack.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

/// How many routines may run inside each other.
pub(crate) const ROUTINE_DEPTH_MAX: usize = 300;

/// A future that is polled with enough stack.
pub(crate) struct Deep<'f, T>(BoxFuture<'f, T>);

impl<'f, T> Deep<'f, T> {
    /// The future, to be polled with enough stack.
    pub(crate) fn new(future: BoxFuture<'f, T>) -> Self {
        Self(future)
    }
}

impl<T> Future for Deep<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        braid_sql::deep_stack(|| self.0.as_mut().poll(cx))
    }
}
