//! Rows of UPDATE: all are read, then changed.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::TriggerEvent;
use braid_exec::{
    BoxedOperator, Evaluator, MemoryReservation, Operator, RowStore, StoreCursor, key_bytes,
};
use braid_kv::Key;
use braid_plan::{Destination, Expr, Firing, Moves, Node, Update};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::partitions::{Found, MovedRows, find_leaf};
use crate::queues::Queues;
use crate::table_writer::{Part, TableWriter};
use crate::triggers::RowTriggers;

use super::changes::{Changes, Lot};

/// UPDATE; it gives RETURNING's rows. All rows are read before the first is written, so that
/// keys may move between them. Changes that memory has no room for wait on disk. If a trigger looks
/// at each row before it is written, or a volatile function computes a value, they are written one
/// by one: it sees the changes so far.
pub(crate) struct UpdateOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    width: usize,
    assignments: Vec<(usize, Expr)>,
    returning: Vec<Expr>,
    foreign_keys: ForeignKeys,
    triggers: RowTriggers,
    /// What happens to rows that leave the partition.
    moves: Option<Arc<Moves>>,
    moved: Arc<MovedRows>,
    /// Finds where rows go, for RETURNING.
    destination: Option<Box<Destination>>,
    /// Whether the input may give a row several times, and the keys of those that were changed.
    repeats: bool,
    seen: HashSet<Key>,
    /// Memory of these keys.
    held: MemoryReservation,
    done: bool,
    /// RETURNING's rows, and how far they were given.
    result: RowStore,
    given: StoreCursor,
}

/// Whether a volatile function of a user is called.
fn calls_volatile(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e, Expr::Routine(call) if call.is_volatile()))
}

impl UpdateOperator {
    /// An UPDATE over its input.
    pub(crate) fn new(
        input: BoxedOperator,
        plan: &Update,
        evaluator: Evaluator,
        queues: &Queues,
    ) -> Result<Self> {
        let writer = TableWriter::new(
            &plan.table,
            &plan.generated,
            &plan.checks,
            &plan.index_exprs,
            evaluator.clone(),
        )?;
        Ok(Self {
            input,
            writer,
            width: plan.table.columns.len(),
            assignments: plan.assignments.clone(),
            returning: plan.returning.iter().map(|(_, e)| e.clone()).collect(),
            foreign_keys: ForeignKeys::new(&evaluator.run, queues, &plan.table, &plan.cascades)?,
            triggers: RowTriggers::new(&evaluator, &plan.table, &plan.triggers, &queues.triggers),
            moves: plan.moves.as_deref().cloned().map(Arc::new),
            moved: queues.moved.clone(),
            destination: plan.destination.clone(),
            repeats: !matches!(plan.input, Node::Scan(_)),
            seen: HashSet::new(),
            held: MemoryReservation::new(&evaluator.run),
            result: RowStore::new(&evaluator.run),
            given: StoreCursor::default(),
            evaluator,
            done: false,
        })
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if !std::mem::replace(&mut self.done, true) {
            self.update().await?;
        }
        let rows = self.result.read(&mut self.given)?;
        Ok((!rows.is_empty()).then_some(rows))
    }

    async fn update(&mut self) -> Result<()> {
        let waits = self.assignments.iter().any(|(_, e)| e.waits());
        let (places, values): (Vec<usize>, Vec<Expr>) = self.assignments.iter().cloned().unzip();
        let fires = self.triggers.has(Firing::before_row(TriggerEvent::Update));
        let one_by_one = fires || values.iter().any(calls_volatile);
        let all_places = self.written_places(places.clone(), fires);
        self.triggers.begin(TriggerEvent::Update).await?;
        let mut changes = Changes::new(&self.evaluator, self.width);
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let mut bytes = 0;
            for row in batch {
                if !self.is_first(&row[..self.width], &mut bytes) {
                    continue;
                }
                let values = self.evaluator.eval_all(&values, waits, &row).await?;
                let (old, input) = self.old_and_input(row);
                let new = assigned(&old, &places, values);
                let Some(mut new) = self.before(&old, new, fires).await? else { continue };
                if let Some(moves) = self.moves_away(&new).await? {
                    if self.take_away(&moves, &old, &mut new).await? {
                        self.give((vec![(old, new)], vec![input])).await?;
                    }
                    continue;
                }
                self.writer.complete_changed(&old, &mut new).await?;
                self.foreign_keys.changed(Some(&old), Some(&new))?;
                if one_by_one {
                    let change = [(old.clone(), new.clone())];
                    self.write(&change, &all_places, Part::Both).await?;
                }
                changes.push(old, new, input);
            }
            self.held.take(bytes)?;
            match one_by_one {
                true => self.give(changes.take()).await?,
                false => changes.count()?,
            }
        }
        if !one_by_one {
            self.write_all(&mut changes, &all_places).await?;
        }
        self.triggers.end(TriggerEvent::Update).await?;
        self.foreign_keys.hand_over();
        self.evaluator.run.add_changed(changes.total);
        Ok(())
    }

    /// The old row of a row of the input; and that row, if RETURNING needs it.
    fn old_and_input(&self, mut row: Row) -> (Row, Row) {
        if !self.returning.is_empty() {
            return (row[..self.width].to_vec(), row);
        }
        row.truncate(self.width);
        (row, Row::new())
    }

    /// Whether the statement has not changed this row before. A row that FROM matches several times
    /// is updated once; so is one that WITH and the statement itself match.
    fn is_first(&mut self, old: &[Datum], bytes: &mut usize) -> bool {
        let table = self.writer.rows.table.id;
        let shared = self.evaluator.run.shares_changes(table);
        if !shared && !self.repeats {
            return true;
        }
        let key = self.writer.rows.primary_key(old);
        *bytes += key_bytes(&key);
        match shared {
            true => self.evaluator.run.first_change(table, key),
            false => self.seen.insert(key),
        }
    }

    /// The row as triggers leave it; `None` if one drops it.
    async fn before(&mut self, old: &Row, new: Row, fires: bool) -> Result<Option<Row>> {
        if !fires {
            return Ok(Some(new));
        }
        let firing = Firing::before_row(TriggerEvent::Update);
        self.triggers.fire_row(firing, Some(old), Some(new)).await
    }

    /// Writes changes after all of them are known: at once, or in lots if they are on disk.
    async fn write_all(&mut self, changes: &mut Changes, places: &[usize]) -> Result<()> {
        if let Some(lot) = changes.in_memory() {
            self.write(&lot.0, places, Part::Both).await?;
            return self.give(lot).await;
        }
        let mut cursor = StoreCursor::default();
        while let Some((lot, _)) = changes.read(&mut cursor)? {
            self.evaluator.run.check_interrupts().await?;
            self.write(&lot, places, Part::Old).await?;
        }
        let mut cursor = StoreCursor::default();
        while let Some(lot) = changes.read(&mut cursor)? {
            self.evaluator.run.check_interrupts().await?;
            self.write(&lot.0, places, Part::New).await?;
            self.give(lot).await?;
        }
        Ok(())
    }

    /// The places of the columns that are written: all, if a trigger may change the row.
    fn written_places(&self, mut places: Vec<usize>, all: bool) -> Vec<usize> {
        let columns = &self.writer.rows.table.columns;
        if all {
            return (0..columns.len()).collect();
        }
        let generated = columns.iter().enumerate().filter(|(_, c)| c.generated.is_some());
        places.extend(generated.map(|(place, _)| place));
        places
    }

    async fn write(&mut self, changes: &[(Row, Row)], places: &[usize], part: Part) -> Result<()> {
        self.writer.replace(changes, places, part).await?;
        if part == Part::Old {
            return Ok(());
        }
        for (old, new) in changes {
            self.triggers.after_row(TriggerEvent::Update, Some(old), Some(new)).await?;
        }
        Ok(())
    }

    /// Where a new row goes, if it leaves its partition.
    async fn moves_away(&mut self, new: &Row) -> Result<Option<Arc<Moves>>> {
        let Some(moves) = &self.moves else { return Ok(None) };
        let stays = self.evaluator.eval(&moves.stays, new).await?.as_bool() == Some(true);
        Ok((!stays).then(|| moves.clone()))
    }

    /// Takes a row out of its partition, to be inserted into another one. False if a trigger keeps
    /// it.
    async fn take_away(&mut self, moves: &Moves, old: &Row, new: &mut Row) -> Result<bool> {
        let firing = Firing::before_row(TriggerEvent::Delete);
        if self.triggers.has(firing)
            && self.triggers.fire_row(firing, Some(old), None).await?.is_none()
        {
            return Ok(false);
        }
        self.writer.generate(new).await?;
        self.writer.delete(old)?;
        self.foreign_keys.moved(old, new, moves.root)?;
        self.triggers.after_row(TriggerEvent::Delete, Some(old), None).await?;
        self.moved.push(&self.evaluator.run, moves, new)?;
        Ok(true)
    }

    /// The oid of the partition that a new row goes to, if RETURNING asks for it. A row without
    /// any fails when it is inserted.
    async fn destination_of(&mut self, new: &Row) -> Result<Option<Datum>> {
        let Some(destination) = &self.destination else { return Ok(None) };
        let found = find_leaf(&self.evaluator, &destination.levels, new).await?;
        let leaf = match found {
            Found::Leaf(leaf) => destination.leaves.get(leaf).copied(),
            Found::Nothing(..) => None,
        };
        Ok(Some(leaf.map_or(Datum::Null, |oid| Datum::Int(oid.into()))))
    }

    /// Computes RETURNING of changed rows.
    async fn give(&mut self, (changes, inputs): Lot) -> Result<()> {
        if self.returning.is_empty() {
            return Ok(());
        }
        let waits = self.returning.iter().any(Expr::waits);
        let mut result = Vec::with_capacity(inputs.len());
        for ((_, new), input) in changes.into_iter().zip(inputs) {
            let oid = self.destination_of(&new).await?;
            let mut row = new;
            row.extend(input);
            row.extend(oid);
            result.push(self.evaluator.eval_all(&self.returning, waits, &row).await?);
        }
        self.result.append(result)
    }
}

/// A row with other values at some places.
fn assigned(old: &Row, places: &[usize], values: Vec<Datum>) -> Row {
    let mut new = old.clone();
    for (place, value) in places.iter().zip(values) {
        new[*place] = value;
    }
    new
}

impl Operator for UpdateOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
