//! Scans of catalog views.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Id, Object, VirtualTable};
use braid_plan::{CompareOp, Expr, VirtualScan};
use braid_system_views::{CatalogLookup, VirtualContext, virtual_rows};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::large_objects::all_objects;
use crate::operator::basic::project::keep;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::postponed::Postponed;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::kept_view::{KeptView, no_column};
use crate::operator::{BATCH_ROWS, Operator};

/// A scan of a catalog view: its rows are computed at the first call.
pub(crate) struct VirtualScanOperator {
    table: &'static VirtualTable,
    places: Vec<usize>,
    filter: Exprs,
    evaluator: Evaluator,
    rows: Option<Rows>,
    failed: Postponed,
    held: MemoryReservation,
}

/// The rows that are left.
enum Rows {
    Computed(std::vec::IntoIter<Row>),
    /// Of a view that the statement keeps, with the places of the rows.
    Kept(Arc<KeptView>, std::vec::IntoIter<usize>),
}

impl Rows {
    /// The next rows, at most [`BATCH_ROWS`], with the columns that are asked for.
    fn batch(&mut self, columns: &[usize]) -> Result<Vec<Row>> {
        let project = |row: &Row| -> Result<Row> {
            let value = |at: &usize| row.get(*at).cloned().ok_or_else(|| no_column(*at));
            columns.iter().map(value).collect()
        };
        match self {
            Rows::Computed(rows) => {
                rows.by_ref().take(BATCH_ROWS).map(|row| project(&row)).collect()
            }
            Rows::Kept(view, places) => {
                let rows = places.by_ref().take(BATCH_ROWS).filter_map(|at| view.rows.get(at));
                rows.map(project).collect()
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Rows::Computed(rows) => rows.len() == 0,
            Rows::Kept(_, places) => places.len() == 0,
        }
    }
}

impl VirtualScanOperator {
    /// A scan of the plan's view.
    pub(crate) fn new(node: &VirtualScan, evaluator: Evaluator) -> Self {
        Self {
            table: node.table,
            places: node.columns.iter().map(|(_, place)| *place).collect(),
            filter: Exprs::new(node.filter.clone()),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            rows: None,
            failed: Postponed::default(),
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
        let large_objects = match self.table.shows_large_objects() {
            true => all_objects(cx).await?,
            false => Vec::new(),
        };
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
                large_objects: &large_objects,
            },
        )
    }

    /// The view's rows, those of [`VirtualScanOperator::wanted`] if that is cheap to know.
    async fn read(&mut self) -> Result<Rows> {
        let run = self.evaluator.run.clone();
        let (kept, to_be_kept) = run.views.scan(self.table.oid);
        let view = match kept {
            Some(view) => view,
            None => {
                let rows = self.compute().await?;
                if !to_be_kept || !self.table.is_of_catalog() {
                    self.held.take_rows(&rows)?;
                    return Ok(Rows::Computed(rows.into_iter()));
                }
                run.count_rows(&rows)?;
                run.views.keep(self.table.oid, rows)
            }
        };
        let places = match self.wanted() {
            Some((column, value)) => {
                let value = self.evaluator.eval(value, &[]).await?;
                view.find(column, &value)?
            }
            None => (0..view.rows.len()).collect(),
        };
        Ok(Rows::Kept(view, places.into_iter()))
    }

    /// A column of the view, and the value that it is to have.
    fn wanted(&self) -> Option<(usize, &Expr)> {
        self.filter.list.iter().find_map(|condition| {
            let Expr::Compare(CompareOp::Eq, left, right) = condition else { return None };
            match (&**left, &**right) {
                (Expr::Input(at, _), value @ Expr::Outer(..))
                | (value @ Expr::Outer(..), Expr::Input(at, _)) => {
                    Some((*self.places.get(*at)?, value))
                }
                _ => None,
            }
        })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.rows.is_none() {
            self.rows = Some(self.read().await?);
        }
        self.failed.check()?;
        while let Some(rows) = &mut self.rows
            && !rows.is_empty()
        {
            self.evaluator.run.check_interrupts().await?;
            let batch = rows.batch(&self.places)?;
            let batch = keep(batch, &mut self.filter, &self.evaluator, &mut self.failed).await?;
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
