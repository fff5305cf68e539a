//! What was executed since the last Sync, so that it can be run again.
//!
//! Between two Syncs everything is one implicit transaction. If its commit meets a retry error
//! and nothing has left, the executions run again and their output takes the place of the old
//! one, between the replies to the other messages.

use std::sync::Arc;

use braid_types::Datum;

use crate::client::Formats;
use crate::prepared::Prepared;

/// One Execute that ran to its end.
#[derive(Clone)]
pub(crate) struct Step {
    pub prepared: Arc<Prepared>,
    pub params: Arc<Vec<Datum>>,
    pub formats: Formats,
    /// Where its output begins and ends, as positions of the connection.
    pub output: std::ops::Range<u64>,
}

/// The executions since the last Sync.
#[derive(Default)]
pub(crate) struct Replay {
    pub steps: Vec<Step>,
    /// Something happened that cannot be done again.
    pub blocked: bool,
}

/// More executions than this are not remembered.
const STEPS_MAX: usize = 1000;

impl Replay {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.blocked = false;
    }

    pub(crate) fn push(&mut self, step: Step) {
        if self.steps.len() < STEPS_MAX {
            self.steps.push(step);
        } else {
            self.blocked = true;
        }
    }

    /// The steps, if they can be run again.
    pub(crate) fn take(&mut self) -> Option<Vec<Step>> {
        let steps = std::mem::take(&mut self.steps);
        (!self.blocked && !steps.is_empty()).then_some(steps)
    }
}
