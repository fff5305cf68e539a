//! What a running body asks of what is around it.

use std::fmt;
use std::sync::Arc;

use braid_exec::{ExecContext, NewKeys, NoticeLevel};
use braid_kv::{SavepointId, Seq};
use braid_sql::ast::Statement;
use braid_types::{Error, Result, SqlState};
use futures_util::future::BoxFuture;

/// A position to which the transaction can be taken back.
pub type Mark = usize;

/// What a running body asks of what is around it: a statement, or the session itself.
pub trait Host: Send {
    /// What the next statement may use: a number of its own, unless the routine is not volatile.
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>>;

    /// What expressions without queries may use.
    fn current(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>>;

    /// Carries out a statement that is no query and changes no rows.
    fn command<'a>(
        &'a mut self,
        statement: &'a Statement,
        text: &'a str,
    ) -> BoxFuture<'a, Result<()>>;

    /// A position to come back to.
    fn savepoint(&mut self) -> Result<Mark>;

    /// Takes back what came after a position.
    fn rollback_to(&mut self, mark: Mark) -> Result<()>;

    /// Forgets a position.
    fn release(&mut self, mark: Mark);

    /// Sends a message to the client.
    fn notice(&mut self, level: NoticeLevel, fields: Error);

    /// Whether a routine may change rows.
    fn is_volatile(&self) -> bool;
}

/// The cause of 0A000: a body inside of a statement has a command that only the session runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionRefused;

impl fmt::Display for DefinitionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command that only the session runs")
    }
}

impl std::error::Error for DefinitionRefused {}

/// A body inside of a statement.
pub(crate) struct Nested {
    /// The statement that calls it.
    caller: Arc<ExecContext>,
    is_volatile: bool,
    marks: Vec<SavepointId>,
}

impl Nested {
    /// A routine that a statement calls. 54001 if too many run inside each other.
    pub(crate) fn new(caller: &Arc<ExecContext>, is_volatile: bool) -> Result<Self> {
        let mut inner = caller.renumbered(caller.seq, caller.cancel.clone());
        inner.new_keys = NewKeys::Now;
        inner.routine_depth += 1;
        check_depth(inner.routine_depth)?;
        Ok(Self { caller: Arc::new(inner), is_volatile, marks: Vec::new() })
    }
}

impl Nested {
    /// The function of a trigger that a statement fires.
    pub(crate) fn of_trigger(caller: &Arc<ExecContext>, is_volatile: bool) -> Result<Self> {
        let mut nested = Self::new(caller, is_volatile)?;
        if let Some(inner) = Arc::get_mut(&mut nested.caller) {
            inner.trigger_depth += 1;
        }
        Ok(nested)
    }
}

/// 54001 if too many routines run inside each other.
pub(crate) fn check_depth(depth: usize) -> Result<()> {
    const MAX: usize = crate::deep::ROUTINE_DEPTH_MAX;
    if depth <= MAX {
        return Ok(());
    }
    Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
        .detail(format!("Functions may call each other up to {MAX} levels deep.")))
}

/// The context of another statement number.
pub(crate) fn numbered(cx: &ExecContext, seq: Seq) -> Arc<ExecContext> {
    Arc::new(cx.renumbered(seq, cx.cancel.clone()))
}

impl Host for Nested {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
        let cx = match self.is_volatile {
            true => numbered(&self.caller, self.caller.txn.next_statement()),
            false => self.caller.clone(),
        };
        Box::pin(std::future::ready(Ok(cx)))
    }

    fn current(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
        Box::pin(std::future::ready(Ok(self.caller.clone())))
    }

    fn command<'a>(&'a mut self, _: &'a Statement, text: &'a str) -> BoxFuture<'a, Result<()>> {
        let word = text.split_whitespace().next().unwrap_or_default().to_uppercase();
        let error = Error::unsupported(format!("{word} in a function"))
            .hint("DO, procedures that CALL runs, and SELECT of one call may define objects.")
            .caused_by(DefinitionRefused);
        Box::pin(std::future::ready(Err(error)))
    }

    fn savepoint(&mut self) -> Result<Mark> {
        self.marks.push(self.caller.txn.savepoint());
        Ok(self.marks.len() - 1)
    }

    fn rollback_to(&mut self, mark: Mark) -> Result<()> {
        match self.marks.get(mark) {
            Some(savepoint) => {
                self.caller.txn.rollback_to(*savepoint);
                Ok(())
            }
            None => Err(Error::internal("a savepoint of a block is missing")),
        }
    }

    fn release(&mut self, mark: Mark) {
        self.marks.truncate(mark);
    }

    fn notice(&mut self, level: NoticeLevel, fields: Error) {
        self.caller.services.notice(level, fields);
    }

    fn is_volatile(&self) -> bool {
        self.is_volatile
    }
}
