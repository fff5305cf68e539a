//! Set-returning functions, in FROM and in a select list.
//!
//! Several functions run side by side; the shorter ones are padded with NULLs. Rows are made on
//! demand, so `generate_series(1, 1000000000)` under a LIMIT costs nothing.

use std::sync::Arc;

use braid_builtins::{Call, Rows, SetFunction};
use braid_catalog::Routine;
use braid_plan::{FunctionCall, FunctionScan, ProjectSet, RoutineCall};
use braid_types::{Datum, Result, Row, SqlType};
use futures_util::future::BoxFuture;

use crate::RoutineRows;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::postponed::Postponed;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// A call, ready to be started again and again.
struct Prepared {
    function: Option<&'static SetFunction>,
    routine: Option<RoutineCall>,
    args: Exprs,
    types: Vec<SqlType>,
    returns: SqlType,
    width: usize,
    /// Whether the fields of the only value of a row are the columns.
    spreads: bool,
}

impl Prepared {
    fn new(call: &FunctionCall) -> Self {
        let returns = match call.columns.as_slice() {
            _ if let Some(row) = &call.row => row.clone(),
            [(_, ty)] if call.defined.is_empty() => ty.clone(),
            columns => {
                let names = call.function.map(|f| f.columns.as_slice()).unwrap_or_default();
                let field = |(i, (_, ty)): (usize, &(u32, SqlType))| {
                    let name = names.get(i).map_or("", |(name, _)| *name);
                    let defined = call.defined.get(i);
                    (defined.map_or(name, String::as_str).to_owned(), ty.clone())
                };
                SqlType::Record(columns.iter().enumerate().map(field).collect())
            }
        };
        Self {
            function: call.function,
            routine: call.routine.clone(),
            args: Exprs::new(call.args.clone()),
            types: call.types.clone(),
            returns,
            width: call.columns.len(),
            spreads: call.row.is_some(),
        }
    }

    async fn start(&self, evaluator: &Evaluator, row: &[Datum]) -> Result<Running> {
        let args = self.args.eval(evaluator, row).await?;
        if let Some(call) = &self.routine {
            let rows = match start_routine(&call.routine, args, evaluator).await? {
                Some(rows) => GivenRows::Routine(rows, call.spreads),
                None => GivenRows::Nulls(call.routine.returns_set),
            };
            return Ok(Running { rows, width: self.width, done: false });
        }
        let rows: Rows = match self.function {
            None => Box::new(std::iter::once(Ok(args))),
            Some(function) if function.strict && args.iter().any(Datum::is_null) => {
                Box::new(std::iter::empty())
            }
            Some(function) => (function.eval)(&Call {
                env: &*evaluator.run.cx.env,
                types: &self.types,
                returns: &self.returns,
                args: &args,
            })?,
        };
        let rows = GivenRows::BuiltIn(rows, self.spreads);
        Ok(Running { rows, width: self.width, done: false })
    }
}

/// Runs a function of a user; `None` for a strict one with an argument that is NULL.
async fn start_routine(
    routine: &Arc<Routine>,
    args: Row,
    evaluator: &Evaluator,
) -> Result<Option<RoutineRows>> {
    if routine.strict && args.iter().any(Datum::is_null) {
        return Ok(None);
    }
    let cx = &evaluator.run.cx;
    cx.check_interrupts().await?;
    cx.services.call_set_routine(cx, routine, args).await.map(Some)
}

/// Where rows come from.
enum GivenRows {
    /// The flag says that the fields of the only value of a row are the columns.
    BuiltIn(Rows, bool),
    /// The flag says that the fields of a row are the columns.
    Routine(RoutineRows, bool),
    /// One row of NULLs, which may have been given.
    Nulls(bool),
}

impl GivenRows {
    /// The values of the next row; those that are missing are NULL.
    fn next(&mut self) -> Result<Option<Row>> {
        match self {
            GivenRows::BuiltIn(rows, false) => rows.next().transpose(),
            GivenRows::BuiltIn(rows, true) => {
                let row = rows.next().transpose()?;
                Ok(row.map(|row| match row.as_slice() {
                    [Datum::Record(fields)] => fields.to_vec(),
                    _ => Row::new(),
                }))
            }
            GivenRows::Routine(rows, spreads) => Ok(rows.pop().map(|value| match value {
                Datum::Record(fields) if *spreads => fields.to_vec(),
                Datum::Null => Row::new(),
                value => vec![value],
            })),
            GivenRows::Nulls(given) => Ok((!std::mem::replace(given, true)).then(Row::new)),
        }
    }
}

/// The rows of a call under way.
struct Running {
    rows: GivenRows,
    width: usize,
    done: bool,
}

impl Running {
    /// Adds the columns of its next row to `out`, NULLs after its end; says whether it had one.
    fn append(&mut self, out: &mut Row) -> Result<bool> {
        let row = if self.done { None } else { self.rows.next()? };
        let end = out.len() + self.width;
        let Some(row) = row else {
            self.done = true;
            out.resize(end, Datum::Null);
            return Ok(false);
        };
        match (self.width, row.as_slice()) {
            // A composite value as one column, or its fields as several.
            (1, [_, _, ..]) => out.push(Datum::Record(row.into())),
            (width, [Datum::Record(fields)]) if width > 1 => out.extend(fields.iter().cloned()),
            _ => out.extend(row),
        }
        out.resize(end, Datum::Null);
        Ok(true)
    }
}

async fn start_all(
    calls: &[Prepared],
    evaluator: &Evaluator,
    row: &[Datum],
) -> Result<Vec<Running>> {
    let mut running = Vec::with_capacity(calls.len());
    for call in calls {
        running.push(call.start(evaluator, row).await?);
    }
    Ok(running)
}

/// Adds one row of every call; says whether any of them had one.
fn append_all(running: &mut [Running], out: &mut Row) -> Result<bool> {
    let mut any = false;
    for call in running {
        any |= call.append(out)?;
    }
    Ok(any)
}

/// Set-returning functions in FROM.
pub(crate) struct FunctionScanOperator {
    calls: Vec<Prepared>,
    ordinality: bool,
    evaluator: Evaluator,
    running: Option<Vec<Running>>,
    row_number: i64,
    done: bool,
}

impl FunctionScanOperator {
    /// The plan's functions.
    pub(crate) fn new(node: &FunctionScan, evaluator: Evaluator) -> Self {
        Self {
            calls: node.functions.iter().map(Prepared::new).collect(),
            ordinality: node.ordinality.is_some(),
            evaluator,
            running: None,
            row_number: 0,
            done: false,
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.evaluator.run.check_interrupts().await?;
        if self.done {
            return Ok(None);
        }
        if self.running.is_none() {
            self.running = Some(start_all(&self.calls, &self.evaluator, &[]).await?);
        }
        let Some(running) = &mut self.running else { return Ok(None) };
        let width = self.calls.iter().map(|call| call.width).sum::<usize>() + 1;
        let mut batch = Vec::new();
        while batch.len() < BATCH_ROWS {
            let mut row = Row::with_capacity(width);
            if !append_all(running, &mut row)? {
                self.done = true;
                break;
            }
            self.row_number += 1;
            if self.ordinality {
                row.push(Datum::Int(self.row_number));
            }
            batch.push(row);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}

impl Operator for FunctionScanOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}

/// Set-returning functions in a select list: for each input row as many rows as the longest
/// function gives.
pub(crate) struct ProjectSetOperator {
    input: BoxedOperator,
    calls: Vec<Prepared>,
    evaluator: Evaluator,
    rows: std::vec::IntoIter<Row>,
    current: Option<(Row, Vec<Running>)>,
    failed: Postponed,
}

impl ProjectSetOperator {
    /// The plan's functions over an input.
    pub(crate) fn new(input: BoxedOperator, node: &ProjectSet, evaluator: Evaluator) -> Self {
        Self {
            input,
            calls: node.functions.iter().map(Prepared::new).collect(),
            evaluator,
            rows: Vec::new().into_iter(),
            current: None,
            failed: Postponed::default(),
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.failed.check()?;
        let mut batch = Vec::new();
        if let Err(error) = self.fill(&mut batch).await {
            self.failed.keep(error, !batch.is_empty())?;
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Adds the rows of the next batch.
    async fn fill(&mut self, batch: &mut Vec<Row>) -> Result<()> {
        self.evaluator.run.check_interrupts().await?;
        while batch.len() < BATCH_ROWS {
            let Some((row, running)) = &mut self.current else {
                let Some(row) = self.rows.next() else {
                    if !batch.is_empty() {
                        break;
                    }
                    self.evaluator.run.check_interrupts().await?;
                    match self.input.next().await? {
                        Some(rows) => self.rows = rows.into_iter(),
                        None => break,
                    }
                    continue;
                };
                let running = start_all(&self.calls, &self.evaluator, &row).await?;
                self.current = Some((row, running));
                continue;
            };
            let mut out = Row::with_capacity(row.len() + running.len());
            out.extend(row.iter().cloned());
            if append_all(running, &mut out)? {
                batch.push(out);
            } else {
                self.current = None;
            }
        }
        Ok(())
    }
}

impl Operator for ProjectSetOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
