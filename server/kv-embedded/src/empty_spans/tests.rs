//! Compares the map with a plain history of commits. At every open snapshot a scan that jumps
//! finds what a scan of everything finds. Other tests count the deleted keys that a scan meets.

use super::{map::Map, shared_map::EmptySpans};
use crate::{reads::LiveViews, recent_writes::RecentWrites};
use braid_kv::{BatchBuilder, Span, SpanSet, Value, Write, key_after};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

type Keys = BTreeSet<Vec<u8>>;

/// A store in memory with all its versions.
struct History {
    empty: EmptySpans,
    /// What exists at each commit that somebody may read.
    states: BTreeMap<u64, Keys>,
    number: u64,
    published: u64,
    /// Every key that was ever there.
    ever: Keys,
    /// Keys that scans have stepped over though they could not see them.
    touched: usize,
}

impl History {
    fn new(weight_min: u64) -> History {
        let recent = Arc::new(Mutex::new(RecentWrites::new(0, 1 << 20)));
        let empty = EmptySpans::new(recent, weight_min);
        empty.views.add(0);
        let states = BTreeMap::from([(0, Keys::new())]);
        History { empty, states, number: 0, published: 0, ever: Keys::new(), touched: 0 }
    }

    /// Accepts a commit as the committer does.
    fn commit(&mut self, deleted: &[Span], writes: &BTreeMap<Vec<u8>, bool>) {
        let mut state = self.states[&self.number].clone();
        self.number += 1;
        state.retain(|key| !deleted.iter().any(|span| span.contains(key)));
        let deleted: SpanSet = deleted.iter().cloned().collect();
        let mut list: Vec<Write> = Vec::new();
        for (key, put) in writes {
            if *put {
                state.insert(key.clone());
                self.ever.insert(key.clone());
            } else {
                state.remove(key);
            }
            list.push((Arc::from(key.as_slice()), put.then(Value::new)));
        }
        let mut recent = self.empty.recent.lock();
        deleted.spans().iter().for_each(|span| recent.add_span(self.number, span.clone()));
        list.iter().for_each(|(key, v)| recent.add_key(self.number, key, v.is_none()));
        self.empty.commit(self.number, &deleted, &list);
        self.states.insert(self.number, state);
    }

    /// Makes what was accepted the newest view.
    fn publish(&mut self) {
        self.empty.views.add(self.number);
        self.empty.views.remove(self.published);
        self.published = self.number;
        let oldest = self.empty.views.oldest().unwrap_or(self.number);
        self.empty.recent.lock().trim(oldest, self.number, usize::MAX);
        self.states = self.states.split_off(&oldest);
    }

    /// Takes the newest view, to be given back by `close`.
    fn open(&mut self) -> u64 {
        self.empty.views.add(self.published);
        self.published
    }

    fn close(&mut self, view: u64) {
        self.empty.views.remove(view);
    }

    /// The keys that a scan of `span` finds at `view`, in batches as a cursor reads them.
    fn scan(
        &mut self,
        view: u64,
        span: &Span,
        reverse: bool,
        limit: usize,
        was_slow: bool,
    ) -> Vec<Vec<u8>> {
        let state = &self.states[&view];
        let (mut rest, mut found) = (span.clone(), Vec::new());
        while !rest.is_empty() && found.len() < limit {
            let reach = self.empty.reach(&rest, reverse, view).unwrap_or_else(|| rest.clone());
            assert!(reach.is_empty() || rest.contains_span(&reach));
            let mut keys: Vec<Vec<u8>> =
                state.range(reach.start.clone()..reach.end.clone()).cloned().collect();
            if reverse {
                keys.reverse();
            }
            keys.truncate(limit - found.len());
            let mut examined = reach.clone();
            if let Some(last) = keys.last().filter(|_| found.len() + keys.len() == limit) {
                match reverse {
                    false => examined.end = key_after(last),
                    true => examined.start.clone_from(last),
                }
            }
            let passed = self.ever.range(examined.start.clone()..examined.end.clone());
            self.touched += passed.filter(|key| !state.contains(*key)).count();
            let mut batch = BatchBuilder::default();
            keys.iter().for_each(|key| batch.push(key, &[]));
            let dense = match was_slow {
                true => end_gaps(&examined, &keys),
                false => Vec::new(),
            };
            self.empty.learn(view, &examined, &batch.finish(None), reverse, dense);
            found.extend(keys);
            match reverse {
                false => rest.start = examined.end,
                true => rest.end = examined.start,
            }
        }
        found
    }

    fn check(&mut self, view: u64, span: &Span, reverse: bool, limit: usize, was_slow: bool) {
        let state = &self.states[&view];
        let mut expected: Vec<_> = state.iter().filter(|k| span.contains(k)).cloned().collect();
        if reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        assert_eq!(self.scan(view, span, reverse, limit, was_slow), expected);
    }
}

/// The gaps before the lowest and behind the highest key.
fn end_gaps(examined: &Span, keys: &[Vec<u8>]) -> Vec<Span> {
    match (keys.iter().min(), keys.iter().max()) {
        (Some(low), Some(high)) => vec![
            Span::new(examined.start.as_slice(), low.as_slice()),
            Span::new(key_after(high), examined.end.as_slice()),
        ],
        _ => vec![examined.clone()],
    }
}

fn key(i: u64) -> Vec<u8> {
    (i as u32).to_be_bytes().to_vec()
}

fn random_commit(history: &mut History, random: &mut Random, keys: u64) {
    let mut deleted = Vec::new();
    if random.below(4) == 0 {
        let from = random.below(keys);
        deleted.push(Span::new(key(from), key(from + 1 + random.below(8))));
    }
    // Often neighbours, as a queue or a log deletes.
    let mut at = random.below(keys);
    let mut writes = BTreeMap::new();
    for _ in 0..=random.below(5) {
        writes.insert(key(at), random.below(5) < 2);
        at = if random.below(2) == 0 { at + 1 } else { random.below(keys) };
    }
    history.commit(&deleted, &writes);
    if random.below(3) > 0 {
        history.publish();
    }
}

#[test]
fn a_scan_that_jumps_finds_what_a_scan_of_everything_finds() {
    for seed in 0..150 {
        let mut random = Random(seed);
        let keys = 30;
        let mut history = History::new(1 + seed % 3);
        let mut open: Vec<u64> = Vec::new();
        for _ in 0..150 {
            match random.below(8) {
                0 => open.push(history.open()),
                1 if !open.is_empty() => {
                    let view = open.swap_remove(random.below(open.len() as u64) as usize);
                    history.close(view);
                }
                2 if random.below(20) == 0 => {
                    let oldest = history.empty.views.oldest().expect("the newest view is alive");
                    history.empty.compacted(oldest);
                }
                2..=4 => random_commit(&mut history, &mut random, keys),
                _ => {
                    let newest = history.published;
                    let views = open.len() as u64 + 2;
                    let view = open.get(random.below(views) as usize).copied().unwrap_or(newest);
                    let from = random.below(keys);
                    let span = Span::new(key(from), key(from + 1 + random.below(keys)));
                    let limit = if random.below(2) == 0 { 1 } else { 1 + random.below(40) };
                    let reverse = random.below(3) == 0;
                    let was_slow = random.below(3) == 0;
                    history.check(view, &span, reverse, limit as usize, was_slow);
                }
            }
            history.empty.map.read().check();
        }
    }
}

/// A queue that several workers empty from the front, each with a snapshot of its own, while jobs
/// come in at the end: however many are done, a poll meets few of them.
#[test]
fn a_poll_of_a_queue_meets_few_finished_jobs() {
    for (workers, jobs) in [(1, 3_000), (16, 3_000)] {
        let mut random = Random(workers as u64);
        let mut history = History::new(16);
        let all = Span::new(key(0), key(1 << 30));
        let mut last = 100;
        history.commit(&[], &(0..last).map(|i| (key(i), true)).collect());
        history.publish();
        let mut taken: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut half = 0;
        for done in 0..jobs {
            if done == jobs / 2 {
                half = history.touched;
            }
            // A worker looks at the first jobs and takes one that nobody has taken.
            let view = history.open();
            let found = history.scan(view, &all, false, workers + 1, false);
            let free = |key: &&Vec<u8>| !taken.iter().any(|(_, other)| other == *key);
            let job = found.iter().find(free).expect("there is a job for each").clone();
            taken.push((view, job));
            if taken.len() == workers {
                let (view, job) = taken.swap_remove(random.below(workers as u64) as usize);
                let writes = BTreeMap::from([(job, false), (key(last), true)]);
                last += 1;
                history.commit(&[], &writes);
                history.close(view);
                history.publish();
            }
        }
        let touched = history.touched;
        assert!(touched / jobs < 64, "{workers} workers: {touched} finished jobs in {jobs} polls");
        assert!(touched - half <= half + half / 4, "{half} in the first half, {touched} in both");
        assert!(history.empty.map.read().len() < 200, "{}", history.empty.map.read().len());
    }
}

/// A snapshot that stays open goes on jumping where it could, whatever is deleted beside it later.
#[test]
fn an_older_snapshot_keeps_its_jumps() {
    let mut history = History::new(4);
    let all = Span::new(key(0), key(1 << 30));
    history.commit(&[], &(0..2_000).map(|i| (key(i), true)).collect());
    history.commit(&[], &(0..1_000).map(|i| (key(i), false)).collect());
    history.publish();
    let older = history.open();
    history.scan(older, &all, false, usize::MAX, false);
    for i in 1_000..1_400 {
        history.commit(&[], &BTreeMap::from([(key(i), false)]));
        history.publish();
        let (newest, first) = (history.published, key(i + 1));
        assert_eq!(history.scan(newest, &all, false, 1, false), [first]);
    }
    history.touched = 0;
    history.check(older, &all, false, 1, false);
    assert_eq!(history.touched, 0);
    history.close(older);
    // Once nobody needs them apart, they are one.
    history.check(history.published, &all, false, 1, false);
    let pieces = history.empty.map.read().len();
    assert!(pieces < 20, "{pieces} spans");
}

/// The key after a bulk delete is found at once after one look at it, by the cleaner or by the
/// first scan.
#[test]
fn keys_after_a_bulk_delete_are_found_without_stepping_over_it() {
    let mut history = History::new(16);
    let all = Span::new(key(0), key(1 << 30));
    history.commit(&[], &(0..20_000).map(|i| (key(i), true)).collect());
    history.commit(&[], &(0..19_990).map(|i| (key(i), i % 5_000 == 0)).collect());
    history.publish();
    let dense = history.empty.dense().expect("many keys were deleted here");
    assert!(all.contains_span(&dense));
    let view = history.published;
    history.scan(view, &all, false, usize::MAX, false);
    assert!(history.touched > 19_000);
    history.touched = 0;
    for reverse in [false, true] {
        history.check(view, &all, reverse, 20, false);
    }
    assert_eq!(history.touched, 0);
    // A put ends it, for those who see it.
    history.commit(&[], &BTreeMap::from([(key(7_000), true)]));
    history.publish();
    history.check(history.published, &all, false, 20, false);
    history.commit(&[Span::new(key(0), key(19_995))], &BTreeMap::new());
    history.publish();
    history.touched = 0;
    history.check(history.published, &all, false, 1, false);
    assert_eq!(history.touched, 0, "a range delete shows at once what is empty");
}

#[test]
fn memory_is_limited_and_what_is_used_stays_longest() {
    let views = LiveViews::default();
    let mut map = Map::default();
    let bytes_max = 40_000;
    let front = Span::new(key(0), key(1));
    map.claim(front.clone(), 1, 100, &views);
    for i in 1..5_000 {
        map.claim(Span::new(key(2 * i), key(2 * i + 1)), i, 1, &views);
        assert_eq!(map.reach(&front, i, 16).jumps, 1, "the front is still known");
        map.shrink(bytes_max);
        map.check();
        assert!(map.bytes() <= bytes_max + bytes_max / 8);
    }
    map.forget_until(u64::MAX);
    assert_eq!((map.len(), map.bytes()), (0, 0));
}
