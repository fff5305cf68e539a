//! The end of a statement: answers what its changes ask of foreign keys, level by level, then fires
//! its triggers.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{ForeignKeyAction, Id};
use braid_exec::{ExecutionState, NewKeys};
use braid_kv::Error as Kv;
use braid_plan::CascadeTable;
use braid_rows::duplicate_key;
use braid_types::{Error, Result, Row, SqlState};

use crate::deferrable_keys::check_statement_keys;
use crate::foreign_keys::cascade::level::CascadeLevel;
use crate::foreign_keys::cascade::plain;
use crate::foreign_keys::deferred::leave;
use crate::foreign_keys::event::Event;
use crate::queues::Queues;
use crate::triggers::{fire_queued, later_run};

/// Events that are answered at once where a level can be divided.
const PORTION_EVENTS: usize = 1_024;
/// Levels of a statement before it is looked at whether they go round.
const LEVELS_FREE: usize = 100;
/// How often one key may be replaced after that.
const ROUNDS_MAX: usize = 100;

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

/// Answers everything that the run has asked, and what follows from it, and fires its triggers,
/// unless a later part of the statement does. Triggers before rows may have run in any part.
pub(crate) async fn finish(
    run: &Arc<ExecutionState>,
    queues: &Queues,
    leaves_triggers: bool,
) -> Result<()> {
    if queues.triggers.is_used() && !leaves_triggers {
        return with_triggers(run, queues).await;
    }
    let queue = &queues.keys;
    if !queue.is_used() && !queue.checks_keys() {
        return Ok(());
    }
    let Err(error) = answers(run, queues).await else { return Ok(()) };
    // A duplicate comes before a missing parent, also where it was to be looked for later. A
    // barrier handles that by itself, and knows whose duplicate it is.
    let cx = &run.cx;
    let defers = queue.defers_unique_checks() && cx.new_keys == NewKeys::AtCommit;
    if defers && !matches!(error.cause(), Some(Kv::Retry(_))) {
        let existing = run.wait(cx.txn.writes().check_new_keys()).await?;
        if let Some(new) = existing.first() {
            return Err(duplicate_key(&new.key, &cx.catalog, cx.env.settings()));
        }
    }
    Err(error)
}

/// Answers level by level, and fires nothing. The answers see what triggers before rows have done.
async fn answers(first: &Arc<ExecutionState>, queues: &Queues) -> Result<()> {
    let mut rounds = Rounds::default();
    let mut run = first.clone();
    loop {
        if queues.triggers.is_used() {
            run = later_run(&run);
        }
        if !level(&run, queues, &mut rounds).await? {
            break;
        }
    }
    match queues.keys.checks_keys() {
        true => check_statement_keys(&run, first.cx.seq).await,
        false => Ok(()),
    }
}

/// As in PostgreSQL, triggers that were queued before a level of questions fire after it, and those
/// that the level queues come after them.
async fn with_triggers(first: &Arc<ExecutionState>, queues: &Queues) -> Result<()> {
    let mut rounds = Rounds::default();
    let mut run = first.clone();
    loop {
        let mark = queues.triggers.mark();
        run = later_run(&run);
        let has_asked = level(&run, queues, &mut rounds).await?;
        run = later_run(&run);
        let has_fired = fire_queued(&run, &queues.triggers, mark).await?;
        if !has_asked && !has_fired {
            break;
        }
    }
    match queues.keys.checks_keys() {
        true => check_statement_keys(&run, first.cx.seq).await,
        false => Ok(()),
    }
}

/// Reads what the answers to these events need, then answers them in their order.
async fn one_level(
    run: &Arc<ExecutionState>,
    queues: &Queues,
    tables: &HashMap<Id, Arc<CascadeTable>>,
    events: Vec<Event>,
) -> Result<Vec<Event>> {
    let level = CascadeLevel::read(run, tables.clone(), &events, queues).await?;
    level.run(events).await
}

/// Whether portions of a level can be answered one after the other, so that memory holds the rows
/// of one portion only. Each child points at one parent of one foreign key, and is set to NULL.
/// Without an index on the foreign key, each portion would read the whole table of the children.
fn is_divisible(events: &[Event], tables: &HashMap<Id, Arc<CascadeTable>>) -> bool {
    let Some(first) = events.first().map(Event::link) else { return false };
    let has_triggers = tables.get(&first.child.id).is_some_and(|t| t.may_fire());
    events.len() > PORTION_EVENTS
        && first.key.on_delete == ForeignKeyAction::SetNull
        && first.child.id != first.parent.id
        && !has_triggers
        && first.child_index().is_some()
        && events.iter().all(|event| {
            let is_gone = matches!(event, Event::Parent { new: None, .. });
            is_gone && event.link().key.id == first.key.id
        })
}

/// Answers one level of questions; false if there are none.
async fn level(run: &Arc<ExecutionState>, queues: &Queues, rounds: &mut Rounds) -> Result<bool> {
    let queue = &queues.keys;
    let mut events = queue.take();
    leave(run, &mut events)?;
    if events.is_empty() {
        return Ok(false);
    }
    run.check_interrupts().await?;
    rounds.note(&events)?;
    run.wait(run.cx.txn.snapshots().renew(run.cx.seq)).await?;
    let tables = queue.tables();
    let mut next = match plain::cascades(&events, &tables) {
        Some(cascades) => plain::delete(run, &tables, cascades).await?,
        None if is_divisible(&events, &tables) => {
            let (mut next, mut left) = (Vec::new(), events);
            while !left.is_empty() {
                let rest = left.split_off(left.len().min(PORTION_EVENTS));
                next.append(&mut one_level(run, queues, &tables, left).await?);
                left = rest;
            }
            next
        }
        None => one_level(run, queues, &tables, events).await?,
    };
    queue.push(&mut next);
    Ok(true)
}
