//! What an aggregate has made of the rows that it has taken.
//!
//! A built-in aggregate has an accumulator, which never waits. The state of an aggregate of a user
//! is a value. Each row replaces it by the result of a function, which may run queries.

use std::sync::Arc;

use braid_builtins::Accumulator;
use braid_plan::{AggregateKind, UserAggregate};
use braid_types::{Datum, Result, Row, SqlType};

use crate::operator::eval::Evaluator;
use crate::operator::reservation::broken;

/// The state of an aggregate over the rows so far.
pub(crate) enum Fold {
    BuiltIn(Box<dyn Accumulator>),
    User(UserFold),
}

/// The state of an aggregate of a user.
pub(crate) struct UserFold {
    aggregate: Arc<UserAggregate>,
    /// The state; `None` before the first row.
    state: Option<Datum>,
    /// The state and the arguments, for the step; used again and again.
    scratch: Row,
    /// The most bytes that it has held.
    largest: usize,
}

/// Bytes of a state without a value.
const EMPTY_BYTES: usize = 64;

impl Fold {
    /// The state over no rows, for arguments of these types.
    pub(crate) fn new(aggregate: &AggregateKind, types: &[SqlType], returns: &SqlType) -> Self {
        match aggregate {
            AggregateKind::BuiltIn(aggregate) => Fold::BuiltIn((aggregate.start)(types, returns)),
            AggregateKind::User(aggregate) => Fold::User(UserFold {
                aggregate: aggregate.clone(),
                largest: EMPTY_BYTES,
                state: None,
                scratch: Row::new(),
            }),
        }
    }

    /// Takes the arguments of a row.
    pub(crate) async fn add(&mut self, args: &[Datum], cx: &Evaluator) -> Result<()> {
        match self {
            Fold::BuiltIn(state) => state.add(args, &*cx.run.cx.env),
            Fold::User(state) => state.add(args, cx).await,
        }
    }

    /// The result. More rows may follow (window frames).
    pub(crate) async fn finish(&mut self, cx: &Evaluator) -> Result<Datum> {
        match self {
            Fold::BuiltIn(state) => state.finish(&*cx.run.cx.env),
            Fold::User(state) => state.finish(cx).await,
        }
    }

    /// Takes over the rows of another state ([`Accumulator::merge`]).
    pub(crate) fn merge(&mut self, other: &Fold, cx: &Evaluator) -> Result<()> {
        let (Fold::BuiltIn(state), Fold::BuiltIn(other)) = (self, other) else {
            return Err(broken("states of an aggregate of a user are merged"));
        };
        let partial = other.partial();
        let partial = partial.ok_or_else(|| broken("states of this aggregate cannot be merged"))?;
        state.merge(&partial, &*cx.run.cx.env)
    }

    /// Approximate bytes held.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Fold::BuiltIn(state) => state.size_bytes(),
            Fold::User(state) => state.size_bytes(),
        }
    }

    /// Takes out what can go to disk ([`Accumulator::save`]). The state of a user has no pieces.
    pub(crate) fn save(&mut self) -> Option<Vec<Datum>> {
        match self {
            Fold::BuiltIn(state) => state.save(),
            Fold::User(_) => None,
        }
    }
}

impl UserFold {
    /// Takes the arguments of a row, by PostgreSQL's rules for strict functions.
    pub(crate) async fn add(&mut self, args: &[Datum], cx: &Evaluator) -> Result<()> {
        cx.let_others().await?;
        let is_strict = self.aggregate.is_step_strict;
        if is_strict && args.iter().any(Datum::is_null) {
            return Ok(());
        }
        let (state, is_first) = match self.state.take() {
            Some(state) => (state, false),
            None => (cx.eval(&self.aggregate.initial, &[]).await?, true),
        };
        if is_strict && state.is_null() {
            // A state that a row has made NULL stays so.
            let first = args.first().filter(|_| is_first);
            self.state = Some(first.cloned().unwrap_or(Datum::Null));
            return Ok(());
        }
        self.scratch.clear();
        self.scratch.push(state);
        self.scratch.extend_from_slice(args);
        self.state = Some(cx.eval(&self.aggregate.step, &self.scratch).await?);
        self.scratch.clear();
        Ok(())
    }

    async fn finish(&self, cx: &Evaluator) -> Result<Datum> {
        let state = match &self.state {
            Some(state) => state.clone(),
            None => cx.eval(&self.aggregate.initial, &[]).await?,
        };
        let Some(finish) = &self.aggregate.finish else { return Ok(state) };
        if self.aggregate.is_finish_strict && state.is_null() {
            return Ok(Datum::Null);
        }
        // With FINALFUNC_EXTRA each argument is NULL.
        let mut row = vec![Datum::Null; self.aggregate.routine.parameters.len() + 1];
        if let Some(first) = row.first_mut() {
            *first = state;
        }
        cx.eval(finish, &row).await
    }

    /// Bytes by which the state has become larger than it has been so far.
    pub(crate) fn grown(&mut self) -> usize {
        let size = self.size_bytes();
        let grown = size.saturating_sub(self.largest);
        self.largest += grown;
        grown
    }

    /// Approximate bytes held.
    pub(crate) fn size_bytes(&self) -> usize {
        EMPTY_BYTES + self.state.as_ref().map_or(0, Datum::size_bytes)
    }
}
