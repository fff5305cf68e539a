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

use braid_kv::{Key, Span, SpanMap, SpanSet};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::Arc,
};

/// What bookkeeping costs for one write, roughly.
const ENTRY_BYTES: usize = 120;

enum Logged {
    Key(Arc<[u8]>),
    Span(Span),
}

/// The last write of a key.
#[derive(Clone, Copy)]
struct LastWrite {
    number: u64,
    deleted: bool,
}

/// Recent writes in key order and in commit order.
pub(crate) struct RecentWrites {
    keys: BTreeMap<Arc<[u8]>, LastWrite>,
    log: VecDeque<(u64, Logged)>,
    /// The last range delete over each key.
    spans: SpanMap<u64>,
    bytes: usize,
    bytes_max: usize,
    floor: u64,
}

impl RecentWrites {
    /// An empty index: what was committed up to `floor` is unknown to it.
    pub(crate) fn new(floor: u64, bytes_max: usize) -> RecentWrites {
        let (keys, log, spans) = (BTreeMap::new(), VecDeque::new(), SpanMap::new());
        RecentWrites { keys, log, spans, bytes: 0, bytes_max, floor }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many writes after `since` there are in the index.
    pub(crate) fn newer_than(&self, since: u64) -> usize {
        self.log.len() - self.log.partition_point(|(number, _)| *number <= since)
    }

    /// Whether commits after `since` are all in the index.
    pub(crate) fn knows(&self, since: u64) -> bool {
        since >= self.floor
    }

    /// Enters a put or a delete of commit `number`, the newest.
    pub(crate) fn add_key(&mut self, number: u64, key: &Arc<[u8]>, deleted: bool) {
        self.bytes += key.len() + ENTRY_BYTES;
        self.keys.insert(key.clone(), LastWrite { number, deleted });
        self.log.push_back((number, Logged::Key(key.clone())));
    }

    /// Enters a range delete of commit `number`, the newest.
    pub(crate) fn add_span(&mut self, number: u64, span: Span) {
        self.bytes += span.start.len() + span.end.len() + ENTRY_BYTES;
        self.spans.set(&span, number);
        self.log.push_back((number, Logged::Span(span)));
    }

    /// Forgets what is too much, and what nobody older than `oldest` is left to ask for, but no
    /// more than `most` writes; whether something is left to be forgotten. Never forgets commits
    /// above `published`: they are not yet visible anywhere else.
    pub(crate) fn trim(&mut self, oldest: u64, published: u64, most: usize) -> bool {
        for _ in 0..most {
            if !self.has_stale(oldest, published) {
                return false;
            }
            let Some((number, logged)) = self.log.pop_front() else { return false };
            self.floor = self.floor.max(number);
            match logged {
                Logged::Key(key) => {
                    self.bytes -= key.len() + ENTRY_BYTES;
                    if self.keys.get(&key).is_some_and(|last| last.number == number) {
                        self.keys.remove(&key);
                    }
                }
                Logged::Span(span) => {
                    self.bytes -= span.start.len() + span.end.len() + ENTRY_BYTES;
                    self.spans.update(&span, |last| last.copied().filter(|n| *n != number));
                }
            }
        }
        self.has_stale(oldest, published)
    }

    fn has_stale(&self, oldest: u64, published: u64) -> bool {
        let Some((number, _)) = self.log.front() else { return false };
        *number <= published && (self.is_full() || *number <= oldest)
    }

    /// Whether there is more than the limit allows.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// Whether a range delete after `since` covers `key`.
    fn span_deleted(&self, key: &[u8], since: u64) -> bool {
        self.spans.get(key).is_some_and(|number| *number > since)
    }

    /// Whether `key` was written after `since`.
    pub(crate) fn key_changed(&self, key: &[u8], since: u64) -> bool {
        self.keys.get(key).is_some_and(|last| last.number > since) || self.span_deleted(key, since)
    }

    /// Whether `key`, which existed at `since`, is gone: its last write after that is a delete.
    pub(crate) fn key_gone(&self, key: &[u8], since: u64) -> bool {
        let last = self.keys.get(key).filter(|last| last.number > since);
        if last.is_some_and(|last| last.deleted) {
            return true;
        }
        // The writes of one commit come after its range deletes.
        let put = last.map_or(since, |last| last.number);
        self.span_deleted(key, put)
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
        let changed = |span| self.keys_changed(span, since, newer);
        spans.spans().iter().find_map(changed).or_else(|| {
            spans.spans().iter().find_map(|span| self.spans_changed(span, since, newer))
        })
    }

    fn spans_changed(&self, span: &Span, since: u64, newer: usize) -> Option<Key> {
        let mut inside = self.spans.overlapping(span);
        let early = inside.by_ref().take(newer).find(|(_, _, number)| **number > since);
        if let Some((start, _, _)) = early {
            return Some(start.to_vec());
        }
        inside.next()?;
        // As for keys.
        self.log.range(self.log.len() - newer..).find_map(|(_, logged)| match logged {
            Logged::Key(_) => None,
            Logged::Span(deleted) => deleted.overlaps(span).then(|| deleted.start.clone()),
        })
    }

    /// The keys inside `span` whose last write came after `since` and is a put.
    pub(crate) fn puts(&self, span: &Span, since: u64) -> Vec<Arc<[u8]>> {
        let from = self.log.partition_point(|(number, _)| *number <= since);
        let mut puts = Vec::new();
        for (number, logged) in self.log.range(from..) {
            let Logged::Key(key) = logged else { continue };
            let last = span.contains(key).then(|| self.keys.get(key)).flatten();
            if last.is_some_and(|last| last.number == *number && !last.deleted) {
                puts.push(key.clone());
            }
        }
        puts
    }

    fn keys_changed(&self, span: &Span, since: u64, newer: usize) -> Option<Key> {
        if span.is_key() {
            let last = self.keys.get(span.start.as_slice())?;
            return (last.number > since).then(|| span.start.clone());
        }
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&span.start), Bound::Excluded(&span.end));
        let mut inside = self.keys.range::<[u8], _>(bounds);
        let early = inside.by_ref().take(newer).find(|(_, last)| last.number > since);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u64) -> Arc<[u8]> {
        Arc::from([b'k', i as u8].as_slice())
    }

    /// Whatever way is taken through the index, the answer is that of a plain list.
    #[test]
    fn index_answers_like_a_list_and_forgets_only_below_its_floor() {
        let mut seed = 3u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for round in 0..200 {
            let mut recent = RecentWrites::new(0, 3_000);
            let mut list: Vec<(u64, Span)> = Vec::new();
            let mut state: BTreeMap<Arc<[u8]>, bool> = (0..40).map(|i| (key(i), true)).collect();
            for number in 1..60 {
                if random(8) == 0 {
                    let from = random(40);
                    let span = Span::new(key(from).as_ref(), key(from + 1 + random(5)).as_ref());
                    recent.add_span(number, span.clone());
                    for (key, exists) in &mut state {
                        *exists &= !span.contains(key);
                    }
                    list.push((number, span));
                } else {
                    let key = key(random(40));
                    let deleted = random(2) == 0;
                    recent.add_key(number, &key, deleted);
                    state.insert(key.clone(), !deleted);
                    list.push((number, Span::key(key.as_ref())));
                }
                // All that is stale at once, or a little at a time.
                let most = if round % 3 == 0 { usize::MAX } else { random(4) as usize };
                recent.trim(0, number - 1, most);
                let since = random(number + 1);
                let mut spans = Vec::new();
                for _ in 0..=random(if round % 2 == 0 { 2 } else { 30 }) {
                    let from = random(40);
                    spans.push(Span::new(key(from).as_ref(), key(from + random(3)).as_ref()));
                }
                let spans: SpanSet = spans.into_iter().collect();
                if !recent.knows(since) {
                    assert!(since < recent.floor);
                    continue;
                }
                let expected = list.iter().any(|(n, s)| *n > since && spans.overlaps_span(s));
                assert_eq!(recent.changed(&spans, since).is_some(), expected);
                let one = key(random(40));
                let expected = list.iter().any(|(n, s)| *n > since && s.contains(&one));
                assert_eq!(recent.key_changed(&one, since), expected);
                // Of a key that existed all that counts is whether it exists now.
                if since == 0 {
                    assert_eq!(recent.key_gone(&one, since), !state[&one]);
                }
            }
            recent.trim(u64::MAX, 59, usize::MAX);
            assert_eq!(recent.bytes(), 0);
        }
    }
}
