//! What a level does to rows, kept until the level's end, when all of it is written.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use braid_catalog::{Id, TriggerEvent};
use braid_exec::ExecutionState;
use braid_kv::Key;
use braid_plan::CascadeTable;
use braid_rows::{TableRows, Violation};
use braid_types::{Datum, Error, Result, Row};

use crate::foreign_keys::collect::{child_events, moved_events, parent_events};
use crate::foreign_keys::event::Event;
use crate::foreign_keys::link::{Link, TableLinks, pick};
use crate::partitions::insert_moved;
use crate::queues::Queues;
use crate::table_writer::{Part, TableWriter};
use crate::triggers::RowTriggers;

/// The changes of a level.
#[derive(Default)]
pub(crate) struct Changes {
    /// Rows in the order in which they were first changed.
    order: Vec<(Id, Key)>,
    tables: HashMap<Id, TableChanges>,
    /// Keys of parents that have come (true) or gone.
    parents: HashMap<Key, bool>,
}

struct TableChanges {
    links: TableLinks,
    layout: TableRows,
    /// By the primary key that the row had before the level.
    rows: HashMap<Key, Change>,
    /// Changed rows by foreign key and the values that they have been given.
    pointing: HashMap<(Id, Row), Children>,
    /// Places of columns that were changed.
    places: BTreeSet<usize>,
    /// The statement that is named when what was changed cannot be written.
    context: Arc<str>,
}

/// Children that have been given the same key, each once and in the order in which they came.
#[derive(Default)]
struct Children {
    list: Vec<Key>,
    known: HashSet<Key>,
}

/// A row before the level and now.
struct Change {
    old: Row,
    /// `None`: deleted.
    new: Option<Row>,
    /// Foreign keys by which it has followed its parent's new key: once is enough, also where
    /// that key is another parent's old one.
    followed: Vec<Id>,
    /// Its way to another partition, if it leaves its own.
    leaves: Option<Leaving>,
}

/// A row's way out of its partition: what the plan knows of the partition, and the foreign key
/// that moves the row.
pub(crate) type Leaving = (Arc<CascadeTable>, Id);

/// A new version of a child's row.
pub(crate) struct RowUpdate {
    /// The row before.
    pub before: Row,
    /// The row after.
    pub after: Row,
    /// Places of the columns that differ.
    pub places: Vec<usize>,
    /// Whether the child follows its parent's new key.
    pub follows: bool,
    /// The statement that is named when the change cannot be written.
    pub context: Arc<str>,
    /// Its way to another partition, if it leaves its own.
    pub leaves: Option<Leaving>,
}

impl Changes {
    fn change(&self, table: Id, row: &Key) -> Option<&Change> {
        self.tables.get(&table)?.rows.get(row)
    }

    /// A row as the level has left it; `None` if it has not touched it, or deleted it.
    pub(crate) fn row(&self, table: Id, row: &Key) -> Option<Row> {
        self.change(table, row)?.new.clone()
    }

    /// Whether a parent has come or gone in this level.
    pub(crate) fn parent(&self, key: &Key) -> Option<bool> {
        self.parents.get(key).copied()
    }

    /// Whether a child's row still points at these values under this key.
    pub(crate) fn still_has(&self, link: &Link, row: &Key, values: &[Datum]) -> Result<bool> {
        let Some(change) = self.change(link.child.id, row) else { return Ok(true) };
        change.new.as_ref().map_or(Ok(false), |new| points_at(link, new, values))
    }

    /// Whether a child that pointed at a key before the level still does.
    pub(crate) fn still_points(&self, link: &Link, row: &Key, values: &[Datum]) -> Result<bool> {
        let Some(change) = self.change(link.child.id, row) else { return Ok(true) };
        Ok(!change.followed.contains(&link.key.id) && self.still_has(link, row, values)?)
    }

    /// Children that have come to point at a key in this level.
    pub(crate) fn newly_pointing(&self, link: &Link, values: &[Datum]) -> Result<Vec<Key>> {
        let Some(table) = self.tables.get(&link.child.id) else { return Ok(Vec::new()) };
        let known = table.pointing.get(&(link.key.id, values.to_vec()));
        let mut keys = Vec::new();
        for key in known.iter().flat_map(|known| &known.list) {
            let change = table.rows.get(key);
            let pointed_before = change.map_or(Ok(false), |c| points_at(link, &c.old, values))?;
            if !pointed_before && self.still_points(link, key, values)? {
                keys.push(key.clone());
            }
        }
        Ok(keys)
    }

    /// Deletes a child.
    pub(crate) fn delete(
        &mut self,
        run: &ExecutionState,
        link: &Arc<Link>,
        row: &Key,
        before: Row,
    ) -> Result<()> {
        self.note(run, link, row, before, None)
    }

    /// Changes a child's columns.
    pub(crate) fn update(
        &mut self,
        run: &ExecutionState,
        link: &Arc<Link>,
        row: &Key,
        update: RowUpdate,
    ) -> Result<()> {
        let RowUpdate { before, after, places, follows, context, leaves } = update;
        self.note(run, link, row, before, Some(after))?;
        if let Some(table) = self.tables.get_mut(&link.child.id) {
            table.places.extend(places);
            table.context = context;
            if let Some(change) = table.rows.get_mut(row) {
                change.leaves = leaves;
                if follows {
                    change.followed.push(link.key.id);
                }
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        run: &ExecutionState,
        link: &Arc<Link>,
        row: &Key,
        before: Row,
        after: Option<Row>,
    ) -> Result<()> {
        let id = link.child.id;
        let table = match self.tables.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(TableChanges {
                links: TableLinks::acting(run, &link.child)?,
                layout: TableRows::new(&link.child)?,
                rows: HashMap::new(),
                pointing: HashMap::new(),
                places: BTreeSet::new(),
                context: Arc::from(""),
            }),
        };
        for incoming in &table.links.incoming {
            let mut mark = |row: &[Datum], there: bool| {
                let values = pick(row, &incoming.parent_places);
                if !values.iter().any(Datum::is_null) {
                    self.parents.insert(incoming.parent_key(&values)?, there);
                }
                Ok::<(), braid_types::Error>(())
            };
            mark(&before, false)?;
            after.as_ref().map_or(Ok(()), |after| mark(after, true))?;
        }
        if let Some(after) = &after {
            for outgoing in &table.links.outgoing {
                let values = pick(after, &outgoing.child_places);
                let values = outgoing.values.of_child(values)?.into_owned();
                // No parent has a NULL in its key.
                if values.iter().any(Datum::is_null) {
                    continue;
                }
                let children = table.pointing.entry((outgoing.key.id, values)).or_default();
                if children.known.insert(row.clone()) {
                    children.list.push(row.clone());
                }
            }
        }
        match table.rows.get_mut(row) {
            Some(change) => change.new = after,
            None => {
                self.order.push((id, row.clone()));
                let followed = Vec::new();
                let change = Change { old: before, new: after, followed, leaves: None };
                table.rows.insert(row.clone(), change);
            }
        }
        Ok(())
    }

    /// Writes everything, table by table; gives the questions that the changes ask.
    pub(crate) async fn write(
        mut self,
        run: &ExecutionState,
        writers: &HashMap<Id, TableWriter>,
        triggers: &HashMap<Id, RowTriggers>,
        queues: &Queues,
    ) -> Result<Vec<Event>> {
        let mut after: Vec<(Id, Row, Option<Row>)> = Vec::new();
        let (mut events, mut leaving, mut gone) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut changed: HashMap<Id, Vec<(Row, Row)>> = HashMap::new();
        let mut tables: Vec<Id> = Vec::new();
        for (id, row) in &self.order {
            let Some(table) = self.tables.get_mut(id) else { continue };
            let Some(Change { old, new, leaves, .. }) = table.rows.remove(row) else { continue };
            if let (Some(leaves), Some(new)) = (leaves, &new) {
                let writer = writers.get(id).ok_or_else(without_writer)?;
                let from = (run, &*table, writer);
                take_away(from, (&old, new), &leaves, queues, &mut events)?;
                gone.push((*id, old));
                leaving.entry((id.to_owned(), leaves.1)).or_insert((leaves, table.context.clone()));
                continue;
            }
            parent_events(&table.links.incoming, &old, new.as_deref(), &mut events);
            if triggers.contains_key(id) {
                after.push((*id, old.clone(), new.clone()));
            }
            match new {
                Some(new) => {
                    child_events(&table.links, &table.layout, &old, &new, &mut events);
                    if !changed.contains_key(id) {
                        tables.push(*id);
                    }
                    changed.entry(*id).or_default().push((old, new));
                }
                None => match writers.get(id) {
                    Some(writer) => writer.delete(&old)?,
                    None => return Err(without_writer()),
                },
            }
        }
        for id in tables {
            let (Some(table), Some(writer), Some(changes)) =
                (self.tables.get(&id), writers.get(&id), changed.get(&id))
            else {
                continue;
            };
            let mut places: Vec<usize> = table.places.iter().copied().collect();
            let columns = table.layout.table.columns.iter().enumerate();
            places.extend(columns.filter(|(_, c)| c.generated.is_some()).map(|(place, _)| place));
            let written = writer.replace(changes, &places, Part::Both).await;
            written.map_err(|error| match error.cause() {
                Some(Violation::Unique) => error.context(&*table.context),
                _ => error,
            })?;
        }
        queue_triggers(triggers, after).await?;
        for (id, old) in gone {
            if let Some(of_table) = triggers.get(&id) {
                of_table.after_row(TriggerEvent::Delete, Some(&old), None).await?;
            }
        }
        for ((partition, key), context) in leaving.into_values() {
            let Some(moves) = partition.moves_by(key) else { continue };
            let inserted = insert_moved(run, &moves.insert, queues).await;
            inserted.map_err(|error| error.context(&*context))?;
        }
        Ok(events)
    }
}

fn without_writer() -> Error {
    Error::internal("a row without a writer")
}

/// Takes a row out of its partition. An INSERT puts it into another one after the level's changes.
fn take_away(
    (run, table, writer): (&ExecutionState, &TableChanges, &TableWriter),
    (old, new): (&Row, &Row),
    (partition, key): &Leaving,
    queues: &Queues,
    events: &mut Vec<Event>,
) -> Result<()> {
    let Some(moves) = partition.moves_by(*key).map(|known| &known.moves) else {
        return Err(Error::internal("a row leaves a partition that it cannot leave"));
    };
    let of_root = (&*run.cx.catalog, moves.root);
    moved_events(of_root, &partition.table, &table.links, (old, new), events)?;
    writer.delete(old)?;
    queues.moved.push(run, moves, new)
}

/// Owes the triggers after rows that a level has changed, and after its statements.
async fn queue_triggers(
    triggers: &HashMap<Id, RowTriggers>,
    after: Vec<(Id, Row, Option<Row>)>,
) -> Result<()> {
    let mut statements: Vec<(Id, TriggerEvent)> = Vec::new();
    for (id, old, new) in after {
        let Some(of_table) = triggers.get(&id) else { continue };
        let event = if new.is_none() { TriggerEvent::Delete } else { TriggerEvent::Update };
        of_table.after_row(event, Some(&old), new.as_deref()).await?;
        if !statements.contains(&(id, event)) {
            statements.push((id, event));
        }
    }
    for (id, event) in statements {
        if let Some(of_table) = triggers.get(&id) {
            of_table.end(event).await?;
        }
    }
    Ok(())
}

/// Whether a child's row points at these values.
fn points_at(link: &Link, child: &Row, values: &[Datum]) -> Result<bool> {
    Ok(*link.values.of_child(pick(child, &link.child_places))? == *values)
}
