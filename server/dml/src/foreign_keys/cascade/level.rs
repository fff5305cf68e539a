//! One level of checks and actions: everything is read first. Then they are done one after the
//! other, in memory.
//!
//! An action sees what the ones before it have changed ([`Changes`] over what was read), as
//! PostgreSQL's triggers see the statements of those that fired before. The level's rows are
//! written together at its end.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use braid_catalog::partitions::origin_of_key;
use braid_catalog::{Catalog, ForeignKey, ForeignKeyAction, Id, TriggerEvent};
use braid_exec::{Evaluator, ExecutionState};
use braid_kv::{Key, Record};
use braid_plan::{CascadeTable, Firing};
use braid_types::cast::{CastEnv, cast};
use braid_types::{Datum, Error, Result, Row};

use crate::foreign_keys::cascade::changes::{Changes, RowUpdate};
use crate::foreign_keys::cascade::children::{Found, Look, Search, find, lock_rows};
use crate::foreign_keys::event::Event;
use crate::foreign_keys::link::Link;
use crate::foreign_keys::messages::{mixed_nulls, no_parent, still_referenced};
use crate::queues::Queues;
use crate::table_writer::TableWriter;
use crate::triggers::RowTriggers;

/// Events between two looks at whether the statement is to stop.
const EVENTS_PER_CANCEL: usize = 1024;

/// What a level works with.
pub(crate) struct CascadeLevel<'r> {
    run: &'r Arc<ExecutionState>,
    tables: HashMap<Id, Arc<CascadeTable>>,
    found: Found,
    rows: HashMap<(Id, Key), Row>,
    changes: Changes,
    writers: HashMap<Id, TableWriter>,
    /// Those of tables that have any.
    triggers: HashMap<Id, RowTriggers>,
    queues: Queues,
    /// The text of the statement that was named last, which is mostly the next one's, too.
    text: Option<StatementText>,
}

/// The statement that PostgreSQL would run for an action, and what it depends on.
struct StatementText {
    key: Id,
    action: ForeignKeyAction,
    places: Vec<usize>,
    text: Arc<str>,
}

/// What a foreign key does when a key of its parent goes or changes.
fn action(link: &Link, deleting: bool) -> ForeignKeyAction {
    if deleting { link.key.on_delete } else { link.key.on_update }
}

fn writes(link: &Link, deleting: bool) -> bool {
    !matches!(action(link, deleting), ForeignKeyAction::NoAction | ForeignKeyAction::Restrict)
}

/// What is to be looked for on behalf of one foreign key.
struct Wanted {
    link: Arc<Link>,
    keys: HashSet<Row>,
    writes: bool,
}

impl<'r> CascadeLevel<'r> {
    /// Reads everything that the answers to these events need.
    pub(crate) async fn read(
        run: &'r Arc<ExecutionState>,
        tables: HashMap<Id, Arc<CascadeTable>>,
        events: &[Event],
        queues: &Queues,
    ) -> Result<Self> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut looks: Vec<(Id, HashSet<Key>)> = Vec::new();
        for event in events {
            match event {
                Event::Parent { link, old, new } => {
                    let writes = writes(link, new.is_none());
                    let at = wanted.iter().position(|known| known.link.key.id == link.key.id);
                    let at = at.unwrap_or_else(|| {
                        let keys = HashSet::new();
                        wanted.push(Wanted { link: link.clone(), keys, writes: false });
                        wanted.len() - 1
                    });
                    wanted[at].keys.insert(old.clone());
                    wanted[at].writes |= writes;
                }
                Event::Child { link, values, .. } if !values.iter().any(Datum::is_null) => {
                    let key = link.parent_key(&link.values.of_child(values)?)?;
                    match looks.iter_mut().find(|(tag, _)| *tag == link.key.id) {
                        Some((_, keys)) => _ = keys.insert(key),
                        None => looks.push((link.key.id, HashSet::from([key]))),
                    }
                }
                Event::Child { .. } => {}
            }
        }
        let written: HashSet<Id> =
            wanted.iter().filter(|w| w.writes).map(|w| w.link.child.id).collect();
        let searches: Vec<Search> = wanted
            .iter()
            .map(|w| Search {
                link: w.link.clone(),
                keys: w.keys.iter().cloned().collect(),
                // Whether a child is left depends on what the level does to it.
                all: written.contains(&w.link.child.id),
            })
            .collect();
        let looks: Vec<Look> = looks
            .into_iter()
            .map(|(tag, keys)| Look { tag, keys: keys.into_iter().collect() })
            .collect();
        let found = find(run, &searches, &looks).await?;
        let mut level = Self {
            run,
            tables,
            found,
            rows: HashMap::new(),
            changes: Changes::default(),
            writers: HashMap::new(),
            triggers: HashMap::new(),
            queues: queues.clone(),
            text: None,
        };
        level.rows = level.lock(&wanted).await?;
        Ok(level)
    }

    /// Locks and reads the children that may be written.
    async fn lock(&self, wanted: &[Wanted]) -> Result<HashMap<(Id, Key), Row>> {
        let mut by_table: Vec<(Arc<braid_catalog::Table>, HashSet<Key>)> = Vec::new();
        for wanted in wanted.iter().filter(|wanted| wanted.writes) {
            let link = &wanted.link;
            let at = by_table.iter().position(|(table, _)| table.id == link.child.id);
            let at = at.unwrap_or_else(|| {
                by_table.push((link.child.clone(), HashSet::new()));
                by_table.len() - 1
            });
            for key in &wanted.keys {
                let children = self.found.children.get(&(link.key.id, key.clone()));
                by_table[at].1.extend(children.into_iter().flatten().cloned());
            }
        }
        by_table.retain(|(_, keys)| !keys.is_empty());
        if by_table.is_empty() {
            return Ok(HashMap::new());
        }
        let sorted = |(table, keys): (Arc<braid_catalog::Table>, HashSet<Key>)| {
            let mut keys: Vec<Key> = keys.into_iter().collect();
            keys.sort_unstable();
            (table, keys)
        };
        lock_rows(self.run, by_table.into_iter().map(sorted).collect()).await
    }

    /// Answers events in their order, writes what changes, and gives the questions that follow.
    pub(crate) async fn run(mut self, events: Vec<Event>) -> Result<Vec<Event>> {
        for (i, event) in events.into_iter().enumerate() {
            if i % EVENTS_PER_CANCEL == 0 {
                self.run.check_interrupts().await?;
            }
            match event {
                Event::Child { link, values, row } => {
                    self.check_parent(&link, &values, row.as_ref()).await?;
                }
                Event::Parent { link, old, new } => {
                    self.act(&link, &old, new.as_ref()).await?;
                }
            }
        }
        self.changes.write(self.run, &self.writers, &self.triggers, &self.queues).await
    }

    async fn check_parent(&self, link: &Link, values: &Row, row: Option<&Key>) -> Result<()> {
        let compared = link.values.of_child(values)?;
        // A row that is gone or was changed meanwhile has queued a check of its own.
        if let Some(row) = row
            && !self.changes.still_has(link, row, &compared)?
        {
            return Ok(());
        }
        if values.iter().any(Datum::is_null) {
            return Err(mixed_nulls(&**self.run, link));
        }
        match self.exists(link, &compared).await? {
            true => Ok(()),
            false => Err(no_parent(&**self.run, link, values)),
        }
    }

    /// Whether a parent with these values is there now.
    async fn exists(&self, link: &Link, values: &[Datum]) -> Result<bool> {
        let key = link.parent_key(values)?;
        if let Some(there) = self.changes.parent(&key).or(self.found.parents.get(&key).copied()) {
            return Ok(there);
        }
        // The transaction itself has written a key that was taken away: no wait.
        let cx = &self.run.cx;
        let record = Record::Exists { tag: link.key.id };
        let value =
            self.run.wait(cx.txn.reads().get_recorded(cx.seq.after(), &key, record)).await?;
        Ok(value.is_some())
    }

    /// The children that point at a key now, by their primary keys.
    fn pointing(&self, link: &Link, values: &Row) -> Result<Vec<Key>> {
        let known = self.found.children.get(&(link.key.id, values.clone()));
        let compared = link.values.of_parent(values);
        let mut keys = Vec::new();
        for key in known.into_iter().flatten() {
            if self.changes.still_points(link, key, &compared)? {
                keys.push(key.clone());
            }
        }
        keys.extend(self.changes.newly_pointing(link, &compared)?);
        Ok(keys)
    }

    async fn act(&mut self, link: &Arc<Link>, old: &Row, new: Option<&Row>) -> Result<()> {
        let action = action(link, new.is_none());
        if action == ForeignKeyAction::NoAction && self.exists(link, old).await? {
            // Another row has taken the key over.
            return Ok(());
        }
        let children = self.pointing(link, old)?;
        match action {
            ForeignKeyAction::NoAction | ForeignKeyAction::Restrict => {
                if !children.is_empty() {
                    return Err(still_referenced(&**self.run, link, old));
                }
            }
            ForeignKeyAction::Cascade => {
                for child in children {
                    self.change(link, &child, new, action).await?;
                }
            }
            ForeignKeyAction::SetNull | ForeignKeyAction::SetDefault => {
                for child in children {
                    self.change(link, &child, new, action).await?;
                }
                // Children whose default is the key that is gone were left as they are.
                if action == ForeignKeyAction::SetDefault
                    && !self.pointing(link, old)?.is_empty()
                    && !self.exists(link, old).await?
                {
                    return Err(still_referenced(&**self.run, link, old));
                }
            }
        }
        Ok(())
    }

    /// Deletes a child, or changes its columns.
    async fn change(
        &mut self,
        link: &Arc<Link>,
        child: &Key,
        new: Option<&Row>,
        action: ForeignKeyAction,
    ) -> Result<()> {
        let id = link.child.id;
        let Some(entry) = self.tables.get(&id).cloned() else {
            return Err(Error::internal("a cascade to a table that was not planned"));
        };
        let stored = || self.rows.get(&(id, child.clone())).cloned();
        let Some(before) = self.changes.row(id, child).or_else(stored) else {
            return Err(Error::internal("a cascade to a row that was not read"));
        };
        let evaluator = Evaluator::new(self.run.clone(), self.run.no_outer());
        let event = match (action, new) {
            (ForeignKeyAction::Cascade, None) => TriggerEvent::Delete,
            _ => TriggerEvent::Update,
        };
        self.begin(&entry, &evaluator, event).await?;
        if event == TriggerEvent::Delete {
            if self.before_row(id, event, &before, None).await?.is_none() {
                return Ok(());
            }
            return self.changes.delete(self.run, link, child, before);
        }
        let mut after = before.clone();
        let mut places =
            self.set_columns(&evaluator, (link, &entry), (action, new), &mut after).await?;
        let context = self.statement_text(link, &places, action);
        let Some(mut after) = self.before_row(id, event, &before, Some(after)).await? else {
            return Ok(());
        };
        if self.triggers.get(&id).is_some_and(|t| t.has(Firing::before_row(event))) {
            places = (0..after.len()).collect();
        }
        let Some(writer) = self.writers.get(&id) else {
            return Err(Error::internal("a row without a writer"));
        };
        let moves = entry.moves_by(link.key.id);
        let mut leaves = None;
        if let Some(moves) = moves {
            writer.generate(&mut after).await.map_err(|error| error.context(&*context))?;
            let stays = evaluator.eval(&moves.moves.stays, &after).await?.as_bool() == Some(true);
            leaves = (!stays).then(|| (entry.clone(), link.key.id));
        }
        match &leaves {
            None => writer.complete(&mut after).await.map_err(|e| e.context(&*context))?,
            Some(_)
                if self.before_row(id, TriggerEvent::Delete, &before, None).await?.is_none() =>
            {
                return Ok(());
            }
            Some(_) => {}
        }
        let follows = action == ForeignKeyAction::Cascade;
        let update = RowUpdate { before, after, places, follows, context, leaves };
        self.changes.update(self.run, link, child, update)
    }
}

impl CascadeLevel<'_> {
    /// Gives the columns of a child the values that an action sets; their places.
    async fn set_columns(
        &self,
        evaluator: &Evaluator,
        (link, entry): (&Link, &CascadeTable),
        (action, new): (ForeignKeyAction, Option<&Row>),
        after: &mut Row,
    ) -> Result<Vec<usize>> {
        Ok(match (action, new) {
            (ForeignKeyAction::Cascade, Some(values)) => {
                for (i, value) in values.iter().enumerate() {
                    after[link.child_places[i]] = convert(self.run, link, i, value)?;
                }
                link.child_places.clone()
            }
            (ForeignKeyAction::SetNull, _) => {
                let places = link.set_places(new.is_none());
                places.iter().for_each(|place| after[*place] = Datum::Null);
                places
            }
            _ => {
                let places = link.set_places(new.is_none());
                for place in &places {
                    let default = entry.defaults.iter().find(|(known, _)| known == place);
                    after[*place] = match default {
                        Some((_, e)) => evaluator.eval(e, &[]).await?,
                        None => Datum::Null,
                    };
                }
                places
            }
        })
    }

    /// The statement that PostgreSQL names as the context of an error.
    fn statement_text(
        &mut self,
        link: &Link,
        places: &[usize],
        action: ForeignKeyAction,
    ) -> Arc<str> {
        let key = link.key.id;
        let is_same = |known: &&StatementText| {
            (known.key, known.action) == (key, action) && known.places == places
        };
        if let Some(known) = self.text.as_ref().filter(is_same) {
            return known.text.clone();
        }
        let text: Arc<str> = statement_text(&self.run.cx.catalog, link, places, action).into();
        self.text =
            Some(StatementText { key, action, places: places.to_vec(), text: text.clone() });
        text
    }

    /// Makes the writer of a table, and begins its triggers if it has any.
    async fn begin(
        &mut self,
        entry: &CascadeTable,
        evaluator: &Evaluator,
        event: TriggerEvent,
    ) -> Result<()> {
        let table = &entry.table;
        if let Entry::Vacant(new) = self.writers.entry(table.id) {
            let (generated, checks) = (&entry.generated, &entry.checks);
            let (exprs, evaluator) = (&entry.index_exprs, evaluator.clone());
            new.insert(TableWriter::new(table, generated, checks, exprs, evaluator)?);
        }
        if entry.triggers.is_empty() {
            return Ok(());
        }
        let queue = &self.queues.triggers;
        let make = || RowTriggers::new(evaluator, table, &entry.triggers, queue);
        self.triggers.entry(table.id).or_insert_with(make).begin(event).await
    }

    /// The row as the triggers before it leave it; `None` if they drop it.
    async fn before_row(
        &self,
        table: Id,
        event: TriggerEvent,
        old: &Row,
        new: Option<Row>,
    ) -> Result<Option<Row>> {
        match self.triggers.get(&table) {
            Some(triggers) => triggers.fire_row(Firing::before_row(event), Some(old), new).await,
            None => Ok(Some(new.unwrap_or_default())),
        }
    }
}

/// A parent's value as the child's column has it.
fn convert(run: &ExecutionState, link: &Link, i: usize, value: &Datum) -> Result<Datum> {
    let from = &link.parent.columns[link.parent_places[i]].ty;
    let to = &link.child.columns[link.child_places[i]].ty;
    if from == to {
        return Ok(value.clone());
    }
    let env = &run.cx.env;
    let cast_env = CastEnv { settings: env.settings(), now_micros: env.transaction_micros() };
    cast(value, from, to, false, &cast_env)
}

/// The statement that PostgreSQL names as the context of an error. It is one of the table that has
/// been given the foreign key.
fn statement_text(
    catalog: &Catalog,
    link: &Link,
    places: &[usize],
    action: ForeignKeyAction,
) -> String {
    let name = |place: usize| format!("\"{}\"", link.child.columns[place].name);
    let mut number = 0;
    let mut parameter = || {
        number += 1;
        format!("${number}")
    };
    let mut set = Vec::with_capacity(places.len());
    for place in places {
        let value = match action {
            ForeignKeyAction::Cascade => parameter(),
            ForeignKeyAction::SetNull => "NULL".to_owned(),
            _ => "DEFAULT".to_owned(),
        };
        set.push(format!("{} = {value}", name(*place)));
    }
    let keys = link.child_places.iter();
    let keys: Vec<String> = keys
        .map(|place| format!("{} OPERATOR(pg_catalog.=) {}", parameter(), name(*place)))
        .collect();
    let key = ForeignKey { parent: link.named, ..link.key.clone() };
    let table = origin_of_key(catalog, &link.child, &key);
    let only = if table.partitioning.is_some() { "" } else { "ONLY " };
    format!(
        "SQL statement \"UPDATE {only}\"{}\".\"{}\" SET {} WHERE {}\"",
        catalog.schema_name(table.schema),
        table.name,
        set.join(", "),
        keys.join(" AND ")
    )
}
