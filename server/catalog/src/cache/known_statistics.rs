//! The stored statistics that are in use, so that one read twice does not end what was counted
//! since.
//!
//! A read of the stored ones takes a while, and this gateway may store newer ones meanwhile. What
//! has changed here since the read began is therefore not replaced: the reader reads again.

use std::collections::HashMap;
use std::sync::Arc;

use braid_cluster::records::corrupt;
use braid_kv::{Result as KvResult, Value};
use parking_lot::Mutex;

use crate::{Changes, Id, Statistics, TableStatistics};

/// Stored statistics by table, as they were written or read.
type Values = HashMap<Id, Value>;

/// The stored statistics that are in use.
#[derive(Default)]
pub(super) struct KnownStatistics {
    shared: Arc<Statistics>,
    values: Mutex<Values>,
}

impl KnownStatistics {
    /// What the planner reads.
    pub(super) fn shared(&self) -> &Arc<Statistics> {
        &self.shared
    }

    /// What is in use: to be taken before a read of the store.
    pub(super) fn values(&self) -> Values {
        self.values.lock().clone()
    }

    /// Uses what a table has in the store. `before` is [`Self::values`] before it was read. Nothing
    /// happens if it is in use already. The result is false if other statistics have come into use
    /// since `before`: the value that was read may be older.
    pub(super) fn use_read(&self, before: &Values, value: Value) -> KvResult<bool> {
        let (table, statistics): (Id, TableStatistics) =
            serde_json::from_slice(&value).map_err(corrupt)?;
        let mut values = self.values.lock();
        let known = values.get(&table);
        if known == Some(&value) {
            return Ok(true);
        }
        if known != before.get(&table) {
            return Ok(false);
        }
        values.insert(table, value);
        self.shared.replace(table, statistics, self.shared.counted(table));
        Ok(true)
    }

    /// This gateway has stored these statistics. `counted` are the changes that they contain.
    pub(super) fn use_stored(
        &self,
        table: Id,
        value: Value,
        statistics: TableStatistics,
        counted: Changes,
    ) {
        let mut values = self.values.lock();
        values.insert(table, value);
        self.shared.replace(table, statistics, counted);
    }

    /// This gateway has removed the statistics of a table.
    pub(super) fn forget(&self, table: Id) {
        let mut values = self.values.lock();
        values.remove(&table);
        self.shared.clear(table);
    }

    /// Keeps what is known of these tables only.
    pub(super) fn retain(&self, stays: impl Fn(Id) -> bool) {
        self.shared.retain(&stays);
        self.values.lock().retain(|id, _| stays(*id));
    }
}

#[cfg(test)]
mod tests {
    use braid_cluster::records::to_json;

    use super::*;

    fn of_rows(rows: u64) -> (TableStatistics, Value) {
        let statistics = TableStatistics { rows, ..TableStatistics::default() };
        let value = to_json(&(1 as Id, &statistics)).unwrap();
        (statistics, value)
    }

    #[test]
    fn what_was_read_before_a_newer_one_was_stored_is_not_used() {
        let known = KnownStatistics::default();
        let (first, first_value) = of_rows(1_000);
        known.use_stored(1, first_value.clone(), first, Changes::default());
        let (newer, newer_value) = of_rows(2_000);
        let before = known.values();
        known.use_stored(1, newer_value.clone(), newer, Changes::default());
        let rows = || known.shared().of(1).rows;
        assert!(!known.use_read(&before, first_value.clone()).unwrap());
        assert_eq!(rows(), 2_000);
        // The second read sees the newer one, and then what another gateway has stored.
        let before = known.values();
        assert!(known.use_read(&before, newer_value).unwrap());
        let (_, other) = of_rows(3_000);
        assert!(known.use_read(&before, other).unwrap());
        assert_eq!(rows(), 3_000);
        let before = known.values();
        known.forget(1);
        assert!(!known.use_read(&before, first_value).unwrap());
        assert!(!known.shared().is_known(1));
    }

    #[test]
    fn what_was_counted_since_stays_if_the_same_is_read_again() {
        let known = KnownStatistics::default();
        let (_, value) = of_rows(10);
        assert!(known.use_read(&known.values(), value.clone()).unwrap());
        known.shared().note_changes(1, Changes { rows: 5, changed: 5 });
        assert!(known.use_read(&known.values(), value).unwrap());
        assert_eq!(known.shared().live_rows(1), 15);
    }
}
