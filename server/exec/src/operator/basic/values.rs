//! Rows of expressions.

use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Expr, Values};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::{BATCH_ROWS, Operator};

/// Rows of expressions. Those that do not wait are computed when the operator is made, which
/// spares a copy of the expressions; an error shows when the first row is asked for. One row that
/// is made again and again is computed as it is asked for.
pub(crate) struct ValuesOperator {
    rows: Source,
    evaluator: Evaluator,
}

enum Source {
    Ready(std::vec::IntoIter<Row>),
    Failed(Box<braid_types::Error>),
    Waiting(std::vec::IntoIter<Exprs>),
    Repeated(Repeated),
}

/// One row that takes the next parameters each time.
struct Repeated {
    row: Vec<Expr>,
    /// How many parameters a row takes.
    width: usize,
    /// The parameters used up.
    used: usize,
    /// Whether the row is its parameters, in order.
    is_plain: bool,
}

impl ValuesOperator {
    /// The rows of a plan's VALUES.
    pub(crate) fn new(node: &Values, evaluator: Evaluator) -> Self {
        let waits = node.rows.iter().flatten().any(Expr::waits);
        let parameters = evaluator.run.params.len();
        let rows = if let (Some(width), [row]) = (node.repeats, &node.rows[..])
            && (parameters > width || (parameters == 0 && width > 0))
        {
            let is_place =
                |(i, e): (usize, &Expr)| matches!(e, Expr::Param(place, _) if *place == i);
            let is_plain = row.len() == width && row.iter().enumerate().all(is_place);
            Source::Repeated(Repeated { row: row.clone(), width, used: 0, is_plain })
        } else if waits {
            let rows: Vec<Exprs> = node.rows.iter().cloned().map(Exprs::new).collect();
            Source::Waiting(rows.into_iter())
        } else {
            let cx = evaluator.context();
            let row = |row: &Vec<Expr>| -> Result<Row> {
                row.iter().map(|e| eval(e, &[], &cx)).collect()
            };
            match node.rows.iter().map(row).collect::<Result<Vec<Row>>>() {
                Ok(rows) => Source::Ready(rows.into_iter()),
                Err(error) => Source::Failed(Box::new(error)),
            }
        };
        Self { rows, evaluator }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.evaluator.run.check_interrupts().await?;
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
            Source::Repeated(repeated) => repeated.batch(&self.evaluator.context())?,
        };
        Ok((!batch.is_empty()).then_some(batch))
    }
}

impl Repeated {
    fn batch(&mut self, cx: &EvalContext<'_>) -> Result<Vec<Row>> {
        let left = cx.params.get(self.used..).unwrap_or_default();
        let mut rows = Vec::with_capacity(BATCH_ROWS.min(left.len() / self.width));
        for params in left.chunks_exact(self.width).take(BATCH_ROWS) {
            rows.push(if self.is_plain {
                params.to_vec()
            } else {
                let cx = EvalContext { params, ..*cx };
                self.row.iter().map(|e| eval(e, &[], &cx)).collect::<Result<Row>>()?
            });
        }
        self.used += rows.len() * self.width;
        Ok(rows)
    }
}

impl Operator for ValuesOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
