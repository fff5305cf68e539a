//! What the commit of a transaction does for LISTEN and NOTIFY.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_cluster::{NotificationRow, append_notifications, newest_notification};
use braid_exec::{
    Listening, PendingNotifications, change_listening, from_kv, notify, pending_notifications,
};
use braid_kv::{Database as Kv, Seq, Transaction, TxnOptions};
use braid_sql::ast::Statement;
use braid_sql::fold;
use braid_types::{Error, Result};

use crate::clock::now_micros;
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::session::Session;
use crate::transaction::open::ensure_open;

/// Bytes of the texts in one row of the store.
const ROW_BYTES_MAX: usize = 256 << 10;

/// What is left to be done once the transaction has committed.
pub(crate) struct Announcement {
    listening: Vec<Listening>,
    /// Rows after this number are for the channels that are new.
    after: u64,
    /// Notifications that the commit sends.
    sent: usize,
}

fn statement_txn(session: &mut Session) -> (Arc<Transaction>, Seq) {
    let open = ensure_open(session);
    open.statements += 1;
    (open.txn.clone(), open.txn.next_statement())
}

/// `LISTEN`, `UNLISTEN` and `NOTIFY`; the tag.
pub(crate) fn run_notification(
    session: &mut Session,
    statement: &Statement,
) -> Result<&'static str> {
    let (txn, seq) = statement_txn(session);
    let change = |change| change_listening(&txn, seq, change);
    Ok(match statement {
        Statement::Listen(channel) => {
            change(Listening::Start(fold(channel)));
            "LISTEN"
        }
        Statement::Unlisten(channel) => {
            let name = channel.as_ref().map(fold);
            change(name.map_or(Listening::StopAll, Listening::Stop));
            "UNLISTEN"
        }
        Statement::Notify { channel, payload } => {
            notify(&txn, seq, &fold(channel), payload.as_deref().unwrap_or(""))?;
            "NOTIFY"
        }
        _ => return Err(Error::internal("this statement does not notify")),
    })
}

/// Prepares the commit of a transaction. Afterwards it commits at once.
pub(crate) async fn announce(
    session: &Session,
    txn: &Arc<Transaction>,
) -> Result<Option<Announcement>> {
    let Some(pending) = pending_notifications(txn) else { return Ok(None) };
    let sent = pending.notifications.len();
    if !session.engine.gateways.is_shared() {
        if sent == 0 {
            return Ok(Some(Announcement { listening: pending.listening, after: 0, sent }));
        }
        // The observer changes the channels as well, before it sends.
        txn.commit_terms().observe(session.engine.hub.departure(&session.shared.inbox, pending));
        return Ok(Some(Announcement { listening: Vec::new(), after: 0, sent }));
    }
    let kv = &session.engine.kv;
    let after = match sent {
        0 if pending.listening.is_empty() => 0,
        0 => Box::pin(newest_notification(kv)).await.map_err(from_kv)?,
        _ => Box::pin(leave_rows(session, txn, &pending)).await?,
    };
    Ok(Some(Announcement { listening: pending.listening, after, sent }))
}

/// Puts the notifications into the store, with the commit of the transaction. One that may not
/// write has nothing to lose: they go ahead of it.
async fn leave_rows(
    session: &Session,
    txn: &Arc<Transaction>,
    pending: &PendingNotifications,
) -> Result<u64> {
    let texts = pending.notifications.iter();
    let row = NotificationRow {
        database: session.database,
        pid: session.shared.entry.pid,
        micros: now_micros(),
        sent: texts.map(|one| (one.channel.clone(), one.payload.clone())).collect(),
    };
    let rows = row.split(ROW_BYTES_MAX);
    if !txn.is_read_only() {
        return append_notifications(txn, &rows).await.map_err(from_kv);
    }
    let (kv, rows) = (&session.engine.kv, rows.as_slice());
    run_until_done(&mut Alone { kv, rows, has_appended: false }).await
}

/// The transaction has committed.
pub(crate) async fn announced(session: &Session, announcement: Announcement) {
    let Announcement { listening, after, sent } = announcement;
    let hub = &session.engine.hub;
    hub.sent.fetch_add(sent as u64, Ordering::Relaxed);
    hub.listen(&session.shared.inbox, listening, after);
    if sent > 0 && session.engine.gateways.is_shared() {
        // Those who listen here need not wait for the next look; this session least of all,
        // which gets its own notifications before the answer to its next command.
        Box::pin(session.engine.read_notifications()).await;
    }
}

/// Rows in a transaction of their own, which runs again if its commit meets a conflict.
struct Alone<'a> {
    kv: &'a Kv,
    rows: &'a [NotificationRow],
    /// The commit has been tried.
    has_appended: bool,
}

impl Repeat for Alone<'_> {
    type Output = u64;
    const LIMITS: Limits = Limits::STEP;

    async fn attempt(&mut self) -> Result<u64> {
        self.has_appended = false;
        let txn = self.kv.begin(TxnOptions::default());
        let last = append_notifications(&txn, self.rows).await.map_err(from_kv)?;
        self.has_appended = true;
        txn.commit_or_error().await.map_err(from_kv)?;
        Ok(last)
    }

    fn may_repeat(&mut self, _: &Error) -> bool {
        self.has_appended
    }

    async fn begin_again(&mut self, _: Error, _: u32) -> Result<()> {
        Ok(())
    }
}
