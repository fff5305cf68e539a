//! Window functions: the input is read whole, sorted by partition and order, and each partition
//! gets the values of every call.
//!
//! An aggregate whose frame only grows takes each row once. It starts again where a frame gives up
//! rows that it had. Most frames with EXCLUDE that begin before the current row and end after it
//! start again at each row, as they do in PostgreSQL.

mod frame;
mod range;

use braid_builtins::WindowKind;
use braid_plan::{Expr, Window, WindowCall, WindowFunction};
use braid_types::{Datum, Error, Result, Row, SqlState};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::KeyForm;
use crate::operator::reservation::MemoryReservation;
use crate::operator::sort::rows::{Directions, key_exprs};
use crate::operator::sort::sorting::sort;
use crate::operator::window::partition::frame::{Entry, FrameRows, Frames, Partition};
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// How many rows an aggregate takes between two checks for a cancel request.
const ROWS_PER_CHECK: usize = 4096;

/// Window functions over one partition and order.
pub struct WindowOperator {
    input: BoxedOperator,
    partition: Exprs,
    form: KeyForm,
    keys: Exprs,
    order: Directions,
    calls: Vec<Call>,
    evaluator: Evaluator,
    held: MemoryReservation,
    output: Option<std::vec::IntoIter<Row>>,
}

struct Call {
    call: WindowCall,
    args: Exprs,
    filter: Exprs,
}

impl WindowOperator {
    /// The plan's functions over an input.
    pub fn new(input: BoxedOperator, node: &Window, evaluator: Evaluator) -> Self {
        let call = |call: &WindowCall| Call {
            call: call.clone(),
            args: Exprs::new(call.args.clone()),
            filter: Exprs::new(call.filter.iter().cloned().collect()),
        };
        Self {
            input,
            partition: Exprs::new(node.partition.clone()),
            form: KeyForm::of_exprs(&node.partition),
            keys: key_exprs(&node.order),
            order: Directions::new(&node.order),
            calls: node.calls.iter().map(|(_, c)| call(c)).collect(),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            output: None,
        }
    }

    async fn read(&mut self) -> Result<Vec<Row>> {
        let mut entries = Vec::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut bytes = 0;
            for row in batch {
                let mut partition = self.partition.eval(&self.evaluator, &row).await?;
                self.form.apply(&mut partition);
                let keys = self.keys.eval(&self.evaluator, &row).await?;
                bytes += row_bytes(&row) + row_bytes(&partition) + row_bytes(&keys);
                bytes += self.calls.len() * size_of::<Datum>();
                entries.push(Entry { partition, keys, row });
            }
            self.held.take(bytes)?;
        }
        let entries = sort(&self.evaluator.run, entries, |a: &Entry, b: &Entry| {
            a.partition.cmp(&b.partition).then_with(|| self.order.compare(&a.keys, &b.keys))
        })
        .await?;
        let mut results = Vec::with_capacity(entries.len());
        for rows in entries.chunk_by(|a, b| a.partition == b.partition) {
            let partition = Partition::new(rows, &self.order);
            let mut columns = Vec::with_capacity(self.calls.len());
            for call in &self.calls {
                self.evaluator.run.breathe().await?;
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

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.output.is_none() {
            self.output = Some(self.read().await?.into_iter());
        }
        self.evaluator.run.breathe().await?;
        let Some(output) = &mut self.output else { return Ok(None) };
        let batch: Vec<Row> = output.by_ref().take(BATCH_ROWS).collect();
        if batch.is_empty() {
            self.held.clear();
            return Ok(None);
        }
        Ok(Some(batch))
    }
}

impl Operator for WindowOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
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
        let env = &*cx.run.cx.env;
        // From the end, a frame that reaches to the end only grows.
        let backward = frames.reach_the_end() && aggregate.is_commutative(types);
        let mut values = vec![Datum::Null; partition.len()];
        let mut state = (aggregate.start)(types, &self.call.returns);
        let mut covered: Option<FrameRows> = None;
        let mut current = Datum::Null;
        let mut taken = 0;
        for step in 0..partition.len() {
            let at = if backward { partition.len() - 1 - step } else { step };
            let frame = frames.of(at, partition);
            if covered.as_ref() != Some(&frame) {
                let added = covered.and_then(|old| old.added(&frame, backward));
                let new = added.unwrap_or_else(|| {
                    state = (aggregate.start)(types, &self.call.returns);
                    frame.clone()
                });
                for place in new.places() {
                    let Some(args) = &args[place] else { continue };
                    state.add(args, env)?;
                    taken += 1;
                    if taken % ROWS_PER_CHECK == 0 {
                        cx.run.breathe().await?;
                    }
                }
                current = state.finish(env)?;
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
