//! Scans: one region after the other, page by page, in either direction.

use super::lookup::lock_of;
use crate::{
    cluster::Cluster,
    gc::check_age,
    keyspace::Keyspace,
    locks::{LockResolver, unexpected},
};
use braid_kv::{Answer, BatchBuilder, Cursor, Result, ScanBatch, Span, key_after};
use braid_tikv_proto::kvrpcpb::{KvPair, ScanRequest};
use std::sync::Arc;

/// What to scan, in keys of the cursor's keyspace.
pub(crate) struct Scan {
    pub span: Span,
    pub ts: u64,
    pub reverse: bool,
    pub keys_only: bool,
}

/// An open scan at one timestamp. Its keyspace decides which keys go in and come out.
pub(crate) struct TikvCursor {
    cluster: Arc<Cluster>,
    keyspace: Keyspace,
    /// What is left to scan, in store keys.
    scan: Scan,
    resolver: LockResolver,
}

/// One page: its entries, and whether it ends where its region ends.
struct Page {
    pairs: Vec<KvPair>,
    done: bool,
}

impl TikvCursor {
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        keyspace: Keyspace,
        scan: Scan,
        resolver: LockResolver,
    ) -> TikvCursor {
        let scan = Scan { span: keyspace.span(&scan.span), ..scan };
        TikvCursor { cluster, keyspace, scan, resolver }
    }

    /// A forward scan by the store itself, which takes and returns store keys.
    pub(crate) fn of_store_keys(
        cluster: &Arc<Cluster>,
        span: Span,
        keys_only: bool,
        resolver: LockResolver,
    ) -> TikvCursor {
        let scan = Scan { span, ts: resolver.ts(), reverse: false, keys_only };
        TikvCursor::new(cluster.clone(), Keyspace::whole_cluster(), scan, resolver)
    }

    /// The next entries of the region where the scan stands. Afterwards `span` is what is left.
    async fn page(&mut self, rows: usize) -> Result<Vec<KvPair>> {
        let cluster = self.cluster.clone();
        let mut backoff = cluster.backoff();
        loop {
            let region = match self.scan.reverse {
                false => cluster.locate(&self.scan.span.start).await?,
                true => cluster.locate_before(&self.scan.span.end).await?,
            };
            // The part of the rest that is in this region.
            let low = self.scan.span.start.clone().max(region.start.clone());
            let high = match region.end.is_empty() {
                true => self.scan.span.end.clone(),
                false => self.scan.span.end.clone().min(region.end.clone()),
            };
            let (from, to) = if self.scan.reverse { (&high, &low) } else { (&low, &high) };
            let request = ScanRequest {
                start_key: from.clone().into(),
                end_key: to.clone().into(),
                limit: rows as u32,
                version: self.scan.ts,
                key_only: self.scan.keys_only,
                reverse: self.scan.reverse,
                ..ScanRequest::default()
            };
            let answer = match cluster.try_at(&region, request, self.resolver.options()).await {
                Ok(answer) => answer,
                Err(failure) => {
                    cluster.recover::<ScanRequest>(&region, failure, &mut backoff).await?;
                    continue;
                }
            };
            let errors = answer.pairs.iter().filter_map(|pair| pair.error.as_ref());
            let locks =
                answer.error.iter().chain(errors).map(lock_of).collect::<Result<Vec<_>>>()?;
            if !locks.is_empty() {
                self.resolver.resolve(&cluster, &locks).await?;
                continue;
            }
            check_age(&cluster, self.scan.ts).await?;
            let full = answer.pairs.len() >= rows;
            let page = Page { pairs: answer.pairs, done: !full };
            self.advance(&page, low, high);
            return Ok(page.pairs);
        }
    }

    fn advance(&mut self, page: &Page, low: Vec<u8>, high: Vec<u8>) {
        let last = page.pairs.last().filter(|_| !page.done).map(|pair| &pair.key);
        match (self.scan.reverse, last) {
            (false, Some(last)) => self.scan.span.start = key_after(last),
            (false, None) => self.scan.span.start = high,
            (true, Some(last)) => self.scan.span.end = last.to_vec(),
            (true, None) => self.scan.span.end = low,
        }
    }

    /// Entries until there are `rows` of them, or `bytes`, or the end is reached.
    pub(crate) async fn read(&mut self, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let rows = rows.max(1);
        let mut out = BatchBuilder::with_capacity(rows.min(1024), 0);
        while !self.scan.span.is_empty() && out.len() < rows && out.bytes() < bytes.max(1) {
            for pair in self.page(rows - out.len()).await? {
                if let Some(error) = &pair.error {
                    return Err(unexpected("a scan", error));
                }
                out.push(self.keyspace.strip(&pair.key)?, &pair.value);
            }
        }
        let Span { start, end } = &self.scan.span;
        let rest = match self.scan.span.is_empty() {
            true => None,
            false => Some(Span::new(self.keyspace.strip(start)?, self.keyspace.strip(end)?)),
        };
        Ok(out.finish(rest))
    }
}

impl Cursor for TikvCursor {
    fn next_batch(&mut self, rows: usize, bytes: usize) -> Answer<'_, Result<ScanBatch>> {
        Answer::wait(self.read(rows, bytes))
    }
}
