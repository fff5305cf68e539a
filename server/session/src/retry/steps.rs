//! The executions since the last Sync, as far as they can be run again.

use std::sync::Arc;

use braid_sql::ast::Statement;
use braid_types::{Datum, Error};

use crate::client::{Formats, Mark};
use crate::retry::reason::is_retryable;
use crate::statement::kinds::is_repeatable;
use crate::statement::prepared::Prepared;
use crate::transaction::machine::Block;

/// More executions than this are not remembered.
pub(crate) const STEPS_MAX: usize = 1000;

/// One Execute that ran to its end.
#[derive(Clone)]
pub(crate) struct Step {
    pub prepared: Arc<Prepared>,
    pub params: Arc<Vec<Datum>>,
    pub formats: Formats,
    /// Where its output begins and ends, as positions of the connection.
    pub output: std::ops::Range<Mark>,
}

/// The executions since the last Sync, or since the last transaction that ended after it.
#[derive(Default)]
pub(crate) struct Replay {
    pub steps: Vec<Step>,
    /// Something happened that cannot be done again.
    pub blocked: bool,
    /// The last execution cannot be done again, but ran to its end and has written its tag.
    pub ends_with_tag: bool,
    /// The steps begin a block.
    pub begins: bool,
    /// The body of a routine has ended a transaction.
    ended_inside: bool,
}

impl Step {
    /// Whether it only says what the transaction is to be like, before anything is done in it.
    pub(crate) fn is_frame(&self) -> bool {
        self.prepared.statement().is_some_and(|statement| !is_repeatable(statement))
    }
}

impl Replay {
    pub(crate) fn clear(&mut self) {
        *self = Replay::default();
    }

    /// The body of a routine has ended a transaction: nothing before that runs again.
    pub(crate) fn end_inside(&mut self) {
        *self = Replay { blocked: true, ended_inside: true, ..Replay::default() };
    }

    /// Whether the body of a routine has ended a transaction since the last Sync, or in this text.
    pub(crate) fn has_ended_inside(&self) -> bool {
        self.ended_inside
    }

    /// The error with what a client has to know that may run all of it again.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match self.ended_inside && is_retryable(&error) {
            true => error.hint("What the routine has committed before this error stays."),
            false => error,
        }
    }

    pub(crate) fn push(&mut self, step: Step) {
        if self.steps.len() < STEPS_MAX {
            self.begins |= matches!(step.prepared.statement(), Some(Statement::Begin(_)));
            self.steps.push(step);
        } else {
            self.blocked = true;
        }
    }

    /// The steps, if they can be run again.
    pub(crate) fn take(&mut self) -> Option<Vec<Step>> {
        let steps = std::mem::take(&mut self.steps);
        self.begins = false;
        (!self.blocked && !steps.is_empty()).then_some(steps)
    }

    /// Whether a step can be run again after the remembered ones.
    pub(crate) fn takes(&self, statement: Option<&Statement>, block: Block) -> bool {
        let Some(statement) = statement else { return true };
        let is_begin = matches!(statement, Statement::Begin(_));
        match block {
            Block::None if is_begin => true,
            Block::None => is_repeatable(statement),
            Block::Active if !self.begins || is_begin => false,
            Block::Active if is_repeatable(statement) => true,
            Block::Active => {
                // A savepoint in the middle could not be rolled back to after a failure.
                let is_start = self.steps.iter().all(Step::is_frame);
                is_start
                    && matches!(
                        statement,
                        Statement::Set(_) | Statement::SetTransaction(_) | Statement::Savepoint(_)
                    )
            }
            Block::Failed | Block::Released => false,
        }
    }
}
