//! What a transaction remembers of its reads, for the proof at the commit.

use super::core::{Core, StatementCheck};
use crate::{
    Check, Conflict, Matching, Record, Result, RetryReason, ScanBatch, Seq, Snapshot, Span,
    transaction::state::ReadWithoutSnapshot,
};
use std::sync::Arc;

impl Core {
    /// Remembers a read, if it is to be remembered.
    pub(super) fn record(
        &self,
        seq: Seq,
        snapshot: &Arc<dyn Snapshot>,
        span: impl FnOnce() -> Span,
        record: Record,
    ) -> Result<()> {
        let (tag, exists) = match record {
            Record::Never => return Ok(()),
            Record::Default => (0, false),
            Record::Always { tag } => (tag, false),
            Record::Exists { tag } => (tag, true),
        };
        if self.keeps_reads() && !exists {
            self.active()?.reads.record(seq, snapshot, span());
        } else if (tag != 0 || exists) && !self.is_read_only() {
            let span = span();
            let reason =
                if span.is_key() { RetryReason::ReadChanged } else { RetryReason::SpanChanged };
            let conflict = Conflict { reason, key: Some(span.start.clone()), tag };
            let check =
                Check { snapshot: snapshot.clone(), span, exists, matching: None, conflict };
            self.active()?.checks.push(StatementCheck { statement: seq.number(), check });
        }
        Ok(())
    }

    /// Remembers that a batch of a scan has shown these entries of `matching` and no others. Those
    /// that it has shown are remembered as read; that no others come is checked at every level.
    pub(super) fn record_matching(
        &self,
        seq: Seq,
        snapshot: &Arc<dyn Snapshot>,
        examined: Span,
        tag: u32,
        (matching, batch): (&Matching, &ScanBatch),
    ) -> Result<()> {
        if self.is_read_only() || examined.is_empty() {
            return Ok(());
        }
        let keeps_reads = self.keeps_reads();
        let mut state = self.active()?;
        if keeps_reads {
            let shown = batch.iter().filter(|(key, value)| matching.0.matters(key, value));
            shown.for_each(|(key, _)| state.reads.record(seq, snapshot, Span::key(key)));
        }
        // The batches of one scan follow each other.
        let statement = seq.number();
        let last = state.checks.last_mut().filter(|last| {
            last.statement == statement
                && last.check.span.end == examined.start
                && last.check.snapshot.timestamp() == snapshot.timestamp()
                && last.check.matching.as_ref().is_some_and(|known| known.is(matching))
        });
        if let Some(last) = last {
            last.check.span.end = examined.end;
            return Ok(());
        }
        let key = Some(examined.start.clone());
        let conflict = Conflict { reason: RetryReason::SpanChanged, key, tag };
        let check = Check {
            snapshot: snapshot.clone(),
            span: examined,
            exists: false,
            matching: Some(matching.clone()),
            conflict,
        };
        state.checks.push(StatementCheck { statement, check });
        Ok(())
    }

    /// The read without a snapshot is no longer one: `snapshot` has shown the same.
    pub(super) fn record_first_read(
        &self,
        read: &ReadWithoutSnapshot,
        snapshot: &Arc<dyn Snapshot>,
    ) -> Result<()> {
        let record = read.record;
        self.record(read.seq, snapshot, || Span::key(read.key.as_slice()), record)
    }
}
