//! The spans of a session's statements and transactions.

use std::time::{Instant, SystemTime};

use super::running::{SpanStart, TransactionSpan};
use super::spans::{Span, SpanSubject, nanos_of};
use super::traceparent::TraceParent;
use crate::session::Session;
use crate::transaction::machine::Block;

/// The span of a statement that began then, if its trace is sampled and somebody exports spans. In
/// a block the first one begins the span of the block.
pub(crate) fn statement_span(
    session: &mut Session,
    trace: TraceParent,
    is_commented: bool,
    began: Instant,
) -> Option<SpanStart> {
    let spans = &session.engine.spans;
    if !trace.is_sampled() || !spans.is_open() {
        return None;
    }
    let mut parent_id = trace.parent_id;
    if session.block != Block::None {
        let new = || TransactionSpan { trace, span_id: spans.next_id() };
        let transaction = session.observer.transaction.get_or_insert_with(new);
        if !is_commented && transaction.trace == trace {
            parent_id = transaction.span_id;
        }
    }
    let start_nanos = start_nanos(began);
    Some(SpanStart { span_id: spans.next_id(), parent_id, start_nanos })
}

/// The transaction that began then has ended.
pub(crate) fn end_transaction_span(
    session: &mut Session,
    began: Instant,
    (has_written, is_committed): (bool, bool),
) {
    let Some(TransactionSpan { trace, span_id }) = session.observer.transaction.take() else {
        return;
    };
    let entry = &session.shared.entry;
    session.engine.spans.put(Span {
        trace_id: trace.trace_id,
        span_id,
        parent_id: trace.parent_id,
        start_nanos: start_nanos(began),
        end_nanos: nanos_of(SystemTime::now()),
        user: entry.user.clone(),
        database: entry.database.clone(),
        pid: entry.pid,
        sqlstate: None,
        subject: SpanSubject::Transaction { has_written, is_committed },
    });
}

/// The time of day of a moment, in nanoseconds since 1970.
fn start_nanos(moment: Instant) -> u64 {
    nanos_of(SystemTime::now().checked_sub(moment.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH))
}
