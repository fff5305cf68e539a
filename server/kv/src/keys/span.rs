//! Keys, spans and span sets.
//!
//! A [`Span`] is a half-open key range; a single key is a span too. A [`SpanSet`] is sorted and
//! merged, so that "does any of these overlap that" is a binary search.

use std::fmt;

/// An encoded key.
pub type Key = Vec<u8>;

/// An encoded value. Cloning it does not copy the bytes.
pub type Value = bytes::Bytes;

/// A half-open key range `[start, end)`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first key inside.
    pub start: Key,
    /// The first key after it.
    pub end: Key,
}

impl Span {
    /// The span `[start, end)`; empty if `start >= end`.
    pub fn new(start: impl Into<Key>, end: impl Into<Key>) -> Span {
        Span { start: start.into(), end: end.into() }
    }

    /// The span that holds exactly `key`.
    pub fn key(key: impl Into<Key>) -> Span {
        let start: Key = key.into();
        let end = key_after(&start);
        Span { start, end }
    }

    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: impl Into<Key>) -> Span {
        let start: Key = prefix.into();
        let end = prefix_end(&start);
        Span { start, end }
    }

    /// Whether no key can be inside.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Whether exactly one key can be inside.
    pub fn is_key(&self) -> bool {
        self.end.len() == self.start.len() + 1
            && self.end.last() == Some(&0)
            && self.end.starts_with(&self.start)
    }

    /// Whether the span contains `key`.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && key < self.end.as_slice()
    }

    /// Whether the span contains all of `other`.
    pub fn contains_span(&self, other: &Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the spans have a key in common.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_key() {
            write!(f, "[{}]", self.start.escape_ascii())
        } else {
            write!(f, "[{}, {})", self.start.escape_ascii(), self.end.escape_ascii())
        }
    }
}

/// The next possible key after `key`.
pub fn key_after(key: &[u8]) -> Key {
    let mut end = Vec::with_capacity(key.len() + 1);
    end.extend_from_slice(key);
    end.push(0);
    end
}

/// The first key that is greater than every key with this prefix.
///
/// For a prefix of nothing but `0xff` bytes it is a run of `0xff` longer than any real key.
pub fn prefix_end(prefix: &[u8]) -> Key {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end;
        }
    }
    vec![0xff; prefix.len() + 16]
}

/// Sorted spans that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanSet {
    spans: Vec<Span>,
}

impl SpanSet {
    /// The empty set.
    pub fn new() -> SpanSet {
        SpanSet::default()
    }

    /// The spans in key order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether there is no span inside.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many disjoint spans there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether some span holds `key`.
    pub fn contains(&self, key: &[u8]) -> bool {
        let at = self.spans.partition_point(|s| s.end.as_slice() <= key);
        self.spans.get(at).is_some_and(|s| s.start.as_slice() <= key)
    }

    /// Whether some span overlaps `span`.
    pub fn overlaps_span(&self, span: &Span) -> bool {
        if span.is_empty() {
            return false;
        }
        let at = self.spans.partition_point(|s| s.end <= span.start);
        self.spans.get(at).is_some_and(|s| s.start < span.end)
    }

    /// Whether the sets have a key in common.
    pub fn overlaps(&self, other: &SpanSet) -> bool {
        let (few, many) = if self.len() < other.len() { (self, other) } else { (other, self) };
        few.spans.iter().any(|s| many.overlaps_span(s))
    }

    /// Adds every span of `other`: one pass over both sets.
    pub fn extend(&mut self, other: SpanSet) {
        if self.is_empty() {
            *self = other;
        } else if !other.is_empty() {
            let mut all = std::mem::take(&mut self.spans);
            all.extend(other.spans);
            // A stable sort finds the two sorted runs and merges them.
            all.sort();
            *self = SpanSet::from_sorted(all);
        }
    }

    fn from_sorted(all: Vec<Span>) -> SpanSet {
        let mut spans: Vec<Span> = Vec::with_capacity(all.len());
        for span in all {
            match spans.last_mut() {
                Some(last) if span.start <= last.end => {
                    if span.end > last.end {
                        last.end = span.end;
                    }
                }
                _ => spans.push(span),
            }
        }
        SpanSet { spans }
    }
}

impl FromIterator<Span> for SpanSet {
    fn from_iter<I: IntoIterator<Item = Span>>(iter: I) -> SpanSet {
        let mut all: Vec<Span> = iter.into_iter().filter(|s| !s.is_empty()).collect();
        all.sort_unstable();
        SpanSet::from_sorted(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(a: &str, b: &str) -> Span {
        Span::new(a.as_bytes(), b.as_bytes())
    }

    #[test]
    fn one_key_is_a_span() {
        let s = Span::key(b"a".as_slice());
        assert!(s.is_key() && s.contains(b"a") && !s.contains(b"a\0"));
        assert!(!span("a", "b").is_key());
    }

    #[test]
    fn prefix_end_carries() {
        assert_eq!(prefix_end(b"a\xff"), b"b");
        assert!(Span::prefix(b"\xff\xff".as_slice()).contains(b"\xff\xff\xff"));
    }

    #[test]
    fn extend_and_collect_agree() {
        let all = [span("d", "f"), span("a", "b"), span("b", "c"), span("e", "z"), span("q", "r")];
        let collected: SpanSet = all.iter().cloned().collect();
        let mut extended = SpanSet::new();
        for s in all {
            extended.extend(SpanSet::from_iter([s]));
        }
        assert_eq!(collected, extended);
        assert_eq!(extended.spans(), &[span("a", "c"), span("d", "z")]);
        assert!(extended.contains(b"b") && !extended.contains(b"c"));
        assert!(
            extended.overlaps_span(&span("c", "e")) && !extended.overlaps_span(&span("c", "d"))
        );
    }
}
