//! Old versions and left ranges of a store that does not remove them by itself.

use crate::{Answer, Result, Span, Timestamp};
use std::time::Duration;

/// The removal of what nobody can read any more. One gateway of a store does it; where
/// two do for a moment, no harm is done.
pub trait Garbage: Send + Sync {
    /// How long to rest between two rounds.
    fn pause(&self) -> Duration;

    /// Moves the point below which nobody reads as far as it may go, and lets versions that are
    /// hidden from there on go. Never past the snapshot of a transaction that is open at any
    /// gateway. The point that it has come to.
    fn collect(&self) -> Answer<'_, Result<Timestamp>>;

    /// Destroys everything in the spans, all versions and locks, without reading them. Only for
    /// what no snapshot at or above the point of [`Garbage::collect`] shows, and where nobody will
    /// ever write again: it may still be at work after a failure.
    fn destroy<'a>(&'a self, spans: &'a [Span]) -> Answer<'a, Result<()>>;
}
