//! What a statement's changes ask of foreign keys, in the order in which they were made.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_kv::Key;
use braid_plan::{CascadeTable, Cascades};
use braid_types::{Error, Result, Row, SqlState};
use parking_lot::Mutex;

use super::level::Level;
use super::link::Link;
use super::plain;
use crate::NewKeys;
use crate::duplicate::duplicate_key;
use crate::operator::Run;

/// Levels of a statement before it is looked at whether they go round.
const LEVELS_FREE: usize = 100;
/// How often one key may be replaced after that.
const ROUNDS_MAX: usize = 100;

/// A question to a foreign key.
pub enum Event {
    /// A child's row came, or points elsewhere: does its parent exist?
    Child {
        /// The foreign key.
        link: Arc<Link>,
        /// Its values.
        values: Row,
        /// The row's primary key, if it may change before the question is answered.
        row: Option<Key>,
    },
    /// A parent's row went, or its key has changed: what becomes of its children?
    Parent {
        /// The foreign key.
        link: Arc<Link>,
        /// The key that is gone.
        old: Row,
        /// The key in its place, unless the row was deleted.
        new: Option<Row>,
    },
}

impl Event {
    /// The foreign key.
    pub fn link(&self) -> &Arc<Link> {
        match self {
            Event::Child { link, .. } | Event::Parent { link, .. } => link,
        }
    }
}

/// The questions of a run.
#[derive(Default)]
pub struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    events: Vec<Event>,
    /// Tables that cascades may write.
    tables: HashMap<Id, Arc<CascadeTable>>,
    /// Some table of the run has foreign keys, or is pointed at.
    is_used: bool,
    /// Whether keys are free that the statement has put is looked at later.
    puts_off: bool,
}

impl Queue {
    /// A table with foreign keys is changed in this run.
    pub fn register(&self, cascades: &Cascades) {
        let mut state = self.0.lock();
        state.is_used = true;
        for table in &cascades.tables {
            state.tables.entry(table.table.id).or_insert_with(|| table.clone());
        }
    }

    /// New keys of this run are looked at later.
    pub fn put_off(&self) {
        self.0.lock().puts_off = true;
    }

    /// Whether the run has anything to do with foreign keys.
    pub fn is_used(&self) -> bool {
        self.0.lock().is_used
    }

    /// Whether a cascade may write a table.
    pub fn may_write(&self, table: Id) -> bool {
        self.0.lock().tables.contains_key(&table)
    }

    /// Asks.
    pub fn push(&self, events: &mut Vec<Event>) {
        self.0.lock().events.append(events);
    }

    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().events)
    }

    fn tables(&self) -> HashMap<Id, Arc<CascadeTable>> {
        self.0.lock().tables.clone()
    }
}

/// Finds cascades that go round for ever: the same keys are replaced again and again. Uniqueness
/// is looked at when a statement ends, so that rows whose foreign keys point at each other's
/// columns may change places without end.
#[derive(Default)]
struct Rounds {
    levels: usize,
    replaced: HashMap<(Id, Row), usize>,
}

impl Rounds {
    fn note(&mut self, events: &[Event]) -> Result<()> {
        self.levels += 1;
        if self.levels <= LEVELS_FREE {
            return Ok(());
        }
        for event in events {
            let Event::Parent { link, old, new: Some(_) } = event else { continue };
            let times = self.replaced.entry((link.key.id, old.clone())).or_default();
            *times += 1;
            if *times > ROUNDS_MAX {
                let name = &link.key.name;
                let message = format!("foreign key constraint \"{name}\" cascades without end");
                return Err(Error::new(SqlState::StatementTooComplex, message));
            }
        }
        Ok(())
    }
}

/// Answers everything that the run has asked, and what follows from it.
pub async fn finish(run: &Arc<Run>) -> Result<()> {
    if !run.foreign_keys.is_used() {
        return Ok(());
    }
    let Err(error) = levels(run).await else { return Ok(()) };
    // A duplicate comes before a missing parent, also where it was to be looked for later. A
    // barrier sees to that by itself, and knows whose duplicate it is.
    let cx = &run.cx;
    let puts_off = run.foreign_keys.0.lock().puts_off && cx.new_keys == NewKeys::AtCommit;
    if puts_off && error.state() != SqlState::SerializationFailure {
        let existing = run.wait(cx.txn.check_new_keys()).await?;
        if let Some(new) = existing.first() {
            return Err(duplicate_key(&new.key, &cx.catalog, cx.env.settings()));
        }
    }
    Err(error)
}

async fn levels(run: &Arc<Run>) -> Result<()> {
    let mut rounds = Rounds::default();
    loop {
        let mut events = run.foreign_keys.take();
        super::deferred::leave(run, &mut events)?;
        if events.is_empty() {
            return Ok(());
        }
        run.breathe().await?;
        rounds.note(&events)?;
        run.wait(run.cx.txn.renew_snapshot(run.cx.seq)).await?;
        let tables = run.foreign_keys.tables();
        let mut next = match plain::cascades(&events) {
            Some(cascades) => plain::delete(run, &tables, cascades).await?,
            None => Level::read(run, tables, &events).await?.run(events).await?,
        };
        run.foreign_keys.push(&mut next);
    }
}
