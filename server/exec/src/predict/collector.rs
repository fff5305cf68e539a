//! What a walk over a plan has found so far.

use std::collections::HashSet;

use braid_catalog::Id;
use braid_kv::Span;
use braid_types::{Error, Result};

use crate::predict::values::Values;

/// What was found so far.
pub(crate) struct SpanCollector<'a> {
    pub values: Values<'a>,
    pub reads: Vec<Span>,
    pub writes: Vec<Span>,
    pub ordered: bool,
    pub(crate) cascades: Cascading,
    /// What is wrong with a descriptor: nothing is predicted then.
    pub(crate) broken: Option<Error>,
}

impl SpanCollector<'_> {
    /// What was made of a descriptor; `None` if it is broken, which the prediction fails with.
    pub(crate) fn intact<T>(&mut self, made: Result<T>) -> Option<T> {
        made.map_err(|error| self.broken = Some(error)).ok()
    }
}

/// Where the walk over cascades is.
#[derive(Default)]
pub(crate) struct Cascading {
    /// Foreign keys on the way to here.
    pub(crate) path: Vec<Id>,
    /// Foreign keys whose action on all rows is in the sets: DELETE (true) and UPDATE.
    pub(crate) whole: HashSet<(Id, bool)>,
    pub(crate) steps: usize,
}
