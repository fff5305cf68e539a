//! Window functions: the input is read whole, sorted by partition and order, and each partition
//! gets the values of every call.
//!
//! An aggregate whose frame only grows takes each row once. It starts again where a frame gives up
//! rows that it had. Most frames with EXCLUDE that begin before the current row and end after it
//! start again at each row, as they do in PostgreSQL.
//!
//! Once memory is used up, rows are sorted on disk. Then a partition at a time has to fit, or all
//! functions are ones that need no more than the rows before ([`LargePartition`]).

mod frame;
mod range;

use std::cmp::Ordering;
use std::sync::Arc;

use braid_builtins::WindowKind;
use braid_plan::explain::DiskUse;
use braid_plan::{Expr, Window, WindowCall, WindowFunction};
use braid_types::{Datum, Error, Result, Row, SqlState, compare_rows};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::aggregate::fold::Fold;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::KeyForm;
use crate::operator::reservation::{MemoryReservation, broken};
use crate::operator::sort::prefix::Numbering;
use crate::operator::sort::rows::{Directions, key_exprs};
use crate::operator::sort::sorting::sort;
use crate::operator::window::partition::frame::{Entry, FrameRows, Frames, Partition};
use crate::operator::window::running::{LargePartition, RunningCall};
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, Operator};
use crate::spill::file::TempFile;
use crate::spill::merge::{Merge, RunOrder};
use crate::spill::stream::{RowStream, RowWriter, block_bytes};

/// How many rows an aggregate takes between two checks for a cancel request.
const ROWS_PER_CHECK: usize = 4096;

/// Window functions over one partition and order.
pub(crate) struct WindowOperator {
    input: BoxedOperator,
    partition: Exprs,
    form: KeyForm,
    keys: Exprs,
    order: Arc<WindowOrder>,
    calls: Vec<Call>,
    evaluator: Evaluator,
    held: MemoryReservation,
    /// Memory of what reads the runs.
    buffers: MemoryReservation,
    file: Option<Arc<TempFile>>,
    runs: Vec<RowStream>,
    is_read: bool,
    source: Option<Source>,
    /// A partition that does not fit into memory.
    large: Option<LargePartition>,
    output: std::vec::IntoIter<Row>,
}

/// The sorted input.
enum Source {
    Memory(Vec<Entry>),
    /// With a row that was read of a later partition.
    Disk(Box<Merge<WindowOrder>>, Option<Entry>),
}

/// The order of partitions and of the rows in them. Rows of runs begin with the values of PARTITION
/// BY and then of ORDER BY.
struct WindowOrder {
    partition: usize,
    /// How the first value of PARTITION BY is numbered.
    numbering: Numbering,
    directions: Directions,
}

impl WindowOrder {
    async fn sort(&self, run: &ExecutionState, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let prefix = |entry: &Entry| match entry.partition.first() {
            None => self.directions.prefix(entry.keys.first()),
            Some(Datum::Null) => Some(u64::MAX),
            Some(value) => self.numbering.prefix(value),
        };
        sort(run, entries, prefix, |a: &Entry, b: &Entry| {
            let order = a.partition.cmp(&b.partition);
            order.then_with(|| self.directions.compare(&a.keys, &b.keys))
        })
        .await
    }
}

impl RunOrder for WindowOrder {
    fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        let ((partition, a), (other, b)) = (a.split_at(self.partition), b.split_at(self.partition));
        compare_rows(partition, other).then_with(|| self.directions.compare(a, b))
    }
}

struct Call {
    call: WindowCall,
    args: Arc<Exprs>,
    filter: Arc<Exprs>,
}

impl WindowOperator {
    /// The plan's functions over an input.
    pub(crate) fn new(input: BoxedOperator, node: &Window, evaluator: Evaluator) -> Self {
        let call = |call: &WindowCall| Call {
            call: call.clone(),
            args: Arc::new(Exprs::new(call.args.clone())),
            filter: Arc::new(Exprs::new(call.filter.iter().cloned().collect())),
        };
        Self {
            input,
            partition: Exprs::new(node.partition.clone()),
            form: KeyForm::of_exprs(&node.partition),
            keys: key_exprs(&node.order),
            order: Arc::new(WindowOrder {
                partition: node.partition.len(),
                numbering: node
                    .partition
                    .first()
                    .map_or(Numbering::Unknown, |e| Numbering::of(&e.ty())),
                directions: Directions::new(&node.order),
            }),
            calls: node.calls.iter().map(|(_, c)| call(c)).collect(),
            held: MemoryReservation::new(&evaluator.run),
            buffers: MemoryReservation::new(&evaluator.run),
            file: None,
            runs: Vec::new(),
            evaluator,
            is_read: false,
            source: None,
            large: None,
            output: Vec::new().into_iter(),
        }
    }

    /// Reads the input; its rows are sorted in memory, or in runs on disk.
    async fn read(&mut self) -> Result<Source> {
        let mut entries = Vec::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let mut bytes = 0;
            for row in batch {
                let mut partition = self.partition.eval(&self.evaluator, &row).await?;
                self.form.apply(&mut partition);
                let keys = self.keys.eval(&self.evaluator, &row).await?;
                let entry = Entry { partition, keys, row };
                bytes += self.bytes(&entry);
                entries.push(entry);
            }
            if !self.held.try_take(bytes)? {
                self.write_run(std::mem::take(&mut entries)).await?;
            }
        }
        if self.runs.is_empty() {
            let sorted = self.order.sort(&self.evaluator.run, entries).await?;
            return Ok(Source::Memory(sorted));
        }
        self.write_run(entries).await?;
        let runs = std::mem::take(&mut self.runs);
        let Some(file) = &self.file else { return Err(broken("a run has no file")) };
        let (run, order) = (&self.evaluator.run, self.order.clone());
        let merge = Merge::new(run, file, runs, order, self.held.take_buffers()?).await?;
        self.buffers = std::mem::replace(&mut self.held, MemoryReservation::new(run));
        Ok(Source::Disk(Box::new(merge), None))
    }

    /// Roughly the memory of a row with what is computed for it.
    fn bytes(&self, entry: &Entry) -> usize {
        let keys = row_bytes(&entry.partition) + row_bytes(&entry.keys);
        row_bytes(&entry.row) + keys + self.calls.len() * size_of::<Datum>()
    }

    /// Sorts rows and writes them to disk.
    async fn write_run(&mut self, entries: Vec<Entry>) -> Result<()> {
        let run = &self.evaluator.run;
        let entries = self.order.sort(run, entries).await?;
        self.held.clear();
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::create(&run.cx.temp)?),
        };
        let mut writer = RowWriter::new(file, block_bytes(self.held.take_buffers()?, 1));
        for (place, mut entry) in entries.into_iter().enumerate() {
            if place.is_multiple_of(BATCH_ROWS) {
                run.check_interrupts().await?;
            }
            entry.partition.append(&mut entry.keys);
            entry.partition.append(&mut entry.row);
            writer.push(&entry.partition)?;
        }
        self.runs.push(writer.finish()?);
        self.held.clear();
        Ok(())
    }

    /// The rows of whole partitions with the values of all calls.
    async fn compute(&mut self, entries: Vec<Entry>) -> Result<Vec<Row>> {
        let mut results = Vec::with_capacity(entries.len());
        for rows in entries.chunk_by(|a, b| a.partition == b.partition) {
            let partition = Partition::new(rows, &self.order.directions);
            let mut columns = Vec::with_capacity(self.calls.len());
            for call in &self.calls {
                self.evaluator.run.check_interrupts().await?;
                let values = call.compute(&partition, &self.evaluator, &mut self.held).await?;
                columns.push(values.into_iter());
            }
            for _ in rows {
                let next = columns.iter_mut().map(|column| column.next().unwrap_or(Datum::Null));
                results.push(next.collect::<Row>());
            }
        }
        let extend = |(entry, values): (Entry, Row)| {
            let mut row = entry.row;
            row.extend(values);
            row
        };
        Ok(entries.into_iter().zip(results).map(extend).collect())
    }

    /// The next whole partitions, about a batch of rows; none at the end.
    async fn next_partitions(&mut self) -> Result<Vec<Entry>> {
        let Some(mut source) = self.source.take() else { return Ok(Vec::new()) };
        let (merge, next) = match &mut source {
            Source::Memory(entries) => return Ok(std::mem::take(entries)),
            Source::Disk(merge, next) => (merge, next),
        };
        self.held.clear();
        let widths = (self.partition.list.len(), self.keys.list.len());
        let mut entries: Vec<Entry> = next.take().into_iter().collect();
        let mut bytes = 0;
        while let Some(row) = merge.next_row()? {
            let entry = entry_of(row, widths);
            let is_same = entries.last().is_none_or(|last| last.partition == entry.partition);
            if !is_same && entries.len() >= BATCH_ROWS {
                *next = Some(entry);
                break;
            }
            bytes += self.bytes(&entry);
            entries.push(entry);
            if entries.len().is_multiple_of(BATCH_ROWS) {
                self.evaluator.run.check_interrupts().await?;
                let bytes = std::mem::take(&mut bytes);
                if !self.held.try_take(bytes)? {
                    if let Some(calls) = self.running_calls() {
                        *next = self.read_large(&mut entries, merge, calls).await?;
                        break;
                    }
                    // A partition that does not fit fails.
                    self.held.take(bytes)?;
                }
            }
        }
        self.source = Some(source);
        Ok(entries)
    }

    /// The calls, if all of them can run over a partition on disk.
    fn running_calls(&self) -> Option<Vec<RunningCall>> {
        let has_order = !self.keys.is_empty();
        let running =
            |call: &Call| RunningCall::new(&call.call, (&call.args, &call.filter), has_order);
        self.calls.iter().map(running).collect()
    }

    /// Moves the last partition of these rows to disk, with the rest of it; gives the row after it.
    async fn read_large(
        &mut self,
        entries: &mut Vec<Entry>,
        merge: &mut Merge<WindowOrder>,
        calls: Vec<RunningCall>,
    ) -> Result<Option<Entry>> {
        let widths = (self.partition.list.len(), self.keys.list.len());
        let Some(key) = entries.last().map(|last| last.partition.clone()) else { return Ok(None) };
        let first = entries.iter().position(|entry| entry.partition == key).unwrap_or(0);
        let cx = &self.evaluator;
        let large = self.large.insert(LargePartition::new(calls, widths.1, cx));
        let mut rows: Vec<(Row, Row)> =
            entries.drain(first..).map(|entry| (entry.keys, entry.row)).collect();
        self.held.clear();
        loop {
            let next = merge.next_row()?.map(|row| entry_of(row, widths));
            match next {
                Some(entry) if entry.partition == key => rows.push((entry.keys, entry.row)),
                next => {
                    large.add(rows, cx).await?;
                    return Ok(next);
                }
            }
            if rows.len() >= BATCH_ROWS {
                large.add(std::mem::take(&mut rows), cx).await?;
            }
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if !std::mem::replace(&mut self.is_read, true) {
            self.source = Some(self.read().await?);
        }
        loop {
            self.evaluator.run.check_interrupts().await?;
            let batch: Vec<Row> = self.output.by_ref().take(BATCH_ROWS).collect();
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
            if let Some(large) = &mut self.large {
                let rows = large.next(&self.order.directions, &self.evaluator).await?;
                if rows.is_empty() {
                    self.large = None;
                }
                self.output = rows.into_iter();
                continue;
            }
            let entries = self.next_partitions().await?;
            if entries.is_empty() && self.large.is_none() {
                self.held.clear();
                return Ok(None);
            }
            self.output = self.compute(entries).await?.into_iter();
        }
    }
}

/// A row of a run as an entry.
fn entry_of(mut row: Row, (partition, keys): (usize, usize)) -> Entry {
    let mut rest = row.split_off(partition.min(row.len()));
    let own = rest.split_off(keys.min(rest.len()));
    Entry { partition: row, keys: rest, row: own }
}

impl Operator for WindowOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn spilled(&self) -> Option<DiskUse> {
        self.file.as_ref().map(|file| DiskUse { sorts: true, batches: 0, bytes: file.bytes() })
    }
}

impl Call {
    /// The call's value for each row of a partition; what they take is counted.
    async fn compute(
        &self,
        partition: &Partition<'_>,
        cx: &Evaluator,
        held: &mut MemoryReservation,
    ) -> Result<Vec<Datum>> {
        let kind = match &self.call.function {
            WindowFunction::Aggregate(..) => {
                return self.aggregate(partition, cx, held).await;
            }
            WindowFunction::Named(kind) => *kind,
        };
        let len = partition.len();
        let mut values = Vec::with_capacity(len);
        match kind {
            WindowKind::Ntile => return self.ntile(partition, cx).await,
            WindowKind::Lag | WindowKind::Lead => {
                let forward = kind == WindowKind::Lead;
                for at in 0..len {
                    values.push(self.neighbour(at, forward, partition, cx).await?);
                }
            }
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
                let frames = Frames::new(&self.call.frame, partition, cx).await?;
                for at in 0..len {
                    let frame = frames.of(at, partition);
                    values.push(self.in_frame(kind, at, frame, partition, cx).await?);
                }
            }
            kind => values.extend((0..len).map(|at| place(kind, at, partition))),
        }
        Ok(values)
    }

    async fn arg(&self, number: usize, row: &[Datum], cx: &Evaluator) -> Result<Option<Datum>> {
        match self.args.list.get(number) {
            Some(Expr::Input(place, _)) => Ok(row.get(*place).cloned()),
            Some(e) => cx.eval(e, row).await.map(Some),
            None => Ok(None),
        }
    }

    async fn value(&self, row: &[Datum], cx: &Evaluator) -> Result<Datum> {
        Ok(self.arg(0, row, cx).await?.unwrap_or(Datum::Null))
    }

    async fn ntile(&self, partition: &Partition<'_>, cx: &Evaluator) -> Result<Vec<Datum>> {
        let len = partition.len();
        let buckets = match self.value(partition.row(0), cx).await? {
            Datum::Int(n) => usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| {
                Error::new(
                    SqlState::InvalidArgumentForNtile,
                    "argument of ntile must be greater than zero",
                )
            })?,
            _ => return Ok(vec![Datum::Null; len]),
        };
        // The first `larger` buckets have one row more than the others.
        let (size, larger) = (len / buckets, len % buckets);
        let in_larger = larger * (size + 1);
        let bucket = |at: usize| match at.checked_sub(in_larger) {
            Some(rest) => larger + rest / size.max(1),
            None => at / (size + 1),
        };
        Ok((0..len).map(|at| Datum::Int(bucket(at) as i64 + 1)).collect())
    }

    /// `lag` and `lead`.
    async fn neighbour(
        &self,
        at: usize,
        forward: bool,
        partition: &Partition<'_>,
        cx: &Evaluator,
    ) -> Result<Datum> {
        let row = partition.row(at);
        let offset = match self.arg(1, row, cx).await? {
            None => 1,
            Some(Datum::Int(n)) => n,
            Some(_) => return Ok(Datum::Null),
        };
        let offset = if forward { offset } else { offset.saturating_neg() };
        let target = i64::try_from(at).unwrap_or(i64::MAX).saturating_add(offset);
        match usize::try_from(target).ok().filter(|target| *target < partition.len()) {
            Some(target) => self.value(partition.row(target), cx).await,
            None => Ok(self.arg(2, row, cx).await?.unwrap_or(Datum::Null)),
        }
    }

    /// `first_value`, `last_value` and `nth_value`.
    async fn in_frame(
        &self,
        kind: WindowKind,
        at: usize,
        frame: FrameRows,
        partition: &Partition<'_>,
        cx: &Evaluator,
    ) -> Result<Datum> {
        let target = match kind {
            WindowKind::FirstValue => frame.nth(0),
            WindowKind::LastValue => frame.len().checked_sub(1).and_then(|last| frame.nth(last)),
            _ => match self.arg(1, partition.row(at), cx).await? {
                Some(Datum::Int(n)) if n > 0 => {
                    usize::try_from(n - 1).ok().and_then(|n| frame.nth(n))
                }
                Some(Datum::Int(_)) => {
                    return Err(Error::new(
                        SqlState::InvalidArgumentForNthValue,
                        "argument of nth_value must be greater than zero",
                    ));
                }
                _ => None,
            },
        };
        match target {
            Some(target) => self.value(partition.row(target), cx).await,
            None => Ok(Datum::Null),
        }
    }

    /// An aggregate over each row's frame.
    async fn aggregate(
        &self,
        partition: &Partition<'_>,
        cx: &Evaluator,
        held: &mut MemoryReservation,
    ) -> Result<Vec<Datum>> {
        let WindowFunction::Aggregate(aggregate, types) = &self.call.function else {
            return Ok(Vec::new());
        };
        let frames = Frames::new(&self.call.frame, partition, cx).await?;
        let mut args: Vec<Option<Row>> = Vec::with_capacity(partition.len());
        for at in 0..partition.len() {
            let row = partition.row(at);
            let taken = self.filter.is_empty() || self.filter.hold(cx, row).await?;
            args.push(if taken { Some(self.args.eval(cx, row).await?) } else { None });
        }
        // From the end, a frame that reaches to the end only grows.
        let backward = frames.reach_the_end() && aggregate.is_commutative(types);
        let mut values = vec![Datum::Null; partition.len()];
        let mut state = Fold::new(aggregate, types, &self.call.returns);
        let mut covered: Option<FrameRows> = None;
        let mut current = Datum::Null;
        let mut taken = 0;
        for step in 0..partition.len() {
            let at = if backward { partition.len() - 1 - step } else { step };
            let frame = frames.of(at, partition);
            if covered.as_ref() != Some(&frame) {
                let added = covered.and_then(|old| old.added(&frame, backward));
                let new = added.unwrap_or_else(|| {
                    state = Fold::new(aggregate, types, &self.call.returns);
                    frame.clone()
                });
                for place in new.places() {
                    let Some(args) = &args[place] else { continue };
                    state.add(args, cx).await?;
                    taken += 1;
                    if taken % ROWS_PER_CHECK == 0 {
                        cx.run.check_interrupts().await?;
                    }
                }
                current = state.finish(cx).await?;
                held.take(current.size_bytes())?;
                covered = Some(frame);
            }
            values[at] = current.clone();
        }
        Ok(values)
    }
}

/// The functions that need only a row's place.
fn place(kind: WindowKind, at: usize, partition: &Partition<'_>) -> Datum {
    let peers = partition.peers(at);
    let len = partition.len();
    match kind {
        WindowKind::RowNumber => Datum::Int(at as i64 + 1),
        WindowKind::Rank => Datum::Int(peers.start as i64 + 1),
        WindowKind::DenseRank => Datum::Int(partition.group_of[at] as i64 + 1),
        WindowKind::PercentRank if len <= 1 => Datum::Float(0.0),
        WindowKind::PercentRank => Datum::Float(peers.start as f64 / (len - 1) as f64),
        _ => Datum::Float(peers.end as f64 / len as f64),
    }
}
