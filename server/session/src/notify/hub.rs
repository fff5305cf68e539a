//! Who listens to what in this process, and the order in which notifications reach them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_cluster::NotificationRow;
use braid_exec::{Listening, Notification, PendingNotifications};
use braid_kv::{CommitObserver, Timestamp};
use parking_lot::Mutex;

use super::inbox::{Delivery, Inbox};

/// Counts of LISTEN and NOTIFY.
#[derive(Clone, Copy, Debug)]
pub struct NotificationCounts {
    /// Notifications that transactions of this process have sent.
    pub sent: u64,
    /// Notifications that were put into a session's queue.
    pub delivered: u64,
    /// Channels that sessions listen to, each counted for each session.
    pub channels: usize,
    /// Bytes that wait for the session for which most wait.
    pub waiting_bytes: usize,
}

/// All that listens in this process.
pub(crate) struct Hub {
    /// Committed and not yet dispatched, in the order of commits.
    incoming: Mutex<VecDeque<Batch>>,
    listeners: Mutex<Listeners>,
    /// `notify_queue_bytes_max`
    bytes_max: usize,
    pub(crate) sent: AtomicU64,
    delivered: AtomicU64,
}

/// What one commit sends.
struct Batch {
    sender: Arc<Inbox>,
    listening: Vec<Listening>,
    notifications: Vec<Arc<Notification>>,
}

#[derive(Default)]
struct Listeners {
    databases: HashMap<u32, HashMap<String, Vec<Listener>>>,
    /// The last number that was dispatched, over a store with numbered rows.
    position: Option<u64>,
}

/// A session at one channel.
struct Listener {
    inbox: Arc<Inbox>,
    /// Rows up to this number are not for it, or were delivered.
    after: u64,
}

/// The observer of a commit that notifies.
struct Departure {
    hub: Arc<Hub>,
    batch: Mutex<Option<Batch>>,
}

impl CommitObserver for Departure {
    fn committed(&self, _: Timestamp) {
        if let Some(batch) = self.batch.lock().take() {
            self.hub.incoming.lock().push_back(batch);
        }
    }
}

impl Hub {
    pub(crate) fn new(bytes_max: usize) -> Arc<Hub> {
        Arc::new(Hub {
            incoming: Mutex::default(),
            listeners: Mutex::default(),
            bytes_max,
            sent: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
        })
    }

    /// The observer for a commit of this session. The caller commits, then calls [`Hub::listen`].
    pub(super) fn departure(
        self: &Arc<Self>,
        sender: &Arc<Inbox>,
        pending: PendingNotifications,
    ) -> Arc<dyn CommitObserver> {
        let PendingNotifications { listening, notifications } = pending;
        let batch = Batch { sender: sender.clone(), listening, notifications };
        Arc::new(Departure { hub: self.clone(), batch: Mutex::new(Some(batch)) })
    }

    /// Brings what has committed to its listeners. Anyone may do it, for everybody.
    fn dispatch(&self, listeners: &mut Listeners) {
        loop {
            let Some(batch) = self.incoming.lock().pop_front() else { return };
            let Batch { sender, listening, notifications } = batch;
            listeners.change(&sender, listening, 0);
            let pid = sender.entry.pid;
            let deliveries = notifications.into_iter();
            let deliveries = deliveries.map(|notification| Delivery { pid, notification });
            // Over a store without numbers every batch is new.
            self.deliver(listeners, sender.database, deliveries, 1);
        }
    }

    fn deliver(
        &self,
        listeners: &mut Listeners,
        database: u32,
        deliveries: impl Iterator<Item = Delivery>,
        number: u64,
    ) {
        let Some(channels) = listeners.databases.get_mut(&database) else { return };
        for delivery in deliveries {
            let Some(at) = channels.get_mut(&delivery.notification.channel) else { continue };
            for listener in at.iter_mut().filter(|listener| listener.after < number) {
                if listener.inbox.push(delivery.clone(), self.bytes_max) {
                    self.delivered.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Changes what a session listens to: rows after this number are for it.
    pub(super) fn listen(&self, inbox: &Arc<Inbox>, changes: Vec<Listening>, after: u64) {
        let mut listeners = self.listeners.lock();
        // What has committed before is not for it.
        self.dispatch(&mut listeners);
        listeners.change(inbox, changes, after);
    }

    /// The session ends, or forgets all its channels.
    pub(crate) fn leave(&self, inbox: &Arc<Inbox>) {
        self.listen(inbox, vec![Listening::StopAll], 0);
    }

    /// The number after which rows have to be read; `None` if nobody listens.
    pub(super) fn position(&self) -> Option<u64> {
        let mut listeners = self.listeners.lock();
        if listeners.databases.is_empty() {
            listeners.position = None;
        }
        listeners.position
    }

    /// Takes in rows that were read after `position`, and goes on from the last one. Rows that do
    /// not continue what was dispatched are left for the next look.
    pub(super) fn take_rows(&self, position: u64, rows: Vec<(u64, NotificationRow)>) {
        let mut listeners = self.listeners.lock();
        if listeners.position != Some(position) {
            return;
        }
        if rows.first().is_some_and(|(number, _)| *number > position + 1) {
            self.lose_all(&listeners);
        }
        for (number, row) in rows {
            let NotificationRow { database, pid, sent, .. } = row;
            let channels: Vec<String> = sent.iter().map(|(channel, _)| channel.clone()).collect();
            let deliveries = sent.into_iter().map(|(channel, payload)| Delivery {
                pid,
                notification: Arc::new(Notification { channel, payload }),
            });
            self.deliver(&mut listeners, database, deliveries, number);
            listeners.note_delivered(database, &channels, number);
            listeners.position = Some(number);
        }
    }

    /// Rows are gone that nobody here has read.
    fn lose_all(&self, listeners: &Listeners) {
        for listener in listeners.databases.values().flat_map(HashMap::values).flatten() {
            listener.inbox.lose("This gateway could not read them in time.".to_owned());
        }
    }

    /// How many bytes wait for the listener for which most wait, and how many may.
    pub(crate) fn fullest(&self) -> (usize, usize) {
        let listeners = self.listeners.lock();
        let all = listeners.databases.values().flat_map(HashMap::values).flatten();
        (all.map(|listener| listener.inbox.bytes()).max().unwrap_or(0), self.bytes_max)
    }

    /// Counts for monitoring.
    pub(crate) fn counts(&self) -> NotificationCounts {
        NotificationCounts {
            sent: self.sent.load(Ordering::Relaxed),
            delivered: self.delivered.load(Ordering::Relaxed),
            channels: self.channels(),
            waiting_bytes: self.fullest().0,
        }
    }

    /// How many channels of sessions are listened to.
    fn channels(&self) -> usize {
        let listeners = self.listeners.lock();
        listeners.databases.values().flat_map(HashMap::values).map(Vec::len).sum()
    }
}

impl Listeners {
    fn change(&mut self, inbox: &Arc<Inbox>, changes: Vec<Listening>, after: u64) {
        if changes.is_empty() {
            return;
        }
        let database = self.databases.entry(inbox.database).or_default();
        let mut gone = Vec::new();
        for (channel, outcome) in outcome(inbox, changes) {
            match (inbox.listens_to(&channel), outcome.listens) {
                (false, true) => {
                    let listener = Listener { inbox: inbox.clone(), after };
                    database.entry(channel.clone()).or_default().push(listener);
                    inbox.add_channel(channel);
                    // What was dispatched since `after` is read again, for this listener.
                    self.position = Some(self.position.unwrap_or(after).min(after));
                }
                (true, false) => {
                    if let Some(at) = database.get_mut(&channel) {
                        at.retain(|listener| !Arc::ptr_eq(&listener.inbox, inbox));
                        if at.is_empty() {
                            database.remove(&channel);
                        }
                    }
                    gone.push(channel);
                }
                // It is the last one now, and has lost no notification.
                (true, true) if outcome.was_stopped => inbox.add_channel(channel),
                (true, true) | (false, false) => {}
            }
        }
        inbox.remove_channels(&gone);
        if database.is_empty() {
            self.databases.remove(&inbox.database);
        }
    }

    fn note_delivered(&mut self, database: u32, channels: &[String], number: u64) {
        let Some(database) = self.databases.get_mut(&database) else { return };
        for channel in channels {
            for listener in database.get_mut(channel).into_iter().flatten() {
                listener.after = listener.after.max(number);
            }
        }
    }
}

/// The channels that changes name, in the order of the last LISTEN of each.
fn outcome(inbox: &Inbox, changes: Vec<Listening>) -> Vec<(String, Outcome)> {
    let mut channels: HashMap<String, Outcome> = HashMap::new();
    let stop_all = |channels: &mut HashMap<String, Outcome>| {
        channels.values_mut().for_each(|outcome| outcome.note(0, false));
        for channel in inbox.channels() {
            channels.entry(channel).or_default().note(0, false);
        }
    };
    for (place, change) in changes.into_iter().enumerate() {
        match change {
            Listening::Start(channel) => channels.entry(channel).or_default().note(place, true),
            Listening::Stop(channel) => channels.entry(channel).or_default().note(place, false),
            Listening::StopAll => stop_all(&mut channels),
        }
    }
    let mut channels: Vec<(String, Outcome)> = channels.into_iter().collect();
    channels.sort_unstable_by_key(|(_, outcome)| outcome.place);
    channels
}

/// What becomes of a channel.
#[derive(Default)]
struct Outcome {
    listens: bool,
    /// The session has stopped to listen to it on the way.
    was_stopped: bool,
    /// The change that made it listen.
    place: usize,
}

impl Outcome {
    fn note(&mut self, place: usize, listens: bool) {
        if listens && !self.listens {
            self.place = place;
        }
        self.listens = listens;
        self.was_stopped |= !listens;
    }
}
