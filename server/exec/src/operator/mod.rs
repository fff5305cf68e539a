//! Operators: one file each. Rows are pulled in batches from the root down to the scans.

pub(crate) mod aggregate;
pub(crate) mod basic;
pub(crate) mod column_source;
pub(crate) mod counts;
pub(crate) mod cte_rows;
pub(crate) mod eval;
pub(crate) mod exprs;
pub(crate) mod heap;
pub(crate) mod instrument;
pub(crate) mod join;
pub(crate) mod key_form;
pub(crate) mod parallel;
pub(crate) mod postponed;
pub(crate) mod reservation;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod spilled;
pub(crate) mod state;
pub(crate) mod subquery;
pub(crate) mod window;

pub use state::OuterRow;
pub(crate) use state::{ExecutionState, NewRowChanges};

use std::sync::Arc;

use braid_plan::Node;
use braid_plan::explain::DiskUse;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use aggregate::distinct::DistinctOperator;
use aggregate::grouping::aggregated;
use basic::append::AppendOperator;
use basic::limit::LimitOperator;
use basic::merge_append::MergeAppendOperator;
use basic::project::{FilterOperator, ProjectOperator};
use basic::set_op::SetOperator;
use basic::values::ValuesOperator;
use basic::with::{CteScanOperator, WithOperator};
use eval::Evaluator;
use join::joined::joined;
use parallel::shares::Step;
use scan::function_scan::{FunctionScanOperator, ProjectSetOperator};
use scan::lock_rows::LockRowsOperator;
use scan::pruned_scan::PrunedScan;
use scan::table_scan::ScanOperator;
use scan::virtual_scan::VirtualScanOperator;
use sort::rows::SortOperator;
use state::RowChange;
use window::partition::WindowOperator;

/// Rows per batch, about.
pub(crate) const BATCH_ROWS: usize = 1024;

/// An operator.
pub trait Operator: Send {
    /// The next rows, never an empty batch; `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>>;

    /// The same rows by columns, if the operator can. A caller uses either this or `next`.
    fn columns(&mut self) -> Option<&mut dyn column_source::ColumnSource> {
        None
    }

    /// Rows that it makes from now on have room for this many more columns, if it can.
    fn make_room(&mut self, _columns: usize) {}

    /// Whether it is known that there are no more rows. `false` may mean anything.
    fn is_done(&self) -> bool {
        false
    }

    /// Begins again, with what the next round of a recursion reads, after its last row. `false` if
    /// it cannot: then it is built again.
    fn begin_round(&mut self) -> bool {
        false
    }

    /// What it has written to disk so far, for EXPLAIN ANALYZE.
    fn spilled(&self) -> Option<DiskUse> {
        None
    }
}

/// An operator of any kind.
pub type BoxedOperator = Box<dyn Operator>;

/// Builds the operators of a plan; `outer` is what its [`braid_plan::Expr::Outer`] mean.
pub(crate) fn build(
    node: &Node,
    run: &Arc<ExecutionState>,
    outer: Option<OuterRow>,
) -> Result<BoxedOperator> {
    build_sharing(node, run, outer, None)
}

/// The operators of a plan for one of the workers that share its rows; `step` is the place of the
/// plan below what they do.
pub(crate) fn build_sharing(
    node: &Node,
    run: &Arc<ExecutionState>,
    outer: Option<OuterRow>,
    step: Option<Step<'_>>,
) -> Result<BoxedOperator> {
    let outer = outer.unwrap_or_else(|| run.no_outer());
    if let Some(step) = step
        && let Some(rows) = step.rows(run, || build(node, run, Some(outer.clone())))?
    {
        return Ok(rows);
    }
    let evaluator = Evaluator::new(run.clone(), outer.clone());
    let input = |node: &Node| build(node, run, Some(outer.clone()));
    let shared = |node: &Node| build_sharing(node, run, Some(outer.clone()), step.map(Step::below));
    let operator: BoxedOperator = match node {
        Node::Values(n) => Box::new(ValuesOperator::new(n, evaluator)),
        Node::Scan(n) if !n.pruning.is_empty() => Box::new(PrunedScan::new(n, evaluator)?),
        Node::Scan(n) => {
            let morsels = step.and_then(Step::morsels);
            ScanOperator::new(n, evaluator, morsels)?
        }
        Node::Virtual(n) => Box::new(VirtualScanOperator::new(n, evaluator)),
        Node::Function(n) => Box::new(FunctionScanOperator::new(n, evaluator)),
        Node::Filter(n) => {
            Box::new(FilterOperator::new(shared(&n.input)?, &n.predicates, evaluator))
        }
        Node::Project(n) => Box::new(ProjectOperator::new(shared(&n.input)?, &n.exprs, evaluator)),
        Node::ProjectSet(n) => Box::new(ProjectSetOperator::new(input(&n.input)?, n, evaluator)),
        Node::Join(n) => joined(n, run, &outer, step)?,
        Node::Aggregate(n) => aggregated(n, run, &outer)?,
        Node::Window(n) => Box::new(WindowOperator::new(input(&n.input)?, n, evaluator)),
        Node::Sort(n) => Box::new(SortOperator::new(input(&n.input)?, n, evaluator)),
        Node::LockRows(n) => Box::new(LockRowsOperator::new(input(&n.input)?, n, evaluator)?),
        Node::Limit(n) => Box::new(LimitOperator::new(input(&n.input)?, n, evaluator)),
        Node::Distinct(n) => Box::new(DistinctOperator::new(input(&n.input)?, n, evaluator)),
        Node::SetOp(n) => {
            Box::new(SetOperator::new(n, input(&n.left)?, input(&n.right)?, evaluator))
        }
        Node::Append(n) => {
            let inputs = n.inputs.iter().map(&input).collect::<Result<_>>()?;
            match n.merge.is_empty() {
                true => Box::new(AppendOperator::new(inputs, run)),
                false => Box::new(MergeAppendOperator::new(inputs, &n.merge, evaluator)),
            }
        }
        Node::With(n) => Box::new(WithOperator::new(n, run, outer)?),
        Node::CteScan(n) => Box::new(CteScanOperator::new(n, evaluator)),
        Node::Insert(n) => {
            run.changes()?.operator(RowChange::Insert(n), input(&n.input)?, run, outer)?
        }
        Node::Update(n) => {
            run.changes()?.operator(RowChange::Update(n), input(&n.input)?, run, outer)?
        }
        Node::Delete(n) => {
            run.changes()?.operator(RowChange::Delete(n), input(&n.input)?, run, outer)?
        }
        Node::Merge(n) => {
            run.changes()?.operator(RowChange::Merge(n), input(&n.input)?, run, outer)?
        }
    };
    Ok(run.observed(node, operator))
}
