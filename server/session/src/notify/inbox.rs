//! Notifications that wait for one session.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use braid_exec::Notification;
use braid_types::{Error, SqlState};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::entry::SessionEntry;

/// Bytes that one call of [`Inbox::take`] returns, at most one notification more.
const TAKE_BYTES: usize = 64 << 10;

/// A notification on its way to a client.
#[derive(Clone)]
pub(crate) struct Delivery {
    /// The session that has sent it.
    pub pid: i32,
    pub notification: Arc<Notification>,
}

/// What waits for a session, and what it listens to.
pub(crate) struct Inbox {
    pub entry: Arc<SessionEntry>,
    /// The oid of the session's database.
    pub database: u32,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    /// Each with its place in the order of LISTENs.
    channels: HashMap<String, u64>,
    /// The place of the next one.
    next_place: u64,
    queue: VecDeque<Delivery>,
    bytes: usize,
    /// The session is to end: it has lost notifications.
    is_lost: bool,
}

/// The error of a session that has lost notifications.
fn lost(detail: String) -> Error {
    let message = "terminating connection because notifications for it were lost";
    Error::new(SqlState::ProgramLimitExceeded, message)
        .detail(detail)
        .hint("Connect and LISTEN again, then look at the data.")
}

impl Inbox {
    pub(crate) fn new(entry: Arc<SessionEntry>, database: u32) -> Arc<Inbox> {
        Arc::new(Inbox { entry, database, state: Mutex::default(), wake: Notify::new() })
    }

    /// The channels that the session listens to.
    pub(crate) fn channels(&self) -> Vec<String> {
        let mut channels: Vec<_> = self.state.lock().channels.clone().into_iter().collect();
        channels.sort_unstable_by_key(|(_, place)| *place);
        channels.into_iter().map(|(channel, _)| channel).collect()
    }

    /// Whether the session listens to a channel.
    pub(super) fn listens_to(&self, channel: &str) -> bool {
        self.state.lock().channels.contains_key(channel)
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Adds a channel.
    pub(super) fn add_channel(&self, channel: String) {
        let mut state = self.state.lock();
        let place = state.next_place;
        state.next_place += 1;
        state.channels.insert(channel, place);
    }

    /// Removes channels, and the notifications that wait for them.
    pub(super) fn remove_channels(&self, gone: &[String]) {
        if gone.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        let State { channels, queue, bytes, .. } = &mut *state;
        for channel in gone {
            channels.remove(channel);
        }
        queue.retain(|delivery| {
            let stays = channels.contains_key(&delivery.notification.channel);
            *bytes -= if stays { 0 } else { delivery.notification.bytes() };
            stays
        });
    }

    /// Adds a notification; false if the session is to end.
    pub(super) fn push(&self, delivery: Delivery, bytes_max: usize) -> bool {
        let mut state = self.state.lock();
        if state.is_lost {
            return false;
        }
        state.bytes += delivery.notification.bytes();
        state.queue.push_back(delivery);
        if state.bytes <= bytes_max {
            drop(state);
            self.wake.notify_one();
            return true;
        }
        drop(state);
        self.lose(format!("More than {bytes_max} bytes of notifications wait for this session."));
        false
    }

    /// Ends the session, because it cannot get all notifications.
    pub(super) fn lose(&self, why: String) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_lost, true) {
            return;
        }
        state.queue = VecDeque::new();
        state.bytes = 0;
        drop(state);
        tracing::warn!(pid = self.entry.pid, why, "a listener has lost notifications and ends");
        self.entry.end_with(lost(why));
    }

    /// The next notifications, not all of them if there are many.
    pub(crate) fn take(&self) -> Vec<Delivery> {
        let mut state = self.state.lock();
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < TAKE_BYTES
            && let Some(delivery) = state.queue.pop_front()
        {
            bytes += delivery.notification.bytes();
            taken.push(delivery);
        }
        state.bytes -= bytes;
        taken
    }

    /// Waits until there is something to take.
    pub(crate) async fn filled(&self) {
        loop {
            let notified = self.wake.notified();
            if !self.state.lock().queue.is_empty() {
                return;
            }
            notified.await;
        }
    }
}
