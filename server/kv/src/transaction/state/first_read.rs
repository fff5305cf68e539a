//! The state of a first read that goes without a snapshot.
//!
//! ```text
//!   Expected ── a read of one key ──▶ InFlight ── the answer ──▶ Done ─┐
//!     └─────────────────────────────────┴─── a snapshot is needed ─────┴─▶ None
//! ```

use crate::{Isolation, Key, ReadSegment, Record, Seq, Snapshot, Span, SpanSet};
use std::sync::Arc;

/// The state of a first read without a snapshot.
#[derive(Default)]
pub(in crate::transaction) enum FirstRead {
    /// There is none and will be none.
    #[default]
    None,
    /// The first read may be one.
    Expected(Arc<dyn Snapshot>),
    /// It has been sent.
    InFlight,
    /// It has brought something.
    Done(ReadWithoutSnapshot),
}

/// What a read without a snapshot was of.
#[derive(Clone)]
pub(in crate::transaction) struct ReadWithoutSnapshot {
    pub seq: Seq,
    pub key: Key,
    pub newest: Arc<dyn Snapshot>,
    pub record: Record,
}

impl ReadWithoutSnapshot {
    /// Whether the statement has read it.
    pub(crate) fn is_of(&self, seq: Seq) -> bool {
        self.seq.number() == seq.number()
    }

    /// What a snapshot for `seq` has to show.
    pub(crate) fn to_prove(&self, seq: Seq, isolation: Isolation) -> Option<ReadSegment> {
        let is_free = isolation == Isolation::ReadCommitted && !self.is_of(seq);
        let spans = SpanSet::from_iter([Span::key(self.key.as_slice())]);
        (!is_free).then(|| ReadSegment { snapshot: self.newest.clone(), spans })
    }
}

impl FirstRead {
    /// What has to be proved of a snapshot that is about to be taken.
    pub(crate) fn done(&self) -> Option<ReadWithoutSnapshot> {
        match self {
            FirstRead::Done(read) => Some(read.clone()),
            FirstRead::None | FirstRead::Expected(_) | FirstRead::InFlight => None,
        }
    }
}
