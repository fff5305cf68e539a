//! RETURN, RETURN NEXT, RETURN QUERY, and the values of OUT parameters.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::cursors::rows_statement;
use super::state::{Flow, Run};
use crate::body::is_any_row;
use crate::plpgsql::{Rows, Sql};
use crate::query::{BATCH_ROWS, fields, in_statement, start};
use crate::values::{assign, check_row};

const UNLIKE_ROW: &str = "returned record type does not match expected record type";

/// `RETURN`
pub(super) async fn return_value(run: &mut Run<'_>, value: Option<&Sql>) -> Result<Flow> {
    let Some(value) = value else { return Ok(Flow::Return(Datum::Null)) };
    let (value, ty) = run.value(value).await?;
    let Some(returns) = run.code.returns.clone() else {
        return Ok(Flow::Return(Datum::Null));
    };
    if run.code.is_trigger {
        check_trigger_row(&value, &ty, &returns)?;
        return assign(&run.cx, value, &ty, &returns).map(Flow::Return);
    }
    let is_row = matches!(ty, SqlType::Record(_)) || value.is_null();
    let value = match &returns {
        SqlType::Record(_) if is_row => row_of(value, &ty, &returns, UNLIKE_ROW),
        SqlType::Record(_) => return row_of(value, &ty, &returns, UNLIKE_ROW).map(Flow::Return),
        returns => assign(&run.cx, value, &ty, returns),
    };
    let value = value.inspect_err(|_| {
        run.failed_at = Some((0, "while casting return value to function's return type"));
    })?;
    Ok(Flow::Return(value))
}

/// 42804 for what a trigger's function cannot return: no row, or one of another shape.
fn check_trigger_row(value: &Datum, ty: &SqlType, returns: &SqlType) -> Result<()> {
    if value.is_null() {
        return Ok(());
    }
    let (SqlType::Record(given), SqlType::Record(wanted)) = (ty, returns) else {
        let message = "cannot return non-composite value from function returning composite type";
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    };
    let message = "returned row structure does not match the structure of the triggering table";
    if given.len() == wanted.len() {
        let mut pairs = given.iter().zip(wanted.iter()).enumerate();
        let differs = pairs.find(|(_, ((_, given), (_, wanted)))| !given.same_base(wanted));
        let Some((place, ((_, given), (_, wanted)))) = differs else { return Ok(()) };
        return Err(Error::new(SqlState::DatatypeMismatch, message).detail(format!(
            "Returned type {} does not match expected type {} in column {}.",
            given.display_name(),
            wanted.display_name(),
            place + 1
        )));
    }
    Err(Error::new(SqlState::DatatypeMismatch, message).detail(format!(
        "Number of returned columns ({}) does not match expected column count ({}).",
        given.len(),
        wanted.len()
    )))
}

/// A row as one of the result. 42804 for another value or other columns.
fn row_of(value: Datum, from: &SqlType, to: &SqlType, message: &str) -> Result<Datum> {
    let SqlType::Record(fields) = from else {
        if value.is_null() {
            return Ok(Datum::Null);
        }
        let message = "cannot return non-composite value from function returning composite type";
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    };
    if value.is_null() || is_any_row(to) {
        return Ok(value);
    }
    if let SqlType::Record(wanted) = to {
        check_row(fields, wanted, message)?;
    }
    Ok(value)
}

/// The value of a function without a RETURN that has one: that of its OUT parameters.
pub(super) fn outputs(run: &Run<'_>) -> Datum {
    let values = run.code.outputs.iter().map(|slot| run.frame.values[*slot].clone());
    match (run.code.outputs.as_slice(), run.code.kind.is_function) {
        ([], _) => Datum::Null,
        ([only], true) => run.frame.values[*only].clone(),
        _ => Datum::Record(values.collect()),
    }
}

/// `RETURN NEXT`
pub(super) async fn return_next(run: &mut Run<'_>, value: Option<&Sql>) -> Result<()> {
    let Some(returns) = run.code.returns.clone() else { return Ok(()) };
    let value = match value {
        // Assignments have checked the variables.
        None => return add_row(run, outputs(run)),
        Some(value) => {
            if let Some(slot) = value.only
                && run.code.types[slot].is_none()
                && is_any_row(&run.frame.types[slot])
            {
                return Err(not_assigned());
            }
            let is_variable = value.only.is_some();
            let (value, ty) = run.value(value).await?;
            match &returns {
                SqlType::Record(row) => {
                    let message = match is_variable {
                        true => "wrong record type supplied in RETURN NEXT",
                        false => UNLIKE_ROW,
                    };
                    match row_of(value, &ty, &returns, message)? {
                        Datum::Null => Datum::Record(vec![Datum::Null; row.len()].into()),
                        value => value,
                    }
                }
                returns => assign(&run.cx, value, &ty, returns)?,
            }
        }
    };
    let value = run.code.results.check(&run.cx, value)?;
    add_row(run, value)
}

fn add_row(run: &mut Run<'_>, value: Datum) -> Result<()> {
    match &mut run.rows {
        Some(rows) => rows.push(value),
        None => {
            let message = "set-valued function called in context that cannot accept a set";
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
    }
}

/// `RETURN QUERY`
pub(super) async fn return_query(run: &mut Run<'_>, rows: &Rows) -> Result<()> {
    let (statement, given) = rows_statement(run, rows).await?;
    if !statement.is_planned() {
        let message = "cannot open a cursor for a command that returns no rows";
        return Err(Error::new(SqlState::InvalidCursorState, message));
    }
    let failed = |error: Error| in_statement(error, statement.text());
    let cx = run.host.next().await?;
    let plan = statement.plan(&cx, &given).map_err(failed)?;
    if plan.columns.is_empty() {
        let message = "cannot open non-SELECT query as cursor";
        return Err(Error::new(SqlState::InvalidCursorState, message));
    }
    let from = fields(&plan);
    let Some(returns) = run.code.returns.clone() else { return Ok(()) };
    let message = "structure of query does not match function result type";
    let is_row = match &returns {
        SqlType::Record(row) => {
            if !is_any_row(&returns) {
                check_row(&from, row, message).map_err(failed)?;
            }
            true
        }
        ty => {
            check_row(&from, &[(String::new(), ty.clone())], message).map_err(failed)?;
            false
        }
    };
    let mut execution = start(&cx, &plan, given.values, run.host.is_volatile()).map_err(failed)?;
    let mut count = 0;
    loop {
        cx.check_interrupts().await?;
        let batch = execution.next(BATCH_ROWS).await.map_err(failed)?;
        if batch.is_empty() {
            break;
        }
        for row in batch {
            count += 1;
            let value = match is_row {
                true => Datum::Record(row.into()),
                false => row.into_iter().next().unwrap_or(Datum::Null),
            };
            let value = run.code.results.check(&cx, value).map_err(failed)?;
            add_row(run, value)?;
        }
    }
    drop(execution);
    run.done_with(&cx);
    run.row_count = count;
    run.set_found(count > 0)
}

fn not_assigned() -> Error {
    let message = "record is not assigned yet";
    Error::new(SqlState::ObjectNotInPrerequisiteState, message)
        .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}
