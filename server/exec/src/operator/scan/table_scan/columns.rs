//! A scan by columns: of the primary index, or of a secondary one that has all columns.
//!
//! Columns are decoded in steps ([`Stages`]): those of conditions first, all others only of the
//! rows that are left. Where rows are wanted, only those that are left are made.

use braid_kv::{Key, ScanBatch};
use braid_plan::Expr;
use braid_rows::Columns;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::column_source::{ColumnSource, RowTest};
use crate::operator::scan::table_scan::stages::Stages;
use crate::operator::scan::table_scan::{Layout, ScanOperator};

/// Fewer rows than this are looked at one by one.
const ROWS_MIN: usize = 16;

/// What a scan by columns uses again for each batch.
pub(crate) struct ByColumns {
    stages: Stages,
    /// The conditions' columns, where rows are wanted.
    columns: Columns,
}

impl ByColumns {
    /// For conditions, and a test that reads columns at these places.
    fn new(layout: &Layout, filter: &[Expr], tested: &[usize]) -> Box<Self> {
        let (stages, columns) = (Stages::new(layout, filter, tested), Columns::default());
        Box::new(Self { stages, columns })
    }
}

impl ScanOperator {
    /// Whether rows are read from spans of one index, each from one pair, and only read.
    pub(crate) fn gives_columns(&self) -> bool {
        let is_whole = match &self.layout.secondary {
            Some(index) => index.covering.is_some(),
            None => self.layout.reader.rows.family_count() == 1,
        };
        is_whole
            && !self.points
            && self.layout.inverted.is_none()
            && self.locker.is_none()
            && self.limit.is_none()
            && self.offset.is_none()
    }

    async fn read_columns(
        &mut self,
        columns: &mut Columns,
        mut test: Option<&mut dyn RowTest>,
    ) -> Result<bool> {
        if self.open.is_none() && self.entries.is_none() {
            self.start().await?;
            *columns = self.layout.columns();
        }
        let keys_only =
            self.layout.secondary.is_none() && !self.layout.reader.decoder.needs_values();
        loop {
            self.evaluator.run.check_interrupts().await?;
            self.failed.check()?;
            let Some(batch) = self.next_entries(keys_only).await? else { return Ok(false) };
            let tested = test.as_ref().map_or(&[][..], |test| test.places());
            let make = || ByColumns::new(&self.layout, &self.filter, tested);
            let by = self.by_columns.get_or_insert_with(make);
            let error = by.stages.narrow(&batch, columns, &self.evaluator.context())?;
            if let Some(error) = error {
                self.failed.keep(error, columns.rows > 0)?;
            }
            if let Some(test) = &mut test {
                by.stages.test(&batch, columns, &mut **test)?;
            }
            if columns.rows > 0 {
                by.stages.complete(&batch, columns)?;
                return Ok(true);
            }
        }
    }

    /// The rows of a batch on which the conditions hold; and their keys, if they are to be locked.
    pub(crate) fn rows_of_batch(&mut self, batch: &ScanBatch) -> Result<(Vec<Key>, Vec<Row>)> {
        if self.filter.is_empty() {
            let skipped = self.skipped_of(batch.len());
            return self.rows_of_entries(batch.iter().skip(skipped));
        }
        if batch.len() < ROWS_MIN {
            return self.rows_one_by_one(batch);
        }
        let make = || ByColumns::new(&self.layout, &self.filter, &[]);
        let mut by = self.by_columns.take().unwrap_or_else(make);
        if by.columns.list.is_empty() {
            by.columns = self.layout.columns();
        }
        let cx = self.evaluator.context();
        let result = match by.stages.narrow(batch, &mut by.columns, &cx)? {
            None => self.rows_of_entries(by.stages.left(batch)),
            Some(_) => self.rows_one_by_one(batch),
        };
        self.by_columns = Some(by);
        result
    }

    fn rows_of_entries<'e>(
        &self,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone,
    ) -> Result<(Vec<Key>, Vec<Row>)> {
        let decoder = &self.layout.reader.decoder;
        let width = decoder.width() + self.room;
        let rows = entries.clone().map(|(key, value)| {
            let mut row = Row::with_capacity(width);
            decoder.append(&mut row, key, value)?;
            Ok(row)
        });
        let rows = rows.collect::<Result<Vec<Row>>>()?;
        if self.locker.is_none() {
            return Ok((Vec::new(), rows));
        }
        let keys = entries.map(|(key, _)| decoder.row_key(key).map(<[u8]>::to_vec));
        Ok((keys.collect::<Result<Vec<Key>>>()?, rows))
    }

    /// The same, up to the first row on which a condition fails.
    fn rows_one_by_one(&mut self, batch: &ScanBatch) -> Result<(Vec<Key>, Vec<Row>)> {
        let (mut keys, mut rows) = (Vec::new(), Vec::with_capacity(batch.len()));
        for (key, value) in batch.iter() {
            let decoder = &self.layout.reader.decoder;
            let row = decoder.row(key, [value])?;
            if self.failed.passes(self.evaluator.holds_now(&self.filter, &row)) {
                if self.locker.is_some() {
                    keys.push(self.layout.reader.decoder.row_key(key)?.to_vec());
                }
                rows.push(row);
            }
        }
        Ok((keys, rows))
    }
}

impl ColumnSource for ScanOperator {
    fn next_columns<'a>(
        &'a mut self,
        columns: &'a mut Columns,
        test: Option<&'a mut dyn RowTest>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.read_columns(columns, test))
    }
}
