//! A table whose rows are locked, or the partitions of one.

use braid_catalog::Id;
use braid_kv::Key;
use braid_plan::{LockedTable, OID_PLACE, Slot};
use braid_rows::TableRows;
use braid_types::{Datum, Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::scan::row_lock::{LockedRow, RowLocker};

/// A table whose rows are locked, or the partitions of one.
pub(super) struct Target {
    /// Place in the input of the oid of a row's partition, if there are several.
    oid: Option<usize>,
    parts: Vec<Part>,
}

/// A table that has rows.
struct Part {
    id: Id,
    rows: TableRows,
    locker: RowLocker,
    /// Places in the input of the primary key.
    key: Vec<usize>,
    given: Vec<Given>,
}

/// What stands at a place of a row that is given.
enum Given {
    /// A column that the locker gives, by its place there.
    Column(usize),
    /// The oid of the partition.
    Oid,
    /// Nothing: the partition lacks the column.
    Null,
}

impl Target {
    /// A target; `places` finds slots in the input.
    pub(super) fn new(
        target: &LockedTable,
        places: &dyn Fn(&[Slot]) -> Result<Vec<usize>>,
        locks: bool,
    ) -> Result<Self> {
        let families = target.families.as_deref();
        let Some((oid, parts)) = &target.parts else {
            let columns: Vec<usize> = target.columns.iter().map(|(_, place)| *place).collect();
            let part = Part {
                id: target.table.id,
                rows: TableRows::new(&target.table)?,
                locker: RowLocker::new(&target.table, &columns, families, target.lock, locks)?,
                key: places(&target.key)?,
                given: (0..columns.len()).map(Given::Column).collect(),
            };
            return Ok(Self { oid: None, parts: vec![part] });
        };
        let oid = places(&[*oid])?.first().copied();
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            let (mut columns, mut given) = (Vec::new(), Vec::new());
            for (_, place) in &target.columns {
                given.push(match part.places.get(*place).copied().flatten() {
                    _ if *place == OID_PLACE => Given::Oid,
                    Some(own) => {
                        columns.push(own);
                        Given::Column(columns.len() - 1)
                    }
                    None => Given::Null,
                });
            }
            found.push(Part {
                id: part.table.id,
                rows: TableRows::new(&part.table)?,
                locker: RowLocker::new(&part.table, &columns, None, target.lock, locks)?,
                key: places(&part.key)?,
                given,
            });
        }
        Ok(Self { oid, parts: found })
    }

    /// The columns of these rows as they are under their locks; `None` for one that is gone or,
    /// with SKIP LOCKED, locked by another.
    pub(super) async fn lock(
        &self,
        evaluator: &Evaluator,
        rows: &[&Row],
    ) -> Result<Vec<Option<LockedRow>>> {
        let mut locked: Vec<Option<LockedRow>> = rows.iter().map(|_| None).collect();
        for part in &self.parts {
            let is_mine = |row: &Row| match self.oid {
                Some(place) => row[place] == Datum::Int(part.id.into()),
                None => true,
            };
            let mine: Vec<usize> = (0..rows.len()).filter(|at| is_mine(rows[*at])).collect();
            if mine.is_empty() {
                continue;
            }
            let keys: Vec<Key> = mine.iter().map(|at| part.key_of(rows[*at])).collect();
            let found = part.locker.rows(evaluator, &keys).await?;
            for (at, row) in mine.into_iter().zip(found) {
                locked[at] = row.map(|row| part.given(row));
            }
        }
        Ok(locked)
    }
}

impl Part {
    fn key_of(&self, row: &Row) -> Key {
        let parts: Vec<Datum> = self.key.iter().map(|place| row[*place].clone()).collect();
        self.rows.primary_key_of_parts(&parts)
    }

    fn given(&self, locked: LockedRow) -> LockedRow {
        let value = |given: &Given| match given {
            Given::Column(place) => locked.row[*place].clone(),
            Given::Oid => Datum::Int(self.id.into()),
            Given::Null => Datum::Null,
        };
        LockedRow { row: self.given.iter().map(value).collect(), stale: locked.stale }
    }
}
