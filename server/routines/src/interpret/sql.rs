//! Statements of SQL inside of a body: PERFORM, INTO, EXECUTE, CALL and definitions.

use std::sync::Arc;

use braid_exec::ExecContext;
use braid_plan::{StatementKind, TransitionTable};
use braid_sql::ast::Statement;
use braid_sql::{fold, quote_literal};
use braid_types::{Datum, Error, Result, SqlState, text};

use super::at_once::is_settled;
use super::cursors::at_cursor;
use super::state::Run;
use crate::plpgsql::{Into, Sql, Target};
use crate::query::{
    BodyStatement, Given, call_procedure, fields, finish, in_statement, procedure_of, start,
};

/// What becomes of the rows of a statement.
#[derive(Clone, Copy)]
enum Rows<'i> {
    /// The first one goes into variables.
    Into(&'i Into),
    /// They are counted.
    Discard,
    /// There may be none.
    Refuse,
}

impl Run<'_> {
    /// Nothing more is read with a statement's number.
    pub(super) fn done_with(&self, cx: &ExecContext) {
        if self.host.is_volatile() {
            cx.txn.snapshots().release(cx.seq);
        }
    }

    /// Says whether the last statement has found or changed a row.
    pub(super) fn set_found(&mut self, found: bool) -> Result<()> {
        self.frame.set(self.code.body.found, Datum::Bool(found))
    }

    /// `PERFORM`
    pub(super) async fn perform(&mut self, sql: &Sql) -> Result<()> {
        let statement = self.code.statement(sql)?;
        let given = self.given(sql);
        self.planned(&statement, given, Rows::Discard).await?;
        self.set_found(self.row_count > 0)
    }

    /// A statement as it is written.
    pub(super) async fn sql(&mut self, sql: &Sql, into: Option<&Into>) -> Result<()> {
        let statement = self.code.statement(sql)?;
        if !statement.is_planned() {
            let given = self.given(sql);
            return self.command(&statement, given, into).await;
        }
        let rows = into.map_or(Rows::Refuse, Rows::Into);
        let found = at_cursor(self, sql, &statement).await;
        let found = found.map_err(|error| in_statement(error, statement.text()))?;
        if let Some((statement, given)) = found {
            self.planned(&statement, given, rows).await?;
            return self.set_found(self.row_count > 0);
        }
        let given = self.given(sql);
        self.planned(&statement, given, rows).await?;
        if statement.is_utility() { Ok(()) } else { self.set_found(self.row_count > 0) }
    }

    /// `EXECUTE`
    pub(super) async fn execute(
        &mut self,
        sql: &Sql,
        using: &[Sql],
        into: Option<&Into>,
    ) -> Result<()> {
        let (text, given, tables) = computed(self, sql, using).await?;
        let parsed = BodyStatement::parse_all(&text);
        let parsed = parsed.map_err(|error| in_statement(error, &text))?;
        let last = parsed.len().saturating_sub(1);
        for (number, statement) in parsed.into_iter().enumerate() {
            let statement = statement.with_tables(tables.clone());
            let (given, into) = (given.clone(), into.filter(|_| number == last));
            if !statement.is_planned() {
                self.command(&statement, given, into).await?;
                continue;
            }
            let rows = into.map_or(Rows::Discard, Rows::Into);
            self.planned(&statement, given, rows).await?;
        }
        Ok(())
    }

    /// The only statement of a text that is computed, and its parameters.
    pub(super) async fn dynamic(
        &mut self,
        sql: &Sql,
        using: &[Sql],
    ) -> Result<(BodyStatement, Given<'static>)> {
        let (text, given, tables) = computed(self, sql, using).await?;
        let parsed = BodyStatement::parse_all(&text);
        let mut parsed = parsed.map_err(|error| in_statement(error, &text))?;
        match (parsed.pop(), parsed.is_empty()) {
            (Some(only), true) => Ok((only.with_tables(tables), given)),
            (Some(_), false) => {
                let message = "cannot open multi-query plan as cursor";
                Err(Error::new(SqlState::InvalidCursorDefinition, message))
            }
            (None, _) => Err(Error::new(SqlState::SyntaxError, "missing statement")),
        }
    }

    /// Runs a statement that reads or changes rows.
    async fn planned(
        &mut self,
        statement: &BodyStatement,
        given: Given<'_>,
        rows: Rows<'_>,
    ) -> Result<()> {
        let cx = self.host.next().await?;
        // What is wrong with INTO is no fault of the statement, and is not shown with it.
        let failed = |error: Error| in_statement(error, statement.text());
        let plan = statement.plan(&cx, &given).map_err(failed)?;
        if matches!(rows, Rows::Refuse) && !plan.columns.is_empty() {
            let error =
                Error::new(SqlState::SyntaxError, "query has no destination for result data");
            return Err(match plan.kind {
                StatementKind::Select if !statement.is_utility() => error
                    .hint("If you want to discard the results of a SELECT, use PERFORM instead."),
                _ => error,
            });
        }
        if matches!(rows, Rows::Into(_)) && plan.columns.is_empty() {
            let message = "INTO used with a command that cannot return data";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        let is_query = plan.kind == StatementKind::Select || plan.explain.is_some();
        let is_volatile = self.host.is_volatile();
        let mut execution = start(&cx, &plan, given.values, is_volatile).map_err(failed)?;
        let rows_max = match rows {
            Rows::Into(into) if is_query && !into.strict => 1,
            Rows::Into(_) => 2,
            Rows::Discard | Rows::Refuse => 0,
        };
        let found = match rows_max {
            0 => {
                self.row_count = count_rows(&mut execution, &cx).await.map_err(failed)?;
                Vec::new()
            }
            _ => finish(&mut execution, &cx, rows_max).await.map_err(failed)?,
        };
        if !is_query {
            self.row_count = i64::try_from(execution.changed_rows()).unwrap_or(i64::MAX);
        }
        drop(execution);
        self.done_with(&cx);
        let Rows::Into(into) = rows else { return Ok(()) };
        if is_query {
            self.row_count = i64::from(!found.is_empty());
        }
        if found.len() > 1 {
            let error = Error::new(SqlState::TooManyRows, "query returned more than one row");
            return Err(error.hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        if found.is_empty() && into.strict {
            return Err(Error::new(SqlState::NoDataFound, "query returned no rows"));
        }
        self.assign_row(&into.targets, found.into_iter().next(), &fields(&plan)).await
    }

    /// Runs a statement that has no plan.
    async fn command(
        &mut self,
        statement: &BodyStatement,
        given: Given<'_>,
        into: Option<&Into>,
    ) -> Result<()> {
        if into.is_some() {
            let message = "INTO used with a command that cannot return data";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        if let Some(query) = as_query(statement.statement())? {
            if !self.host.is_volatile() {
                let message = "NOTIFY is not allowed in a non-volatile function";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            let query = statement.with(query, 0);
            let result = self.planned(&query, given, Rows::Discard).await;
            self.row_count = 0;
            return result;
        }
        match statement.statement() {
            Statement::Call(call) => {
                let cx = self.host.next().await?;
                let result = call_procedure(&cx, &call.call, given).await;
                return result.map_err(|error| in_statement(error, statement.text()));
            }
            Statement::LockTable(_) if !self.host.is_volatile() => {
                let message = "LOCK TABLE is not allowed in a non-volatile function";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            Statement::LockTable(lock) => {
                let cx = self.host.next().await?;
                let result = braid_exec::lock_table(&cx, lock).await;
                return result.map_err(|error| in_statement(error, statement.text()));
            }
            Statement::Begin { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::Savepoint(_)
            | Statement::Release(_) => {
                return Err(Error::unsupported("a transaction command in PL/pgSQL"));
            }
            _ => {}
        }
        let result = self.host.command(statement.command(given)).await;
        result.map_err(|error| in_statement(error, statement.text()))?;
        renew(self).await
    }
}

/// Expressions see what statements of this body and of others have defined and set.
pub(super) async fn catch_up(run: &mut Run<'_>) -> Result<()> {
    if is_settled(run) { Ok(()) } else { renew(run).await }
}

/// Takes a new context for expressions.
pub(super) async fn renew(run: &mut Run<'_>) -> Result<()> {
    run.cx = run.host.current().await?;
    run.prepared.clear();
    run.is_settled = false;
    Ok(())
}

/// A text of SQL that is computed, its parameters, and the transition tables that it may name.
async fn computed(
    run: &mut Run<'_>,
    sql: &Sql,
    using: &[Sql],
) -> Result<(Arc<str>, Given<'static>, Vec<TransitionTable>)> {
    let (query, ty) = run.value(sql).await?;
    if query.is_null() {
        let message = "query string argument of EXECUTE is null";
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    let query = text::to_string(&ty, &query, run.cx.env.settings());
    let (mut values, mut types) = (Vec::new(), Vec::new());
    for parameter in using {
        let (value, ty) = run.value(parameter).await?;
        values.push(value);
        types.push(ty);
    }
    let numbered = types.len();
    let mut tables = Vec::new();
    for table in &run.code.body.tables {
        tables.push(TransitionTable { name: table.name.clone(), param: values.len() });
        values.push(run.frame.values[table.param].clone());
        types.push(run.frame.types[table.param].clone());
    }
    Ok((Arc::from(query), Given { values, types, numbered, variables: None }, tables))
}

/// NOTIFY as a call of the function that carries it out as well; `None` for other commands.
fn as_query(statement: &Statement) -> Result<Option<Statement>> {
    let Statement::Notify { channel, payload } = statement else { return Ok(None) };
    let channel = quote_literal(&fold(channel));
    let payload = quote_literal(payload.as_deref().unwrap_or(""));
    let text = format!("SELECT pg_catalog.pg_notify({channel}, {payload})");
    Ok(Some(Statement::Query(braid_sql::parse_query(&text)?)))
}

/// Runs to the end and counts the rows.
async fn count_rows(execution: &mut braid_exec::Execution, cx: &ExecContext) -> Result<i64> {
    let mut count = 0;
    loop {
        cx.check_interrupts().await?;
        let rows = execution.next(1024).await?;
        if rows.is_empty() {
            return Ok(count);
        }
        count += rows.len() as i64;
    }
}

/// `CALL`: the variables that are OUT arguments get the values of the parameters.
pub(super) async fn call(
    run: &mut Run<'_>,
    sql: &Sql,
    targets: &[(Option<String>, Option<Target>)],
) -> Result<()> {
    let statement = run.code.statement(sql)?;
    let Statement::Call(call) = statement.statement() else {
        return Err(Error::internal("CALL is no call"));
    };
    let given = run.given(sql);
    let cx = run.host.next().await?;
    let failed = |error: Error| in_statement(error, statement.text());
    let (routine, args) = procedure_of(&cx, &call.call, given).await.map_err(failed)?;
    let row = run.host.call(&cx, &routine, args).await.map_err(failed)?;
    renew(run).await?;
    let Datum::Record(values) = row else { return Ok(()) };
    let mut values = values.iter();
    for (place, parameter) in routine.of_call().enumerate() {
        if !parameter.mode.is_output() {
            continue;
        }
        let value = values.next().cloned().unwrap_or(Datum::Null);
        let by_place = targets.get(place).filter(|(name, _)| name.is_none());
        let by_name = || targets.iter().find(|(name, _)| name.is_some() && *name == parameter.name);
        match by_place.or_else(by_name) {
            Some((_, Some(target))) => run.assign(target, value, &parameter.ty).await?,
            _ => {
                let name = parameter.name.clone().unwrap_or_default();
                let message = format!(
                    "procedure parameter \"{name}\" is an output parameter but corresponding \
                     argument is not writable"
                );
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        }
    }
    Ok(())
}
