//! Where a scan's entries come from: its spans one after the other, merged, or only in part.

use braid_kv::{ScanBatch, ScanRequest, Span};
use braid_plan::Reading;
use braid_types::Result;

use crate::operator::ExecutionState;
use crate::operator::scan::multi_scan::MultiScan;
use crate::operator::scan::reader::KeyBounds;

use super::first_of_each::FirstOfEachScan;
use super::key_parts::KeyParts;
use super::merged::MergedScan;
use super::read_options::ReadOptions;

/// The entries of a scan.
pub(super) enum Entries {
    InOrder(MultiScan),
    Merged(MergedScan),
    FirstOfEach(FirstOfEachScan),
}

impl Entries {
    /// The entries of spans, of which the first one is the last. With `alone` a reader may stop
    /// early.
    pub(super) fn new(
        reading: Reading,
        spans: Vec<Span>,
        bounds: &KeyBounds,
        (reverse, alone): (bool, bool),
    ) -> Self {
        match reading {
            Reading::InOrder => Entries::InOrder(MultiScan::new(spans, alone)),
            Reading::Merged(columns) => {
                Entries::Merged(MergedScan::new(spans, KeyParts::new(bounds, columns), reverse))
            }
            Reading::FirstOfEach(columns) => {
                let parts = KeyParts::new(bounds, columns);
                Entries::FirstOfEach(FirstOfEachScan::new(spans, parts, reverse))
            }
        }
    }

    /// The next batch, never an empty one; `None` at the end.
    pub(super) async fn next<R>(
        &mut self,
        run: &ExecutionState,
        options: &ReadOptions<'_, R>,
    ) -> Result<Option<ScanBatch>>
    where
        R: Fn(Span) -> ScanRequest,
    {
        match self {
            Entries::InOrder(scan) => scan.next(run, &options.request).await,
            Entries::Merged(scan) => scan.next(run, &options.request, options.limit_rows).await,
            Entries::FirstOfEach(scan) => scan.next(run, options).await,
        }
    }

    /// Whether the next batch is there already.
    pub(super) fn has_ready(&self) -> bool {
        match self {
            Entries::InOrder(scan) => scan.has_ready(),
            Entries::Merged(_) | Entries::FirstOfEach(_) => false,
        }
    }
}
