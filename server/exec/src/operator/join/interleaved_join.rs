//! A join of tables that are interleaved below each other: one ordered pass over their range.
//!
//! ```text
//!   range   p1      p1#c1        p1#c1#g1          p1#c1#g2          p2
//!   open    p1      p1 c1        p1 c1             p1 c1             p2
//!   out                          p1 c1 g1          p1 c1 g2          (p1, if unmatched)
//! ```
//!
//! A row is joined with the open rows that it is below. Then it is open itself, until a row comes
//! that is not below it. In a left join a row without a match is returned with NULLs when it
//! closes. Rows whose parent is missing, or was filtered out, have no match.

use std::sync::Arc;

use braid_catalog::{KeyPath, path_shape};
use braid_kv::{KeyShape, ScanBatch, ScanRequest};
use braid_plan::{Expr, Join, JoinKind, Node, Scan};
use braid_rows::RowAssembler;
use braid_types::{Datum, Error, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::Operator;
use crate::operator::eval::Evaluator;
use crate::operator::scan::multi_scan::MultiScan;
use crate::operator::scan::reader::{KeyBounds, Reader};

/// A join in one pass.
pub(crate) struct InterleavedJoinOperator {
    evaluator: Evaluator,
    levels: Vec<Level>,
    path: KeyPath,
    shape: Option<Arc<dyn KeyShape>>,
    bounds: KeyBounds,
    entries: Option<MultiScan>,
    /// Columns of the output.
    width: usize,
    /// The row whose families are being put together.
    partial: RowAssembler,
    /// Its level.
    partial_level: usize,
    /// The memory of a row that was left out.
    spare: Row,
    done: bool,
}

/// A table of the pass.
struct Level {
    kind: JoinKind,
    reader: Reader,
    has_families: bool,
    filter: Vec<Expr>,
    on: Vec<Expr>,
    /// This and all levels below are left joins.
    left_below: bool,
    open: Option<Open>,
}

/// A row that others may lie below, with those above it.
struct Open {
    key: Vec<u8>,
    row: Row,
    met: bool,
}

impl InterleavedJoinOperator {
    /// The join; nothing is read yet.
    pub(crate) fn new(join: &Join, evaluator: Evaluator) -> Result<Self> {
        let mut scans: Vec<(&Scan, JoinKind, &[Expr])> = Vec::new();
        collect(join, &mut scans)?;
        let tables: Vec<_> = scans.iter().map(|(scan, ..)| &*scan.table).collect();
        let path = KeyPath::new(&tables).ok_or_else(no_path)?;
        let bounds = KeyBounds::new(scans[0].0)?;
        let width = scans.iter().map(|(scan, ..)| scan.columns.len()).sum();
        let mut levels: Vec<Level> = scans
            .iter()
            .map(|(scan, kind, on)| {
                let places: Vec<usize> = scan.columns.iter().map(|(_, place)| *place).collect();
                let reader = Reader::new(&scan.table, &places, false)?;
                let has_families = reader.rows.family_count() > 1;
                let (filter, on) = (scan.filter.clone(), on.to_vec());
                let (left_below, open) = (false, None);
                Ok(Level { kind: *kind, reader, has_families, filter, on, left_below, open })
            })
            .collect::<Result<_>>()?;
        let mut left_below = true;
        for level in levels.iter_mut().rev() {
            left_below &= level.kind == JoinKind::Left;
            level.left_below = left_below;
        }
        let shape = path_shape(&tables);
        Ok(Self {
            evaluator,
            levels,
            path,
            shape,
            bounds,
            entries: None,
            width,
            partial: RowAssembler::default(),
            partial_level: 0,
            spare: Row::new(),
            done: false,
        })
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        if self.entries.is_none() {
            let mut spans = self.bounds.spans(&self.evaluator).await?;
            spans.reverse();
            self.entries = Some(MultiScan::new(spans, false));
        }
        let mut out = Vec::new();
        while out.is_empty() && !self.done {
            self.evaluator.run.check_interrupts().await?;
            let Some(entries) = &mut self.entries else { break };
            let shape = self.shape.as_ref();
            let request = |span| ScanRequest::new(span).shape(shape);
            match entries.next(&self.evaluator.run, request).await? {
                Some(batch) => self.batch(&batch, &mut out)?,
                None => {
                    self.complete(&mut out)?;
                    self.close(0, &mut out);
                    self.done = true;
                }
            }
        }
        Ok((!out.is_empty()).then_some(out))
    }

    fn batch(&mut self, batch: &ScanBatch, out: &mut Vec<Row>) -> Result<()> {
        for (key, value) in batch.iter() {
            let Some((place, row_bytes)) = self.find(key) else { continue };
            let row_key = &key[..row_bytes];
            if self.partial.is_at(row_key) {
                self.partial.fill(&self.levels[place].reader.decoder, value)?;
                continue;
            }
            self.complete(out)?;
            self.close(place, out);
            if place > 0 && !self.levels[place - 1].has_open(row_key) {
                continue;
            }
            let level = &self.levels[place];
            if level.has_families {
                self.partial.begin(&level.reader.decoder, row_key, key)?;
                self.partial.fill(&level.reader.decoder, value)?;
                self.partial_level = place;
                continue;
            }
            let mut joined = self.above(place);
            self.levels[place].reader.decoder.append(&mut joined, key, value)?;
            self.row(place, row_key, joined, out)?;
        }
        Ok(())
    }

    /// Whose key it is. Most keys lie below the row that was open last.
    fn find(&self, key: &[u8]) -> Option<(usize, usize)> {
        let last = self.levels.len() - 2;
        match &self.levels[last].open {
            Some(open) if key.starts_with(&open.key) => {
                self.path.find_below(key, last, open.key.len())
            }
            _ => self.path.find(key),
        }
    }

    /// The row whose families are all there.
    fn complete(&mut self, out: &mut Vec<Row>) -> Result<()> {
        let Some((key, mut row)) = self.partial.finish() else { return Ok(()) };
        let place = self.partial_level;
        let mut joined = self.above(place);
        joined.append(&mut row);
        self.row(place, &key, joined, out)
    }

    /// The open rows above a level.
    fn above(&mut self, place: usize) -> Row {
        let mut row = std::mem::take(&mut self.spare);
        row.clear();
        row.reserve(self.width);
        if let Some(open) = place.checked_sub(1).and_then(|above| self.levels[above].open.as_ref())
        {
            row.extend_from_slice(&open.row);
        }
        row
    }

    /// A row, behind the open rows above it.
    fn row(&mut self, place: usize, key: &[u8], joined: Row, out: &mut Vec<Row>) -> Result<()> {
        let (above, levels) = self.levels.split_at_mut(place);
        let Some((level, below)) = levels.split_first_mut() else { return Ok(()) };
        let mut parent = above.last_mut().and_then(|level| level.open.as_mut());
        let own = &joined[parent.as_ref().map_or(0, |open| open.row.len())..];
        let holds = |list: &[Expr], row: &[Datum]| {
            Ok::<_, Error>(list.is_empty() || self.evaluator.holds_now(list, row)?)
        };
        if !holds(&level.filter, own)? || !holds(&level.on, &joined)? {
            self.spare = joined;
            return Ok(());
        }
        if let Some(parent) = &mut parent {
            parent.met = true;
        }
        match below.is_empty() {
            true => out.push(joined),
            false => level.open = Some(Open { key: key.to_vec(), row: joined, met: false }),
        }
        Ok(())
    }

    /// Closes the rows of a level and of those below it.
    fn close(&mut self, place: usize, out: &mut Vec<Row>) {
        for at in (place..self.levels.len() - 1).rev() {
            if let Some(Open { mut row, met: false, .. }) = self.levels[at].open.take()
                && self.levels[at + 1].left_below
            {
                row.resize(self.width, Datum::Null);
                out.push(row);
            }
        }
    }
}

impl Level {
    /// Whether this key is below the open row.
    fn has_open(&self, row_key: &[u8]) -> bool {
        self.open.as_ref().is_some_and(|open| row_key.starts_with(&open.key))
    }
}

/// The scans of the pass from the top, each with how it is joined.
fn collect<'p>(join: &'p Join, scans: &mut Vec<(&'p Scan, JoinKind, &'p [Expr])>) -> Result<()> {
    match &join.left {
        Node::Scan(scan) => scans.push((scan, JoinKind::Inner, &[])),
        Node::Join(left) => collect(left, scans)?,
        _ => return Err(no_path()),
    }
    let Node::Scan(right) = &join.right else { return Err(no_path()) };
    scans.push((right, join.kind, &join.on));
    Ok(())
}

#[cold]
fn no_path() -> Error {
    Error::internal("an interleaved join of tables that do not lie below each other")
}

impl Operator for InterleavedJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }
}
