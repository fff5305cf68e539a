//! Rows of expressions.

use braid_plan::{Expr, Values};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use super::eval::Evaluator;
use super::exprs::Exprs;
use super::{BATCH_ROWS, Operator};

/// Rows of expressions. Those that do not wait are computed when the operator is made, which
/// spares a copy of the expressions; an error shows when the first row is asked for.
pub struct ValuesOperator {
    rows: Source,
    evaluator: Evaluator,
}

enum Source {
    Ready(std::vec::IntoIter<Row>),
    Failed(Box<braid_types::Error>),
    Waiting(std::vec::IntoIter<Exprs>),
}

impl ValuesOperator {
    /// The rows of a plan's VALUES.
    pub fn new(node: &Values, evaluator: Evaluator) -> Self {
        let waits = node.rows.iter().flatten().any(Expr::waits);
        let rows = if waits {
            let rows: Vec<Exprs> = node.rows.iter().cloned().map(Exprs::new).collect();
            Source::Waiting(rows.into_iter())
        } else {
            let cx = evaluator.context();
            let row = |row: &Vec<Expr>| -> Result<Row> {
                row.iter().map(|e| braid_plan::eval::eval(e, &[], &cx)).collect()
            };
            match node.rows.iter().map(row).collect::<Result<Vec<Row>>>() {
                Ok(rows) => Source::Ready(rows.into_iter()),
                Err(error) => Source::Failed(Box::new(error)),
            }
        };
        Self { rows, evaluator }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.evaluator.run.check_cancel()?;
        let batch: Vec<Row> = match &mut self.rows {
            Source::Ready(rows) => rows.by_ref().take(BATCH_ROWS).collect(),
            Source::Failed(error) => return Err((**error).clone()),
            Source::Waiting(rows) => {
                let mut batch = Vec::new();
                for exprs in rows.by_ref().take(BATCH_ROWS) {
                    batch.push(exprs.eval(&self.evaluator, &[]).await?);
                }
                batch
            }
        };
        Ok((!batch.is_empty()).then_some(batch))
    }
}

impl Operator for ValuesOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
