//! Validation: whether what a transaction has read still holds.
//!
//! ```text
//!   caller     written keys ─ keys that must not exist ─ reads older than the index
//!   committer  reads and checks against the index of recent writes, one transaction after another
//! ```
//!
//! The caller validates under the transaction's locks, side by side with others. The committer
//! validates the rest and keeps the index locked until the transaction has entered it.

use super::queue::Job;
use crate::{
    reads::{View, ViewSnapshot, view_of},
    recent_writes::RecentWrites,
    shared::Shared,
};
use braid_kv::{
    Check, CommitRequest, Conflict, Error, Key, Matching, ReadSegment, Result, RetryReason,
    Snapshot, Span, SpanSet, TxnId,
};
use parking_lot::MutexGuard;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// What the committer's validation has found.
pub(super) enum ProvenReads<'a> {
    /// Everything holds. The index stays locked, so that no commit comes between.
    Unchanged(MutexGuard<'a, RecentWrites>),
    Changed(Conflict),
}

impl Shared {
    /// Proves the reads and checks of a transaction against everything that was accepted before.
    pub(super) fn prove_reads(&self, request: &CommitRequest) -> Result<ProvenReads<'_>> {
        let mut recent = self.recent.lock();
        for segment in &request.reads {
            if let Some(conflict) = self.changed_since(&recent, segment)? {
                return Ok(ProvenReads::Changed(conflict));
            }
        }
        for check in &request.checks {
            if check.exists {
                if self.gone_since(&recent, check)? {
                    return Ok(ProvenReads::Changed(check.conflict.clone()));
                }
                continue;
            }
            if let Some(matching) = &check.matching {
                // What this group has written so far is not in the view: see [`Overtaken`].
                drop(recent);
                let now = self.current();
                if self.has_come(&check.snapshot, &check.span, matching, &now.0)? {
                    return Ok(ProvenReads::Changed(check.conflict.clone()));
                }
                recent = self.recent.lock();
                continue;
            }
            let spans = SpanSet::from_iter([check.span.clone()]);
            let segment = ReadSegment { snapshot: check.snapshot.clone(), spans };
            if self.changed_since(&recent, &segment)?.is_some() {
                return Ok(ProvenReads::Changed(check.conflict.clone()));
            }
        }
        Ok(ProvenReads::Unchanged(recent))
    }

    /// Whether everything in the segment is unchanged, up to the newest view and, beyond it, up
    /// to what the committer has accepted since. Answers with the first change found.
    ///
    /// `recent` is passed in by those who must not let go of it between two checks.
    pub(crate) fn changed_since(
        &self,
        recent: &RecentWrites,
        segment: &ReadSegment,
    ) -> Result<Option<Conflict>> {
        if !self.options.validate {
            return Ok(None);
        }
        let view = view_of(&segment.snapshot)?;
        if recent.knows(view.number()) {
            let key = recent.changed(&segment.spans, view.number());
            return Ok(key.map(|key| conflict(&segment.spans, key)));
        }
        let now = self.current();
        match self.reread(view, &now.0, &segment.spans)? {
            Some(found) => Ok(Some(found)),
            None => {
                let key = recent.changed(&segment.spans, now.0.number());
                Ok(key.map(|key| conflict(&segment.spans, key)))
            }
        }
    }

    /// Whether the key of an existence check is gone, up to what the committer has accepted.
    pub(crate) fn gone_since(&self, recent: &RecentWrites, check: &Check) -> Result<bool> {
        if !self.options.validate {
            return Ok(false);
        }
        let view = view_of(&check.snapshot)?;
        let key = &check.span.start;
        if recent.knows(view.number()) {
            return Ok(recent.key_gone(key, view.number()));
        }
        let now = self.current();
        Ok(now.0.version(key)?.is_none() || recent.key_gone(key, now.0.number()))
    }

    /// Whether an entry that `matching` is about was put into the span after its snapshot, up to
    /// the newest view. What the committer has accepted since then is not in a view yet.
    pub(crate) fn has_come(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        span: &Span,
        matching: &Matching,
        now: &View,
    ) -> Result<bool> {
        let since = view_of(snapshot)?.number();
        if !self.options.validate || since >= now.number() {
            return Ok(false);
        }
        let recent = self.recent.lock();
        let puts = recent.knows(since).then(|| recent.puts(span, since));
        drop(recent);
        let matters = |key: &[u8]| {
            let value = now.read(key)?;
            Ok::<bool, Error>(value.is_some_and(|value| matching.0.matters(key, &value)))
        };
        if let Some(puts) = puts {
            for key in puts {
                if matters(&key)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        self.counters.revalidations.fetch_add(1, Relaxed);
        for entry in now.versions(span) {
            let (key, number) = entry?;
            if number > since && matters(&key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same as [`Shared::changed_since`] for callers who need no more than one answer: a
    /// comparison that has to read does not hold up the committer.
    pub(crate) fn changed_by_now(&self, segment: &ReadSegment) -> Result<Option<Conflict>> {
        let view = view_of(&segment.snapshot)?;
        if !self.options.validate || self.recent.lock().knows(view.number()) {
            return self.changed_since(&self.recent.lock(), segment);
        }
        let now = self.current();
        if let Some(found) = self.reread(view, &now.0, &segment.spans)? {
            return Ok(Some(found));
        }
        let spans = segment.spans.clone();
        self.changed_since(&self.recent.lock(), &ReadSegment { snapshot: now, spans })
    }

    /// Compares two views over `spans` by reading both.
    pub(crate) fn reread(
        &self,
        old: &View,
        new: &View,
        spans: &SpanSet,
    ) -> Result<Option<Conflict>> {
        self.counters.revalidations.fetch_add(1, Relaxed);
        for span in spans.spans() {
            if let Some(key) = old.difference(new, span)? {
                return Ok(Some(conflict(spans, key)));
            }
        }
        Ok(None)
    }

    /// Whether one key has changed between two views.
    pub(crate) fn key_changed(&self, key: &[u8], old: &View, new: &View) -> Result<bool> {
        if old.number() >= new.number() {
            return Ok(false);
        }
        let recent = self.recent.lock();
        if recent.knows(old.number()) {
            return Ok(recent.key_changed(key, old.number()));
        }
        drop(recent);
        Ok(old.version(key)? != new.version(key)?)
    }
}

/// Transactions of a group whose checks fail by what others have written that were accepted
/// before them in the same group: their values are in no view yet.
#[derive(Default)]
pub(super) struct Overtaken {
    conflicts: HashMap<TxnId, Conflict>,
}

impl Overtaken {
    /// Looks whether what is accepted now matters to those who come after it.
    pub(super) fn note(&mut self, accepted: &CommitRequest, later: &[Job]) {
        for Job { request, .. } in later {
            let fails = |check: &&Check| {
                let Some(matching) = &check.matching else { return false };
                let from = accepted
                    .writes
                    .partition_point(|(key, _)| key.as_ref() < check.span.start.as_slice());
                let inside = accepted.writes[from..].iter();
                inside.take_while(|(key, _)| key.as_ref() < check.span.end.as_slice()).any(
                    |(key, value)| {
                        value.as_ref().is_some_and(|value| matching.0.matters(key, value))
                    },
                )
            };
            if let Some(check) = request.checks.iter().find(fails) {
                self.conflicts.insert(request.txn, check.conflict.clone());
            }
        }
    }

    /// Why a transaction cannot commit after those accepted before it.
    pub(super) fn conflict(&mut self, request: &CommitRequest) -> Option<Conflict> {
        self.conflicts.remove(&request.txn)
    }
}

/// REPEATABLE READ: a written key must not be newer than the snapshot.
pub(super) fn check_writes(
    shared: &Shared,
    request: &CommitRequest,
    now: &View,
) -> Result<Option<Conflict>> {
    let Some(since) = &request.conflicts_since else { return Ok(None) };
    let since = view_of(since)?;
    let new: HashSet<&[u8]> = request.new_keys.iter().map(|new| new.key.as_ref()).collect();
    for (key, _) in &request.writes {
        if !new.contains(key.as_ref()) && shared.key_changed(key, since, now)? {
            return Ok(Some(Conflict::new(RetryReason::WriteConflict, Some(key.to_vec()))));
        }
    }
    if request.deleted_spans.is_empty() || since.number() >= now.number() {
        return Ok(None);
    }
    let found = shared.reread(since, now, &request.deleted_spans)?;
    Ok(found.map(|c| Conflict::new(RetryReason::WriteConflict, c.key)))
}

/// The first key, in the order of statements, that must not exist but does.
pub(super) fn find_duplicate(request: &CommitRequest, now: &View) -> Result<Option<Error>> {
    let keys: Vec<&[u8]> = request.new_keys.iter().map(|new| new.key.as_ref()).collect();
    let mut first: Option<usize> = None;
    now.visit_all(&keys, |at, _, _| {
        let is_earlier = |first: usize| {
            let seq = |at: usize| request.new_keys[at].seq;
            (seq(at), at) < (seq(first), first)
        };
        if first.is_none_or(is_earlier) {
            first = Some(at);
        }
    })?;
    Ok(first.map(|at| {
        let new = &request.new_keys[at];
        Error::Duplicate { key: new.key.to_vec(), seq: new.seq }
    }))
}

/// Reads that are older than the index are compared here, so that the committer need not: what
/// holds in the newest view is then as good as read there.
pub(super) fn renew_old_reads(
    shared: &Shared,
    request: &mut CommitRequest,
    now: &Arc<ViewSnapshot>,
) -> Result<Option<Conflict>> {
    for segment in &mut request.reads {
        if let Some(conflict) = renew(shared, segment, now)? {
            return Ok(Some(conflict));
        }
    }
    for check in &mut request.checks {
        if check.exists {
            if gone(shared, check, now)? {
                return Ok(Some(check.conflict.clone()));
            }
            continue;
        }
        if let Some(matching) = &check.matching {
            if shared.has_come(&check.snapshot, &check.span, matching, &now.0)? {
                return Ok(Some(check.conflict.clone()));
            }
            check.snapshot = now.clone() as Arc<dyn Snapshot>;
            continue;
        }
        let spans = SpanSet::from_iter([check.span.clone()]);
        let mut segment = ReadSegment { snapshot: check.snapshot.clone(), spans };
        if renew(shared, &mut segment, now)?.is_some() {
            return Ok(Some(check.conflict.clone()));
        }
        check.snapshot = segment.snapshot;
    }
    Ok(None)
}

/// Whether a key that has to exist is gone in the newest view, for checks older than the index.
fn gone(shared: &Shared, check: &mut Check, now: &Arc<ViewSnapshot>) -> Result<bool> {
    let view = view_of(&check.snapshot)?;
    if !shared.options.validate || shared.recent.lock().knows(view.number()) {
        return Ok(false);
    }
    check.snapshot = now.clone() as Arc<dyn Snapshot>;
    Ok(now.0.version(&check.span.start)?.is_none())
}

fn renew(
    shared: &Shared,
    segment: &mut ReadSegment,
    now: &Arc<ViewSnapshot>,
) -> Result<Option<Conflict>> {
    let view = view_of(&segment.snapshot)?;
    if !shared.options.validate || shared.recent.lock().knows(view.number()) {
        return Ok(None);
    }
    let conflict = shared.reread(view, &now.0, &segment.spans)?;
    segment.snapshot = now.clone() as Arc<dyn Snapshot>;
    Ok(conflict)
}

/// A conflict at `key`, worded by how it was read.
fn conflict(spans: &SpanSet, key: Key) -> Conflict {
    let at = spans.spans().partition_point(|s| s.end.as_slice() <= key.as_slice());
    let by_key = spans.spans().get(at).is_some_and(|s| s.is_key());
    let reason = if by_key { RetryReason::ReadChanged } else { RetryReason::SpanChanged };
    Conflict::new(reason, Some(key))
}
