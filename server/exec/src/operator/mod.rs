//! Operators: one file each. Rows are pulled in batches from the root down to the scans.

mod aggregate;
pub(crate) mod change;
mod column_filter;
mod columns;
mod cte;
mod delete;
mod distinct;
mod eval;
mod exprs;
pub(crate) mod foreign_keys;
mod function_scan;
pub(crate) mod insert;
mod interleaved_join;
mod join;
mod join_right;
mod limit;
mod lock_rows;
mod lookup_join;
mod multi_scan;
mod project;
mod range_delete;
mod row_lock;
mod run;
pub(crate) mod scan;
mod set_op;
mod sort;
mod sorting;
pub(crate) mod spans;
mod update;
mod values;
mod virtual_scan;
mod window;

pub use columns::Columns;
pub use foreign_keys::{check_left, foreign_key_changed, has_left_checks, has_left_on};
pub use run::Run;

use std::sync::Arc;

use braid_plan::{JoinMethod, Node};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use eval::Evaluator;

/// Rows per batch, about.
pub const BATCH_ROWS: usize = 1024;

/// An operator.
pub trait Operator: Send {
    /// The next rows, never an empty batch; `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>>;

    /// The same rows by columns, if it can give them. Whoever takes them takes no others.
    fn columns(&mut self) -> Option<&mut dyn columns::ColumnSource> {
        None
    }

    /// Whether it is known that there are no more rows. `false` may mean anything.
    fn is_done(&self) -> bool {
        false
    }
}

/// An operator of any kind.
pub type BoxedOperator = Box<dyn Operator>;

/// The values handed in by the enclosing query's row.
pub type OuterRow = Arc<[Datum]>;

/// Builds the operators of a plan; `outer` is what its [`braid_plan::Expr::Outer`] mean.
pub fn build(node: &Node, run: &Arc<Run>, outer: Option<OuterRow>) -> Result<BoxedOperator> {
    let outer = outer.unwrap_or_else(|| run.no_outer());
    let evaluator = Evaluator::new(run.clone(), outer.clone());
    let input = |node: &Node| build(node, run, Some(outer.clone()));
    let operator: BoxedOperator = match node {
        Node::Values(n) => Box::new(values::ValuesOperator::new(n, evaluator)),
        Node::Scan(n) => Box::new(scan::ScanOperator::new(n, evaluator)?),
        Node::Virtual(n) => Box::new(virtual_scan::VirtualScanOperator::new(n, evaluator)),
        Node::Function(n) => Box::new(function_scan::FunctionScanOperator::new(n, evaluator)),
        Node::Filter(n) => {
            Box::new(project::FilterOperator::new(input(&n.input)?, &n.predicates, evaluator))
        }
        Node::Project(n) => {
            Box::new(project::ProjectOperator::new(input(&n.input)?, &n.exprs, evaluator))
        }
        Node::ProjectSet(n) => {
            Box::new(function_scan::ProjectSetOperator::new(input(&n.input)?, n, evaluator))
        }
        Node::Join(n) if matches!(n.method, JoinMethod::Lookup) => {
            match lookup_join::LookupJoinOperator::new(n, input(&n.left)?, &evaluator)? {
                Some(operator) => Box::new(operator),
                None => Box::new(join::JoinOperator::new(n, input(&n.left)?, None, evaluator)),
            }
        }
        Node::Join(n) if matches!(n.method, JoinMethod::Interleaved) => {
            Box::new(interleaved_join::InterleavedJoinOperator::new(n, evaluator)?)
        }
        Node::Join(n) => {
            let right = if n.lateral { None } else { Some(input(&n.right)?) };
            Box::new(join::JoinOperator::new(n, input(&n.left)?, right, evaluator))
        }
        Node::Aggregate(n) => {
            Box::new(aggregate::AggregateOperator::new(input(&n.input)?, n, evaluator))
        }
        Node::Window(n) => Box::new(window::WindowOperator::new(input(&n.input)?, n, evaluator)),
        Node::Sort(n) => {
            Box::new(sort::SortOperator::new(input(&n.input)?, &n.keys, n.limit.clone(), evaluator))
        }
        Node::LockRows(n) => {
            Box::new(lock_rows::LockRowsOperator::new(input(&n.input)?, n, evaluator)?)
        }
        Node::Limit(n) => Box::new(limit::LimitOperator::new(input(&n.input)?, n, evaluator)),
        Node::Distinct(n) => {
            Box::new(distinct::DistinctOperator::new(input(&n.input)?, &n.on, evaluator))
        }
        Node::SetOp(n) => {
            Box::new(set_op::SetOperator::new(n, input(&n.left)?, input(&n.right)?, evaluator))
        }
        Node::With(n) => Box::new(cte::WithOperator::new(n, run, outer)?),
        Node::CteScan(n) => Box::new(cte::CteScanOperator::new(n, evaluator)),
        Node::Insert(n) => Box::new(insert::InsertOperator::new(input(&n.input)?, n, evaluator)),
        Node::Update(n) => Box::new(update::UpdateOperator::new(input(&n.input)?, n, evaluator)),
        Node::Delete(n) => Box::new(delete::DeleteOperator::new(input(&n.input)?, n, evaluator)),
    };
    Ok(run.observed(node, operator))
}
