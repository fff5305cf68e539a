//! A scan of the primary index by columns.

use braid_types::Result;
use futures_util::future::BoxFuture;

use super::ScanOperator;
use crate::operator::column_filter::ColumnFilter;
use crate::operator::columns::{ColumnSource, Columns};

/// What a scan by columns uses again for each batch.
#[derive(Default)]
pub(super) struct ByColumns {
    filter: ColumnFilter,
    started: bool,
}

impl ScanOperator {
    /// Whether rows are read from spans of the primary index, each from one pair, and only read.
    pub(super) fn gives_columns(&self) -> bool {
        self.secondary.is_none()
            && !self.points
            && self.lock.is_none()
            && self.limit.is_none()
            && self.reader.rows.family_count() == 1
    }

    async fn read_columns(&mut self, columns: &mut Columns) -> Result<bool> {
        if self.open.is_none() {
            self.start().await?;
        }
        if !std::mem::replace(&mut self.by_columns.started, true) {
            *columns = self.reader.decoder.columns();
        }
        let keys_only = !self.reader.decoder.needs_values();
        loop {
            self.evaluator.run.check_cancel()?;
            let Some(batch) = self.next_entries(keys_only).await? else { return Ok(false) };
            self.reader.decoder.read_columns(&batch, columns)?;
            let cx = self.evaluator.context();
            self.by_columns.filter.apply(&self.filter, columns, &cx)?;
            if columns.rows > 0 {
                return Ok(true);
            }
        }
    }
}

impl ColumnSource for ScanOperator {
    fn next_columns<'a>(&'a mut self, columns: &'a mut Columns) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.read_columns(columns))
    }
}
