//! Operators that follow each other.

use std::collections::VecDeque;

use braid_types::{Result, Row};

use crate::operator::{BoxedOperator, Operator};

/// Operators that follow each other; each goes when it has ended.
#[derive(Default)]
pub(crate) struct Queue(VecDeque<BoxedOperator>);

impl Queue {
    /// Adds an operator at the end.
    pub(crate) fn push(&mut self, operator: impl Operator + 'static) {
        self.0.push_back(Box::new(operator));
    }

    /// The next rows of the first operator that has any; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Row>>> {
        while let Some(first) = self.0.front_mut() {
            if let Some(rows) = first.next().await? {
                return Ok(Some(rows));
            }
            self.0.pop_front();
        }
        Ok(None)
    }
}
