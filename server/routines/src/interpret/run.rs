//! Statements, one after the other, and where they lead.

use std::sync::Arc;

use braid_exec::RoutineRows;
use braid_kv::Error as Kv;
use braid_types::{Datum, Error, Result, SqlState};
use futures_util::future::BoxFuture;

use super::at_once::{Path, holds_now, is_settled, run_at_once};
use super::cursors::{close, fetch, move_cursor, open};
use super::diagnostics::diagnostics;
use super::frame::{Frame, unknown_row};
use super::loops::{endless, for_each, for_integer, for_rows, while_true};
use super::raise::{assert, raise_message};
use super::returns::{outputs, return_next, return_query, return_value};
use super::sql::{call, renew};
use super::state::{Flow, Run};
use super::words::words;
use crate::body::Code;
use crate::host::Host;
use crate::plpgsql::{Block, Case, Condition, Handlers, Kind, Statement};
use crate::query::in_context;
use crate::values::assign;

/// Runs a body with its arguments; NULL if it has no result.
pub(crate) async fn run_code(
    code: Arc<Code>,
    args: Vec<Datum>,
    host: &mut dyn Host,
    rows: Option<&mut RoutineRows>,
) -> Result<Datum> {
    let cx = host.current().await?;
    let frame = Frame::new(&code, args, cx.memory.clone());
    let mut run = Run {
        code: code.clone(),
        host,
        cx,
        frame,
        rows,
        row_count: 0,
        caught: Vec::new(),
        prepared: Vec::new(),
        is_settled: false,
        rounds: 0,
        failed_at: None,
    };
    run.frame.set(code.body.found, Datum::Bool(false))?;
    let ended = run.block(&code.body.block).await;
    run.frame.show_all();
    let result = match ended {
        Ok(_) if !code.kind.is_set && !code.outputs.is_empty() => Ok(outputs(&run)),
        // A function of type void gives an empty value.
        Ok(_) if code.kind.is_function && code.kind.is_nothing && !code.kind.is_set => {
            Ok(Datum::text(""))
        }
        Ok(Flow::Return(value)) => Ok(value),
        Ok(_) if code.returns.is_none() || code.kind.is_set => Ok(Datum::Null),
        Ok(_) => {
            let what = if code.is_trigger { "trigger procedure" } else { "function" };
            let message = format!("control reached end of {what} without RETURN");
            Err(Error::new(SqlState::FunctionExecutedNoReturn, message))
        }
        Err(error) => Err(error),
    };
    result.map_err(|error| run.with_context(error))
}

impl Run<'_> {
    /// An error with the place in this routine.
    fn with_context(&mut self, error: Error) -> Error {
        let name = &self.code.name;
        let line = match self.failed_at.take() {
            Some((_, what)) if what.starts_with("while") => format!("PL/pgSQL {name} {what}"),
            Some((line, what)) if what.starts_with("during") => {
                format!("PL/pgSQL {name} line {line} {what}")
            }
            Some((line, what)) => format!("PL/pgSQL {name} line {line} at {what}"),
            None => format!("PL/pgSQL {name}"),
        };
        in_context(error.without_position(), line)
    }

    /// Statements one after the other.
    pub(super) async fn statements(&mut self, list: &[Statement]) -> Result<Flow> {
        let mut path = Path::new(list);
        match run_at_once(self, &mut path)? {
            Ok(flow) => Ok(flow),
            Err(first) => go_on(self, first, path).await,
        }
    }

    async fn statement(&mut self, statement: &Statement) -> Result<Flow> {
        self.cx.check_interrupts().await?;
        match &statement.kind {
            Kind::Assign(target, value) => {
                let (value, ty) = self.value(value).await?;
                self.assign(target, value, &ty).await?;
            }
            Kind::If(branches, otherwise) => {
                for (condition, body) in branches {
                    if self.holds(condition).await? {
                        return self.statements(body).await;
                    }
                }
                return self.statements(otherwise).await;
            }
            Kind::Case(case) => return self.case(case).await,
            Kind::Loop(inner) => return endless(self, inner).await,
            Kind::While(condition, inner) => return while_true(self, condition, inner).await,
            Kind::ForInteger(numbers) => return for_integer(self, numbers).await,
            Kind::ForRows(targets, rows, inner) => {
                return for_rows(self, targets, rows, inner).await;
            }
            Kind::ForEach(target, array, slice, inner) => {
                return for_each(self, target, (array, *slice), inner).await;
            }
            Kind::Leave(is_exit, label, condition) => {
                let leaves = match condition {
                    Some(condition) => self.holds(condition).await?,
                    None => true,
                };
                if leaves {
                    return Ok(Flow::Leave(*is_exit, label.clone()));
                }
            }
            Kind::Return(value) => return return_value(self, value.as_ref()).await,
            Kind::ReturnNext(value) => return_next(self, value.as_ref()).await?,
            Kind::ReturnQuery(rows) => return_query(self, rows).await?,
            Kind::Open(slot, opening, scroll) => open(self, *slot, opening, *scroll).await?,
            Kind::Fetch(slot, direction, into) => fetch(self, *slot, direction, into).await?,
            Kind::Move(slot, direction) => move_cursor(self, *slot, direction).await?,
            Kind::Close(slot) => close(self, *slot)?,
            Kind::Call(sql, targets) => call(self, sql, targets).await?,
            Kind::Perform(sql) => self.perform(sql).await?,
            Kind::Sql(sql, into) => self.sql(sql, into.as_ref()).await?,
            Kind::Execute(text, using, into) => self.execute(text, using, into.as_ref()).await?,
            Kind::Raise(raise) => raise_message(self, raise, statement.line).await?,
            Kind::Diagnostics(stacked, items) => {
                diagnostics(self, *stacked, items, statement.line).await?;
            }
            Kind::Assert(condition, message) => {
                assert(self, condition, message.as_ref()).await?;
            }
            Kind::Block(block) => {
                let flow = Box::pin(self.block(block)).await?;
                return Ok(match flow {
                    Flow::Leave(true, Some(label)) if block.label.as_ref() == Some(&label) => {
                        Flow::Next
                    }
                    flow => flow,
                });
            }
            Kind::Nothing => {}
            Kind::EndTransaction(end) => {
                self.host.end_transaction(*end).await?;
                renew(self).await?;
            }
        }
        Ok(Flow::Next)
    }

    /// Whether a condition holds; NULL does not.
    pub(super) async fn holds(&mut self, condition: &crate::plpgsql::Sql) -> Result<bool> {
        if is_settled(self)
            && let Some(holds) = holds_now(self, condition)?
        {
            return Ok(holds);
        }
        let (value, ty) = self.value(condition).await?;
        let value = assign(&self.cx, value, &ty, &braid_types::SqlType::Bool)?;
        Ok(value.as_bool() == Some(true))
    }

    async fn case(&mut self, case: &Case) -> Result<Flow> {
        if let Some((slot, operand)) = &case.operand {
            let (value, ty) = self.value(operand).await?;
            self.frame.set_type(*slot, &ty);
            self.frame.set(*slot, value)?;
        }
        for (condition, body) in &case.whens {
            if self.holds(condition).await? {
                return self.statements(body).await;
            }
        }
        match &case.otherwise {
            Some(body) => self.statements(body).await,
            None => Err(Error::new(SqlState::CaseNotFound, "case not found")
                .hint("CASE statement is missing ELSE part.")),
        }
    }

    /// A block: its declarations, its statements, and the handlers of their errors.
    async fn block(&mut self, block: &Block) -> Result<Flow> {
        for declaration in &block.declarations {
            if let Err(error) = self.declare(declaration).await {
                let what = "during statement block local variable initialization";
                self.failed_at.get_or_insert((declaration.line, what));
                return Err(error);
            }
        }
        let Some(handlers) = &block.handlers else {
            return self.statements(&block.body).await;
        };
        let mark = self.host.savepoint()?;
        let result = self.statements(&block.body).await;
        let error = match result {
            Ok(flow) => {
                self.host.release(mark);
                return Ok(flow);
            }
            Err(error) => error,
        };
        let Some(body) = handler_of(handlers, &error) else {
            self.host.release(mark);
            return Err(error);
        };
        let error = self.with_context(error);
        self.host.rollback_to(mark)?;
        self.host.release(mark);
        renew(self).await?;
        self.frame.set(handlers.state, Datum::text(error.fields().code()))?;
        self.frame.set(handlers.message, Datum::text(error.message()))?;
        self.caught.push(error);
        let result = self.statements(body).await;
        self.caught.pop();
        result
    }

    async fn declare(&mut self, declaration: &crate::plpgsql::Declaration) -> Result<()> {
        let slot = declaration.slot;
        if let Some(first) = &declaration.default {
            let (value, ty) = self.value(first).await?;
            if declaration.not_null {
                self.frame.refuse_null(slot, &declaration.name);
            }
            return self.assign(&crate::plpgsql::Target::Variable(slot), value, &ty).await;
        }
        // A loop may come here again.
        if self.code.types[slot].is_none() {
            self.frame.set_type(slot, &unknown_row());
        }
        self.frame.set(slot, Datum::Null)
    }
}

/// Runs a statement that may wait, and what comes after it.
fn go_on<'s>(
    run: &'s mut Run<'_>,
    first: &'s Statement,
    mut path: Path<'s>,
) -> BoxFuture<'s, Result<Flow>> {
    Box::pin(async move {
        let mut statement = first;
        loop {
            match run.statement(statement).await {
                Ok(Flow::Next) => run.is_settled = false,
                Ok(flow) => return Ok(flow),
                Err(error) => {
                    run.failed_at.get_or_insert((statement.line, words(&statement.kind)));
                    return Err(error);
                }
            }
            match run_at_once(run, &mut path)? {
                Ok(flow) => return Ok(flow),
                Err(next) => statement = next,
            }
        }
    })
}

/// The statements that handle an error.
fn handler_of<'h>(handlers: &'h Handlers, error: &Error) -> Option<&'h [Statement]> {
    if !may_be_caught(error) {
        return None;
    }
    let code = error.fields().code();
    let catches = |condition: &Condition| match condition {
        Condition::Others => error.state() != SqlState::AssertFailure,
        Condition::State(state) => match state.strip_suffix("000") {
            Some(class) => code.starts_with(class),
            None => code == state,
        },
    };
    let found = handlers.list.iter().find(|(conditions, _)| conditions.iter().any(catches));
    found.map(|(_, body)| body.as_slice())
}

/// Whether the transaction can go on after an error: not if it has to restart or to stop.
fn may_be_caught(error: &Error) -> bool {
    if matches!(
        error.state(),
        SqlState::QueryCanceled | SqlState::AdminShutdown | SqlState::InternalError
    ) {
        return false;
    }
    match error.cause::<Kv>() {
        None => true,
        Some(cause) => matches!(
            cause,
            Kv::LockTimeout { .. }
                | Kv::LockNotAvailable { .. }
                | Kv::Duplicate { .. }
                | Kv::WrittenInside { .. }
                | Kv::CheckChanged(_)
                | Kv::ReadOnly
        ),
    }
}
