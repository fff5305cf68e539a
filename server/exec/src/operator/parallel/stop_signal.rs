//! The signal by which workers hand over what they have.

use std::sync::atomic::{AtomicBool, Ordering};

/// While it is given, nobody takes further rows of the shared source.
#[derive(Default)]
pub(crate) struct StopSignal(AtomicBool);

impl StopSignal {
    /// Workers are to stop.
    pub(crate) fn give(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Those who are left may go on.
    pub(crate) fn take_back(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether workers are to stop.
    pub(crate) fn is_given(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
