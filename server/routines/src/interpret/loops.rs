//! Loops: endless, conditional, over numbers, rows and elements.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::sql::in_statement;
use super::state::{Flow, Run};
use crate::plpgsql::{ForInteger, Loop, Rows, Sql, Target};
use crate::query::{fields, start};
use crate::values::assign;

/// Rows that a loop asks for at a time.
const BATCH_ROWS: usize = 64;

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

/// `LOOP`
pub(super) async fn endless(run: &mut Run<'_>, inner: &Loop) -> Result<Flow> {
    loop {
        run.cx.breathe().await?;
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
        run.cx.breathe().await?;
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
        run.cx.breathe().await?;
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
    let (statement, given) = match rows {
        Rows::Query(sql) => (run.code.statement(sql)?, run.given(sql)),
        Rows::Execute(sql, using) => {
            let (statement, given) = run.dynamic(sql, using).await?;
            (std::sync::Arc::new(statement), given)
        }
    };
    if !statement.is_planned() {
        let message = "cannot open a cursor for a command that returns no rows";
        return Err(Error::new(SqlState::InvalidCursorState, message));
    }
    let cx = run.host.next().await?;
    let failed = |error: Error| in_statement(error, statement.text());
    let plan = statement.plan(&cx, &given).map_err(failed)?;
    let fields = fields(&plan);
    let mut execution = start(&cx, &plan, given.values, run.host.is_volatile()).map_err(failed)?;
    let mut found = false;
    loop {
        let batch = execution.next(BATCH_ROWS).await.map_err(failed)?;
        if batch.is_empty() {
            break;
        }
        for row in batch {
            run.cx.breathe().await?;
            found = true;
            run.assign_row(targets, Some(row), &fields).await?;
            match round(inner, run.statements(&inner.body).await?) {
                Round::Again => {}
                Round::Done => {
                    run.done_with(&cx);
                    return leave_loop(run, found, Flow::Next);
                }
                Round::Out(flow) => {
                    run.done_with(&cx);
                    return leave_loop(run, found, flow);
                }
            }
        }
    }
    if !found {
        run.assign_row(targets, None, &fields).await?;
    }
    run.done_with(&cx);
    leave_loop(run, found, Flow::Next)
}

/// `FOREACH`
pub(super) async fn for_each(
    run: &mut Run<'_>,
    target: &Target,
    array: &Sql,
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
    let mut found = false;
    for item in &array.items {
        run.cx.breathe().await?;
        found = true;
        run.assign(target, item.clone(), element).await?;
        match round(inner, run.statements(&inner.body).await?) {
            Round::Again => {}
            Round::Done => break,
            Round::Out(flow) => return leave_loop(run, found, flow),
        }
    }
    leave_loop(run, found, Flow::Next)
}
