//! LISTEN, UNLISTEN and NOTIFY inside a transaction: what its commit has to do.
//!
//! A statement leaves its part with the kv transaction ([`braid_kv::DeferredWork`]), so ROLLBACK TO
//! SAVEPOINT takes it back, and a statement that runs again leaves it once.
//!
//! Not here: what happens at the commit, and who receives what (`session`).

use std::collections::HashSet;
use std::sync::Arc;

use braid_kv::{Seq, Transaction};
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// A channel's name has fewer bytes.
const CHANNEL_BYTES_MAX: usize = 64;
/// A payload has fewer bytes.
const PAYLOAD_BYTES_MAX: usize = 8000;
/// `notify_transaction_bytes_max`: bytes of the notifications of one transaction. A listener's
/// queue takes several of that size.
const TRANSACTION_BYTES_MAX: usize = 16 << 20;
/// Memory of a notification besides its texts.
const OVERHEAD_BYTES: usize = 64;

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Notification {
    /// Where it is sent to.
    pub channel: String,
    /// What it says.
    pub payload: String,
}

impl Notification {
    /// Roughly how much memory it takes while it waits.
    pub fn bytes(&self) -> usize {
        OVERHEAD_BYTES + self.channel.len() + self.payload.len()
    }
}

/// A change of the channels that a session listens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listening {
    /// `LISTEN`
    Start(String),
    /// `UNLISTEN`
    Stop(String),
    /// `UNLISTEN *`
    StopAll,
}

/// The notifications of one statement.
struct Sent {
    /// Bytes of the statements before.
    bytes_before: usize,
    list: Mutex<SentList>,
}

#[derive(Default)]
struct SentList {
    known: HashSet<Arc<Notification>>,
    order: Vec<Arc<Notification>>,
    bytes: usize,
}

/// What a commit has to do.
#[derive(Debug, Default)]
pub struct PendingNotifications {
    /// Changes of the session's channels, in the order of the statements.
    pub listening: Vec<Listening>,
    /// What is to be sent, each once, in the order of the first calls.
    pub notifications: Vec<Arc<Notification>>,
}

/// Sends a notification at the commit. 22023 for a name or a payload that is not allowed, 54000
/// if the transaction has sent too many.
pub fn notify(txn: &Transaction, seq: Seq, channel: &str, payload: &str) -> Result<()> {
    let invalid = |message| Err(Error::new(SqlState::InvalidParameterValue, message));
    if channel.is_empty() {
        return invalid("channel name cannot be empty");
    }
    if channel.len() >= CHANNEL_BYTES_MAX {
        return invalid("channel name too long");
    }
    if payload.len() >= PAYLOAD_BYTES_MAX {
        return invalid("payload string too long");
    }
    let notification = Notification { channel: channel.to_owned(), payload: payload.to_owned() };
    let last = txn.deferred().last::<Sent>();
    let total = |sent: &Sent| sent.bytes_before + sent.list.lock().bytes;
    let before = last.as_ref().map_or(0, |(_, sent)| total(sent));
    let sent = match last.filter(|(of, _)| of.number() == seq.number()) {
        Some((_, sent)) => sent,
        None => {
            let sent = Arc::new(Sent { bytes_before: before, list: Mutex::default() });
            txn.deferred().push(seq, sent.clone());
            sent
        }
    };
    let mut list = sent.list.lock();
    if list.known.contains(&notification) {
        return Ok(());
    }
    let bytes = notification.bytes();
    if before + bytes > TRANSACTION_BYTES_MAX {
        let message = "too many notifications in the NOTIFY queue";
        return Err(Error::new(SqlState::ProgramLimitExceeded, message).detail(format!(
            "The notifications of one transaction have at most {TRANSACTION_BYTES_MAX} bytes."
        )));
    }
    let notification = Arc::new(notification);
    list.known.insert(notification.clone());
    list.order.push(notification);
    list.bytes += bytes;
    Ok(())
}

/// Changes the session's channels at the commit.
pub fn change_listening(txn: &Transaction, seq: Seq, change: Listening) {
    txn.deferred().push(seq, Arc::new(change));
}

/// What the commit of a transaction has to do; `None` if nothing was sent or changed.
pub fn pending_notifications(txn: &Transaction) -> Option<PendingNotifications> {
    if !txn.deferred().has::<Sent>() && !txn.deferred().has::<Listening>() {
        return None;
    }
    let mut pending = PendingNotifications::default();
    let mut known = HashSet::new();
    for (_, what) in txn.deferred().all() {
        if let Some(change) = what.downcast_ref::<Listening>() {
            pending.listening.push(change.clone());
        } else if let Some(sent) = what.downcast_ref::<Sent>() {
            let list = sent.list.lock();
            let new = list.order.iter().filter(|one| known.insert(Arc::clone(one)));
            pending.notifications.extend(new.cloned());
        }
    }
    Some(pending)
}
