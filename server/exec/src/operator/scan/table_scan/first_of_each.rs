//! The first entry of each group of an index, without reading the others.
//!
//! ```text
//!   DISTINCT ON (device) … ORDER BY device, at DESC      index (device, at DESC)
//!   1/9 1/8 1/7 1/6 …  2/9 2/8 2/7 …  3/9 …
//!    ▲                  ▲              ▲
//!    └── seek to 2 ─────┴── seek to 3 ─┘
//! ```
//!
//! A page is read from where a group begins. If the page ends inside of a group whose first entry
//! was given, the next page begins at the next group. Pages grow where groups are small, so that
//! this costs no more than to read everything, about.

use braid_kv::{BatchBuilder, ScanBatch, ScanRequest, Span, prefix_end};
use braid_types::Result;

use super::key_parts::KeyParts;
use super::read_options::ReadOptions;
use crate::operator::ExecutionState;

/// The entries of a page: of the first one, at least and at most.
const PAGE_FIRST: usize = 8;
const PAGE_MIN: usize = 2;
const PAGE_MAX: usize = 1024;
/// The entries of a batch, where the limit does not say it.
const BATCH_ROWS: usize = 256;

/// A scan that gives the first entry of each group.
pub(super) struct FirstOfEachScan {
    /// What is still to be read, the next span last.
    waiting: Vec<Span>,
    parts: KeyParts,
    reverse: bool,
    page: usize,
    /// What the keys of the group begin with whose entry was given last.
    given: Option<Vec<u8>>,
}

impl FirstOfEachScan {
    /// A scan of these spans, the first one last. Entries with the same `parts` are a group.
    pub(super) fn new(waiting: Vec<Span>, parts: KeyParts, reverse: bool) -> Self {
        Self { waiting, parts, reverse, page: PAGE_FIRST, given: None }
    }

    fn is_given(&self, key: &[u8]) -> bool {
        self.given.as_ref().is_some_and(|given| key.starts_with(given))
    }

    /// The next batch, never an empty one; `None` at the end.
    pub(super) async fn next<R>(
        &mut self,
        run: &ExecutionState,
        options: &ReadOptions<'_, R>,
    ) -> Result<Option<ScanBatch>>
    where
        R: Fn(Span) -> ScanRequest,
    {
        let wanted = if options.limit_rows > 0 { options.limit_rows } else { BATCH_ROWS };
        let mut out = BatchBuilder::default();
        while out.len() < wanted
            && let Some(span) = self.waiting.pop()
        {
            run.check_interrupts().await?;
            let request = (options.request)(span).limit_rows(self.page);
            let scanner = run.cx.txn.scanner(run.cx.seq, request);
            let batch = run.wait(scanner.first_batch()).await?;
            self.take_firsts(&batch, options.passes, &mut out)?;
        }
        Ok((!out.is_empty()).then(|| out.finish(None)))
    }

    /// The first entries of the groups of a page. What is left to be read waits.
    fn take_firsts(
        &mut self,
        batch: &ScanBatch,
        passes: &(dyn Fn(&[u8], &[u8]) -> bool + Send + Sync),
        out: &mut BatchBuilder,
    ) -> Result<()> {
        let mut groups = 0;
        let mut last_is_given = false;
        for (key, value) in batch.iter() {
            last_is_given = self.is_given(key);
            if !last_is_given && passes(key, value) {
                let end = self.parts.end(key)?;
                self.given = Some(key.get(..end).unwrap_or(key).to_vec());
                out.push(key, value);
                groups += 1;
                last_is_given = true;
            }
        }
        let Some(mut rest) = batch.resume.clone() else { return Ok(()) };
        match &self.given {
            Some(given) if last_is_given => match self.reverse {
                true => rest.end.clone_from(given),
                false => rest.start = prefix_end(given),
            },
            _ => {}
        }
        self.page = match last_is_given && groups < 2 {
            true => (self.page / 2).max(PAGE_MIN),
            false => (self.page * 2).min(PAGE_MAX),
        };
        if !rest.is_empty() {
            self.waiting.push(rest);
        }
        Ok(())
    }
}
