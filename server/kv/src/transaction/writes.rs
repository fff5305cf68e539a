//! Writes into the buffer, and the checks of keys that must not exist.

use super::{core::Core, snapshots::Snapshots};
use crate::{
    Error, Key, LocalKeyspace, NewKey, Record, Result, Seq, Span, Value,
    transaction::state::{Buffered, WriteBuffer},
};
use std::sync::Arc;

/// Deletes between two checks of the buffer's limit.
const DELETED_AT_ONCE: usize = 64;

/// The writes of a transaction.
#[derive(Clone, Copy)]
pub struct Writes<'a>(pub(super) &'a Core);

impl Writes<'_> {
    /// Puts a value, whatever was there.
    pub fn put(self, seq: Seq, key: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<()> {
        let (key, value) = (key.as_ref(), value.into());
        self.write(self.0.local_of(key), |buffer| buffer.write(seq, key, Some(value)))
    }

    /// Puts a value under a key that must not exist. The check is deferred: to
    /// [`Writes::check_new_keys`] and to the commit, which answers
    /// [`Error::Duplicate`]. An own visible put of the key is a duplicate at once.
    pub fn put_new(self, seq: Seq, key: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<()> {
        let (key, value) = (key.as_ref(), value.into());
        let local = self.0.local_of(key);
        self.write(local, |buffer| match local {
            Some(local) => write_new_local(buffer, local, seq, (key, value)),
            None => buffer.write_new(seq, key, value).map(drop),
        })
    }

    /// Deletes a key, whether it exists or not.
    pub fn delete(self, seq: Seq, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        self.remove(self.0.local_of(key), |buffer| buffer.write(seq, key, None))
    }

    /// Deletes keys, whether they exist or not.
    pub fn delete_all<K: AsRef<[u8]>>(
        self,
        seq: Seq,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<()> {
        let mut keys = keys.into_iter().peekable();
        // In portions, so that those who read side by side get their turn. The keys of one call
        // are those of one table: all of them are local, or none.
        while let Some(first) = keys.peek() {
            let local = self.0.local_of(first.as_ref());
            self.remove(local, |buffer| {
                let mut portion = keys.by_ref().take(DELETED_AT_ONCE);
                portion.try_for_each(|key| buffer.write(seq, key.as_ref(), None))
            })?;
        }
        Ok(())
    }

    /// Deletes every key in `span`, whatever others have put there before this commit.
    pub fn delete_span(self, seq: Seq, span: Span) -> Result<()> {
        self.remove(self.0.local_over(&span), |buffer| {
            buffer.write_span(seq, span, false);
            Ok(())
        })
    }

    /// Abandons a span that nobody reads or writes from this commit on: what the transaction
    /// itself has put there goes, what is stored stays. The caller makes sure that everybody who
    /// wrote there before fails at the commit, and that it is destroyed one day
    /// ([`crate::Garbage::destroy`]).
    pub fn leave_span(self, seq: Seq, span: Span) -> Result<()> {
        let local = self.0.local_over(&span);
        self.remove(local, |buffer| {
            buffer.write_span(seq, span, local.is_none());
            Ok(())
        })
    }

    /// Changes the buffer of local keys or the one of all others. READ ONLY allows local writes.
    fn write(
        self,
        local: Option<&Arc<LocalKeyspace>>,
        change: impl FnOnce(&mut WriteBuffer) -> Result<()>,
    ) -> Result<()> {
        self.change(local, LocalKeyspace::check_room, change)
    }

    /// The same for deletes. Those of local keys find room where puts do not, because they are
    /// what makes room.
    fn remove(
        self,
        local: Option<&Arc<LocalKeyspace>>,
        change: impl FnOnce(&mut WriteBuffer) -> Result<()>,
    ) -> Result<()> {
        self.change(local, LocalKeyspace::check_removal, change)
    }

    fn change(
        self,
        local: Option<&Arc<LocalKeyspace>>,
        check_local: fn(&LocalKeyspace, usize) -> Result<()>,
        change: impl FnOnce(&mut WriteBuffer) -> Result<()>,
    ) -> Result<()> {
        if let Some(local) = local {
            let mut state = self.0.active()?;
            check_local(local, state.local.bytes())?;
            return change(&mut state.local);
        }
        if self.0.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let limit =
            self.0.options.buffer_bytes_max.unwrap_or(self.0.database.options().buffer_bytes_max);
        let mut state = self.0.active()?;
        if state.buffer.bytes() >= limit {
            let limit = limit as u64;
            return Err(Error::LimitExceeded { name: "transaction_buffer_bytes", limit });
        }
        change(&mut state.buffer)
    }

    /// Whether a commit would have something to write into the store.
    pub fn is_any(self) -> bool {
        !self.0.lock_state().buffer.is_empty()
    }

    /// Whether there are writes to keys of the session only.
    pub fn has_local(self) -> bool {
        !self.0.lock_state().local.is_empty()
    }

    /// Roughly how many bytes the write buffer holds.
    pub fn bytes(self) -> usize {
        self.0.lock_state().buffer.bytes()
    }

    /// Looks now, in one wait, whether the keys of [`Writes::put_new`] exist that were not
    /// looked at before; returns those that do, in the order of their statements. What it finds is
    /// remembered as read. Call it at a barrier, before the client is told anything that depends
    /// on it.
    pub async fn check_new_keys(self) -> Result<Vec<NewKey>> {
        let unchecked: Vec<NewKey> = {
            let state = self.0.active()?;
            state.buffer.unchecked().cloned().collect()
        };
        let Some(last) = unchecked.iter().map(|new| new.seq).max() else {
            return Ok(Vec::new());
        };
        let keys: Vec<Key> = unchecked.iter().map(|new| new.key.to_vec()).collect();
        let snapshot = Snapshots(self.0).snapshot_for(last).await?;
        let found = self.0.round_trip(snapshot.multi_get(&keys)).await?;
        for (new, key) in unchecked.iter().zip(keys) {
            self.0.record(new.seq, &snapshot, || Span::key(key), Record::Default)?;
        }
        self.0.active()?.buffer.add_checked(unchecked.len());
        let mut existing: Vec<NewKey> = unchecked
            .into_iter()
            .zip(found)
            .filter_map(|(new, value)| value.is_some().then_some(new))
            .collect();
        existing.sort_by_key(|new| new.seq);
        Ok(existing)
    }
}

/// Puts a value under a local key that must not exist. Nobody else writes it, so that the answer
/// is known at once.
fn write_new_local(
    buffer: &mut WriteBuffer,
    local: &LocalKeyspace,
    seq: Seq,
    (key, value): (&[u8], Value),
) -> Result<()> {
    let exists = match buffer.get(seq.after(), key) {
        Buffered::Put(_) => true,
        Buffered::Deleted => false,
        Buffered::Untouched => local.get(key).is_some(),
    };
    if exists {
        return Err(Error::Duplicate { key: key.to_vec(), seq });
    }
    buffer.write(seq, key, Some(value))
}
