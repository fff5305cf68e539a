//! What a connection asks between messages: errors on their way, flushes, notifications.

use braid_types::{Error, Result};

use crate::client::Client;
use crate::groups::ParallelStatements;
use crate::observe::transactions;
use crate::retry::reason::{is_deadlock, is_retryable};
use crate::session::Session;
use crate::statement::deadline::end_request;
use crate::transaction::commit_attempt::rollback_open;
use crate::transaction::deferred_unique_checks::settle_unique_check;
use crate::transaction::machine::{Block, Effect, Event};
use crate::transaction::savepoints::give_way;

impl Session {
    /// A message has failed; the error that the client is to be told.
    pub async fn fail_with_queued(&mut self, error: Error) -> Error {
        let error = self.error_after_group(error).await;
        self.fail(&error).await;
        error
    }

    /// Waits until there are notifications that the client may be given.
    pub async fn notified(&self) {
        match takes_notifications(self) {
            true => self.shared.inbox.filled().await,
            false => std::future::pending().await,
        }
    }

    /// Gives the client notifications, not all of them if there are many; false if there are none.
    pub fn send_notifications(&self, client: &mut dyn Client) -> bool {
        if !takes_notifications(self) {
            return false;
        }
        let taken = self.shared.inbox.take();
        for delivery in &taken {
            let (channel, payload) =
                (&delivery.notification.channel, &delivery.notification.payload);
            client.notification(delivery.pid, channel, payload);
        }
        !taken.is_empty()
    }

    /// Flush: what the client has asked for is answered, so that its answers may leave.
    pub async fn flush(&mut self, client: &mut dyn Client) -> Result<()> {
        end_request(self);
        settle_unique_check(self, client).await
    }

    /// An error is on its way to the client: an implicit transaction ends, a block has failed.
    pub async fn fail(&mut self, error: &Error) {
        self.replay.clear();
        self.stop_group().await;
        if is_retryable(error) {
            self.engine.counters.client_retries.add(error);
            self.shared.count_deadlock(error);
            if let Some(open) = self.open.as_mut() {
                open.doomed = true;
                open.deadlocked |= is_deadlock(error);
            }
        }
        let has_savepoint = !self.block_state.savepoints.is_empty();
        let Ok(failed) = self.block.on(Event::Error { has_savepoint }) else { return };
        match failed.effect {
            Effect::KeepForSavepoint => {
                self.shared.advisory.roll_back_from(self.block_state.savepoints.len());
                give_way(self).await;
            }
            Effect::RollBack => {
                let modes = self.shared.modes();
                rollback_open(self).await;
                if self.block != Block::None {
                    // `AND CHAIN` begins the next transaction with the modes of this one.
                    self.shared.state.lock().modes = modes;
                }
            }
            _ => {}
        }
        self.block.enter(failed);
    }
}

/// Waits until others can have the advisory locks that the session has given back.
pub async fn locks_given_back(session: &Session) {
    session.shared.advisory.given_back().await;
}

/// Whether notifications may be given to the client: not inside a transaction.
fn takes_notifications(session: &Session) -> bool {
    session.block == Block::None && session.open.is_none()
}

pub(crate) fn note_idle(session: &mut Session) {
    transactions::note_idle(session);
    let state = match session.block.state() {
        Block::None => "idle",
        Block::Failed => "idle in transaction (aborted)",
        Block::Active | Block::Released => "idle in transaction",
    };
    let mut activity = session.shared.entry.activity.lock();
    activity.state = state;
    activity.state_change = Some(crate::clock::now_micros());
}
