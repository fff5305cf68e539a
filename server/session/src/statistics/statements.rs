//! `pg_stat_statements`: runs of statements that differ in nothing but constants, by user and
//! database.
//!
//! ```text
//!   a statement ends ──▶ its thread's share: calls, rows, times
//!                         │ not there yet
//!                         └──▶ the list of all: its text; the rarest go if there are too many
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_kv::Sharded;
use braid_sql::Normalized;
use braid_system_views::{StatementInfo, StatementsInfo};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::clock::now_micros;

/// `pg_stat_statements.max`: statements that are kept.
pub(crate) const STATEMENTS_MAX: usize = 5000;
/// Percent of the kept statements that are evicted when there is no room.
const EVICTED_PERCENT: usize = 5;

/// The key of a statement's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub user: Id,
    pub database: Id,
    pub id: i64,
}

/// What is counted. Times are milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    calls: u64,
    rows: u64,
    total: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Counts {
    fn one(rows: u64, millis: f64) -> Counts {
        let squares = millis * millis;
        Counts { calls: 1, rows, total: millis, squares, min: millis, max: millis }
    }

    fn add(&mut self, other: &Counts) {
        if self.calls == 0 {
            *self = *other;
            return;
        }
        self.calls += other.calls;
        self.rows += other.rows;
        self.total += other.total;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    fn info(&self, key: Key, text: Arc<str>) -> StatementInfo {
        let calls = self.calls.max(1) as f64;
        let mean = self.total / calls;
        let variance = (self.squares / calls - mean * mean).max(0.0);
        StatementInfo {
            user: key.user,
            database: key.database,
            id: key.id,
            text,
            calls: self.calls,
            rows: self.rows,
            total: self.total,
            min: self.min,
            max: self.max,
            mean,
            deviation: variance.sqrt(),
        }
    }
}

/// Every statement that is kept.
#[derive(Default)]
struct Known {
    texts: FxHashMap<Key, Arc<str>>,
    evictions: u64,
    reset: i64,
}

/// Counters of statements.
pub(crate) struct Statements {
    shares: Sharded<Mutex<FxHashMap<Key, Counts>>>,
    known: Mutex<Known>,
    max: usize,
}

impl Default for Statements {
    fn default() -> Self {
        Statements::new(STATEMENTS_MAX)
    }
}

impl Statements {
    fn new(max: usize) -> Self {
        let known = Known { reset: now_micros(), ..Known::default() };
        Statements { shares: Sharded::default(), known: Mutex::new(known), max }
    }

    /// A run that has ended.
    pub(crate) fn count(&self, key: Key, normalized: &Normalized, rows: u64, millis: f64) {
        let counts = Counts::one(rows, millis);
        if let Some(found) = self.shares.here().lock().get_mut(&key) {
            found.add(&counts);
            return;
        }
        self.enter(key, &normalized.text);
        self.shares.here().lock().entry(key).or_default().add(&counts);
    }

    /// More rows of a run that is counted already, as a client fetches them in parts.
    pub(crate) fn count_more(&self, key: Key, rows: u64, millis: f64) {
        if let Some(found) = self.shares.here().lock().get_mut(&key) {
            found.rows += rows;
            found.total += millis;
        }
    }

    /// Makes room for a statement and keeps its text.
    fn enter(&self, key: Key, text: &str) {
        let mut known = self.known.lock();
        if known.texts.contains_key(&key) {
            return;
        }
        if known.texts.len() >= self.max {
            self.evict(&mut known);
        }
        known.texts.insert(key, text.into());
    }

    /// Forgets the statements that have run most rarely.
    fn evict(&self, known: &mut Known) {
        let sums = self.sums();
        let calls = |key: &Key| sums.get(key).map_or(0, |counts| counts.calls);
        let mut keys: Vec<Key> = known.texts.keys().copied().collect();
        keys.sort_unstable_by_key(calls);
        keys.truncate((self.max * EVICTED_PERCENT / 100).max(1));
        known.evictions += 1;
        keys.iter().for_each(|key| drop(known.texts.remove(key)));
        self.keep_known(known);
    }

    /// Removes what is in a share and not among the known statements.
    fn keep_known(&self, known: &Known) {
        for share in self.shares.iter() {
            share.lock().retain(|key, _| known.texts.contains_key(key));
        }
    }

    fn sums(&self) -> HashMap<Key, Counts> {
        let mut sums: HashMap<Key, Counts> = HashMap::new();
        for share in self.shares.iter() {
            for (key, counts) in share.lock().iter() {
                sums.entry(*key).or_default().add(counts);
            }
        }
        sums
    }

    /// All statements, how often some were evicted, and when all were forgotten.
    pub(crate) fn all(&self) -> StatementsInfo {
        let known = self.known.lock();
        self.keep_known(&known);
        let sums = self.sums().into_iter();
        let info = |(key, counts): (Key, Counts)| {
            let text = known.texts.get(&key)?;
            Some(counts.info(key, text.clone()))
        };
        let all = sums.filter_map(info).collect();
        StatementsInfo { all, evictions: known.evictions, reset: known.reset }
    }

    /// Forgets the statements of a user, of a database, with a number; 0 stands for any.
    pub(crate) fn reset(&self, user: Id, database: Id, id: i64) {
        let mut known = self.known.lock();
        let is_meant = |key: &Key| {
            (user == 0 || key.user == user)
                && (database == 0 || key.database == database)
                && (id == 0 || key.id == id)
        };
        known.texts.retain(|key, _| !is_meant(key));
        if (user, database, id) == (0, 0, 0) {
            known.evictions = 0;
            known.reset = now_micros();
        }
        self.keep_known(&known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(statements: &Statements, (user, database): (Id, Id), id: i64, millis: f64) {
        let normalized = Normalized { text: format!("statement {id}"), id };
        statements.count(Key { user, database, id }, &normalized, 2, millis);
    }

    #[test]
    fn runs_are_added_up_over_threads() {
        let statements = Statements::new(10);
        std::thread::scope(|scope| {
            for millis in 1..=9 {
                let statements = &statements;
                scope.spawn(move || count(statements, (1, 2), 3, f64::from(millis)));
            }
        });
        let StatementsInfo { all, evictions, .. } = statements.all();
        let [info] = &all[..] else { panic!("{all:?}") };
        assert_eq!((info.calls, info.rows, evictions), (9, 18, 0));
        assert_eq!((info.min, info.max, info.mean, info.total), (1.0, 9.0, 5.0, 45.0));
        assert!((info.deviation - (60.0f64 / 9.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn the_rarest_go_first() {
        let statements = Statements::new(100);
        for _ in 0..3 {
            count(&statements, (1, 2), 1, 1.0);
        }
        for id in 2..5_000 {
            count(&statements, (1, 2), id, 1.0);
        }
        let StatementsInfo { all, evictions, .. } = statements.all();
        assert!(all.len() <= 100 && all.len() > 90, "{}", all.len());
        assert!(all.iter().any(|info| info.id == 1 && info.calls == 3));
        assert!(evictions > 100);
    }

    #[test]
    fn a_reset_takes_what_is_meant() {
        let statements = Statements::new(100);
        for (user, database, id) in [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 1, 2)] {
            count(&statements, (user, database), id, 1.0);
        }
        statements.reset(2, 1, 2);
        assert_eq!(statements.all().all.len(), 3);
        statements.reset(1, 0, 0);
        assert_eq!(statements.all().all.len(), 1);
        statements.reset(0, 0, 0);
        assert!(statements.all().all.is_empty());
    }
}
