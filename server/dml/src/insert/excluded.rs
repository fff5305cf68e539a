//! ON CONFLICT DO NOTHING where exclusion constraints decide as well.

use braid_catalog::IndexNumber;
use braid_types::{Result, Row};

use super::{InsertOperator, Proposed};
use crate::exclusions::is_excluded;

impl InsertOperator {
    /// Inserts the rows that conflict with nothing; `arbiters` empty means any constraint. Where an
    /// exclusion constraint is one of these, rows go one by one: each looks at those before it.
    pub(super) async fn insert_allowed(
        &mut self,
        proposed: Vec<Proposed>,
        arbiters: &[IndexNumber],
    ) -> Result<Vec<Row>> {
        if !self.has_exclusions(arbiters) {
            return self.insert_free(proposed, arbiters).await;
        }
        let mut written = Vec::new();
        for row in proposed {
            if !self.is_excluded(&row, arbiters).await? {
                written.append(&mut self.insert_free(vec![row], arbiters).await?);
            }
        }
        Ok(written)
    }

    fn has_exclusions(&self, arbiters: &[IndexNumber]) -> bool {
        let mut indexes = self.writer.indexes.iter();
        indexes.any(|rows| !rows.excluded_by.is_empty() && is_arbiter(arbiters, rows.number))
    }

    async fn is_excluded(&mut self, row: &Proposed, arbiters: &[IndexNumber]) -> Result<bool> {
        let table = &self.writer.rows.table;
        for (rows, entry) in self.writer.indexes.iter().zip(&row.entries.by_index) {
            if rows.excluded_by.is_empty() || !is_arbiter(arbiters, rows.number) {
                continue;
            }
            // A row that a partial constraint leaves out has no entry.
            let (Some(entry), Some(index)) = (entry, table.index(rows.number)) else { continue };
            if is_excluded(&self.writing, (table, index), &entry.key).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_arbiter(arbiters: &[IndexNumber], number: IndexNumber) -> bool {
    arbiters.is_empty() || arbiters.contains(&number)
}
