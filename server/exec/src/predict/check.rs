//! The check of predictions, in builds with debug assertions: after each statement that writes,
//! what it has really read and written is compared with what was said before.
//!
//! Every test that runs against such a build so tests the predictions as well. Reads that the
//! transaction answers by itself (own writes, known values) are not seen.

use braid_kv::{Span, SpanSet};
use braid_plan::PlannedStatement;
use braid_types::{Datum, Error, Result};

use crate::ExecContext;
use crate::predict::print::span_texts;
use crate::predict::{StatementSpans, predict_spans};

/// The most entries of a footprint that are compared.
const ENTRIES_MAX: usize = 20_000;

/// The prediction for a statement about to start, if it is to be compared afterwards.
pub(crate) fn prediction(
    plan: &PlannedStatement,
    params: &[Datum],
    cx: &ExecContext,
) -> Option<StatementSpans> {
    // A plan that runs after others of its statement has their footprint as well.
    let is_later = cx.seq != cx.seq.before();
    let wanted = cfg!(debug_assertions) && plan.is_write && plan.explain.is_none() && !is_later;
    if wanted { predict_spans(plan, params, cx).ok() } else { None }
}

/// An internal error that names a span which was not predicted.
pub(crate) fn compare(predicted: &StatementSpans, cx: &ExecContext) -> Result<()> {
    if predicted.ordered {
        return Ok(());
    }
    let (reads, writes) = cx.txn.reads().footprint(cx.seq);
    let missing = |spans: Vec<Span>, predicted: &SpanSet| {
        spans.into_iter().take(ENTRIES_MAX).find(|span| {
            let around = predicted.spans().partition_point(|s| s.end <= span.start);
            let inside = predicted.spans().get(around).is_some_and(|s| s.contains_span(span));
            !inside && is_of_a_table(span, cx)
        })
    };
    let found = missing(writes, &predicted.writes)
        .map(|span| ("written", span))
        .or_else(|| missing(reads, &predicted.reads).map(|span| ("read", span)));
    let Some((what, span)) = found else { return Ok(()) };
    let text = span_texts(&SpanSet::from_iter([span]), &cx.catalog).join(", ");
    Err(Error::internal(format!("{text} was {what} but not predicted")))
}

/// Whether a span is in a table's data. Descriptors are not predicted. Neither is the new place of
/// a table that is being moved: it is written as the old place is, and no statement reads it.
fn is_of_a_table(span: &Span, cx: &ExecContext) -> bool {
    let Some((table, number)) = braid_catalog::owner_of(&cx.catalog, &span.start) else {
        return false;
    };
    let is_moving = table.moving.is_some() && number == table.primary.number;
    !is_moving || span.start.starts_with(&table.key_prefix(&table.primary))
}
