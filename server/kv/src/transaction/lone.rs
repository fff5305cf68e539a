//! A first read that goes without a snapshot, because it may well be the only one.
//!
//! ```text
//!   Hoped ── a read of one key ──▶ UnderWay ── the answer ──▶ Read ─┐
//!     └─────────────────────────────┴─── somebody needs a snapshot ─┴─▶ None
//! ```
//!
//! Rules: a snapshot that is taken afterwards has to show what was read (below SERIALIZABLE only to
//! the same statement at READ COMMITTED); a read under way when it is taken counts for nothing and
//! is done again at the snapshot.

use super::handle::State;
use crate::{
    Isolation, Key, ReadSegment, Record, Result, Seq, Snapshot, Span, SpanSet, Transaction, Value,
};
use std::sync::Arc;

/// A read without a snapshot.
#[derive(Default)]
pub(super) enum Lone {
    /// There is none and will be none.
    #[default]
    None,
    /// The first read may be one.
    Hoped(Arc<dyn Snapshot>),
    /// It has been sent.
    UnderWay,
    /// It has brought something.
    Read(LoneRead),
}

/// What a read without a snapshot was of.
#[derive(Clone)]
pub(super) struct LoneRead {
    seq: Seq,
    key: Key,
    newest: Arc<dyn Snapshot>,
    record: Record,
}

impl LoneRead {
    /// Whether the statement has read it.
    pub fn is_of(&self, seq: Seq) -> bool {
        self.seq.number() == seq.number()
    }

    /// What a snapshot for `seq` has to show.
    pub fn to_prove(&self, seq: Seq, isolation: Isolation) -> Option<ReadSegment> {
        let is_free = isolation == Isolation::ReadCommitted && !self.is_of(seq);
        let spans = SpanSet::from_iter([Span::key(self.key.as_slice())]);
        (!is_free).then(|| ReadSegment { snapshot: self.newest.clone(), spans })
    }
}

impl Transaction {
    /// Lets the first read do without waiting for a snapshot if it is of one key: for a transaction
    /// that probably reads nothing else. If it does after all, that costs a proof of what the first
    /// read has shown. False if there is nothing to be gained.
    pub fn read_first_without_snapshot(&self) -> bool {
        let Ok(mut state) = self.active() else { return false };
        let is_new = state.snapshot.is_none() && state.first_reader.is_none();
        let newest = self.database.inner.store.newest().filter(|_| is_new && !state.has_locks);
        let Some(newest) = newest else { return false };
        state.lone = Lone::Hoped(newest);
        true
    }

    /// The value of a key, if this is a read without a snapshot.
    pub(super) async fn read_lone(
        &self,
        seq: Seq,
        key: &[u8],
        record: Record,
    ) -> Result<Option<Option<Value>>> {
        let newest = {
            let mut state = self.active()?;
            let Lone::Hoped(newest) = &state.lone else { return Ok(None) };
            let newest = newest.clone();
            state.lone = Lone::UnderWay;
            newest
        };
        let value = self.round_trip(newest.get(key)).await?;
        let mut state = self.active()?;
        if !matches!(state.lone, Lone::UnderWay) {
            return Ok(None);
        }
        state.lone = Lone::Read(LoneRead { seq, key: key.to_vec(), newest, record });
        Ok(Some(value))
    }

    /// Sees to it that what a read without a snapshot has shown is proved, and remembered as other
    /// reads are: before a commit that writes.
    pub(super) async fn settle_lone(&self) -> Result<()> {
        let seq = match &self.active()?.lone {
            Lone::Read(read) => read.seq,
            Lone::None | Lone::Hoped(_) | Lone::UnderWay => return Ok(()),
        };
        self.snapshot_for(seq).await.map(drop)
    }

    /// The read without a snapshot is no longer one: `snapshot` has shown the same.
    pub(super) fn is_as_shown(&self, read: &LoneRead, snapshot: &Arc<dyn Snapshot>) -> Result<()> {
        let record = read.record;
        self.record(read.seq, snapshot, || Span::key(read.key.as_slice()), record)
    }
}

impl State {
    /// What has to be proved of a snapshot that is about to be taken.
    pub fn lone_read(&self) -> Option<LoneRead> {
        match &self.lone {
            Lone::Read(read) => Some(read.clone()),
            Lone::None | Lone::Hoped(_) | Lone::UnderWay => None,
        }
    }
}
