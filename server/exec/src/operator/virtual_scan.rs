//! Scans of catalog views.

use braid_catalog::{CatalogLookup, VirtualContext, VirtualTable};
use braid_plan::VirtualScan;
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use super::eval::Evaluator;
use super::exprs::{Exprs, Held};
use super::project::keep;
use super::{BATCH_ROWS, Operator};

/// A scan of a catalog view: its rows are computed at the first call.
pub struct VirtualScanOperator {
    table: &'static VirtualTable,
    places: Vec<usize>,
    filter: Exprs,
    evaluator: Evaluator,
    rows: Option<std::vec::IntoIter<Row>>,
    held: Held,
}

impl VirtualScanOperator {
    /// A scan of the plan's view.
    pub fn new(node: &VirtualScan, evaluator: Evaluator) -> Self {
        Self {
            table: node.table,
            places: node.columns.iter().map(|(_, place)| *place).collect(),
            filter: Exprs::new(node.filter.clone()),
            held: Held::new(&evaluator.run),
            evaluator,
            rows: None,
        }
    }

    fn compute(&self) -> Result<Vec<Row>> {
        let cx = &self.evaluator.run.cx;
        let lookup = CatalogLookup::new(cx.catalog.clone(), cx.path.clone());
        (self.table.rows)(&VirtualContext {
            catalog: &cx.catalog,
            path: &cx.path,
            lookup: &lookup,
            env: &*cx.env,
            runtime: &*cx.runtime,
        })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.rows.is_none() {
            let rows = self.compute()?;
            self.held.take_rows(&rows)?;
            self.rows = Some(rows.into_iter());
        }
        while let Some(rows) = &mut self.rows
            && rows.len() > 0
        {
            self.evaluator.run.breathe().await?;
            let project = |row: Row| -> Row {
                self.places.iter().map(|p| row.get(*p).cloned().unwrap_or(Datum::Null)).collect()
            };
            let batch: Vec<Row> = rows.by_ref().take(BATCH_ROWS).map(project).collect();
            let batch = keep(batch, &self.filter, &self.evaluator).await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl Operator for VirtualScanOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
