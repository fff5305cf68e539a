//! A scan of a partition that may turn out to have no such rows once parameters are known.

use braid_plan::{Expr, Pruning, Scan};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::Operator;
use crate::operator::eval::Evaluator;
use crate::operator::scan::table_scan::ScanOperator;

/// A scan of a partition.
pub(crate) struct PrunedScan {
    scan: Box<ScanOperator>,
    /// The conditions, until the first rows are asked for.
    pruning: Option<Vec<Pruning>>,
    evaluator: Evaluator,
    is_empty: bool,
}

impl PrunedScan {
    /// A scan whose conditions on partition keys are looked at when it starts.
    pub(crate) fn new(scan: &Scan, evaluator: Evaluator) -> Result<Self> {
        let pruning = Some(scan.pruning.clone());
        let scan = ScanOperator::new(scan, evaluator.clone(), None)?;
        Ok(Self { scan, pruning, evaluator, is_empty: false })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if let Some(pruning) = self.pruning.take() {
            for found in pruning {
                self.is_empty |= !may_have_rows(found, &self.evaluator).await;
            }
        }
        if self.is_empty { Ok(None) } else { self.scan.next().await }
    }
}

/// Whether the partition can have rows that meet the conditions. A value that cannot be computed
/// counts as anything: the filter finds the error, if a row leads to it.
async fn may_have_rows(mut pruning: Pruning, evaluator: &Evaluator) -> bool {
    let mut wanted: Vec<Expr> = Vec::new();
    pruning.bounds.iter().for_each(|b| b.for_each_expr(&mut |e| wanted.push(e.clone())));
    let mut values = Vec::with_capacity(wanted.len());
    for e in wanted {
        values.push(match evaluator.eval(&e, &[]).await {
            Ok(value) => Expr::Const(value, e.ty()),
            Err(_) => e,
        });
    }
    let mut values = values.into_iter();
    for bound in &mut pruning.bounds {
        bound.for_each_expr_mut(&mut |e| {
            if let Some(value) = values.next() {
                *e = value;
            }
        });
    }
    pruning.may_have_rows()
}

impl Operator for PrunedScan {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
