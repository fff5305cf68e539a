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
//!
//! The writes of a small commit are entered one by one. Those of a large one come sorted and stay
//! together as a run, in which a key is looked for by halving: entering a million keys into a tree,
//! and taking them out again, takes as long as the commit itself.

use braid_kv::{Key, Span, SpanMap, SpanSet, Write};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::Arc,
};

/// What bookkeeping costs for one write, roughly.
const ENTRY_BYTES: usize = 120;
/// The same for a write of a run.
const RUN_ENTRY_BYTES: usize = 40;
/// The writes of a commit from which on they are a run. Every look at a key halves every run, so
/// there must not be many of them.
const RUN_WRITES_MIN: usize = 4_096;

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

/// The writes of one large commit, in key order: the key, and whether it was deleted.
struct Run {
    number: u64,
    writes: Vec<(Arc<[u8]>, bool)>,
}

impl Run {
    fn get(&self, key: &[u8]) -> Option<LastWrite> {
        let at = self.writes.binary_search_by(|(known, _)| known.as_ref().cmp(key)).ok()?;
        Some(LastWrite { number: self.number, deleted: self.writes[at].1 })
    }

    /// Its writes inside a span.
    fn inside(&self, span: &Span) -> &[(Arc<[u8]>, bool)] {
        let from = self.writes.partition_point(|(key, _)| key.as_ref() < span.start.as_slice());
        let rest = &self.writes[from..];
        &rest[..rest.partition_point(|(key, _)| key.as_ref() < span.end.as_slice())]
    }

    /// A key of it inside `spans`.
    fn touched(&self, spans: &SpanSet) -> Option<Key> {
        if self.writes.len() <= spans.len() {
            let mut keys = self.writes.iter().map(|(key, _)| key);
            return keys.find(|key| spans.contains(key)).map(|key| key.to_vec());
        }
        let first = |span: &Span| {
            let from = self.writes.partition_point(|(key, _)| key.as_ref() < span.start.as_slice());
            let (key, _) = self.writes.get(from)?;
            (key.as_ref() < span.end.as_slice()).then(|| key.to_vec())
        };
        spans.spans().iter().find_map(first)
    }
}

/// Recent writes in key order and in commit order.
pub(crate) struct RecentWrites {
    /// Writes of small commits.
    keys: BTreeMap<Arc<[u8]>, LastWrite>,
    /// These and range deletes, in commit order.
    log: VecDeque<(u64, Logged)>,
    /// Large commits, in commit order.
    runs: VecDeque<Run>,
    run_writes_min: usize,
    /// The last range delete over each key.
    spans: SpanMap<u64>,
    bytes: usize,
    bytes_max: usize,
    floor: u64,
}

impl RecentWrites {
    /// An empty index: what was committed up to `floor` is unknown to it.
    pub(crate) fn new(floor: u64, bytes_max: usize) -> RecentWrites {
        RecentWrites {
            keys: BTreeMap::new(),
            log: VecDeque::new(),
            runs: VecDeque::new(),
            run_writes_min: RUN_WRITES_MIN,
            spans: SpanMap::new(),
            bytes: 0,
            bytes_max,
            floor,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many writes after `since` there are in the index.
    pub(crate) fn newer_than(&self, since: u64) -> usize {
        let single = self.log.len() - self.logged_until(since);
        single + self.runs_after(since).map(|run| run.writes.len()).sum::<usize>()
    }

    /// How many entries of the log belong to commits up to `since`.
    fn logged_until(&self, since: u64) -> usize {
        self.log.partition_point(|(number, _)| *number <= since)
    }

    /// The runs of commits after `since`, the newest first.
    fn runs_after(&self, since: u64) -> impl Iterator<Item = &Run> {
        self.runs.iter().rev().take_while(move |run| run.number > since)
    }

    /// Whether commits after `since` are all in the index.
    pub(crate) fn knows(&self, since: u64) -> bool {
        since >= self.floor
    }

    /// Enters the writes of commit `number`, the newest, in key order.
    pub(crate) fn add_writes(&mut self, number: u64, writes: &[Write]) {
        if writes.len() < self.run_writes_min {
            for (key, value) in writes {
                self.add_key(number, key, value.is_none());
            }
            return;
        }
        debug_assert!(writes.is_sorted_by(|a, b| a.0 < b.0), "writes of a commit are sorted");
        let writes: Vec<_> = writes.iter().map(|(key, v)| (key.clone(), v.is_none())).collect();
        self.bytes += writes.iter().map(|(key, _)| key.len() + RUN_ENTRY_BYTES).sum::<usize>();
        self.runs.push_back(Run { number, writes });
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
        let mut left = most;
        while left > 0 {
            let Some(number) = self.stale(oldest, published) else { return false };
            self.floor = self.floor.max(number);
            left -= match self.runs.front().is_some_and(|run| run.number == number) {
                true => self.trim_run(left),
                false => self.trim_log(),
            };
        }
        self.stale(oldest, published).is_some()
    }

    /// Takes at most `most` writes out of the oldest run; how many it took. Nobody asks for the
    /// others, because the floor has risen above them.
    fn trim_run(&mut self, most: usize) -> usize {
        let Some(run) = self.runs.front_mut() else { return 1 };
        let keeps = run.writes.len().saturating_sub(most);
        let mut gone = 0;
        for (key, _) in run.writes.drain(keeps..) {
            self.bytes -= key.len() + RUN_ENTRY_BYTES;
            gone += 1;
        }
        if keeps == 0 {
            self.runs.pop_front();
        }
        gone.max(1)
    }

    /// Takes the oldest entry out of the log; how many it took.
    fn trim_log(&mut self) -> usize {
        match self.log.pop_front() {
            Some((number, Logged::Key(key))) => {
                self.bytes -= key.len() + ENTRY_BYTES;
                if self.keys.get(&key).is_some_and(|last| last.number == number) {
                    self.keys.remove(&key);
                }
            }
            Some((number, Logged::Span(span))) => {
                self.bytes -= span.start.len() + span.end.len() + ENTRY_BYTES;
                self.spans.update(&span, |last| last.copied().filter(|n| *n != number));
            }
            None => {}
        }
        1
    }

    /// The oldest commit, if it may be forgotten.
    fn stale(&self, oldest: u64, published: u64) -> Option<u64> {
        let logged = self.log.front().map(|(number, _)| *number);
        let number = logged.into_iter().chain(self.runs.front().map(|run| run.number)).min()?;
        (number <= published && (self.is_full() || number <= oldest)).then_some(number)
    }

    /// Whether there is more than the limit allows.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// The last write of `key`, if it came after `since`.
    fn last_write(&self, key: &[u8], since: u64) -> Option<LastWrite> {
        let single = self.keys.get(key).copied().filter(|last| last.number > since);
        let since = single.map_or(since, |last| last.number);
        self.runs_after(since).find_map(|run| run.get(key)).or(single)
    }

    /// Whether a range delete after `since` covers `key`.
    fn span_deleted(&self, key: &[u8], since: u64) -> bool {
        self.spans.get(key).is_some_and(|number| *number > since)
    }

    /// Whether `key` was written after `since`.
    pub(crate) fn key_changed(&self, key: &[u8], since: u64) -> bool {
        self.last_write(key, since).is_some() || self.span_deleted(key, since)
    }

    /// Whether `key`, which existed at `since`, is gone: its last write after that is a delete.
    pub(crate) fn key_gone(&self, key: &[u8], since: u64) -> bool {
        let last = self.last_write(key, since);
        if last.is_some_and(|last| last.deleted) {
            return true;
        }
        // The writes of one commit come after its range deletes.
        let put = last.map_or(since, |last| last.number);
        self.span_deleted(key, put)
    }

    /// A key inside `spans` that was written after `since`.
    pub(crate) fn changed(&self, spans: &SpanSet, since: u64) -> Option<Key> {
        if let Some(key) = self.runs_after(since).find_map(|run| run.touched(spans)) {
            return Some(key);
        }
        let from = self.logged_until(since);
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
        let single = self.log.range(self.logged_until(since)..).filter_map(|(number, logged)| {
            let Logged::Key(key) = logged else { return None };
            span.contains(key).then_some((*number, key))
        });
        let runs = self
            .runs_after(since)
            .flat_map(|run| run.inside(span).iter().map(|(key, _)| (run.number, key)));
        let is_last = |(number, key): &(u64, &Arc<[u8]>)| {
            let last = self.last_write(key, since);
            last.is_some_and(|last| last.number == *number && !last.deleted)
        };
        single.chain(runs).filter(is_last).map(|(_, key)| key.clone()).collect()
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
    use braid_kv::Value;

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
            recent.run_writes_min = 3;
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
                    let mut writes: Vec<Write> = Vec::new();
                    for _ in 0..=random(5) {
                        let put = (random(2) == 0).then(Value::new);
                        writes.push((key(random(40)), put));
                    }
                    writes.sort();
                    writes.dedup_by(|a, b| a.0 == b.0);
                    recent.add_writes(number, &writes);
                    for (key, value) in &writes {
                        state.insert(key.clone(), value.is_some());
                        list.push((number, Span::key(key.as_ref())));
                    }
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
                let span = Span::new(key(random(40)).as_ref(), key(40).as_ref());
                let mut puts = recent.puts(&span, since);
                puts.sort();
                puts.dedup();
                let is_put = |key: &Arc<[u8]>| {
                    let written = list.iter().filter(|(n, s)| *n > since && s.is_key());
                    let last = written.filter(|(_, s)| s.contains(key)).map(|(n, _)| *n).max();
                    last.is_some_and(|last| {
                        recent
                            .last_write(key, since)
                            .is_some_and(|write| write.number == last && !write.deleted)
                    })
                };
                let expected = (0..40).map(key).filter(|key| span.contains(key) && is_put(key));
                assert_eq!(puts, expected.collect::<Vec<_>>());
            }
            recent.trim(u64::MAX, 59, usize::MAX);
            assert_eq!(recent.bytes(), 0);
        }
    }
}
