//! A call of an aggregate, and its state over a group.

use std::cmp::Ordering;

use braid_builtins::RowOrder;
use braid_plan::{AggregateCall, Expr};
use braid_types::{Datum, Result, Row, work};

use crate::memory::row_bytes;
use crate::operator::ExecutionState;
use crate::operator::aggregate::fold::Fold;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::{KeyForm, KeySet};
use crate::operator::sort::rows::{Directions, key_exprs};
use crate::operator::sort::sorting::sort;

/// Sort keys and arguments.
pub(crate) type Parts<'r> = (&'r [Datum], &'r [Datum]);

/// A call of an aggregate, made ready.
pub(crate) struct Call {
    pub(crate) call: AggregateCall,
    pub(crate) args: Exprs,
    pub(crate) filter: Exprs,
    pub(crate) keys: Exprs,
    pub(crate) order: Directions,
    /// The form of its arguments.
    pub(crate) form: KeyForm,
    /// Its state grows with each row.
    pub(crate) grows: bool,
    /// The order of its rows can be told from its result.
    pub(crate) ordered: bool,
}

/// The state of a call over a group.
pub(crate) enum State {
    Plain(Fold),
    BuildSide(BuildSide),
}

/// The arguments of a call with DISTINCT or ORDER BY.
#[derive(Default)]
pub(crate) struct BuildSide {
    pub(crate) seen: KeySet<Row>,
    /// Sort keys and arguments; not used by a DISTINCT whose order does not matter.
    pub(crate) rows: Vec<(Row, Row)>,
}

impl Call {
    /// Makes a call ready.
    pub(crate) fn new(call: &AggregateCall) -> Self {
        let form = KeyForm::new(&call.types);
        Self {
            args: Exprs::new(call.args.clone()),
            filter: Exprs::new(call.filter.iter().cloned().collect()),
            keys: key_exprs(&call.order),
            order: Directions::new(&call.order),
            grows: call.aggregate.grows(),
            ordered: call.aggregate.row_order() != RowOrder::Ignored || !form.is_plain(),
            form,
            call: call.clone(),
        }
    }

    /// The state over no rows.
    pub(crate) fn start(&self) -> State {
        if self.keeps_rows() {
            State::BuildSide(BuildSide::default())
        } else {
            State::Plain(self.fold())
        }
    }

    /// Whether its state is the rows that it has taken.
    pub(crate) fn keeps_rows(&self) -> bool {
        self.call.distinct || !self.keys.is_empty()
    }

    /// Whether its state grows with the rows of a group.
    pub(crate) fn state_grows(&self) -> bool {
        self.grows || self.keeps_rows()
    }

    /// Whether the rows that it keeps have sort keys.
    fn keeps_keys(&self) -> bool {
        !self.call.distinct || self.ordered
    }

    /// A row on disk as sort keys and arguments.
    pub(crate) fn parts<'r>(&self, row: &'r [Datum]) -> Parts<'r> {
        let keys = if self.keeps_keys() { self.keys.list.len() } else { 0 };
        row.split_at_checked(keys).unwrap_or((row, &[]))
    }

    /// The rows of a state in their order, and none in the state any more.
    pub(crate) async fn take_rows(
        &self,
        state: &mut BuildSide,
        run: &ExecutionState,
    ) -> Result<Vec<(Row, Row)>> {
        let BuildSide { seen, rows } = std::mem::take(state);
        match self.keeps_keys() {
            true => self.sort(run, rows).await,
            false => {
                let rows = seen.into_iter().map(|args| (Row::new(), args)).collect();
                self.sort(run, rows).await
            }
        }
    }

    /// The aggregate itself over no rows.
    pub(crate) fn fold(&self) -> Fold {
        Fold::new(&self.call.aggregate, &self.call.types, &self.call.returns)
    }

    /// Takes a row into a state; `scratch` is used again and again. Gives the bytes now kept.
    pub(crate) async fn add(
        &self,
        state: &mut State,
        evaluator: &Evaluator,
        row: &[Datum],
        scratch: &mut Row,
    ) -> Result<usize> {
        if !self.filter.is_empty() && !self.filter.hold(evaluator, row).await? {
            return Ok(0);
        }
        let env = &*evaluator.run.cx.env;
        let kept = match state {
            State::Plain(Fold::User(state)) => {
                self.args.eval_into(evaluator, row, scratch).await?;
                state.add(scratch, evaluator).await?;
                return Ok(state.grown());
            }
            State::Plain(Fold::BuiltIn(state)) => {
                return match self.args.list.as_slice() {
                    [] => state.add(&[], env).map(|()| 0),
                    [Expr::Input(place, _)] => {
                        let arg = std::slice::from_ref(&row[*place]);
                        state.add(arg, env)?;
                        Ok(if self.grows { row_bytes(arg) } else { 0 })
                    }
                    _ => {
                        self.args.eval_into(evaluator, row, scratch).await?;
                        state.add(scratch, env)?;
                        Ok(if self.grows { row_bytes(scratch) } else { 0 })
                    }
                };
            }
            State::BuildSide(kept) => kept,
        };
        self.args.eval_into(evaluator, row, scratch).await?;
        if self.call.distinct && kept.seen.contains(scratch) {
            return Ok(0);
        }
        let key = self.call.distinct.then(|| self.form.key(scratch));
        if key.as_ref().is_some_and(|key| !self.form.is_plain() && kept.seen.contains(key)) {
            return Ok(0);
        }
        let bytes = row_bytes(scratch);
        let args = std::mem::take(scratch);
        let Some(key) = key else {
            let keys = self.keys.eval(evaluator, row).await?;
            let bytes = bytes + row_bytes(&keys);
            kept.rows.push((keys, args));
            return Ok(bytes);
        };
        if self.ordered {
            let keys = self.keys.eval(evaluator, row).await?;
            kept.rows.push((keys, args));
        }
        kept.seen.insert(key);
        Ok(bytes * 2)
    }

    /// The order of the arguments of two rows.
    pub(crate) fn compare_args(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        let pairs = a.iter().zip(b).zip(&self.call.types);
        let mut orders = pairs.map(|((a, b), ty)| a.compare_typed(b, ty));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The order of two rows for this call, by their sort keys and their arguments.
    pub(crate) fn compare(&self, (a, x): Parts<'_>, (b, y): Parts<'_>) -> Ordering {
        let order = self.order.compare(a, b);
        // DISTINCT sorts by its arguments.
        if order.is_eq() && self.call.distinct { self.compare_args(x, y) } else { order }
    }

    /// Sorts rows of sort keys and arguments.
    pub(crate) async fn sort(
        &self,
        run: &ExecutionState,
        rows: Vec<(Row, Row)>,
    ) -> Result<Vec<(Row, Row)>> {
        let prefix = |(keys, _): &(Row, Row)| self.order.prefix(keys.first());
        sort(run, rows, prefix, |(a, x), (b, y)| self.compare((a, x), (b, y))).await
    }

    /// The result over a group whose state is in memory.
    pub(crate) async fn finish(&self, state: State, evaluator: &Evaluator) -> Result<Datum> {
        let BuildSide { seen, rows } = match state {
            State::Plain(mut state) => return state.finish(evaluator).await,
            State::BuildSide(kept) => kept,
        };
        let mut state = self.fold();
        if self.call.distinct && !self.ordered {
            for args in &seen {
                work::tick()?;
                state.add(args, evaluator).await?;
            }
            return state.finish(evaluator).await;
        }
        let rows = self.sort(&evaluator.run, rows).await?;
        for (_, args) in &rows {
            work::tick()?;
            state.add(args, evaluator).await?;
        }
        state.finish(evaluator).await
    }
}
