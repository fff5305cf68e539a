//! OPEN, FETCH, MOVE and CLOSE.

use std::sync::Arc;

use braid_catalog::Table;
use braid_exec::{CursorSource, CursorStep, ExecContext, Execution, RoutineCursor};
use braid_plan::{PlannedStatement, at_key, current_of, keyed_query, target_table};
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType, text};
use futures_util::future::BoxFuture;

use super::state::Run;
use crate::plpgsql::{Direction, Into, Opening, Rows, Slot, Sql, Target};
use crate::query::{BodyStatement, Given, fields, in_statement, start};
use crate::values::assign;

/// The statement that gives rows, and its parameters.
pub(super) async fn rows_statement<'s>(
    run: &mut Run<'_>,
    rows: &'s Rows,
) -> Result<(Arc<BodyStatement>, Given<'s>)> {
    match rows {
        Rows::Query(sql) => Ok((run.code.statement(sql)?, run.given(sql))),
        Rows::Execute(sql, using) => {
            let (statement, given) = run.dynamic(sql, using).await?;
            Ok((Arc::new(statement), given))
        }
        Rows::Cursor(..) => Err(Error::internal("a cursor's rows have no statement")),
    }
}

/// `OPEN`
pub(super) async fn open(
    run: &mut Run<'_>,
    slot: Slot,
    opening: &Opening,
    scroll: Option<bool>,
) -> Result<()> {
    let code = run.code.clone();
    match opening {
        Opening::For(rows) => {
            let (statement, given) = rows_statement(run, rows).await?;
            open_statement(run, slot, &statement, given, scroll, None).await
        }
        Opening::Bound(values) => {
            let Some(cursor) = code.cursor(slot) else {
                return Err(Error::internal("a bound cursor has no query"));
            };
            set_arguments(run, values).await?;
            let statement = code.statement(&cursor.query)?;
            let given = run.given(&cursor.query);
            let (name, scroll) = (Some(cursor.name.as_str()), cursor.scroll);
            open_statement(run, slot, &statement, given, scroll, name).await
        }
    }
}

/// Gives the arguments of a cursor their values.
async fn set_arguments(run: &mut Run<'_>, values: &[(Slot, Sql)]) -> Result<()> {
    for (slot, value) in values {
        let (value, ty) = run.value(value).await?;
        run.assign(&Target::Variable(*slot), value, &ty).await?;
    }
    Ok(())
}

/// Opens a cursor; its variable gets its name.
async fn open_statement(
    run: &mut Run<'_>,
    slot: Slot,
    statement: &BodyStatement,
    given: Given<'_>,
    scroll: Option<bool>,
    name: Option<&str>,
) -> Result<()> {
    if !statement.is_planned() {
        let message = "cannot open a cursor for a command that returns no rows";
        return Err(Error::new(SqlState::InvalidCursorState, message));
    }
    let cx = run.host.next().await?;
    let failed = |error: Error| in_statement(error, statement.text());
    let keyed = if run.code.names_cursors { keyed(&cx, statement, &given)? } else { None };
    let plan = match &keyed {
        Some((plan, _)) => plan.clone(),
        None => statement.plan(&cx, &given).map_err(failed)?,
    };
    if plan.columns.is_empty() {
        let message = "cannot open non-SELECT query as cursor";
        return Err(Error::new(SqlState::InvalidCursorState, message));
    }
    let is_volatile = run.host.is_volatile();
    let execution = start(&cx, &plan, given.values, is_volatile).map_err(failed)?;
    let named = match &run.frame.values[slot] {
        Datum::Text(known) => Some(known.to_string()),
        _ => name.map(str::to_owned),
    };
    let services = cx.services.clone();
    let name = named.unwrap_or_else(|| services.cursors().new_name());
    let (mut columns, memory) = (fields(&plan), cx.memory.clone());
    if let Some((_, table)) = &keyed {
        columns.truncate(columns.len() - table.primary.keys.len());
    }
    let source = rows_of(execution, &cx, is_volatile);
    let mut cursor = RoutineCursor::new(source, memory, columns, scroll);
    if plan.is_write || statement.is_utility() {
        cursor.refuse_to_outlive();
    }
    if let Some((_, table)) = keyed {
        cursor.add_key_of(table.id);
    }
    services.cursors().add(&name, cursor)?;
    let value = Datum::text(name);
    run.assign(&Target::Variable(slot), value, &SqlType::Refcursor).await
}

/// The plan of a cursor's query with the key of its rows behind its columns, and their table;
/// `None` for a query whose rows are not those of one table.
fn keyed(
    cx: &Arc<ExecContext>,
    statement: &BodyStatement,
    given: &Given<'_>,
) -> Result<Option<(Arc<PlannedStatement>, Arc<Table>)>> {
    let Statement::Query(query) = statement.statement() else { return Ok(None) };
    let Some((query, table)) = keyed_query(&cx.catalog, &cx.path, query)? else {
        return Ok(None);
    };
    let statement = statement.with(Statement::Query(Box::new(query)), given.numbered);
    // An aggregate has no row of the table. Another error comes again without the key.
    Ok(statement.plan(cx, given).ok().map(|plan| (plan, table)))
}

/// A statement with `WHERE CURRENT OF` as one about the row on which the cursor stands; `None` if
/// it names no cursor, or changes no table.
pub(super) async fn at_cursor<'s>(
    run: &mut Run<'_>,
    sql: &'s Sql,
    statement: &BodyStatement,
) -> Result<Option<(BodyStatement, Given<'s>)>> {
    let Some(cursor) = current_of(statement.statement()) else { return Ok(None) };
    let named = braid_sql::fold(cursor);
    let cx = run.host.current().await?;
    let Some(table) = target_table(&cx.catalog, &cx.path, statement.statement())? else {
        return Ok(None);
    };
    let name = match sql.variables.find(std::slice::from_ref(&named)) {
        Some((slot, 1)) => cursor_name(run, slot)?,
        _ => named,
    };
    let cursor = cx.services.cursors().get(&name)?;
    let key = cursor.lock().await.key_of(&name, &table)?;
    let mut given = run.given(sql);
    let changed = at_key(statement.statement(), &table, &mut given.types)?;
    given.values.extend(key);
    given.numbered = given.types.len();
    Ok(Some((statement.with(changed, given.numbered), given)))
}

/// The name that a cursor's variable has. 22004 for NULL.
fn cursor_name(run: &Run<'_>, slot: Slot) -> Result<String> {
    let value = &run.frame.values[slot];
    if value.is_null() {
        let variable = run.code.body.names.get(slot).cloned().flatten();
        let name = variable.unwrap_or_default();
        let message = format!("cursor variable \"{name}\" is null");
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    Ok(text::to_string(&run.frame.types[slot], value, run.cx.env.settings()))
}

async fn step(run: &mut Run<'_>, direction: &Direction) -> Result<CursorStep> {
    let (count, make): (&Sql, fn(i64) -> CursorStep) = match direction {
        Direction::Fixed(step) => return Ok(*step),
        Direction::Count(true, count) => (count, CursorStep::By),
        Direction::Count(false, count) => (count, |n| CursorStep::By(n.saturating_neg())),
        Direction::Absolute(count) => (count, CursorStep::To),
        Direction::Relative(count) => (count, CursorStep::Relative),
    };
    let (value, ty) = run.value(count).await?;
    match assign(&run.cx, value, &ty, &SqlType::Int4)?.as_int() {
        Some(count) => Ok(make(count)),
        None => {
            let message = "relative or absolute cursor position is null";
            Err(Error::new(SqlState::NullValueNotAllowed, message))
        }
    }
}

/// The rows that a cursor passes, and its columns.
async fn fetched(
    run: &mut Run<'_>,
    slot: Slot,
    direction: &Direction,
) -> Result<(Vec<Row>, Vec<(String, SqlType)>)> {
    let step = step(run, direction).await?;
    let name = cursor_name(run, slot)?;
    let cursor = run.cx.services.cursors().get(&name)?;
    let mut cursor = cursor.lock().await;
    let rows = cursor.fetch(step).await?;
    Ok((rows, cursor.fields.clone()))
}

/// `FETCH`
pub(super) async fn fetch(
    run: &mut Run<'_>,
    slot: Slot,
    direction: &Direction,
    into: &Into,
) -> Result<()> {
    let (rows, fields) = fetched(run, slot, direction).await?;
    let row = rows.into_iter().next_back();
    run.row_count = i64::from(row.is_some());
    run.set_found(row.is_some())?;
    run.assign_row(&into.targets, row, &fields).await
}

/// `MOVE`
pub(super) async fn move_cursor(
    run: &mut Run<'_>,
    slot: Slot,
    direction: &Direction,
) -> Result<()> {
    let (rows, _) = fetched(run, slot, direction).await?;
    run.row_count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    run.set_found(!rows.is_empty())
}

/// `CLOSE`
pub(super) fn close(run: &mut Run<'_>, slot: Slot) -> Result<()> {
    let name = cursor_name(run, slot)?;
    run.cx.services.cursors().close(&name)
}

/// Opens the cursor of a loop: its name.
pub(super) async fn open_for_loop(
    run: &mut Run<'_>,
    slot: Slot,
    values: &[(Slot, Sql)],
) -> Result<String> {
    let code = run.code.clone();
    let Some(cursor) = code.cursor(slot) else {
        return Err(Error::internal("a bound cursor has no query"));
    };
    set_arguments(run, values).await?;
    let statement = code.statement(&cursor.query)?;
    let given = run.given(&cursor.query);
    open_statement(run, slot, &statement, given, Some(false), Some(&cursor.name)).await?;
    cursor_name(run, slot)
}

/// The rows of a running statement, which may have a number of its own.
pub(super) fn rows_of(
    execution: Execution,
    cx: &Arc<ExecContext>,
    owns_number: bool,
) -> Box<dyn CursorSource> {
    Box::new(QueryRows { execution, cx: cx.clone(), owns_number })
}

/// The rows of a cursor's query.
struct QueryRows {
    execution: Execution,
    cx: Arc<ExecContext>,
    /// Whether the number of the statement is the cursor's own.
    owns_number: bool,
}

impl CursorSource for QueryRows {
    fn next(&mut self, rows_max: usize) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            self.cx.check_interrupts().await?;
            self.execution.next(rows_max).await
        })
    }
}

impl Drop for QueryRows {
    fn drop(&mut self) {
        if self.owns_number {
            self.cx.txn.snapshots().release(self.cx.seq);
        }
    }
}
