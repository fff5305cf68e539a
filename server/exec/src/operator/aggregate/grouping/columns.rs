//! Aggregates over rows by columns.
//!
//! Where groups are columns, the rows of a batch are sorted by group (keeping their order within a
//! group) and each aggregate takes the values of a group at once. Arguments that are expressions
//! are computed for the whole batch first. Aggregates that need more than that get row after row,
//! made in the same place.

use braid_builtins::{Accumulator, Environment};
use braid_plan::Expr;
use braid_plan::eval::{EvalContext, eval};
use braid_rows::{Column, Columns, IntKind, Values};
use braid_types::{Datum, Result, Row};

use crate::memory::row_bytes;
use crate::operator::aggregate::call::{Call, State};
use crate::operator::aggregate::fold::Fold;
use crate::operator::aggregate::grouping::AggregateOperator;
use crate::operator::aggregate::grouping::decimals;
use crate::operator::aggregate::grouping::plain_rows::Argument;
use crate::operator::scan::column_filter::places_of;

/// What is used again for each batch.
#[derive(Default)]
pub(crate) struct Scratch {
    row: Row,
    values: Row,
    datums: Row,
    ints: Vec<i64>,
    floats: Vec<f64>,
    /// Of each call whose argument is an expression: its value for each row.
    computed: Vec<Computed>,
    /// For each group ever seen: the last batch that had it, and its place among the groups of that
    /// batch.
    seen: Vec<(u32, u32)>,
    batch: u32,
    /// The groups of this batch, and for each row which of them.
    groups: Vec<usize>,
    of_row: Vec<u32>,
    /// Rows by group, and where each group ends.
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Call {
    /// Takes rows of a batch into a state: all of them, or those that are listed.
    fn add_columns(
        &self,
        state: &mut dyn Accumulator,
        columns: &Columns,
        rows: Option<&[u32]>,
        env: &dyn Environment,
        (ints, floats): (&mut Vec<i64>, &mut Vec<f64>),
    ) -> Result<()> {
        let count = rows.map_or(columns.rows, <[u32]>::len);
        let Some(Argument::Column(place)) = self.argument() else {
            return state.add_rows(count, env);
        };
        let column = &columns.list[place];
        // All aggregates whose state has a fixed size pass over NULL.
        match &column.values {
            Values::Ints(IntKind::Int, values) => match rows {
                None if !column.has_nulls() => state.add_ints(values, env),
                rows => state.add_ints(gather(column, values, rows, ints), env),
            },
            Values::Floats(values) => match rows {
                None if !column.has_nulls() => state.add_floats(values, env),
                rows => state.add_floats(gather(column, values, rows, floats), env),
            },
            Values::Decimals(values) => {
                let (scale, values) = (values.scale(), &values.coefficients);
                match rows {
                    None if !column.has_nulls() => state.add_decimals(values, scale, env),
                    rows => state.add_decimals(gather(column, values, rows, ints), scale, env),
                }
            }
            Values::Data(values) => add_data(state, values, rows, env),
            Values::Ints(..) => match rows {
                None => (0..count).try_for_each(|i| state.add(&[column.datum(i)], env)),
                Some(rows) => {
                    rows.iter().try_for_each(|i| state.add(&[column.datum(*i as usize)], env))
                }
            },
        }
    }
}

/// The values of an expression for the rows of a batch.
#[derive(Default)]
struct Computed {
    /// Numerics of one scale, if that is what they are.
    decimals: Option<(Vec<i64>, u16)>,
    /// Otherwise the values.
    data: Vec<Datum>,
}

impl Computed {
    /// Computes an expression of numerics by columns. If that cannot be done: where the values are
    /// to be put, row by row.
    fn begin(
        &mut self,
        e: &Expr,
        columns: &Columns,
        cx: &EvalContext<'_>,
    ) -> Option<&mut Vec<Datum>> {
        self.data.clear();
        self.decimals = decimals::evaluate(e, columns, cx);
        self.decimals.is_none().then_some(&mut self.data)
    }

    /// Takes the values of these rows, or of all, into a state.
    fn add_to(
        &self,
        state: &mut dyn Accumulator,
        rows: Option<&[u32]>,
        env: &dyn Environment,
        buffer: &mut Vec<i64>,
    ) -> Result<()> {
        match (&self.decimals, rows) {
            (None, rows) => add_data(state, &self.data, rows, env),
            (Some((values, scale)), None) => state.add_decimals(values, *scale, env),
            (Some((values, scale)), Some(rows)) => {
                buffer.clear();
                buffer.extend(rows.iter().map(|i| values[*i as usize]));
                state.add_decimals(buffer, *scale, env)
            }
        }
    }
}

/// Takes the values of these rows, or of all.
fn add_data(
    state: &mut dyn Accumulator,
    values: &[Datum],
    rows: Option<&[u32]>,
    env: &dyn Environment,
) -> Result<()> {
    match rows {
        None => values.iter().try_for_each(|v| state.add(std::slice::from_ref(v), env)),
        Some(rows) => {
            let mut values = rows.iter().map(|i| &values[*i as usize]);
            values.try_for_each(|v| state.add(std::slice::from_ref(v), env))
        }
    }
}

/// The values of these rows that are not NULL.
fn gather<'o, T: Copy>(
    column: &Column,
    values: &[T],
    rows: Option<&[u32]>,
    out: &'o mut Vec<T>,
) -> &'o [T] {
    out.clear();
    match rows {
        None => out.extend((0..values.len()).filter(|i| !column.is_null(*i)).map(|i| values[i])),
        Some(rows) if !column.has_nulls() => out.extend(rows.iter().map(|i| values[*i as usize])),
        Some(rows) => {
            let rows = rows.iter().map(|i| *i as usize);
            out.extend(rows.filter(|i| !column.is_null(*i)).map(|i| values[i]));
        }
    }
    out
}

impl AggregateOperator {
    /// Reads the input by columns; false if a worker leaves the rest of it.
    pub(crate) async fn read_columns(&mut self) -> Result<bool> {
        let mut columns = std::mem::take(&mut self.columns);
        let mut scratch = Scratch::default();
        scratch.seen.resize(self.groups.len(), (0, 0));
        let places = self.group.places();
        let whole = self.sets.len() == 1 && self.calls.iter().all(|call| call.argument().is_some());
        while match self.input.columns() {
            Some(source) => source.next_columns(&mut columns, None).await?,
            None => false,
        } {
            self.evaluator.run.check_interrupts().await?;
            let before = self.fixed + self.grown;
            match &places {
                Some(places) if whole && !self.overflow.is_active() => {
                    self.compute(&columns, &mut scratch)?;
                    self.find_groups(places, &columns, &mut scratch);
                    self.add_groups(&columns, &mut scratch)?;
                }
                _ => {
                    for i in 0..columns.rows {
                        columns.read_row(i, &mut scratch.row);
                        let Scratch { row, values, datums, .. } = &mut scratch;
                        self.add_row(row, values, datums).await?;
                    }
                }
            }
            if !self.count_since(before).await? {
                self.columns = columns;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Computes the arguments that are expressions.
    fn compute(&self, columns: &Columns, scratch: &mut Scratch) -> Result<()> {
        let Scratch { row, computed, .. } = scratch;
        computed.resize_with(self.calls.len(), Computed::default);
        let cx = self.evaluator.context();
        let mut places = Vec::new();
        let mut wanted: Vec<(&Expr, &mut Vec<Datum>)> = Vec::new();
        for (call, values) in self.calls.iter().zip(computed) {
            if let Some(Argument::Computed(e)) = call.argument()
                && let Some(values) = values.begin(e, columns, &cx)
            {
                places_of(e, &mut places);
                wanted.push((e, values));
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        places.sort_unstable();
        places.dedup();
        row.clear();
        row.resize(columns.list.len(), Datum::Null);
        for i in 0..columns.rows {
            for place in &places {
                row[*place] = columns.list[*place].datum(i);
            }
            for (e, values) in &mut wanted {
                values.push(eval(e, row, &cx)?);
            }
        }
        Ok(())
    }

    /// Finds the groups of a batch and sorts its rows by them.
    fn find_groups(&mut self, places: &[usize], columns: &Columns, scratch: &mut Scratch) {
        scratch.groups.clear();
        scratch.of_row.clear();
        scratch.ends.clear();
        scratch.batch += 1;
        let mut last: Option<(i64, u32)> = None;
        for i in 0..columns.rows {
            let int = match places {
                // One group: the first row finds it.
                [] if i > 0 => break,
                [place] => match &columns.list[*place] {
                    column if column.is_null(i) => None,
                    Column { values: Values::Ints(_, values), .. } => Some(values[i]),
                    _ => None,
                },
                _ => None,
            };
            if let (Some((known, group)), Some(int)) = (last, int)
                && known == int
            {
                scratch.of_row.push(group);
                scratch.ends[group as usize] += 1;
                continue;
            }
            scratch.values.clear();
            scratch.values.extend(places.iter().map(|place| columns.list[*place].datum(i)));
            let next = self.groups.len();
            let (group, new) = self.sets[0].find(|n| &scratch.values[n], &mut scratch.datums, next);
            if let Some(key) = new {
                self.fixed += row_bytes(&key) * 2 + self.calls.len() * 80 + 64 + 8;
                self.add_group(0, key);
                scratch.seen.push((0, 0));
            }
            let seen = &mut scratch.seen[group];
            if seen.0 != scratch.batch {
                *seen = (scratch.batch, scratch.groups.len() as u32);
                scratch.groups.push(group);
                scratch.ends.push(0);
            }
            scratch.of_row.push(seen.1);
            scratch.ends[seen.1 as usize] += 1;
            last = int.map(|int| (int, seen.1));
        }
        if scratch.groups.len() > 1 {
            scratch.sort_rows();
        }
    }

    fn add_groups(&mut self, columns: &Columns, scratch: &mut Scratch) -> Result<()> {
        let env = &*self.evaluator.run.cx.env;
        let mut from = 0;
        for (place, group) in scratch.groups.iter().enumerate() {
            let to = scratch.ends[place];
            let rows = (scratch.groups.len() > 1).then(|| &scratch.rows[from..to]);
            from = to;
            let states = self.calls.iter().zip(&mut self.groups[*group].states);
            for ((call, state), values) in states.zip(&scratch.computed) {
                let State::Plain(Fold::BuiltIn(state)) = state else { continue };
                if let Some(Argument::Computed(_)) = call.argument() {
                    values.add_to(&mut **state, rows, env, &mut scratch.ints)?;
                } else {
                    let buffers = (&mut scratch.ints, &mut scratch.floats);
                    call.add_columns(&mut **state, columns, rows, env, buffers)?;
                }
            }
        }
        Ok(())
    }
}

impl Scratch {
    /// Sorts the batch's rows by group: counts become ends, rows go to their places in order.
    fn sort_rows(&mut self) {
        let mut at = 0;
        for end in &mut self.ends {
            at += std::mem::replace(end, at);
        }
        self.rows.clear();
        self.rows.resize(self.of_row.len(), 0);
        for (row, group) in self.of_row.iter().enumerate() {
            let place = &mut self.ends[*group as usize];
            self.rows[*place] = row as u32;
            *place += 1;
        }
    }
}
