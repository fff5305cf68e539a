//! Counters of relations and databases.

use std::collections::HashMap;

use braid_catalog::Id;
use braid_kv::Sharded;
use braid_system_views::{DatabaseCounts, RelationCounts};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::clock::now_micros;

/// Relations in one share; beyond it the half that is used less is forgotten.
const RELATIONS_MAX: usize = 16_384;

/// The share of one group of threads.
#[derive(Default)]
struct Share {
    /// By database and relation.
    relations: FxHashMap<(Id, Id), RelationCounts>,
    databases: FxHashMap<Id, DatabaseCounts>,
}

/// Counters of relations and databases.
#[derive(Default)]
pub(crate) struct Activity {
    shares: Sharded<Mutex<Share>>,
}

impl Activity {
    /// Adds to the counters of a relation, and to those of its database.
    pub(crate) fn count_relation(&self, database: Id, relation: Id, counts: &RelationCounts) {
        let mut share = self.shares.here().lock();
        share.databases.entry(database).or_default().relations.add(counts);
        let key = (database, relation);
        if share.relations.len() >= RELATIONS_MAX && !share.relations.contains_key(&key) {
            forget_half(&mut share.relations);
        }
        share.relations.entry(key).or_default().add(counts);
    }

    /// Changes the counters of a database.
    pub(crate) fn count(&self, database: Id, change: impl FnOnce(&mut DatabaseCounts)) {
        change(self.shares.here().lock().databases.entry(database).or_default());
    }

    /// The relations of a database.
    pub(crate) fn relations(&self, database: Id) -> HashMap<Id, RelationCounts> {
        let mut all: HashMap<Id, RelationCounts> = HashMap::new();
        for share in self.shares.iter() {
            let share = share.lock();
            for ((of, relation), counts) in &share.relations {
                if *of == database {
                    all.entry(*relation).or_default().add(counts);
                }
            }
        }
        all
    }

    /// Every database.
    pub(crate) fn databases(&self) -> HashMap<Id, DatabaseCounts> {
        let mut all: HashMap<Id, DatabaseCounts> = HashMap::new();
        for share in self.shares.iter() {
            for (database, counts) in &share.lock().databases {
                all.entry(*database).or_default().add(counts);
            }
        }
        all
    }

    /// `pg_stat_reset()`: everything of a database begins at 0.
    pub(crate) fn reset(&self, database: Id) {
        let counts = DatabaseCounts { reset: Some(now_micros()), ..DatabaseCounts::default() };
        for share in self.shares.iter() {
            let mut share = share.lock();
            share.relations.retain(|(of, _), _| *of != database);
            share.databases.insert(database, counts);
        }
    }

    /// `pg_stat_reset_single_table_counters()`
    pub(crate) fn reset_relation(&self, database: Id, relation: Id) {
        for share in self.shares.iter() {
            share.lock().relations.remove(&(database, relation));
        }
    }
}

fn forget_half(relations: &mut FxHashMap<(Id, Id), RelationCounts>) {
    let mut totals: Vec<u64> = relations.values().map(RelationCounts::total).collect();
    let middle = totals.len() / 2;
    let (_, median, _) = totals.select_nth_unstable(middle);
    let median = *median;
    relations.retain(|_, counts| counts.total() > median);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(scans: u64) -> RelationCounts {
        RelationCounts { scans, ..RelationCounts::default() }
    }

    #[test]
    fn shares_are_added_up_and_reset() {
        let activity = Activity::default();
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| activity.count_relation(1, 2, &scanned(3)));
            }
        });
        activity.count_relation(7, 8, &scanned(1));
        assert_eq!(activity.relations(1)[&2], scanned(30));
        assert_eq!(activity.databases()[&1].relations, scanned(30));
        activity.reset(1);
        assert!(activity.relations(1).is_empty());
        assert!(activity.databases()[&1].reset.is_some());
        assert_eq!(activity.relations(7)[&8], scanned(1));
        activity.reset_relation(7, 8);
        assert!(activity.relations(7).is_empty());
    }

    #[test]
    fn what_is_used_outlives_the_bound() {
        let activity = Activity::default();
        activity.count_relation(1, 1, &scanned(1_000_000));
        for relation in 2..40_000 {
            activity.count_relation(1, relation, &scanned(1));
        }
        let all = activity.relations(1);
        assert!(all.len() <= RELATIONS_MAX);
        assert_eq!(all[&1], scanned(1_000_000));
    }
}
