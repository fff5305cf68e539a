//! Scans of catalog views.

use std::collections::HashMap;

use braid_catalog::{Id, Object, VirtualTable};
use braid_plan::VirtualScan;
use braid_system_views::{CatalogLookup, VirtualContext, virtual_rows};
use braid_types::{Error, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::basic::project::keep;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, Operator};

/// A scan of a catalog view: its rows are computed at the first call.
pub struct VirtualScanOperator {
    table: &'static VirtualTable,
    places: Vec<usize>,
    filter: Exprs,
    evaluator: Evaluator,
    rows: Option<std::vec::IntoIter<Row>>,
    held: MemoryReservation,
}

impl VirtualScanOperator {
    /// A scan of the plan's view.
    pub fn new(node: &VirtualScan, evaluator: Evaluator) -> Self {
        Self {
            table: node.table,
            places: node.columns.iter().map(|(_, place)| *place).collect(),
            filter: Exprs::new(node.filter.clone()),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            rows: None,
        }
    }

    /// The last values of the sequences that the view shows; only those of used sequences that
    /// the user may read.
    async fn last_values(&self) -> Result<HashMap<Id, i64>> {
        let cx = &self.evaluator.run.cx;
        let mut values = HashMap::new();
        if !self.table.shows_last_values() {
            return Ok(values);
        }
        let role = cx.catalog.names().role(cx.env.current_user()).map_or(0, |role| role.id);
        for sequence in cx.catalog.sequences().in_database(cx.path.database) {
            let may = |privilege| {
                cx.catalog.privileges().has(role, Object::Sequence(sequence), privilege)
            };
            if !may("USAGE") && !may("SELECT") {
                continue;
            }
            let (last, called) = cx.sequence_state(sequence).await?;
            if called {
                values.insert(sequence.id, last);
            }
        }
        Ok(values)
    }

    async fn compute(&self) -> Result<Vec<Row>> {
        let last_values = self.last_values().await?;
        let cx = &self.evaluator.run.cx;
        let lookup = CatalogLookup::new(cx.catalog.clone(), cx.path.clone());
        virtual_rows(
            self.table,
            &VirtualContext {
                catalog: &cx.catalog,
                path: &cx.path,
                lookup: &lookup,
                env: &*cx.env,
                runtime: &*cx.runtime,
                last_values: &last_values,
            },
        )
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.rows.is_none() {
            let rows = self.compute().await?;
            self.held.take_rows(&rows)?;
            self.rows = Some(rows.into_iter());
        }
        while let Some(rows) = &mut self.rows
            && rows.len() > 0
        {
            self.evaluator.run.breathe().await?;
            let project = |row: Row| -> Result<Row> {
                let value = |at: &usize| row.get(*at).cloned().ok_or_else(|| no_column(*at));
                self.places.iter().map(value).collect()
            };
            let batch = rows.by_ref().take(BATCH_ROWS).map(project).collect::<Result<_>>()?;
            let batch = keep(batch, &self.filter, &self.evaluator).await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

#[cold]
fn no_column(place: usize) -> Error {
    Error::broken(format!("a row of a virtual table has no column {place}"))
}

impl Operator for VirtualScanOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
