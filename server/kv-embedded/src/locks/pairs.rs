//! Sessions that hold locks, each with the transaction that runs in it.
//!
//! A session and its transaction lock different keys under different numbers, but one of them
//! cannot go on while the other waits. The search for deadlocks takes both for one node.

use braid_kv::TxnId;
use std::collections::HashMap;

/// Which transaction runs in which session.
#[derive(Default)]
pub(super) struct Pairs {
    session_of: HashMap<TxnId, TxnId>,
    acting: HashMap<TxnId, TxnId>,
}

impl Pairs {
    /// Joins a transaction to its session, in the place of an earlier one.
    pub(super) fn join(&mut self, session: TxnId, txn: TxnId) {
        if let Some(old) = self.acting.insert(session, txn)
            && old != txn
        {
            self.session_of.remove(&old);
        }
        self.session_of.insert(txn, session);
    }

    /// Ends the pair of which this transaction or session is a part.
    pub(super) fn part(&mut self, txn: TxnId) {
        if self.acting.is_empty() {
            return;
        }
        if let Some(session) = self.session_of.remove(&txn) {
            self.acting.remove(&session);
        }
        if let Some(acting) = self.acting.remove(&txn) {
            self.session_of.remove(&acting);
        }
    }

    /// The number that stands for both: the session's, or that of a transaction on its own.
    pub(super) fn node(&self, txn: TxnId) -> TxnId {
        if self.session_of.is_empty() {
            return txn;
        }
        self.session_of.get(&txn).copied().unwrap_or(txn)
    }

    /// The transaction of a session.
    pub(super) fn acting(&self, session: TxnId) -> Option<TxnId> {
        self.acting.get(&session).copied()
    }

    /// The transaction that a node is known by, whose number says how old it is.
    pub(super) fn transaction(&self, txn: TxnId) -> TxnId {
        self.acting(txn).unwrap_or(txn)
    }
}
