//! A partition that does not fit into memory, for functions that need no more than the rows before
//! the current one and its peers, or all rows at once.
//!
//! ```text
//!   rows of the partition, in order ──▶ disk            whole: sum(x) OVER ()
//!   read again ──▶ peers of the current row ──▶ values  running: rank(), sum(x) OVER (ORDER BY y)
//! ```

use std::sync::Arc;

use braid_builtins::WindowKind;
use braid_plan::{Frame, FrameBound, FrameUnits, WindowCall, WindowFunction};
use braid_types::{Datum, Result, Row};

use crate::memory::row_bytes;
use crate::operator::aggregate::fold::Fold;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::sort::rows::Directions;
use crate::spill::{RowStore, StoreCursor};

/// A call under way over a partition.
pub(crate) struct RunningCall {
    kind: Kind,
    args: Arc<Exprs>,
    filter: Arc<Exprs>,
}

enum Kind {
    /// A function that needs only places.
    Place(WindowKind),
    Aggregate(Fold, Frames),
}

/// The rows that an aggregate has taken when its value is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    /// Those up to the current one.
    Row,
    /// Those up to the last peer of the current one.
    Peers,
    /// All of the partition.
    Whole,
}

/// A partition on disk.
pub(crate) struct LargePartition {
    rows: RowStore,
    cursor: StoreCursor,
    calls: Vec<RunningCall>,
    /// Columns of the order in front of each row.
    keys: usize,
    /// How many rows there are.
    count: usize,
    /// The peers that were read and not given, without the order's columns.
    peers: Vec<Row>,
    /// The order's columns of these peers.
    peer_keys: Row,
    held: MemoryReservation,
    /// The place of the first of these peers, and the number of their group.
    start: usize,
    group: usize,
    is_read: bool,
}

impl RunningCall {
    /// The call over no rows; `None` if it needs more than the rows before.
    pub(crate) fn new(
        call: &WindowCall,
        (args, filter): (&Arc<Exprs>, &Arc<Exprs>),
        has_order: bool,
    ) -> Option<Self> {
        let kind = match &call.function {
            WindowFunction::Aggregate(aggregate, types) => {
                let state = Fold::new(aggregate, types, &call.returns);
                Kind::Aggregate(state, frames(&call.frame, has_order)?)
            }
            WindowFunction::Named(
                kind @ (WindowKind::RowNumber
                | WindowKind::Rank
                | WindowKind::DenseRank
                | WindowKind::PercentRank
                | WindowKind::CumeDist),
            ) => Kind::Place(*kind),
            WindowFunction::Named(_) => return None,
        };
        Some(Self { kind, args: args.clone(), filter: filter.clone() })
    }

    fn takes(&self, wanted: Frames) -> bool {
        matches!(&self.kind, Kind::Aggregate(_, frames) if *frames == wanted)
    }

    async fn add(&mut self, row: &[Datum], cx: &Evaluator) -> Result<()> {
        let Kind::Aggregate(state, _) = &mut self.kind else { return Ok(()) };
        if self.filter.is_empty() || self.filter.hold(cx, row).await? {
            let args = self.args.eval(cx, row).await?;
            state.add(&args, cx).await?;
        }
        Ok(())
    }

    /// The value for the row at a place among its peers.
    async fn value(&mut self, at: usize, peers: &Peers, cx: &Evaluator) -> Result<Datum> {
        let kind = match &mut self.kind {
            Kind::Aggregate(state, _) => return state.finish(cx).await,
            Kind::Place(kind) => *kind,
        };
        Ok(match kind {
            WindowKind::Rank => Datum::Int(peers.start as i64 + 1),
            WindowKind::DenseRank => Datum::Int(peers.group as i64 + 1),
            WindowKind::PercentRank if peers.count <= 1 => Datum::Float(0.0),
            WindowKind::PercentRank => Datum::Float(peers.start as f64 / (peers.count - 1) as f64),
            WindowKind::CumeDist => Datum::Float(peers.end as f64 / peers.count as f64),
            _ => Datum::Int(at as i64 + 1),
        })
    }
}

/// Rows that are equal in the order.
struct Peers {
    start: usize,
    end: usize,
    group: usize,
    /// Rows of the partition.
    count: usize,
}

/// When the value of an aggregate over this frame is known; `None` if rows leave the frame.
fn frames(frame: &Frame, has_order: bool) -> Option<Frames> {
    if frame.exclusion.is_some() || !matches!(frame.start, FrameBound::UnboundedPreceding) {
        return None;
    }
    match (&frame.end, frame.units) {
        (FrameBound::UnboundedFollowing, _) => Some(Frames::Whole),
        (FrameBound::CurrentRow, FrameUnits::Rows) => Some(Frames::Row),
        (FrameBound::CurrentRow, _) if !has_order => Some(Frames::Whole),
        (FrameBound::CurrentRow, _) => Some(Frames::Peers),
        _ => None,
    }
}

impl LargePartition {
    /// A partition without rows. `keys` is the number of columns of the order.
    pub(crate) fn new(calls: Vec<RunningCall>, keys: usize, cx: &Evaluator) -> Self {
        Self {
            rows: RowStore::new(&cx.run),
            cursor: StoreCursor::default(),
            calls,
            keys,
            count: 0,
            peers: Vec::new(),
            peer_keys: Row::new(),
            held: MemoryReservation::new(&cx.run),
            start: 0,
            group: 0,
            is_read: false,
        }
    }

    /// Adds the next rows, each with its order's columns.
    pub(crate) async fn add(&mut self, rows: Vec<(Row, Row)>, cx: &Evaluator) -> Result<()> {
        cx.run.check_interrupts().await?;
        let mut joined = Vec::with_capacity(rows.len());
        for (mut keys, mut row) in rows {
            for call in self.calls.iter_mut().filter(|call| call.takes(Frames::Whole)) {
                call.add(&row, cx).await?;
            }
            keys.append(&mut row);
            joined.push(keys);
        }
        self.count += joined.len();
        self.rows.append_to_disk(joined)
    }

    /// The next rows with the values of all calls; none at the end.
    pub(crate) async fn next(&mut self, order: &Directions, cx: &Evaluator) -> Result<Vec<Row>> {
        let mut out = Vec::new();
        while out.is_empty() && !self.is_read {
            cx.run.check_interrupts().await?;
            let rows = self.rows.read(&mut self.cursor)?;
            self.is_read = rows.is_empty();
            for mut keys in rows {
                let row = keys.split_off(self.keys.min(keys.len()));
                // Without an order all rows are peers, and no value depends on their end.
                let is_peer = self.keys > 0 && order.compare(&self.peer_keys, &keys).is_eq();
                if !self.peers.is_empty() && !is_peer {
                    self.give_peers(&mut out, cx).await?;
                }
                self.peer_keys = keys;
                self.held.take(row_bytes(&row))?;
                self.peers.push(row);
            }
            if self.is_read || self.keys == 0 {
                self.give_peers(&mut out, cx).await?;
            }
        }
        Ok(out)
    }

    /// Gives the peers that were read.
    async fn give_peers(&mut self, out: &mut Vec<Row>, cx: &Evaluator) -> Result<()> {
        let rows = std::mem::take(&mut self.peers);
        for row in &rows {
            for call in self.calls.iter_mut().filter(|call| call.takes(Frames::Peers)) {
                call.add(row, cx).await?;
            }
        }
        let end = self.start + rows.len();
        let (group, count) = (self.group, self.count);
        let peers = match self.keys {
            0 => Peers { start: 0, end: count, group: 0, count },
            _ => Peers { start: self.start, end, group, count },
        };
        for (place, mut row) in rows.into_iter().enumerate() {
            let width = row.len();
            for call in &mut self.calls {
                if call.takes(Frames::Row) {
                    call.add(&row[..width], cx).await?;
                }
                row.push(call.value(self.start + place, &peers, cx).await?);
            }
            out.push(row);
        }
        (self.start, self.group) = (end, self.group + 1);
        self.held.clear();
        Ok(())
    }
}
