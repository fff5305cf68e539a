//! The prediction for one statement, and what makes two statements depend on each other.

use std::sync::Arc;

use braid_catalog::Catalog;
use braid_codec::key;
use braid_kv::{Span, SpanSet};

use crate::predict::print::span_texts;

/// A statement of more spans is not narrow.
const NARROW_SPANS_MAX: usize = 64;

/// What a statement may read and write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementSpans {
    /// Everything that it may read or lock.
    pub reads: SpanSet,
    /// Everything that it may write.
    pub writes: SpanSet,
    /// Its effect depends on time or order: it depends on all earlier statements, and all later
    /// ones depend on it.
    pub ordered: bool,
}

/// Why a statement has to wait for an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// One of the two depends on time or order.
    Ordered,
    /// It reads what the earlier one writes.
    ReadsWritten(Span),
    /// It writes what the earlier one reads.
    WritesRead(Span),
    /// Both write it.
    WritesWritten(Span),
}

impl StatementSpans {
    /// A statement about which nothing is known.
    pub fn unknown() -> Self {
        Self { ordered: true, ..Self::default() }
    }

    /// Whether it touches only a few rows that are known by their keys.
    pub fn is_narrow(&self) -> bool {
        let narrow = |span: &Span| {
            let mut rest = span.start.as_slice();
            key::decode_prefix(&mut rest).is_ok() && !rest.is_empty()
        };
        let (reads, writes) = (self.reads.spans(), self.writes.spans());
        !self.ordered
            && reads.len() + writes.len() <= NARROW_SPANS_MAX
            && reads.iter().chain(writes).all(narrow)
    }

    /// Why this statement has to wait for an earlier one; `None` if the two are independent.
    pub fn conflicts_with(&self, earlier: &StatementSpans) -> Option<Dependency> {
        if self.ordered || earlier.ordered {
            return Some(Dependency::Ordered);
        }
        if let Some(span) = common(&self.writes, &earlier.writes) {
            return Some(Dependency::WritesWritten(span));
        }
        if let Some(span) = common(&self.reads, &earlier.writes) {
            return Some(Dependency::ReadsWritten(span));
        }
        common(&self.writes, &earlier.reads).map(Dependency::WritesRead)
    }
}

/// A span in both sets, as it stands in the one that is narrower there.
fn common(a: &SpanSet, b: &SpanSet) -> Option<Span> {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let found = few.spans().iter().find(|span| many.overlaps_span(span))?;
    let narrower = many.spans().iter().find(|span| found.contains_span(span));
    Some(narrower.unwrap_or(found).clone())
}

impl Dependency {
    /// The reason for a human: `reads /account/primary/1`.
    pub fn describe(&self, catalog: &Arc<Catalog>) -> String {
        let (word, span) = match self {
            Dependency::Ordered => return "depends on time or order".to_owned(),
            Dependency::ReadsWritten(span) => ("reads", span),
            Dependency::WritesRead(span) | Dependency::WritesWritten(span) => ("writes", span),
        };
        let spans = SpanSet::from_iter([span.clone()]);
        format!("{word} {}", span_texts(&spans, catalog).join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(reads: &[&str], writes: &[&str]) -> StatementSpans {
        let set = |keys: &[&str]| keys.iter().map(|key| Span::prefix(key.as_bytes())).collect();
        StatementSpans { reads: set(reads), writes: set(writes), ordered: false }
    }

    #[test]
    fn statements_that_share_only_reads_are_independent() {
        let (a, b) = (spans(&["x"], &["a"]), spans(&["x"], &["b"]));
        assert_eq!(a.conflicts_with(&b), None);
        let key = |key: &str| Span::prefix(key.as_bytes());
        let reader = spans(&["b1"], &["c"]);
        assert_eq!(reader.conflicts_with(&b), Some(Dependency::ReadsWritten(key("b1"))));
        assert_eq!(b.conflicts_with(&reader), Some(Dependency::WritesRead(key("b1"))));
        assert_eq!(a.conflicts_with(&a), Some(Dependency::WritesWritten(key("a"))));
    }

    #[test]
    fn an_ordered_statement_depends_on_all_and_all_on_it() {
        let plain = spans(&[], &["a"]);
        assert_eq!(StatementSpans::unknown().conflicts_with(&plain), Some(Dependency::Ordered));
        assert_eq!(plain.conflicts_with(&StatementSpans::unknown()), Some(Dependency::Ordered));
    }
}
