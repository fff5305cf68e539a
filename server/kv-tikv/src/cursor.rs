//! Scans: one region after the other, page by page, in either direction.

use crate::{meeting::Meeting, resolve::unexpected, snapshot::Ground, snapshot::lock_of};
use braid_kv::{Answer, BatchBuilder, Cursor, Result, ScanBatch, Span, key_after};
use braid_tikv_proto::kvrpcpb::{KvPair, ScanRequest};
use std::sync::Arc;

/// An open scan at one timestamp. Keys inside have the prefix; those that leave do not.
pub(crate) struct TikvCursor {
    ground: Arc<Ground>,
    /// What is left to scan.
    span: Span,
    ts: u64,
    reverse: bool,
    keys_only: bool,
    meeting: Meeting,
}

/// One page: its entries, and whether it ends where its region ends.
struct Page {
    pairs: Vec<KvPair>,
    done: bool,
}

impl TikvCursor {
    /// A scan of `span`, whose keys have the prefix.
    pub fn new(
        ground: Arc<Ground>,
        span: Span,
        ts: u64,
        reverse: bool,
        keys_only: bool,
        meeting: Meeting,
    ) -> TikvCursor {
        TikvCursor { ground, span, ts, reverse, keys_only, meeting }
    }

    /// The next entries of the region where the scan stands. Afterwards `span` is what is left.
    async fn page(&mut self, rows: usize) -> Result<Vec<KvPair>> {
        let cluster = self.ground.cluster.clone();
        let mut backoff = cluster.backoff();
        loop {
            let region = match self.reverse {
                false => cluster.locate(&self.span.start).await?,
                true => cluster.locate_before(&self.span.end).await?,
            };
            // The part of what is left that lies in this region.
            let low = self.span.start.clone().max(region.start.clone());
            let high = match region.end.is_empty() {
                true => self.span.end.clone(),
                false => self.span.end.clone().min(region.end.clone()),
            };
            let (from, to) = if self.reverse { (&high, &low) } else { (&low, &high) };
            let request = ScanRequest {
                start_key: from.clone().into(),
                end_key: to.clone().into(),
                limit: rows as u32,
                version: self.ts,
                key_only: self.keys_only,
                reverse: self.reverse,
                ..ScanRequest::default()
            };
            let answer = match cluster.try_at(&region, request, self.meeting.manner()).await {
                Ok(answer) => answer,
                Err(miss) => {
                    cluster.recover::<ScanRequest>(&region, miss, &mut backoff).await?;
                    continue;
                }
            };
            let errors = answer.pairs.iter().filter_map(|pair| pair.error.as_ref());
            let locks =
                answer.error.iter().chain(errors).map(lock_of).collect::<Result<Vec<_>>>()?;
            if !locks.is_empty() {
                self.meeting.deal(&cluster, &locks).await?;
                continue;
            }
            cluster.check_age(self.ts).await?;
            let full = answer.pairs.len() >= rows;
            let page = Page { pairs: answer.pairs, done: !full };
            self.advance(&page, low, high);
            return Ok(page.pairs);
        }
    }

    fn advance(&mut self, page: &Page, low: Vec<u8>, high: Vec<u8>) {
        let last = page.pairs.last().filter(|_| !page.done).map(|pair| &pair.key);
        match (self.reverse, last) {
            (false, Some(last)) => self.span.start = key_after(last),
            (false, None) => self.span.start = high,
            (true, Some(last)) => self.span.end = last.to_vec(),
            (true, None) => self.span.end = low,
        }
    }

    /// Entries until there are `rows` of them, or `bytes`, or the end is reached.
    pub async fn read(&mut self, rows: usize, bytes: usize) -> Result<ScanBatch> {
        let rows = rows.max(1);
        let mut out = BatchBuilder::with_capacity(rows.min(1024), 0);
        while !self.span.is_empty() && out.len() < rows && out.bytes() < bytes.max(1) {
            for pair in self.page(rows - out.len()).await? {
                if let Some(error) = &pair.error {
                    return Err(unexpected("a scan", error));
                }
                out.push(self.ground.prefix.strip(&pair.key), &pair.value);
            }
        }
        let strip = |key: &[u8]| self.ground.prefix.strip(key).to_vec();
        let rest = (!self.span.is_empty())
            .then(|| Span::new(strip(&self.span.start), strip(&self.span.end)));
        Ok(out.finish(rest))
    }
}

impl Cursor for TikvCursor {
    fn next_batch(&mut self, rows: usize, bytes: usize) -> Answer<'_, Result<ScanBatch>> {
        Answer::wait(self.read(rows, bytes))
    }
}
