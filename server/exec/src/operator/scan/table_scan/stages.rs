//! The steps in which a scan by columns decodes its entries.
//!
//! ```text
//!   all rows ──condition on an integer──▶ some ──one on a text──▶ fewer ──the join──▶ wanted
//!             decodes one column               another, of these          all others, of those
//! ```
//!
//! A condition's columns are decoded only for the rows that are left before it. Conditions that
//! cannot fail and stand before all that can are put in the order of what their columns cost. The
//! others stay in their order behind them.

use braid_kv::ScanBatch;
use braid_plan::Expr;
use braid_plan::eval::EvalContext;
use braid_rows::{Columns, Values};
use braid_types::{Error, Result};

use crate::operator::column_source::RowTest;
use crate::operator::scan::column_filter::{ColumnFilter, is_simple, places_of};

use super::Layout;
use super::decoder::Decoder;

/// Each step looks up the columns of a row again. So conditions that no longer get a step of their
/// own are evaluated together.
const STAGES_MAX: usize = 4;

/// Conditions, and what decodes the columns that no stage before has decoded.
struct Stage {
    decoder: Decoder,
    conditions: Vec<Expr>,
}

/// What a scan by columns uses again for each batch.
pub(crate) struct Stages {
    filter: ColumnFilter,
    stages: Vec<Stage>,
    /// Decodes the columns that only the test of a join reads.
    tested: Decoder,
    /// Decodes the others.
    rest: Decoder,
    /// The rows of the batch that are left, if these are not all.
    left: Option<Vec<u32>>,
}

impl Stages {
    /// For conditions, and a test that reads columns at these places.
    pub(super) fn new(layout: &Layout, filter: &[Expr], tested: &[usize]) -> Self {
        let mut rest = Decoder::of(layout);
        let mut known = Vec::new();
        let mut stages: Vec<Stage> = Vec::new();
        for conditions in in_order(filter, &layout.columns()) {
            let mut places = Vec::new();
            conditions.iter().for_each(|condition| places_of(condition, &mut places));
            places.retain(|place| !known.contains(place));
            match stages.last_mut() {
                Some(last) if places.is_empty() => last.conditions.extend(conditions),
                _ => {
                    let (decoder, others) = rest.split(|place| places.contains(&place));
                    rest = others;
                    stages.push(Stage { decoder, conditions });
                    known.extend(places);
                }
            }
        }
        let (tested, rest) = rest.split(|place| tested.contains(&place));
        Self { filter: ColumnFilter::default(), stages, tested, rest, left: None }
    }

    /// Leaves the rows of a batch on which the conditions hold, up to the first row on which one
    /// fails. `columns` has the columns of the conditions then.
    pub(super) fn narrow(
        &mut self,
        batch: &ScanBatch,
        columns: &mut Columns,
        cx: &EvalContext<'_>,
    ) -> Result<Option<Error>> {
        columns.start(batch.len());
        self.left = None;
        let mut failed = None;
        for stage in &self.stages {
            if columns.rows == 0 {
                break;
            }
            read(&stage.decoder, batch, self.left.as_deref(), columns)?;
            let (marks, error) = self.filter.mark_up_to_error(&stage.conditions, columns, cx);
            // A later stage sees only the rows before the failure of an earlier one.
            failed = error.or(failed);
            keep(marks, &mut self.left, columns);
        }
        Ok(failed)
    }

    /// Leaves the rows that a test wants.
    pub(super) fn test(
        &mut self,
        batch: &ScanBatch,
        columns: &mut Columns,
        test: &mut dyn RowTest,
    ) -> Result<()> {
        if columns.rows == 0 {
            return Ok(());
        }
        read(&self.tested, batch, self.left.as_deref(), columns)?;
        let marks = self.filter.all_of(columns.rows);
        test.mark(columns, marks);
        keep(marks, &mut self.left, columns);
        Ok(())
    }

    /// Decodes the columns of the rows that are left which no condition and no test has read.
    pub(super) fn complete(&self, batch: &ScanBatch, columns: &mut Columns) -> Result<()> {
        read(&self.rest, batch, self.left.as_deref(), columns)
    }

    /// The entries of a batch that are left.
    pub(super) fn left<'b>(
        &'b self,
        batch: &'b ScanBatch,
    ) -> impl Iterator<Item = (&'b [u8], &'b [u8])> + Clone + 'b {
        let all = self.left.is_none().then(|| batch.iter());
        let some = self.left.iter().flatten().map(|i| entry(batch, *i));
        all.into_iter().flatten().chain(some)
    }
}

fn entry(batch: &ScanBatch, i: u32) -> (&[u8], &[u8]) {
    (batch.key(i as usize), batch.value(i as usize))
}

fn read(
    decoder: &Decoder,
    batch: &ScanBatch,
    left: Option<&[u32]>,
    columns: &mut Columns,
) -> Result<()> {
    match left {
        None => decoder.read_columns(batch.iter(), columns),
        Some(left) => decoder.read_columns(left.iter().map(|i| entry(batch, *i)), columns),
    }
}

/// Keeps the rows that are marked.
fn keep(marks: &[bool], left: &mut Option<Vec<u32>>, columns: &mut Columns) {
    if !marks.contains(&false) {
        return;
    }
    columns.keep(marks);
    match left {
        Some(left) => {
            let mut marks = marks.iter();
            left.retain(|_| marks.next() == Some(&true));
        }
        None => {
            let places = (0..).zip(marks).filter(|(_, mark)| **mark);
            *left = Some(places.map(|(i, _)| i).collect());
        }
    }
}

/// The conditions in the order in which they are evaluated: those of each step together.
fn in_order(filter: &[Expr], columns: &Columns) -> Vec<Vec<Expr>> {
    let simple = filter.iter().position(|condition| !is_simple(condition));
    let (simple, others) = filter.split_at(simple.unwrap_or(filter.len()));
    let mut simple = simple.to_vec();
    simple.sort_by_cached_key(|condition| cost(condition, columns));
    let mut steps: Vec<Vec<Expr>> = simple.into_iter().map(|condition| vec![condition]).collect();
    if !others.is_empty() {
        steps.push(others.to_vec());
    }
    let last = steps.split_off(steps.len().min(STAGES_MAX - 1));
    if !last.is_empty() {
        steps.push(last.into_iter().flatten().collect());
    }
    steps
}

/// How much the columns of a condition cost: the dearest kind, then how many there are.
fn cost(condition: &Expr, columns: &Columns) -> (u8, usize) {
    let mut places = Vec::new();
    places_of(condition, &mut places);
    places.sort_unstable();
    places.dedup();
    let kind = |place: &usize| match columns.list.get(*place).map(|column| &column.values) {
        Some(Values::Ints(..) | Values::Floats(_)) => 0,
        Some(Values::Decimals(_)) => 1,
        Some(Values::Data(_)) | None => 2,
    };
    (places.iter().map(kind).max().unwrap_or(0), places.len())
}
