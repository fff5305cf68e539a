//! The end of a statement: answers what its changes ask of foreign keys, level by level.

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
use crate::foreign_keys::queue::Queue;

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

/// Answers everything that the run has asked, and what follows from it.
pub async fn finish(run: &Arc<ExecutionState>, queue: &Queue) -> Result<()> {
    if !queue.is_used() && !queue.checks_keys() {
        return Ok(());
    }
    let Err(error) = answers(run, queue).await else { return Ok(()) };
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

async fn answers(run: &Arc<ExecutionState>, queue: &Queue) -> Result<()> {
    levels(run, queue).await?;
    match queue.checks_keys() {
        true => check_statement_keys(run).await,
        false => Ok(()),
    }
}

async fn levels(run: &Arc<ExecutionState>, queue: &Queue) -> Result<()> {
    let mut rounds = Rounds::default();
    loop {
        let mut events = queue.take();
        leave(run, &mut events)?;
        if events.is_empty() {
            return Ok(());
        }
        run.breathe().await?;
        rounds.note(&events)?;
        run.wait(run.cx.txn.snapshots().renew(run.cx.seq)).await?;
        let tables = queue.tables();
        let mut next = match plain::cascades(&events) {
            Some(cascades) => plain::delete(run, &tables, cascades).await?,
            None => CascadeLevel::read(run, tables, &events).await?.run(events).await?,
        };
        queue.push(&mut next);
    }
}
