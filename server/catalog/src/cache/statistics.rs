//! Estimates of tables, and how much has changed since they were made. Every snapshot of the
//! catalog shares them.
//!
//! They steer the planner only: nobody's result depends on them, so they live outside of
//! transactions. ANALYZE stores exact ones. Until the next ANALYZE every gateway counts in memory
//! what its statements change, work of transactions that are rolled back included.
//!
//! ```text
//!   statements ──note_changes──▶ changes ──▶ job: ANALYZE of what has changed enough
//!                                   └─────▶ the planner's number of rows
//!   ANALYZE ─────replace──────▶ estimates, generation + 1 ──▶ plans made before are made again
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use braid_kv::Sharded;
use parking_lot::{Mutex, RwLock};

use crate::{Id, TableStatistics};

/// What is assumed of a table that was never analyzed or written since the start.
const ROWS_UNKNOWN: u64 = 1000;
/// The same for the bytes of a row.
const ROW_BYTES_UNKNOWN: u64 = 64;

/// What statements of this gateway have changed in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows inserted, less those deleted.
    pub rows: i64,
    /// Rows inserted, updated and deleted.
    pub changed: i64,
}

impl Changes {
    fn add(&mut self, other: Changes) {
        self.rows = self.rows.saturating_add(other.rows);
        self.changed = self.changed.saturating_add(other.changed);
    }

    fn without(self, other: Changes) -> Changes {
        Changes {
            rows: self.rows.saturating_sub(other.rows),
            changed: self.changed.saturating_sub(other.changed),
        }
    }
}

/// Who has asked for an ANALYZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalyzedBy {
    /// A statement.
    User,
    /// The job that analyzes tables which have changed much.
    Job,
}

/// How often a table was analyzed by this gateway since the start, and when for the last time.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnalyzeRuns {
    /// Runs.
    pub count: u64,
    /// The end of the last one.
    pub last: Option<SystemTime>,
}

/// Runs by statements and by the job.
type RunsOfTable = (AnalyzeRuns, AnalyzeRuns);

/// What is known of a table.
#[derive(Debug, Default)]
struct Known {
    estimates: Option<TableStatistics>,
    /// The part of everything counted that the estimates contain.
    contained: Changes,
}

impl Known {
    fn contains_more(&self, than: Changes) -> bool {
        self.contained.changed > than.changed
    }
}

/// Estimates by table.
#[derive(Debug, Default)]
pub struct Statistics {
    tables: RwLock<HashMap<Id, Known>>,
    /// Everything counted since the start. Nothing is ever taken from it: of two runs of ANALYZE
    /// side by side each says which part it has seen.
    counted: Sharded<Mutex<HashMap<Id, Changes>>>,
    runs: Mutex<HashMap<Id, RunsOfTable>>,
    generation: AtomicU64,
}

impl Statistics {
    /// The estimates of a table as they were made.
    pub fn of(&self, table: Id) -> TableStatistics {
        self.estimates(table, TableStatistics::clone).unwrap_or_else(|| TableStatistics {
            rows: ROWS_UNKNOWN,
            row_bytes: ROW_BYTES_UNKNOWN,
            ..TableStatistics::default()
        })
    }

    /// Something of a table's estimates, if there are any.
    fn estimates<T>(&self, table: Id, get: impl FnOnce(&TableStatistics) -> T) -> Option<T> {
        self.tables.read().get(&table)?.estimates.as_ref().map(get)
    }

    /// The same with the number of rows that the planner is to expect now.
    ///
    /// A table that nobody has analyzed counts as one of 1,000 rows at least: it may grow while its
    /// plans are in use.
    pub fn expected(&self, table: Id) -> TableStatistics {
        let mut statistics = self.of(table);
        let rows = self.changes_of(table).rows;
        let counted = statistics.rows.saturating_add_signed(rows);
        statistics.rows = match statistics.rows {
            _ if rows == 0 => statistics.rows,
            0 if counted <= ROWS_UNKNOWN => 0,
            _ if !self.is_known(table) => rows.max(0).unsigned_abs().max(ROWS_UNKNOWN),
            _ => counted.max(1),
        };
        statistics
    }

    /// The rows that a table has now, as far as they were counted.
    pub fn live_rows(&self, table: Id) -> u64 {
        let known = self.estimates(table, |estimates| estimates.rows).unwrap_or(0);
        known.saturating_add_signed(self.changes_of(table).rows)
    }

    /// Whether anything is known of a table.
    pub fn is_known(&self, table: Id) -> bool {
        self.estimates(table, |_| ()).is_some()
    }

    /// A number that changes whenever a table was analyzed, so that plans are made again.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Replaces the estimates of a table. `contained` is what they contain: [`Self::counted`] just
    /// before the rows were read. Estimates that contain more than these stay.
    pub fn replace(&self, table: Id, estimates: TableStatistics, contained: Changes) {
        let mut tables = self.tables.write();
        let known = tables.entry(table).or_default();
        if !known.contains_more(contained) {
            *known = Known { estimates: Some(estimates), contained };
        }
        drop(tables);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Whether the estimates of a table contain more than this: another run began later.
    pub fn contain_more(&self, table: Id, contained: Changes) -> bool {
        self.tables.read().get(&table).is_some_and(|known| known.contains_more(contained))
    }

    /// Forgets the estimates of a table.
    pub fn clear(&self, table: Id) {
        if let Some(known) = self.tables.write().get_mut(&table) {
            known.estimates = None;
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Forgets a table that is gone.
    pub fn forget(&self, table: Id) {
        self.tables.write().remove(&table);
        self.runs.lock().remove(&table);
        for share in self.counted.iter() {
            share.lock().remove(&table);
        }
    }

    /// A transaction that has created or emptied a table is about to commit. `contained` is
    /// [`Self::counted`] before it did so.
    pub fn start_empty(&self, table: Id, contained: Changes) {
        let empty = TableStatistics { row_bytes: ROW_BYTES_UNKNOWN, ..Default::default() };
        self.tables.write().insert(table, Known { estimates: Some(empty), contained });
    }

    /// A statement has changed rows of a table.
    pub fn note_changes(&self, table: Id, changes: Changes) {
        self.counted.here().lock().entry(table).or_default().add(changes);
    }

    /// Everything that was counted of a table since the start.
    pub fn counted(&self, table: Id) -> Changes {
        let mut all = Changes::default();
        for share in self.counted.iter() {
            if let Some(changes) = share.lock().get(&table) {
                all.add(*changes);
            }
        }
        all
    }

    /// What has changed in a table since its estimates were made.
    pub fn changes_of(&self, table: Id) -> Changes {
        let contained = self.tables.read().get(&table).map(|known| known.contained);
        self.counted(table).without(contained.unwrap_or_default())
    }

    /// Every table in which something has changed since its estimates were made.
    pub fn changed(&self) -> HashMap<Id, Changes> {
        let mut all: HashMap<Id, Changes> = HashMap::new();
        for share in self.counted.iter() {
            for (table, changes) in share.lock().iter() {
                all.entry(*table).or_default().add(*changes);
            }
        }
        for (table, known) in self.tables.read().iter() {
            if let Some(changes) = all.get_mut(table) {
                *changes = changes.without(known.contained);
            }
        }
        all
    }

    /// Counts an ANALYZE that has ended now.
    pub fn note_run(&self, table: Id, by: AnalyzedBy) {
        let mut runs = self.runs.lock();
        let (by_user, by_job) = runs.entry(table).or_default();
        let run = match by {
            AnalyzedBy::User => by_user,
            AnalyzedBy::Job => by_job,
        };
        *run = AnalyzeRuns { count: run.count + 1, last: Some(SystemTime::now()) };
    }

    /// How often a table was analyzed.
    pub fn runs_of(&self, table: Id, by: AnalyzedBy) -> AnalyzeRuns {
        let (by_user, by_job) = self.runs.lock().get(&table).copied().unwrap_or_default();
        match by {
            AnalyzedBy::User => by_user,
            AnalyzedBy::Job => by_job,
        }
    }

    /// Keeps what is known of these tables only.
    pub fn retain(&self, stays: impl Fn(Id) -> bool) {
        self.tables.write().retain(|id, _| stays(*id));
        self.runs.lock().retain(|id, _| stays(*id));
        for share in self.counted.iter() {
            share.lock().retain(|id, _| stays(*id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(rows: i64) -> Changes {
        Changes { rows, changed: rows.abs() }
    }

    fn of_rows(rows: u64) -> TableStatistics {
        TableStatistics { rows, ..TableStatistics::default() }
    }

    #[test]
    fn rows_are_counted_on_from_every_thread() {
        let statistics = Statistics::default();
        statistics.replace(1, of_rows(5_000), Changes::default());
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| statistics.note_changes(1, grown(100)));
            }
        });
        assert_eq!(statistics.changes_of(1), Changes { rows: 2_000, changed: 2_000 });
        assert_eq!(statistics.expected(1).rows, 7_000);
        assert_eq!((statistics.live_rows(1), statistics.of(1).rows), (7_000, 5_000));
        statistics.note_changes(1, grown(-9_000));
        assert_eq!(statistics.expected(1).rows, 1, "an analyzed table has a row at least");
        assert_eq!(statistics.changes_of(1).changed, 11_000);
    }

    #[test]
    fn what_changes_while_a_table_is_read_stays_counted() {
        let statistics = Statistics::default();
        statistics.note_changes(1, grown(700));
        let before = statistics.counted(1);
        statistics.note_changes(1, grown(30));
        let generation = statistics.generation();
        statistics.replace(1, of_rows(700), before);
        assert_eq!(statistics.changes_of(1), grown(30));
        assert_eq!(statistics.live_rows(1), 730);
        assert_ne!(statistics.generation(), generation);
    }

    /// Whichever of two runs ends last, the estimates are those of the one that began later, and no
    /// change is taken off twice.
    #[test]
    fn runs_side_by_side_count_each_change_once() {
        for order in [[0, 1], [1, 0]] {
            let statistics = Statistics::default();
            statistics.note_changes(1, grown(700));
            let first = statistics.counted(1);
            statistics.note_changes(1, grown(50));
            let second = statistics.counted(1);
            statistics.note_changes(1, grown(3));
            let runs = [(700, first), (750, second)];
            for (rows, contained) in order.map(|run| runs[run]) {
                statistics.replace(1, of_rows(rows), contained);
            }
            assert!(statistics.contain_more(1, first) && !statistics.contain_more(1, second));
            assert_eq!((statistics.of(1).rows, statistics.live_rows(1)), (750, 753));
            assert_eq!(statistics.changed()[&1], grown(3));
            statistics.clear(1);
            assert!(!statistics.is_known(1));
            assert_eq!(statistics.changes_of(1), grown(3));
        }
    }

    #[test]
    fn a_table_without_estimates_has_a_thousand_rows_or_more() {
        let statistics = Statistics::default();
        statistics.note_changes(1, grown(20));
        assert_eq!(statistics.expected(1).rows, 1_000);
        statistics.note_changes(1, grown(80_000));
        assert_eq!(statistics.expected(1).rows, 80_020);
        statistics.start_empty(2, Changes::default());
        statistics.note_changes(2, grown(20));
        assert_eq!((statistics.expected(2).rows, statistics.live_rows(2)), (0, 20));
        statistics.note_changes(2, grown(80_000));
        assert_eq!(statistics.expected(2).rows, 80_020);
        let emptied = statistics.counted(2);
        statistics.note_changes(2, grown(7));
        statistics.start_empty(2, emptied);
        assert_eq!((statistics.live_rows(2), statistics.changes_of(2)), (7, grown(7)));
    }

    #[test]
    fn runs_of_statements_and_of_the_job_are_told_apart() {
        let statistics = Statistics::default();
        statistics.note_run(1, AnalyzedBy::Job);
        statistics.note_run(1, AnalyzedBy::Job);
        assert_eq!(statistics.runs_of(1, AnalyzedBy::Job).count, 2);
        assert!(statistics.runs_of(1, AnalyzedBy::Job).last.is_some());
        assert_eq!(statistics.runs_of(1, AnalyzedBy::User).count, 0);
    }
}
