//! States of groups on disk: those that grow with the rows of their group.
//!
//! ```text
//!   memory used up:  states of groups 0, 1, 2 … ──▶ run 1      (the states are empty again)
//!   used up again:   states of groups 0, 1, 2 … ──▶ run 2
//!   end of input:    the runs merged by group and call ──▶ one state at a time ──▶ result
//! ```
//!
//! A row of a run is the number of the group, the number of the call, and then a piece of the
//! aggregate's state, or the sort keys and arguments of a row that the call keeps. The rows of a
//! call are in the order in which the aggregate takes them, so DISTINCT finds repetitions beside
//! each other. Only the state of one group has to fit into memory.

use std::cmp::Ordering;
use std::sync::Arc;

use braid_types::{Datum, Result, Row, compare_rows, work};

use crate::operator::aggregate::call::{Call, State};
use crate::operator::aggregate::fold::Fold;
use crate::operator::eval::Evaluator;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, ExecutionState};
use crate::spill::file::TempFile;
use crate::spill::merge::{Merge, RunOrder};
use crate::spill::stream::{RowStream, RowWriter, block_bytes};

/// What is in front of a row: the numbers of its group and its call.
const HEAD: usize = 2;

/// The order of rows of runs.
pub(crate) struct GroupOrder(Arc<Vec<Call>>);

impl RunOrder for GroupOrder {
    fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        let ((head, a), (other_head, b)) = (a.split_at(HEAD), b.split_at(HEAD));
        let order = compare_rows(head, other_head);
        let call = head.last().and_then(Datum::as_int).and_then(|n| self.0.get(n as usize));
        match call {
            Some(call) if order.is_eq() && call.keeps_rows() => {
                call.compare(call.parts(a), call.parts(b))
            }
            _ => order,
        }
    }
}

/// States of groups on disk.
pub(crate) struct GroupRuns {
    calls: Arc<Vec<Call>>,
    runs: Vec<RowStream>,
}

impl GroupRuns {
    /// No runs yet.
    pub(crate) fn new(calls: Arc<Vec<Call>>) -> Self {
        Self { calls, runs: Vec::new() }
    }

    /// Whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes the states of all groups that grow. Gives the bytes of those that cannot be written.
    pub(crate) async fn write<'g>(
        &mut self,
        groups: impl Iterator<Item = &'g mut Vec<State>> + Send,
        run: &ExecutionState,
        file: &Arc<TempFile>,
        held: &mut MemoryReservation,
    ) -> Result<usize> {
        let mut writer = RowWriter::new(file, block_bytes(held.take_buffers()?, 1));
        let (mut left, mut written) = (0, 0_usize);
        for (number, states) in groups.enumerate() {
            if number.is_multiple_of(BATCH_ROWS) {
                run.check_interrupts().await?;
            }
            for (place, (call, state)) in self.calls.iter().zip(states).enumerate() {
                let head = [Datum::Int(number as i64), Datum::Int(place as i64)];
                match state {
                    State::Plain(state) if call.grows => match state.save() {
                        Some(pieces) => {
                            for piece in pieces {
                                writer.push(&[head.as_slice(), &[piece]].concat())?;
                            }
                        }
                        None => left += state.size_bytes(),
                    },
                    State::Plain(_) => {}
                    State::BuildSide(kept) => {
                        for (keys, args) in call.take_rows(kept, run).await? {
                            writer.push(&[head.as_slice(), &keys, &args].concat())?;
                            written += 1;
                            if written.is_multiple_of(BATCH_ROWS) {
                                run.check_interrupts().await?;
                            }
                        }
                    }
                }
            }
        }
        self.runs.push(writer.finish()?);
        Ok(left)
    }

    /// The states, to be read in the order of groups and calls.
    pub(crate) async fn merge(
        &mut self,
        run: &Arc<ExecutionState>,
        file: &Arc<TempFile>,
        held: &mut MemoryReservation,
    ) -> Result<GroupStates> {
        let runs = std::mem::take(&mut self.runs);
        let order = Arc::new(GroupOrder(self.calls.clone()));
        let merge = Merge::new(run, file, runs, order, held.take_buffers()?).await?;
        Ok(GroupStates { merge, next: None, held: MemoryReservation::new(run), counted: 0 })
    }
}

/// States of groups, read from runs.
pub(crate) struct GroupStates {
    merge: Merge<GroupOrder>,
    /// A row that belongs to a later state.
    next: Option<Row>,
    /// The memory of the state that is put together.
    held: MemoryReservation,
    counted: usize,
}

impl GroupStates {
    /// The result of a call over a group. Groups and calls are asked for in their order.
    pub(crate) async fn result(
        &mut self,
        (group, place): (usize, usize),
        call: &Call,
        state: State,
        evaluator: &Evaluator,
    ) -> Result<Datum> {
        let head = [Datum::Int(group as i64), Datum::Int(place as i64)];
        let is_plain = matches!(state, State::Plain(_));
        let mut state = match state {
            State::Plain(mut state) if !call.grows => return state.finish(evaluator).await,
            State::Plain(state) => state,
            State::BuildSide(_) => call.fold(),
        };
        let mut last: Option<Row> = None;
        let mut count = 0_usize;
        while let Some(row) = self.take(&head)? {
            count += 1;
            if count.is_multiple_of(BATCH_ROWS) {
                evaluator.run.check_interrupts().await?;
                self.count(&state)?;
            }
            work::tick()?;
            let row = row.get(HEAD..).unwrap_or_default();
            if is_plain {
                if count == 1 {
                    // The one in memory goes on where the last piece ended.
                    state = call.fold();
                }
                if let Fold::BuiltIn(state) = &mut state {
                    row.iter().try_for_each(|piece| state.load(piece))?;
                }
                self.count(&state)?;
                continue;
            }
            let (_, args) = call.parts(row);
            if call.call.distinct {
                if last.as_ref().is_some_and(|last| call.compare_args(last, args).is_eq()) {
                    continue;
                }
                last = Some(args.to_vec());
            }
            state.add(args, evaluator).await?;
        }
        self.count(&state)?;
        let result = state.finish(evaluator).await;
        self.held.clear();
        self.counted = 0;
        result
    }

    /// Counts what a state has grown by; 53200 if one state is too large.
    fn count(&mut self, state: &Fold) -> Result<()> {
        let grown = state.size_bytes().saturating_sub(self.counted);
        self.counted += grown;
        self.held.take(grown)
    }

    /// The next row, if it belongs to this state.
    fn take(&mut self, head: &[Datum; HEAD]) -> Result<Option<Row>> {
        let next = match self.next.take() {
            Some(row) => Some(row),
            None => self.merge.next_row()?,
        };
        match next {
            Some(row) if row.starts_with(head) => Ok(Some(row)),
            later => {
                self.next = later;
                Ok(None)
            }
        }
    }
}
