//! What a run still has to do when its last row has been changed.

use std::sync::Arc;

use crate::foreign_keys::queue::Queue;
use crate::partitions::MovedRows;
use crate::triggers::TriggerQueue;

/// What the operators of a run share: the questions to foreign keys, and the triggers to be fired.
#[derive(Clone, Default)]
pub(crate) struct Queues {
    /// The questions to foreign keys.
    pub(crate) keys: Arc<Queue>,
    /// The triggers.
    pub(crate) triggers: Arc<TriggerQueue>,
    /// The rows that leave their partition.
    pub(crate) moved: Arc<MovedRows>,
}
