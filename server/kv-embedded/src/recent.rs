//! The index of recent writes, against which read sets are checked.
//!
//! ```text
//!        forgotten │ in the index
//!   ───────────────┼──●────●──────●──▶ commit numbers
//!                floor
//! ```
//!
//! It holds every key and every range delete of the commits above its floor. A transaction whose
//! snapshot is at or above the floor is checked here; an older one has to read its read set again
//! and compare. The index is bounded: the floor rises when it is full, and when nobody is left
//! who is older.

use braid_kv::{Key, Span, SpanSet};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::Arc,
};

/// What bookkeeping costs for one write, roughly.
const ENTRY_BYTES: usize = 120;

enum Logged {
    Key(Arc<[u8]>),
    Span(Arc<Span>),
}

/// Recent writes in key order and in commit order.
pub(crate) struct RecentWrites {
    keys: BTreeMap<Arc<[u8]>, u64>,
    log: VecDeque<(u64, Logged)>,
    /// The log's spans once more, so that they are found quickly.
    spans: VecDeque<(u64, Arc<Span>)>,
    bytes: usize,
    bytes_max: usize,
    floor: u64,
}

impl RecentWrites {
    /// An empty index: what was committed up to `floor` is unknown to it.
    pub(crate) fn new(floor: u64, bytes_max: usize) -> RecentWrites {
        let (keys, log, spans) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        RecentWrites { keys, log, spans, bytes: 0, bytes_max, floor }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether commits after `since` are all in the index.
    pub(crate) fn knows(&self, since: u64) -> bool {
        since >= self.floor
    }

    /// Enters a write of commit `number`, the newest.
    pub(crate) fn add_key(&mut self, number: u64, key: &Arc<[u8]>) {
        self.bytes += key.len() + ENTRY_BYTES;
        self.keys.insert(key.clone(), number);
        self.log.push_back((number, Logged::Key(key.clone())));
    }

    /// Enters a range delete of commit `number`, the newest.
    pub(crate) fn add_span(&mut self, number: u64, span: Span) {
        self.bytes += span.start.len() + span.end.len() + ENTRY_BYTES;
        let span = Arc::new(span);
        self.spans.push_back((number, span.clone()));
        self.log.push_back((number, Logged::Span(span)));
    }

    /// Forgets what is too much, and what nobody older than `oldest` is left to ask for.
    /// Never forgets commits above `published`: they are not yet visible anywhere else.
    pub(crate) fn trim(&mut self, oldest: u64, published: u64) {
        while let Some((number, _)) = self.log.front() {
            let number = *number;
            if number > published || (self.bytes <= self.bytes_max && number > oldest) {
                break;
            }
            self.floor = self.floor.max(number);
            match self.log.pop_front() {
                Some((_, Logged::Key(key))) => {
                    self.bytes -= key.len() + ENTRY_BYTES;
                    if self.keys.get(&key) == Some(&number) {
                        self.keys.remove(&key);
                    }
                }
                Some((_, Logged::Span(span))) => {
                    self.bytes -= span.start.len() + span.end.len() + ENTRY_BYTES;
                    self.spans.pop_front();
                }
                None => break,
            }
        }
    }

    /// Range deletes after `since`, the newest first.
    fn spans_since(&self, since: u64) -> impl Iterator<Item = (u64, &Span)> {
        self.spans
            .iter()
            .rev()
            .take_while(move |(number, _)| *number > since)
            .map(|(number, span)| (*number, span.as_ref()))
    }

    /// Whether `key` was written after `since`.
    pub(crate) fn key_changed(&self, key: &[u8], since: u64) -> bool {
        self.keys.get(key).is_some_and(|last| *last > since)
            || self.spans_since(since).any(|(_, span)| span.contains(key))
    }

    /// A key inside `spans` that was written after `since`.
    pub(crate) fn changed(&self, spans: &SpanSet, since: u64) -> Option<Key> {
        let from = self.log.partition_point(|(number, _)| *number <= since);
        let newer = self.log.len() - from;
        // Look through the shorter one of the two.
        if newer <= spans.len().saturating_mul(4) {
            return self.log.range(from..).find_map(|(_, logged)| match logged {
                Logged::Key(key) => spans.contains(key).then(|| key.to_vec()),
                Logged::Span(span) => spans.overlaps_span(span).then(|| span.start.clone()),
            });
        }
        if let Some((_, span)) = self.spans_since(since).find(|(_, s)| spans.overlaps_span(s)) {
            return Some(span.start.clone());
        }
        spans.spans().iter().find_map(|span| self.keys_changed(span, since, newer))
    }

    fn keys_changed(&self, span: &Span, since: u64, newer: usize) -> Option<Key> {
        if span.is_key() {
            let last = self.keys.get(span.start.as_slice())?;
            return (*last > since).then(|| span.start.clone());
        }
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&span.start), Bound::Excluded(&span.end));
        let mut inside = self.keys.range::<[u8], _>(bounds);
        let early = inside.by_ref().take(newer).find(|(_, last)| **last > since);
        if let Some((key, _)) = early {
            return Some(key.to_vec());
        }
        inside.next()?;
        // A long span over an index full of older writes: the log's tail is shorter.
        self.log.range(self.log.len() - newer..).find_map(|(_, logged)| match logged {
            Logged::Key(key) => span.contains(key).then(|| key.to_vec()),
            Logged::Span(_) => None,
        })
    }
}
