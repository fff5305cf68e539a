//! UPDATE.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::TriggerEvent;
use braid_exec::{BoxedOperator, Evaluator, MemoryReservation, Operator, key_bytes, row_bytes};
use braid_plan::{Expr, Firing, Moves, Update};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::partitions::MovedRows;
use crate::queues::Queues;
use crate::table_writer::TableWriter;
use crate::triggers::RowTriggers;

/// UPDATE; it gives RETURNING's rows. All rows are read before the first is written, so that
/// keys may move between them. If a trigger looks at each row before it is written, they are
/// written one by one.
pub struct UpdateOperator {
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
    done: bool,
}

impl UpdateOperator {
    /// An UPDATE over its input.
    pub fn new(
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
            foreign_keys: ForeignKeys::new(&evaluator.run, queues, &plan.table, &plan.cascades),
            triggers: RowTriggers::new(&evaluator, &plan.table, &plan.triggers, &queues.triggers),
            moves: plan.moves.as_deref().cloned().map(Arc::new),
            moved: queues.moved.clone(),
            evaluator,
            done: false,
        })
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let waits = self.assignments.iter().any(|(_, e)| e.waits());
        let (places, values): (Vec<usize>, Vec<Expr>) = self.assignments.iter().cloned().unzip();
        let table = self.writer.rows.table.id;
        let shared = self.evaluator.run.shares_changes(table);
        let firing = Firing::before_row(TriggerEvent::Update);
        let one_by_one = self.triggers.has(firing);
        let all_places = self.written_places(places.clone(), one_by_one);
        self.triggers.begin(TriggerEvent::Update).await?;
        let mut held = MemoryReservation::new(&self.evaluator.run);
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        let mut returned = Vec::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut bytes = 0;
            for row in batch {
                let old: Row = row[..self.width].to_vec();
                // A row that FROM matches several times is updated once; so is one that WITH and
                // the statement itself match.
                let key = self.writer.rows.primary_key(&old);
                bytes += key_bytes(&key);
                let first = match shared {
                    true => self.evaluator.run.first_change(table, key),
                    false => seen.insert(key),
                };
                if !first {
                    continue;
                }
                let values = self.evaluator.eval_all(&values, waits, &row).await?;
                let mut new = assigned(&old, &places, values);
                if one_by_one {
                    let fired = self.triggers.fire_row(firing, Some(&old), Some(new)).await?;
                    let Some(row) = fired else { continue };
                    new = row;
                }
                if let Some(moves) = self.moves_away(&new).await? {
                    let taken = self.take_away(&moves, &old, &mut new).await?;
                    if taken && !self.returning.is_empty() {
                        bytes += row_bytes(&new) + row_bytes(&row);
                        returned.push((new, row));
                    }
                    continue;
                }
                self.writer.complete_changed(&old, &mut new).await?;
                self.foreign_keys.changed(Some(&old), Some(&new))?;
                if one_by_one {
                    let change = [(old.clone(), new.clone())];
                    self.write(&change, &all_places).await?;
                }
                bytes += row_bytes(&old) + row_bytes(&new);
                if !self.returning.is_empty() {
                    bytes += row_bytes(&new) + row_bytes(&row);
                    returned.push((new.clone(), row));
                }
                changes.push((old, new));
            }
            held.take(bytes)?;
        }
        if !one_by_one {
            self.write(&changes, &all_places).await?;
        }
        self.triggers.end(TriggerEvent::Update).await?;
        self.foreign_keys.hand_over();
        self.evaluator.run.add_changed(changes.len());
        self.returned(returned).await
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

    async fn write(&mut self, changes: &[(Row, Row)], places: &[usize]) -> Result<()> {
        self.writer.replace(changes, places).await?;
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
        self.foreign_keys.changed(Some(old), None)?;
        self.triggers.after_row(TriggerEvent::Delete, Some(old), None).await?;
        self.moved.push(&self.evaluator.run, moves, new)?;
        Ok(true)
    }

    /// RETURNING of the changed rows.
    async fn returned(&mut self, rows: Vec<(Row, Row)>) -> Result<Option<Vec<Row>>> {
        let waits = self.returning.iter().any(Expr::waits);
        let mut result = Vec::with_capacity(rows.len());
        for (new, input) in rows {
            let mut row = new;
            row.extend(input);
            result.push(self.evaluator.eval_all(&self.returning, waits, &row).await?);
        }
        Ok(if result.is_empty() { None } else { Some(result) })
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
