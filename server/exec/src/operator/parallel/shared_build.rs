//! A build side that several workers read once.
//!
//! ```text
//!   worker 1   reads the input, fills the table ──▶ Loaded ──▶ probes
//!   worker 2   waits …………………………………………………………………┘        ──▶ probes
//! ```
//!
//! If the side does not fit into memory, the worker that has read it divides both sides and does
//! the whole join. The others end: none of them has taken a row of the scan yet, because the hash
//! joins of a pipeline are loaded from the top down before its scan begins.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use crate::operator::join::loaded::Loaded;

/// How far the side is.
#[derive(Default)]
pub(crate) enum BuildState {
    /// Nobody has read it.
    #[default]
    Open,
    /// It is in memory.
    Loaded(Arc<Loaded>),
    /// It does not fit into memory: a worker does the join alone.
    Divided,
}

/// A build side that several workers read once.
#[derive(Default)]
pub(crate) struct SharedBuild(Mutex<BuildState>);

impl SharedBuild {
    /// Waits until no other worker reads it.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, BuildState> {
        self.0.lock().await
    }
}
