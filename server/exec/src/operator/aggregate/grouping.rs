//! Groups and aggregates, by hash tables: one for each grouping set.
//!
//! An argument that is a column is handed to the aggregate without a copy; other single arguments
//! cost no allocation either. DISTINCT and ORDER BY inside an aggregate keep its arguments until
//! the end. Groups come out in the order in which they were first seen.

mod columns;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use braid_builtins::{Accumulator, RowOrder};
use braid_plan::{AggregateCall, AggregateNode, Expr};
use braid_types::{Datum, Result, Row, SqlType, work};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::KeyForm;
use crate::operator::reservation::MemoryReservation;
use crate::operator::sort::rows::{Directions, key_exprs};
use crate::operator::sort::sorting::sort;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, Operator};

/// Groups and aggregates.
pub struct AggregateOperator {
    input: BoxedOperator,
    group: Exprs,
    sets: Vec<GroupingSet>,
    grouping: bool,
    calls: Vec<Call>,
    groups: Vec<Group>,
    evaluator: Evaluator,
    held: MemoryReservation,
    output: Option<std::vec::IntoIter<Group>>,
}

/// The groups of one grouping set: numbers by key.
struct GroupingSet {
    places: Vec<usize>,
    /// The form of its keys.
    form: KeyForm,
    table: Table,
}

enum Table {
    /// Everything is one group.
    Whole(Option<usize>),
    One(HashMap<Datum, usize>),
    Many(HashMap<Row, usize>),
}

struct Group {
    set: usize,
    key: Row,
    states: Vec<State>,
}

/// A call of an aggregate, made ready.
struct Call {
    call: AggregateCall,
    args: Exprs,
    filter: Exprs,
    keys: Exprs,
    order: Directions,
    /// The form of its arguments.
    form: KeyForm,
    /// Its state grows with each row.
    grows: bool,
    /// The order of its rows can be told from its result.
    ordered: bool,
}

enum State {
    Plain(Box<dyn Accumulator>),
    BuildSide(BuildSide),
}

/// The arguments of a call with DISTINCT or ORDER BY.
#[derive(Default)]
struct BuildSide {
    seen: HashSet<Row>,
    /// Sort keys and arguments; not used by a DISTINCT whose order does not matter.
    rows: Vec<(Row, Row)>,
}

impl Call {
    fn new(call: &AggregateCall) -> Self {
        let form = KeyForm::new(&call.types);
        Self {
            args: Exprs::new(call.args.clone()),
            filter: Exprs::new(call.filter.iter().cloned().collect()),
            keys: key_exprs(&call.order),
            order: Directions::new(&call.order),
            grows: call.aggregate.grows,
            ordered: call.aggregate.row_order != RowOrder::Ignored || !form.is_plain(),
            form,
            call: call.clone(),
        }
    }

    fn start(&self) -> State {
        if self.call.distinct || !self.keys.is_empty() {
            State::BuildSide(BuildSide::default())
        } else {
            State::Plain(self.accumulator())
        }
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        (self.call.aggregate.start)(&self.call.types, &self.call.returns)
    }

    /// Takes a row into a state; `scratch` is used again and again. Gives the bytes now kept.
    async fn add(
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
            State::Plain(state) => {
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
    fn compare_args(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        let pairs = a.iter().zip(b).zip(&self.call.types);
        let mut orders = pairs.map(|((a, b), ty)| a.compare_typed(b, ty));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    async fn finish(&self, state: State, run: &ExecutionState) -> Result<Datum> {
        let env = &*run.cx.env;
        let BuildSide { seen, rows } = match state {
            State::Plain(state) => return state.finish(env),
            State::BuildSide(kept) => kept,
        };
        let mut state = self.accumulator();
        if self.call.distinct && !self.ordered {
            for args in &seen {
                work::tick()?;
                state.add(args, env)?;
            }
            return state.finish(env);
        }
        let rows = sort(run, rows, |(a, x): &(Row, Row), (b, y): &(Row, Row)| {
            let order = self.order.compare(a, b);
            // DISTINCT sorts by its arguments.
            if order.is_eq() && self.call.distinct { self.compare_args(x, y) } else { order }
        })
        .await?;
        for (_, args) in &rows {
            work::tick()?;
            state.add(args, env)?;
        }
        state.finish(env)
    }
}

impl GroupingSet {
    fn new(places: Vec<usize>, types: &[SqlType]) -> Self {
        let form = KeyForm::new(places.iter().filter_map(|place| types.get(*place)));
        let table = match places.len() {
            0 => Table::Whole(None),
            1 => Table::One(HashMap::new()),
            _ => Table::Many(HashMap::new()),
        };
        Self { places, form, table }
    }

    /// The number of the group of this row, or `next` if it is a new one with this key.
    fn find(&mut self, values: &[Datum], scratch: &mut Row, next: usize) -> (usize, Option<Row>) {
        match &mut self.table {
            Table::Whole(Some(group)) => (*group, None),
            Table::Whole(group) => {
                *group = Some(next);
                (next, Some(Row::new()))
            }
            Table::One(table) => {
                let value = &values[self.places[0]];
                if let Some(group) = table.get(value) {
                    return (*group, None);
                }
                let mut key = [value.clone()];
                self.form.apply(&mut key);
                let [key] = key;
                if let Some(group) = (!self.form.is_plain()).then(|| table.get(&key)).flatten() {
                    return (*group, None);
                }
                table.insert(key, next);
                (next, Some(vec![value.clone()]))
            }
            Table::Many(table) => {
                scratch.clear();
                scratch.extend(self.places.iter().map(|place| values[*place].clone()));
                self.form.apply(scratch);
                if let Some(group) = table.get(scratch.as_slice()) {
                    return (*group, None);
                }
                table.insert(scratch.clone(), next);
                (next, Some(self.places.iter().map(|place| values[*place].clone()).collect()))
            }
        }
    }
}

impl AggregateOperator {
    /// Groups of an input.
    pub fn new(input: BoxedOperator, node: &AggregateNode, evaluator: Evaluator) -> Self {
        let types: Vec<SqlType> = node.group.iter().map(|(_, e)| e.ty()).collect();
        let sets = if node.sets.is_empty() {
            vec![GroupingSet::new((0..node.group.len()).collect(), &types)]
        } else {
            node.sets.iter().map(|places| GroupingSet::new(places.clone(), &types)).collect()
        };
        Self {
            input,
            group: Exprs::new(node.group.iter().map(|(_, e)| e.clone()).collect()),
            sets,
            grouping: node.grouping.is_some(),
            calls: node.aggregates.iter().map(|(_, call)| Call::new(call)).collect(),
            groups: Vec::new(),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            output: None,
        }
    }

    async fn read(&mut self) -> Result<()> {
        if self.input.columns().is_some() {
            self.read_columns().await?;
        } else {
            self.read_rows().await?;
        }
        // A set of nothing has its one row even without input.
        for set in 0..self.sets.len() {
            if matches!(self.sets[set].table, Table::Whole(None)) {
                self.add_group(set, Row::new());
            }
        }
        if self.sets.len() > 1 {
            self.groups.sort_by_key(|group| group.set);
        }
        Ok(())
    }

    async fn read_rows(&mut self) -> Result<()> {
        let mut values = Row::new();
        let mut scratch = Row::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut bytes = 0;
            for row in &batch {
                bytes += self.add_row(row, &mut values, &mut scratch).await?;
            }
            if bytes > 0 {
                self.held.take(bytes)?;
            }
        }
        Ok(())
    }

    /// Takes a row into its groups; the vectors are used again and again. Gives the bytes now kept.
    async fn add_row(
        &mut self,
        row: &[Datum],
        values: &mut Row,
        scratch: &mut Row,
    ) -> Result<usize> {
        let mut bytes = 0;
        if !self.group.is_empty() {
            self.group.eval_into(&self.evaluator, row, values).await?;
        }
        for set in 0..self.sets.len() {
            let next = self.groups.len();
            let (group, new) = self.sets[set].find(values, scratch, next);
            if let Some(key) = new {
                bytes += row_bytes(&key) * 2 + self.calls.len() * 80 + 64;
                self.add_group(set, key);
            }
            let states = &mut self.groups[group].states;
            for (call, state) in self.calls.iter().zip(states) {
                bytes += call.add(state, &self.evaluator, row, scratch).await?;
            }
        }
        Ok(bytes)
    }

    fn add_group(&mut self, set: usize, key: Row) {
        let states = self.calls.iter().map(Call::start).collect();
        self.groups.push(Group { set, key, states });
    }

    /// The columns of a group before the results: its key (NULL for what its set leaves out) and
    /// `GROUPING`.
    fn key_row(&self, set: usize, key: Row) -> Row {
        let width = self.group.list.len();
        let places = &self.sets[set].places;
        let mut row = Row::with_capacity(width + 1 + self.calls.len());
        if places.iter().copied().eq(0..width) {
            row.extend(key);
        } else {
            row.resize(width, Datum::Null);
            for (place, value) in places.iter().zip(key) {
                row[*place] = value;
            }
        }
        if self.grouping {
            let bit = |mask: i64, place| mask << 1 | i64::from(!places.contains(&place));
            row.push(Datum::Int((0..width).fold(0, bit)));
        }
        row
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.output.is_none() {
            self.read().await?;
            self.output = Some(std::mem::take(&mut self.groups).into_iter());
        }
        self.evaluator.run.breathe().await?;
        let groups: Vec<Group> = match &mut self.output {
            Some(output) => output.by_ref().take(BATCH_ROWS).collect(),
            None => Vec::new(),
        };
        if groups.is_empty() {
            self.held.clear();
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(groups.len());
        for group in groups {
            let states = group.states.into_iter();
            let mut row = self.key_row(group.set, group.key);
            for (call, state) in self.calls.iter().zip(states) {
                row.push(call.finish(state, &self.evaluator.run).await?);
            }
            rows.push(row);
        }
        Ok(Some(rows))
    }
}

impl Operator for AggregateOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
