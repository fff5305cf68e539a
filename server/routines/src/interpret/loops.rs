//! Loops: endless, conditional, over numbers, rows and elements.

use braid_exec::{CursorSource, CursorStep, ExecContext, RoutineCursor, RoutineRows};
use braid_types::{Array, Datum, Error, Result, Row, SqlState, SqlType, work};
use futures_util::future::BoxFuture;

use super::cursors::{open_for_loop, rows_of, rows_statement};
use super::state::{Flow, Run};
use crate::plpgsql::{ForInteger, Loop, Rows, Slot, Sql, Target};
use crate::query::{fields, in_statement, start};
use crate::values::assign;

/// Rows that a loop asks for at a time.
const BATCH_ROWS: usize = 64;

/// Rounds of loops between two looks at the clock.
const ROUNDS_BETWEEN_LOOKS: u32 = 16;

/// What a round of a loop leads to.
enum Round {
    /// The next round.
    Again,
    /// The end of the loop.
    Done,
    /// Further out.
    Out(Flow),
}

/// Whether a loop goes on after a round.
fn round(inner: &Loop, flow: Flow) -> Round {
    let is_own = |label: &Option<String>| label.is_none() || *label == inner.label;
    match flow {
        Flow::Next => Round::Again,
        Flow::Leave(is_exit, label) if is_own(&label) => match is_exit {
            true => Round::Done,
            false => Round::Again,
        },
        flow => Round::Out(flow),
    }
}

/// Lets others have the thread from time to time; 57014 once the statement is to stop.
async fn pause(run: &mut Run<'_>) -> Result<()> {
    run.cx.cancel.check()?;
    run.rounds = run.rounds.wrapping_add(1);
    if run.rounds.is_multiple_of(ROUNDS_BETWEEN_LOOKS) || work::is_overdue() {
        return run.cx.check_interrupts().await;
    }
    Ok(())
}

/// `LOOP`
pub(super) async fn endless(run: &mut Run<'_>, inner: &Loop) -> Result<Flow> {
    loop {
        pause(run).await?;
        match round(inner, run.statements(&inner.body).await?) {
            Round::Again => {}
            Round::Done => return Ok(Flow::Next),
            Round::Out(flow) => return Ok(flow),
        }
    }
}

/// `WHILE`
pub(super) async fn while_true(run: &mut Run<'_>, condition: &Sql, inner: &Loop) -> Result<Flow> {
    while run.holds(condition).await? {
        pause(run).await?;
        match round(inner, run.statements(&inner.body).await?) {
            Round::Again => {}
            Round::Done => return Ok(Flow::Next),
            Round::Out(flow) => return Ok(flow),
        }
    }
    Ok(Flow::Next)
}

/// A bound or the step of a loop over numbers.
async fn number(run: &mut Run<'_>, sql: &Sql, what: &str) -> Result<i64> {
    let (value, ty) = run.value(sql).await?;
    let value = assign(&run.cx, value, &ty, &SqlType::Int4)?;
    value.as_int().ok_or_else(|| {
        let message = format!("{what} of FOR loop cannot be null");
        Error::new(SqlState::NullValueNotAllowed, message)
    })
}

/// `FOR i IN low..high`
pub(super) async fn for_integer(run: &mut Run<'_>, numbers: &ForInteger) -> Result<Flow> {
    let from = number(run, &numbers.from, "lower bound").await?;
    let to = number(run, &numbers.to, "upper bound").await?;
    let step = match &numbers.step {
        Some(step) => number(run, step, "BY value").await?,
        None => 1,
    };
    if step <= 0 {
        let message = "BY value of FOR loop must be greater than zero";
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let (mut at, mut found) = (from, false);
    let goes_on = |at: i64| if numbers.reverse { at >= to } else { at <= to };
    while goes_on(at) {
        pause(run).await?;
        found = true;
        run.frame.set(numbers.slot, Datum::Int(at))?;
        match round(&numbers.inner, run.statements(&numbers.inner.body).await?) {
            Round::Again => {}
            Round::Done => break,
            Round::Out(flow) => return leave_loop(run, found, flow),
        }
        at = if numbers.reverse { at - step } else { at + step };
    }
    leave_loop(run, found, Flow::Next)
}

/// FOUND says whether the loop had a round.
fn leave_loop(run: &mut Run<'_>, found: bool, flow: Flow) -> Result<Flow> {
    run.set_found(found)?;
    Ok(flow)
}

/// `FOR row IN query`
pub(super) async fn for_rows(
    run: &mut Run<'_>,
    targets: &[Target],
    rows: &Rows,
    inner: &Loop,
) -> Result<Flow> {
    if let Rows::Cursor(slot, values) = rows {
        return for_cursor(run, targets, (*slot, values), inner).await;
    }
    let (statement, given) = rows_statement(run, rows).await?;
    if !statement.is_planned() {
        let message = "cannot open a cursor for a command that returns no rows";
        return Err(Error::new(SqlState::InvalidCursorState, message));
    }
    let cx = run.host.next().await?;
    let failed = |error: Error| in_statement(error, statement.text());
    let plan = statement.plan(&cx, &given).map_err(failed)?;
    let fields = fields(&plan);
    let is_volatile = run.host.is_volatile();
    let execution = start(&cx, &plan, given.values, is_volatile).map_err(failed)?;
    let mut source = rows_of(execution, &cx, is_volatile);
    // A change runs to its end, however early the loop is left, and before the body changes what
    // it works with.
    if plan.is_write {
        let rows = all_rows(&mut *source, &cx).await.map_err(failed)?;
        source = Box::new(ChangedRows(rows));
    }
    let mut cursor = RoutineCursor::new(source, cx.memory.clone(), Vec::new(), Some(false));
    if plan.is_write || statement.is_utility() {
        cursor.refuse_to_outlive();
    }
    let (cursor, services) = (cursor.shared(), cx.services.clone());
    drop(cx);
    let _running = services.cursors().begin_loop(&cursor);
    let mut found = false;
    loop {
        let batch = cursor.lock().await.next_rows().await.map_err(failed)?;
        run.is_settled = false;
        if batch.is_empty() {
            break;
        }
        for row in batch {
            run.cx.check_interrupts().await?;
            found = true;
            run.assign_row(targets, Some(row), &fields).await?;
            match round(inner, run.statements(&inner.body).await?) {
                Round::Again => {}
                Round::Done => return leave_loop(run, found, Flow::Next),
                Round::Out(flow) => return leave_loop(run, found, flow),
            }
        }
    }
    if !found {
        run.assign_row(targets, None, &fields).await?;
    }
    leave_loop(run, found, Flow::Next)
}

/// Every row of a statement.
async fn all_rows(source: &mut dyn CursorSource, cx: &ExecContext) -> Result<RoutineRows> {
    let mut rows = RoutineRows::new(cx.memory.clone());
    loop {
        let batch = source.next(BATCH_ROWS).await?;
        if batch.is_empty() {
            return Ok(rows);
        }
        for row in batch {
            rows.push(Datum::Record(row.into()))?;
        }
    }
}

/// The rows of a statement that has run to its end.
struct ChangedRows(RoutineRows);

impl CursorSource for ChangedRows {
    fn next(&mut self, rows_max: usize) -> BoxFuture<'_, Result<Vec<Row>>> {
        let values = std::iter::from_fn(|| self.0.pop()).take(rows_max);
        let fields = |value| match value {
            Datum::Record(fields) => Some(fields.to_vec()),
            _ => None,
        };
        let rows = values.filter_map(fields).collect();
        Box::pin(std::future::ready(Ok(rows)))
    }
}

/// `FOR row IN cursor`
async fn for_cursor(
    run: &mut Run<'_>,
    targets: &[Target],
    (slot, values): (Slot, &[(Slot, Sql)]),
    inner: &Loop,
) -> Result<Flow> {
    let had_name = !run.frame.values[slot].is_null();
    let name = open_for_loop(run, slot, values).await?;
    let services = run.cx.services.clone();
    let cursor = services.cursors().get(&name)?;
    let running = services.cursors().begin_loop(&cursor);
    let (mut found, mut end) = (false, Flow::Next);
    loop {
        let (row, fields) = {
            let mut cursor = cursor.lock().await;
            let row = cursor.fetch(CursorStep::By(1)).await?.pop();
            (row, cursor.fields.clone())
        };
        run.is_settled = false;
        let Some(row) = row else { break };
        run.cx.check_interrupts().await?;
        found = true;
        run.assign_row(targets, Some(row), &fields).await?;
        match round(inner, run.statements(&inner.body).await?) {
            Round::Again => {}
            Round::Done => break,
            Round::Out(flow) => {
                end = flow;
                break;
            }
        }
    }
    drop(running);
    if services.cursors().has(&name) {
        services.cursors().close(&name)?;
    }
    if !had_name {
        run.frame.set(slot, Datum::Null)?;
    }
    leave_loop(run, found, end)
}

/// `FOREACH`
pub(super) async fn for_each(
    run: &mut Run<'_>,
    target: &Target,
    (array, slice): (&Sql, usize),
    inner: &Loop,
) -> Result<Flow> {
    let (value, ty) = run.value(array).await?;
    if value.is_null() {
        let message = "FOREACH expression must not be null";
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    let (Some(array), Some(element)) = (value.as_array(), ty.element()) else {
        let message =
            format!("FOREACH expression must yield an array, not type {}", ty.plain_name());
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    };
    let (items, element) = slices(array, element, slice)?;
    check_slice(run, target, slice)?;
    let mut found = false;
    for item in items {
        pause(run).await?;
        found = true;
        run.assign(target, item, &element).await?;
        match round(inner, run.statements(&inner.body).await?) {
            Round::Again => {}
            Round::Done => break,
            Round::Out(flow) => return leave_loop(run, found, flow),
        }
    }
    leave_loop(run, found, Flow::Next)
}

/// 42804 for a slice that goes into a variable that is no array, and the other way round.
fn check_slice(run: &Run<'_>, target: &Target, slice: usize) -> Result<()> {
    let Target::Variable(slot) = target else { return Ok(()) };
    let is_array = run.frame.types[*slot].is_array();
    let message = match (slice > 0, is_array) {
        (true, false) => "FOREACH ... SLICE loop variable must be of an array type",
        (false, true) => "FOREACH loop variable must not be of an array type",
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::DatatypeMismatch, message))
}

/// The elements of an array, or its slices of that many dimensions, and their type.
fn slices(array: &Array, element: &SqlType, slice: usize) -> Result<(Vec<Datum>, SqlType)> {
    if slice == 0 {
        return Ok((array.items.clone(), element.clone()));
    }
    let dimensions = array.dimensions();
    let Some(outer) = dimensions.len().checked_sub(slice) else {
        let most = dimensions.len();
        let message = format!("slice dimension ({slice}) is out of the valid range 0..{most}");
        return Err(Error::new(SqlState::ArraySubscriptError, message));
    };
    let inner = &dimensions[outer..];
    let length: usize = inner.iter().map(|dimension| dimension.length).product();
    let parts = array.items.chunks(length.max(1));
    let slice = |items: &[Datum]| -> Datum {
        Array::from_dimensions(element.clone(), inner, items.to_vec()).into()
    };
    Ok((parts.map(slice).collect(), element.clone().array()))
}
