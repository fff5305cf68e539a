//! The keyspace of a database: the prefix that all of its keys have in the cluster.
//!
//! ```text
//!   contract keys   t1/k           requests ──▶ add the prefix
//!                              ════════════════════════════════════  Keyspace
//!   store keys      <prefix>d t1/k   answers, errors ──▶ remove it
//! ```
//!
//! The contract's entry points (`store`, `Snapshot for TikvSnapshot`, `TikvCursor`, `gc`) convert
//! keys. Everything below them works with store keys only.

use braid_kv::{
    Check, CommitOutcome, CommitRequest, Conflict, DeadlockEdge, EntryFilter, Error, Key,
    LockRequest, LockTarget, Matching, NewKey, ReadSegment, Result, ScanBatch, Span, SpanSet,
};
use std::sync::Arc;

/// What every key of a database starts with.
#[derive(Clone, Debug)]
pub(crate) struct Keyspace {
    prefix: Arc<[u8]>,
}

impl Keyspace {
    /// The data of the database that was given this prefix.
    pub(crate) fn data(prefix: &str) -> Keyspace {
        Keyspace { prefix: [prefix.as_bytes(), b"d"].concat().into() }
    }

    /// What belongs to the store itself.
    pub(crate) fn meta(prefix: &str) -> Keyspace {
        Keyspace { prefix: [prefix.as_bytes(), b"m"].concat().into() }
    }

    /// The keys of the cluster as they are, for scans by the store itself.
    pub(crate) fn whole_cluster() -> Keyspace {
        Keyspace { prefix: Arc::default() }
    }

    /// The store key of a contract key.
    pub(crate) fn key(&self, key: &[u8]) -> Key {
        [&self.prefix, key].concat()
    }

    pub(crate) fn keys(&self, keys: &[Key]) -> Vec<Key> {
        keys.iter().map(|key| self.key(key)).collect()
    }

    pub(crate) fn span(&self, span: &Span) -> Span {
        Span::new(self.key(&span.start), self.key(&span.end))
    }

    fn spans(&self, spans: &SpanSet) -> SpanSet {
        spans.spans().iter().map(|span| self.span(span)).collect()
    }

    /// All keys with the prefix.
    pub(crate) fn all(&self) -> Span {
        Span::prefix(self.prefix.to_vec())
    }

    /// Whether a span of store keys is a real part of the keyspace.
    pub(crate) fn contains(&self, span: &Span) -> bool {
        let all = self.all();
        all.start < span.start && span.end <= all.end
    }

    pub(crate) fn reads(&self, reads: &[ReadSegment]) -> Vec<ReadSegment> {
        let read = |read: &ReadSegment| ReadSegment {
            snapshot: read.snapshot.clone(),
            spans: self.spans(&read.spans),
        };
        reads.iter().map(read).collect()
    }

    pub(crate) fn lock_request(&self, request: &LockRequest) -> LockRequest {
        let target = match &request.target {
            LockTarget::Keys(keys) => LockTarget::Keys(self.keys(keys)),
            LockTarget::Spans(spans) => {
                LockTarget::Spans(spans.iter().map(|span| self.span(span)).collect())
            }
        };
        LockRequest { target, ..request.clone() }
    }

    pub(crate) fn commit_request(&self, request: CommitRequest) -> CommitRequest {
        let key = |key: &[u8]| Arc::from(self.key(key));
        let new_key = |new: NewKey| NewKey { key: key(&new.key), seq: new.seq };
        CommitRequest {
            reads: self.reads(&request.reads),
            checks: request.checks.into_iter().map(|check| self.check(check)).collect(),
            new_keys: request.new_keys.into_iter().map(new_key).collect(),
            deleted_spans: self.spans(&request.deleted_spans),
            writes: request.writes.into_iter().map(|(k, value)| (key(&k), value)).collect(),
            ..request
        }
    }

    fn check(&self, check: Check) -> Check {
        let filter = |filter: Matching| {
            Matching(Arc::new(FilterInKeyspace { keyspace: self.clone(), filter }))
        };
        let mut conflict = check.conflict;
        conflict.key = conflict.key.map(|key| self.key(&key));
        Check {
            span: self.span(&check.span),
            matching: check.matching.map(filter),
            conflict,
            ..check
        }
    }

    /// The contract key of a store key that a scan has returned.
    pub(crate) fn strip<'a>(&self, key: &'a [u8]) -> Result<&'a [u8]> {
        let stripped = key.strip_prefix(&*self.prefix);
        debug_assert!(stripped.is_some(), "{} lacks the prefix", key.escape_ascii());
        let lacks = || format!("the key \"{}\" lacks the keyspace's prefix", key.escape_ascii());
        stripped.ok_or_else(|| Error::Storage(lacks().into()))
    }

    /// The bytes of a batch of store keys, counted as contract keys.
    pub(crate) fn contract_bytes(&self, batch: &ScanBatch) -> usize {
        batch.bytes().saturating_sub(batch.len() * self.prefix.len())
    }

    /// The contract key of a store key that an error or a lock names. TiKV may name keys that are
    /// not of this keyspace; they are shown as they are.
    pub(crate) fn contract_key(&self, key: &[u8]) -> Key {
        key.strip_prefix(&*self.prefix).unwrap_or(key).to_vec()
    }

    pub(crate) fn contract_conflict(&self, mut conflict: Conflict) -> Conflict {
        conflict.key = conflict.key.map(|key| self.contract_key(&key));
        conflict
    }

    pub(crate) fn contract_outcome(&self, outcome: CommitOutcome) -> CommitOutcome {
        match outcome {
            CommitOutcome::Retry(conflict) => {
                CommitOutcome::Retry(self.contract_conflict(conflict))
            }
            CommitOutcome::Committed(_) | CommitOutcome::Unknown => outcome,
        }
    }

    pub(crate) fn contract_error(&self, error: Error) -> Error {
        match error {
            Error::LockTimeout { key } => Error::LockTimeout { key: self.contract_key(&key) },
            Error::LockNotAvailable { key } => {
                Error::LockNotAvailable { key: self.contract_key(&key) }
            }
            Error::Duplicate { key, seq } => Error::Duplicate { key: self.contract_key(&key), seq },
            Error::Retry(conflict) => Error::Retry(Box::new(self.contract_conflict(*conflict))),
            Error::Deadlock { cycle } => {
                let strip = |edge: &DeadlockEdge| DeadlockEdge {
                    key: self.contract_key(&edge.key),
                    ..edge.clone()
                };
                Error::Deadlock { cycle: cycle.iter().map(strip).collect() }
            }
            error => error,
        }
    }
}

/// A filter of the contract that is asked about store keys.
struct FilterInKeyspace {
    keyspace: Keyspace,
    filter: Matching,
}

impl EntryFilter for FilterInKeyspace {
    fn matters(&self, key: &[u8], value: &[u8]) -> bool {
        // A key outside the keyspace is a broken invariant: the check then fails.
        self.keyspace.strip(key).map_or(true, |key| self.filter.0.matters(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_stay_within_the_prefix() {
        let keyspace = Keyspace::data("x/");
        let all = keyspace.span(&Span::new([0].as_slice(), [0xff; 20].as_slice()));
        assert!(all.start.starts_with(b"x/d") && all.end <= b"x/e".to_vec());
        assert_eq!(keyspace.strip(&keyspace.key(b"k")).unwrap(), b"k");
        assert!(keyspace.contains(&keyspace.span(&Span::prefix(b"k".to_vec()))));
        let beyond = Span::new(keyspace.key(b"k"), Keyspace::data("y/").key(b"k"));
        let whole = Span::prefix(keyspace.key(b""));
        assert!(!keyspace.contains(&beyond) && !keyspace.contains(&whole));
    }

    /// A contract key may begin like a prefix: only one prefix is removed.
    #[test]
    fn errors_name_contract_keys() {
        let keyspace = Keyspace::data("x/");
        let key = b"x/dk".to_vec();
        let error = Error::LockTimeout { key: keyspace.key(&key) };
        let Error::LockTimeout { key: named } = keyspace.contract_error(error) else {
            panic!("the error stays what it is")
        };
        assert_eq!(named, key);
    }
}
