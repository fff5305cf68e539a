//! Proofs that what was read still holds at another timestamp.

use crate::{
    cluster::{Cluster, REGIONS_AT_ONCE},
    locks::{LockResolver, OldestPushed},
    read::{ReadContext, TikvCursor, TikvSnapshot, multi_get},
};
use braid_kv::{Conflict, Key, Matching, Result, Snapshot, Span, Value};
use futures_util::{StreamExt, future::try_join_all, stream};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Entries of a span that are compared at a time.
const PAGE_ROWS: usize = 2048;

/// What has to hold.
#[derive(Clone)]
pub(crate) enum Condition {
    /// The key is as the snapshot has shown it.
    Key(Key, Arc<dyn Snapshot>),
    /// The span is as the snapshot has shown it.
    Span(Span, Arc<dyn Snapshot>),
    /// The key exists.
    Exists(Key),
    /// The key does not exist.
    Absent(Key),
    /// No entry that the filter is about was put into the span since the snapshot.
    NoneCame(Span, Arc<dyn Snapshot>, Matching),
    /// No key of the span exists beside these, which are sorted.
    NoOther(Span, Arc<[Key]>),
}

/// Something that has to hold, and the conflict if it does not.
#[derive(Clone)]
pub(crate) struct Proof {
    pub what: Condition,
    pub conflict: Conflict,
}

impl Proof {
    /// The span, which may be one key, is as the snapshot has shown it.
    pub(crate) fn same(span: &Span, since: &Arc<dyn Snapshot>, conflict: Conflict) -> Proof {
        let what = match span.is_key() {
            true => Condition::Key(span.start.clone(), since.clone()),
            false => Condition::Span(span.clone(), since.clone()),
        };
        Proof { what, conflict }
    }
}

/// The first of the proofs that fails at `ts`, with locks of the transaction `own` passed over.
/// Whose commits it has pushed for that is noted.
pub(crate) async fn prove(
    context: &Arc<ReadContext>,
    proofs: &[Proof],
    ts: u64,
    own: u64,
    pushed: &OldestPushed,
) -> Result<Option<Conflict>> {
    let at = At { context, ts, own, pushed };
    let spans = proofs.iter().filter(|p| {
        matches!(p.what, Condition::Span(..) | Condition::NoneCame(..) | Condition::NoOther(..))
    });
    let spans = try_join_all(spans.map(|proof| at.span_fails(proof)));
    let (keys, spans) = tokio::try_join!(at.failed_key(proofs), spans)?;
    Ok(keys.or_else(|| spans.into_iter().flatten().next()))
}

/// A point of time to look at.
struct At<'a> {
    context: &'a Arc<ReadContext>,
    ts: u64,
    own: u64,
    pushed: &'a OldestPushed,
}

impl At<'_> {
    fn cluster(&self) -> &Arc<Cluster> {
        &self.context.cluster
    }

    fn resolver(&self) -> LockResolver {
        LockResolver::new(self.cluster(), self.ts, self.own).pushing(self.pushed)
    }

    /// Single keys: all of them in one request for each region, beside those whose old value has
    /// to be read again.
    async fn failed_key(&self, proofs: &[Proof]) -> Result<Option<Conflict>> {
        let mut wanted = Vec::new();
        let mut forgotten: BTreeMap<u64, Vec<Key>> = BTreeMap::new();
        for proof in proofs {
            match &proof.what {
                Condition::Key(key, since) => {
                    let since = TikvSnapshot::of(since)?;
                    if since.seen(key).is_none() {
                        forgotten.entry(since.ts).or_default().push(key.clone());
                    }
                    wanted.push(key.clone());
                }
                Condition::Exists(key) | Condition::Absent(key) => {
                    wanted.push(key.clone());
                }
                Condition::Span(..) | Condition::NoneCame(..) | Condition::NoOther(..) => {}
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let now = multi_get(self.cluster(), wanted, self.ts, self.resolver());
        let before = try_join_all(forgotten.into_iter().map(async |(ts, keys)| {
            let resolver = LockResolver::new(self.cluster(), ts, self.own);
            Ok::<_, braid_kv::Error>((ts, multi_get(self.cluster(), keys, ts, resolver).await?))
        }));
        let (now, before) = tokio::try_join!(now, before)?;
        let before: HashMap<u64, HashMap<Key, Value>> = before.into_iter().collect();
        for proof in proofs {
            let holds = match &proof.what {
                Condition::Exists(key) => now.contains_key(key),
                Condition::Absent(key) => !now.contains_key(key),
                Condition::Key(key, since) => {
                    let since = TikvSnapshot::of(since)?;
                    let newest = self.context.hash(now.get(key));
                    match before.get(&since.ts).filter(|_| since.seen(key).is_none()) {
                        Some(old) => self.context.hash(old.get(key)) == newest,
                        None => since.seen(key) == Some(newest),
                    }
                }
                Condition::Span(..) | Condition::NoneCame(..) | Condition::NoOther(..) => true,
            };
            if !holds {
                return Ok(Some(proof.conflict.clone()));
            }
        }
        Ok(None)
    }

    /// A cursor over a span.
    fn cursor(&self, span: &Span, ts: u64, keys_only: bool) -> TikvCursor {
        let resolver = match ts == self.ts {
            true => self.resolver(),
            false => LockResolver::new(self.cluster(), ts, self.own),
        };
        TikvCursor::of_store_keys(self.cluster(), span.clone(), keys_only, resolver)
    }

    /// Whether something holds in each part of a span; its regions are looked at side by side.
    async fn holds_everywhere<F: Future<Output = Result<bool>>>(
        &self,
        span: &Span,
        holds: impl Fn(Span) -> F,
    ) -> Result<bool> {
        let parts = self.cluster().cut(span).await?;
        let mut answers = stream::iter(parts.into_iter().map(holds)).buffered(REGIONS_AT_ONCE);
        while let Some(answer) = answers.next().await {
            if !answer? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn span_fails(&self, proof: &Proof) -> Result<Option<Conflict>> {
        let holds = match &proof.what {
            Condition::Span(span, since) => {
                let before = TikvSnapshot::of(since)?.ts;
                self.holds_everywhere(span, |part| self.is_same(part, before)).await?
            }
            Condition::NoneCame(span, since, matching) => {
                let before = TikvSnapshot::of(since)?.ts;
                self.holds_everywhere(span, |part| self.none_came(part, before, matching)).await?
            }
            Condition::NoOther(span, known) => {
                self.holds_everywhere(span, |part| self.has_no_other(part, known)).await?
            }
            Condition::Key(..) | Condition::Exists(_) | Condition::Absent(_) => true,
        };
        Ok((!holds).then(|| proof.conflict.clone()))
    }

    async fn is_same(&self, span: Span, before: u64) -> Result<bool> {
        let mut old = self.cursor(&span, before, false);
        let mut new = self.cursor(&span, self.ts, false);
        loop {
            let (old, new) =
                tokio::try_join!(old.read(PAGE_ROWS, usize::MAX), new.read(PAGE_ROWS, usize::MAX))?;
            if !old.iter().eq(new.iter()) {
                return Ok(false);
            }
            if old.resume.is_none() || new.resume.is_none() {
                return Ok(old.resume.is_none() == new.resume.is_none()
                    || (old.len() < PAGE_ROWS && new.len() < PAGE_ROWS));
            }
        }
    }

    /// Only the entries that matter are compared with what the snapshot has shown.
    async fn none_came(&self, span: Span, before: u64, matching: &Matching) -> Result<bool> {
        let mut new = self.cursor(&span, self.ts, false);
        loop {
            let page = new.read(PAGE_ROWS, usize::MAX).await?;
            let matters = page.iter().filter(|(key, value)| matching.0.matters(key, value));
            let found: Vec<(Key, &[u8])> =
                matters.map(|(key, value)| (key.to_vec(), value)).collect();
            if !found.is_empty() {
                let keys = found.iter().map(|(key, _)| key.clone()).collect();
                let resolver = LockResolver::new(self.cluster(), before, self.own);
                let old = multi_get(self.cluster(), keys, before, resolver).await?;
                let is_old = |(key, value): &(Key, &[u8])| {
                    old.get(key).is_some_and(|old| old.as_ref() == *value)
                };
                if !found.iter().all(is_old) {
                    return Ok(false);
                }
            }
            if page.resume.is_none() {
                return Ok(true);
            }
        }
    }

    async fn has_no_other(&self, span: Span, known: &[Key]) -> Result<bool> {
        let mut cursor = self.cursor(&span, self.ts, true);
        loop {
            let page = cursor.read(PAGE_ROWS, usize::MAX).await?;
            let is_known =
                |key: &[u8]| known.binary_search_by(|known| known.as_slice().cmp(key)).is_ok();
            if page.iter().any(|(key, _)| !is_known(key)) {
                return Ok(false);
            }
            if page.resume.is_none() {
                return Ok(true);
            }
        }
    }
}
