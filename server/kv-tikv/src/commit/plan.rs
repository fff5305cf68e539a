//! What a commit has to write, and what it has to prove.

use super::validate::{Condition, Proof};
use crate::{
    cluster::{Keyed, REGIONS_AT_ONCE},
    locks::{HeldLock, LockResolver},
    read::{ReadContext, TikvCursor, TikvSnapshot},
};
use braid_kv::{
    CommitRequest, Conflict, Error, Key, ReadSegment, Result, RetryReason, Snapshot, Span, Value,
};
use futures_util::{StreamExt, stream};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Keys of a deleted span that are read at a time.
const PAGE_ROWS: usize = 4096;

/// How a key is prewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Put or deleted, whatever is there.
    Write,
    /// Put where nothing may be.
    New,
    /// Locked and not written.
    Locked,
}

/// One key of the commit.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub key: Key,
    pub value: Option<Value>,
    pub kind: Kind,
}

impl Keyed for Change {
    fn key(&self) -> &[u8] {
        &self.key
    }

    fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, |value| value.len())
    }
}

/// A commit, ready to be prewritten.
pub(super) struct Plan {
    /// In key order.
    pub changes: Vec<Change>,
    pub proofs: Vec<Proof>,
}

/// The proofs of read segments; `is_covered` says which keys need none, at which timestamp.
pub(crate) fn proofs_of(
    reads: &[ReadSegment],
    is_covered: impl Fn(&[u8], u64) -> bool,
) -> Result<Vec<Proof>> {
    let mut proofs = Vec::new();
    for segment in reads {
        let ts = TikvSnapshot::of(&segment.snapshot)?.ts;
        for span in segment.spans.spans() {
            if span.is_key() && is_covered(&span.start, ts) {
                continue;
            }
            let reason = match span.is_key() {
                true => RetryReason::ReadChanged,
                false => RetryReason::SpanChanged,
            };
            let conflict = Conflict::new(reason, Some(span.start.clone()));
            proofs.push(Proof::same(span, &segment.snapshot, conflict));
        }
    }
    Ok(proofs)
}

impl Plan {
    /// Makes the plan; `now` is a timestamp at which deleted spans are read.
    pub(super) async fn make(
        reads: &ReadContext,
        request: &CommitRequest,
        held: &BTreeMap<Key, HeldLock>,
        now: u64,
    ) -> Result<Plan> {
        let mut proofs = reads_and_checks(request, held)?;
        let mut new: HashMap<Key, &braid_kv::NewKey> =
            request.new_keys.iter().map(|new| (new.key.to_vec(), new)).collect();
        let mut changes: BTreeMap<Key, Change> = BTreeMap::new();
        for (key, value) in &request.writes {
            let key = key.to_vec();
            let is_new = new.contains_key(&key);
            // The lock has told whether a locked key exists.
            let is_held = held.contains_key(&key);
            let kind = if is_new && !is_held && value.is_some() { Kind::New } else { Kind::Write };
            if kind == Kind::New {
                new.remove(&key);
            }
            changes.insert(key.clone(), Change { key, value: value.clone(), kind });
        }
        for (key, new_key) in new {
            match held.get(&key).map(|held| held.value.is_some()) {
                Some(true) => {
                    return Err(Error::Duplicate { key: new_key.key.to_vec(), seq: new_key.seq });
                }
                Some(false) => {}
                None => {
                    let key = new_key.key.to_vec();
                    let conflict = Conflict::new(RetryReason::ReadChanged, Some(key.clone()));
                    proofs.push(Proof { what: Condition::Absent(key), conflict });
                }
            }
        }
        if let Some(since) = &request.conflicts_since {
            proofs.extend(unchanged_writes(request, held, &changes, since)?);
        }
        add_deleted_spans(reads, request, &mut changes, &mut proofs, now).await?;
        for key in held.keys() {
            let locked = || Change { key: key.clone(), value: None, kind: Kind::Locked };
            changes.entry(key.clone()).or_insert_with(locked);
        }
        Ok(Plan { changes: changes.into_values().collect(), proofs })
    }
}

fn reads_and_checks(request: &CommitRequest, held: &BTreeMap<Key, HeldLock>) -> Result<Vec<Proof>> {
    let covered =
        |key: &[u8], ts: u64| held.get(key).is_some_and(|held| held.unchanged_since <= ts);
    let mut proofs = proofs_of(&request.reads, covered)?;
    for check in &request.checks {
        let key = &check.span.start;
        if check.exists {
            let exists = held.get(key).is_some_and(|h| h.value.is_some());
            if !exists {
                let what = Condition::Exists(key.clone());
                proofs.push(Proof { what, conflict: check.conflict.clone() });
            }
            continue;
        }
        if let Some(matching) = &check.matching {
            let (span, since) = (check.span.clone(), check.snapshot.clone());
            let what = Condition::NoneCame(span, since, matching.clone());
            proofs.push(Proof { what, conflict: check.conflict.clone() });
            continue;
        }
        if check.span.is_key() && covered(key, TikvSnapshot::of(&check.snapshot)?.ts) {
            continue;
        }
        proofs.push(Proof::same(&check.span, &check.snapshot, check.conflict.clone()));
    }
    Ok(proofs)
}

/// REPEATABLE READ: what is written must be as the snapshot has shown it.
fn unchanged_writes(
    request: &CommitRequest,
    held: &BTreeMap<Key, HeldLock>,
    changes: &BTreeMap<Key, Change>,
    since: &Arc<dyn Snapshot>,
) -> Result<Vec<Proof>> {
    let ts = TikvSnapshot::of(since)?.ts;
    let new: BTreeSet<&[u8]> = request.new_keys.iter().map(|new| new.key.as_ref()).collect();
    let mut proofs = Vec::new();
    for change in changes.values() {
        let key = change.key.clone();
        let is_covered = held.get(&change.key).is_some_and(|held| held.unchanged_since <= ts);
        if !new.contains(key.as_slice()) && !is_covered {
            let conflict = Conflict::new(RetryReason::WriteConflict, Some(key.clone()));
            proofs.push(Proof::same(&Span::key(key), since, conflict));
        }
    }
    for span in request.deleted_spans.spans() {
        let conflict = Conflict::new(RetryReason::WriteConflict, Some(span.start.clone()));
        proofs.push(Proof::same(span, since, conflict));
    }
    Ok(proofs)
}

/// TiKV has no delete of a range inside a transaction: the keys are read, all regions side by side,
/// and deleted one by one, and at the commit no other key may be there.
async fn add_deleted_spans(
    reads: &ReadContext,
    request: &CommitRequest,
    changes: &mut BTreeMap<Key, Change>,
    proofs: &mut Vec<Proof>,
    now: u64,
) -> Result<()> {
    let bytes = AtomicUsize::new(0);
    for span in request.deleted_spans.spans() {
        let parts = reads.cluster.cut(span).await?;
        let keys = parts.into_iter().map(|part| keys_of(reads, part, now, &bytes));
        let mut keys = stream::iter(keys).buffered(REGIONS_AT_ONCE);
        while let Some(keys) = keys.next().await {
            for key in keys? {
                let deleted = Change { key: key.clone(), value: None, kind: Kind::Write };
                changes.entry(key).or_insert(deleted);
            }
        }
        let inside = changes.range::<Key, _>(&span.start..&span.end).map(|(key, _)| key.clone());
        let what = Condition::NoOther(span.clone(), inside.collect());
        let conflict = Conflict::new(RetryReason::SpanChanged, Some(span.start.clone()));
        proofs.push(Proof { what, conflict });
    }
    Ok(())
}

/// The keys of a span, without their values; [`Error::LimitExceeded`] once all spans together have
/// too many.
async fn keys_of(
    reads: &ReadContext,
    span: Span,
    now: u64,
    bytes: &AtomicUsize,
) -> Result<Vec<Key>> {
    let cluster = &reads.cluster;
    let resolver = LockResolver::new(cluster, now, 0);
    let mut cursor = TikvCursor::of_store_keys(cluster, span, true, resolver);
    let mut keys = Vec::new();
    let bytes_max = cluster.options.range_delete_bytes_max;
    loop {
        let page = cursor.read(PAGE_ROWS, usize::MAX).await?;
        keys.extend(page.iter().map(|(key, _)| key.to_vec()));
        let page_bytes = reads.keyspace.contract_bytes(&page);
        if bytes.fetch_add(page_bytes, Relaxed) + page_bytes > bytes_max {
            let (name, limit) = ("tikv_range_delete_bytes", bytes_max as u64);
            return Err(Error::LimitExceeded { name, limit });
        }
        if page.resume.is_none() {
            return Ok(keys);
        }
    }
}
