//! Groups and aggregates, by hash tables: one for each grouping set.
//!
//! An argument that is a column is handed to the aggregate without a copy; other single arguments
//! cost no allocation either. DISTINCT and ORDER BY inside an aggregate keep its arguments until
//! the end. Groups come out in the order in which they were first seen.
//!
//! Once memory is used up, two things go to disk. States that grow with the rows of their group are
//! written and are empty again ([`GroupRuns`]). If there are too many groups, rows of further
//! groups are deferred ([`Overflow`]), and this operator is run over each partition of them.

mod columns;
mod decimals;
mod groups;
mod plain_rows;
mod team;
mod workers;

pub(crate) use workers::aggregated;

use std::sync::Arc;

use braid_plan::AggregateNode;
use braid_plan::explain::DiskUse;
use braid_rows::Columns;
use braid_types::{Datum, Result, Row, SqlType};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::aggregate::call::Call;
use crate::operator::aggregate::group_runs::{GroupRuns, GroupStates};
use crate::operator::aggregate::grouping::groups::{Group, GroupingSet, Table};
use crate::operator::aggregate::grouping::team::Role;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::{MemoryReservation, broken};
use crate::operator::spilled::overflow::Overflow;
use crate::operator::spilled::stream_scan::StreamScan;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};
use crate::spill::stream::RowStream;

/// Bytes of result rows that are made at a time from states on disk.
const RESULT_BYTES: usize = 1 << 20;

/// Groups and aggregates.
pub(crate) struct AggregateOperator {
    input: BoxedOperator,
    /// The last batch by columns, whose form the input knows.
    columns: Columns,
    group: Arc<Exprs>,
    sets: Vec<GroupingSet>,
    grouping: bool,
    calls: Arc<Vec<Call>>,
    /// Whether a state grows with the rows of its group.
    grows: bool,
    groups: Vec<Group>,
    evaluator: Evaluator,
    held: MemoryReservation,
    /// Bytes of states that were added as they grew.
    grown: usize,
    /// Bytes of groups without that.
    fixed: usize,
    /// Bytes of states that grow and cannot be written.
    stuck: usize,
    runs: GroupRuns,
    overflow: Overflow,
    output: Option<Output>,
    below: Option<Box<AggregateOperator>>,
    role: Role,
}

/// What is given out: the groups in memory, then those that were deferred.
struct Output {
    groups: std::vec::IntoIter<Group>,
    /// The number of the next group.
    number: usize,
    /// The states that grow, if they are on disk.
    states: Option<GroupStates>,
    partitions: std::vec::IntoIter<RowStream>,
}

impl AggregateOperator {
    /// Groups of an input.
    pub(crate) fn new(input: BoxedOperator, node: &AggregateNode, evaluator: Evaluator) -> Self {
        let types: Vec<SqlType> = node.group.iter().map(|(_, e)| e.ty()).collect();
        let sets = if node.sets.is_empty() {
            vec![GroupingSet::new((0..node.group.len()).collect(), &types)]
        } else {
            node.sets.iter().map(|places| GroupingSet::new(places.clone(), &types)).collect()
        };
        let calls: Vec<Call> = node.aggregates.iter().map(|(_, call)| Call::new(call)).collect();
        let calls = Arc::new(calls);
        Self {
            input,
            columns: Columns::default(),
            group: Arc::new(Exprs::new(node.group.iter().map(|(_, e)| e.clone()).collect())),
            sets,
            grouping: node.grouping.is_some(),
            grows: calls.iter().any(Call::state_grows),
            groups: Vec::new(),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            grown: 0,
            fixed: 0,
            stuck: 0,
            runs: GroupRuns::new(calls.clone()),
            calls,
            overflow: Overflow::default(),
            output: None,
            below: None,
            role: Role::Alone,
        }
    }

    /// The same over rows that were deferred.
    fn of_partition(&self, rows: RowStream) -> Self {
        Self {
            input: StreamScan::new(&self.evaluator.run, Arc::new(rows)),
            columns: Columns::default(),
            group: self.group.clone(),
            sets: self.sets.iter().map(GroupingSet::renewed).collect(),
            grouping: self.grouping,
            grows: self.grows,
            groups: Vec::new(),
            held: MemoryReservation::new(&self.evaluator.run),
            evaluator: self.evaluator.clone(),
            grown: 0,
            fixed: 0,
            stuck: 0,
            runs: GroupRuns::new(self.calls.clone()),
            calls: self.calls.clone(),
            overflow: self.overflow.below(),
            output: None,
            below: None,
            role: Role::Alone,
        }
    }

    async fn read(&mut self) -> Result<()> {
        self.role.start(&self.evaluator.run);
        loop {
            self.read_input().await?;
            self.gather().await?;
            let Some(rest) = self.role.left_over() else { break };
            (self.input, self.columns) = rest;
        }
        // A set of nothing has its one row even without input.
        for set in 0..self.sets.len() {
            if matches!(self.sets[set].table, Table::Whole(None)) && !self.overflow.is_below() {
                self.add_group(set, Row::new());
            }
        }
        Ok(())
    }

    /// Reads the input; false if a worker leaves the rest of it.
    async fn read_input(&mut self) -> Result<bool> {
        match self.input.columns() {
            Some(_) => self.read_columns().await,
            None => self.read_rows().await,
        }
    }

    async fn read_rows(&mut self) -> Result<bool> {
        let mut values = Row::new();
        let mut scratch = Row::new();
        let plain = self.plain_rows();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let before = self.fixed + self.grown;
            match &plain {
                Some(plain) if !self.overflow.is_active() => {
                    self.add_plain_rows(plain, &batch, &mut scratch)?;
                }
                _ => {
                    for row in &batch {
                        self.add_row(row, &mut values, &mut scratch).await?;
                    }
                }
            }
            if !self.count_since(before).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts what groups and states take more than that now. If memory is used up, some of it goes
    /// to disk. False if a worker is to leave the rest of its input to another one.
    async fn count_since(&mut self, before: usize) -> Result<bool> {
        let bytes = (self.fixed + self.grown).saturating_sub(before);
        if bytes == 0 || self.held.try_take(bytes)? {
            return Ok(!self.role.is_called_off());
        }
        if matches!(self.role, Role::Worker(_)) {
            return Ok(false);
        }
        // From now on rows of new groups are deferred. Those of workers must be known before.
        self.role.call_off();
        self.gather().await?;
        if self.grown > 0 {
            self.write_states().await?;
            // So there is room for states to grow again.
            let bytes = self.fixed + self.stuck;
            let fits = self.held.try_take(bytes * 2)?;
            self.held.clear();
            self.held.try_take(bytes)?;
            if fits {
                return Ok(true);
            }
        }
        self.overflow.begin(&self.evaluator.run, &mut self.held)?;
        Ok(true)
    }

    /// Writes the states that grow to disk, and counts what is left.
    async fn write_states(&mut self) -> Result<()> {
        let run = &self.evaluator.run;
        let file = self.overflow.file(run)?;
        self.held.clear();
        let states = self.groups.iter_mut().map(|group| &mut group.states);
        let left = self.runs.write(states, run, &file, &mut self.held).await?;
        self.held.clear();
        // Beyond the limit it fails here.
        self.held.take(left)?;
        self.held.clear();
        (self.stuck, self.grown) = (left, 0);
        Ok(())
    }

    /// Takes a row into its groups; the vectors are used again and again.
    async fn add_row(&mut self, row: &[Datum], values: &mut Row, scratch: &mut Row) -> Result<()> {
        if !self.group.is_empty() {
            self.group.eval_into(&self.evaluator, row, values).await?;
        }
        let mut sets = 0..self.sets.len();
        if self.overflow.is_below() {
            // The last column of a row that was deferred says for which set.
            let set = row.last().and_then(Datum::as_int).and_then(|set| usize::try_from(set).ok());
            let set = set.ok_or_else(|| broken("a row that was deferred has no grouping set"))?;
            sets = set..set + 1;
        }
        for set in sets {
            let group = match self.overflow.is_active() {
                false => self.find_group(set, values, scratch),
                true => match self.sets[set].known(values) {
                    (Some(group), _) => group,
                    (None, key) => {
                        self.defer(set, &key, row)?;
                        continue;
                    }
                },
            };
            let states = &mut self.groups[group].states;
            for (call, state) in self.calls.iter().zip(states) {
                self.grown += call.add(state, &self.evaluator, row, scratch).await?;
            }
        }
        Ok(())
    }

    fn find_group(&mut self, set: usize, values: &[Datum], scratch: &mut Row) -> usize {
        let next = self.groups.len();
        let (group, new) = self.sets[set].find(|n| &values[n], scratch, next);
        if let Some(key) = new {
            self.fixed += row_bytes(&key) * 2 + self.calls.len() * 80 + 64;
            self.add_group(set, key);
        }
        group
    }

    /// Writes a row of a new group to disk, for one of its sets.
    fn defer(&mut self, set: usize, key: &[Datum], row: &[Datum]) -> Result<()> {
        let set = Datum::Int(set as i64);
        let width = if self.overflow.is_below() { row.len() - 1 } else { row.len() };
        let mut tagged = row[..width].to_vec();
        tagged.push(set.clone());
        self.overflow.push(std::iter::once(&set).chain(key), &tagged)
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

    /// Everything was read: what is to be given out.
    async fn start_output(&mut self) -> Result<Output> {
        let run = self.evaluator.run.clone();
        let mut states = None;
        if !self.runs.is_empty() {
            self.write_states().await?;
            let file = self.overflow.file(&run)?;
            states = Some(self.runs.merge(&run, &file, &mut self.held).await?);
        }
        let mut groups = std::mem::take(&mut self.groups);
        if self.sets.len() > 1 && states.is_none() {
            groups.sort_by_key(|group| group.set);
        }
        for set in &mut self.sets {
            set.table = Table::new(set.places.len());
        }
        let partitions = self.overflow.finish()?;
        Ok(Output { groups: groups.into_iter(), number: 0, states, partitions })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.output.is_none() {
            self.read().await?;
            self.output = Some(self.start_output().await?);
        }
        loop {
            self.evaluator.run.check_interrupts().await?;
            if let Some(below) = &mut self.below {
                if let Some(rows) = below.next().await? {
                    return Ok(Some(rows));
                }
                self.below = None;
            }
            let rows = self.results().await?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
            self.held.clear();
            let Some(output) = &mut self.output else { return Ok(None) };
            output.states = None;
            let Some(rows) = output.partitions.next() else { return Ok(None) };
            self.below = Some(Box::new(self.of_partition(rows)));
        }
    }

    /// The rows of the next groups in memory; none at their end.
    async fn results(&mut self) -> Result<Vec<Row>> {
        let Some(mut output) = self.output.take() else { return Ok(Vec::new()) };
        let evaluator = &self.evaluator;
        let mut rows = Vec::new();
        let mut bytes = 0;
        while rows.len() < BATCH_ROWS && bytes < RESULT_BYTES {
            let Some(group) = output.groups.next() else { break };
            let mut row = self.key_row(group.set, group.key);
            for (place, (call, state)) in self.calls.iter().zip(group.states).enumerate() {
                let place = (output.number, place);
                row.push(match &mut output.states {
                    None => call.finish(state, evaluator).await?,
                    Some(states) => states.result(place, call, state, evaluator).await?,
                });
            }
            if output.states.is_some() {
                bytes += row_bytes(&row);
            }
            output.number += 1;
            rows.push(row);
        }
        self.output = Some(output);
        Ok(rows)
    }
}

impl Operator for AggregateOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn spilled(&self) -> Option<DiskUse> {
        self.overflow.spilled()
    }
}
