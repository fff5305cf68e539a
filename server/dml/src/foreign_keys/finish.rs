//! The end of a statement: answers what its changes ask of foreign keys, level by level, then fires
//! its triggers.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_exec::{ExecutionState, NewKeys};
use braid_kv::Error as Kv;
use braid_rows::duplicate_key;
use braid_types::{Error, Result, Row, SqlState};

use crate::deferrable_keys::check_statement_keys;
use crate::foreign_keys::cascade::level::CascadeLevel;
use crate::foreign_keys::cascade::plain;
use crate::foreign_keys::deferred::leave;
use crate::foreign_keys::event::Event;
use crate::queues::Queues;
use crate::triggers::{fire_queued, later_run};

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

/// Answers everything that the run has asked, and what follows from it, and fires its triggers.
pub async fn finish(run: &Arc<ExecutionState>, queues: &Queues) -> Result<()> {
    if queues.triggers.is_used() {
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
    let puts_off = queue.defers_unique_checks() && cx.new_keys == NewKeys::AtCommit;
    if puts_off && !matches!(error.cause(), Some(Kv::Retry(_))) {
        let existing = run.wait(cx.txn.writes().check_new_keys()).await?;
        if let Some(new) = existing.first() {
            return Err(duplicate_key(&new.key, &cx.catalog, cx.env.settings()));
        }
    }
    Err(error)
}

async fn answers(run: &Arc<ExecutionState>, queues: &Queues) -> Result<()> {
    let mut rounds = Rounds::default();
    while level(run, queues, &mut rounds).await? {}
    match queues.keys.checks_keys() {
        true => check_statement_keys(run, run.cx.seq).await,
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

/// Answers one level of questions; false if there are none.
async fn level(run: &Arc<ExecutionState>, queues: &Queues, rounds: &mut Rounds) -> Result<bool> {
    let queue = &queues.keys;
    let mut events = queue.take();
    leave(run, &mut events)?;
    if events.is_empty() {
        return Ok(false);
    }
    run.breathe().await?;
    rounds.note(&events)?;
    run.wait(run.cx.txn.snapshots().renew(run.cx.seq)).await?;
    let tables = queue.tables();
    let mut next = match plain::cascades(&events, &tables) {
        Some(cascades) => plain::delete(run, &tables, cascades).await?,
        None => {
            let level = CascadeLevel::read(run, tables, &events, &queues.triggers).await?;
            level.run(events).await?
        }
    };
    queue.push(&mut next);
    Ok(true)
}
