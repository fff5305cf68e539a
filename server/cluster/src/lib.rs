//! Several gateways (server processes) over one store, and what they have to agree on.
//!
//! ```text
//!   gateways       who is there: leases, fast periods, duties, the announcement of a schema change
//!   commit_tokens  the outcome of a transaction whose client lost the answer to COMMIT
//!   notifications  the rows by which NOTIFY reaches the listeners of every gateway
//!   prepared_transactions  those that wait for their second step
//!   session_locks  advisory locks of the sessions of all gateways
//!   system_keys    where all this stands in the store
//! ```
//!
//! This crate is below `catalog`: the catalog's cache asks a gateway's [`Gateways`] whether it may
//! trust what it has read. This crate uses no descriptors, SQL names or sessions.
//!
//! Rules that must always hold:
//! - points of time that decide anything are timestamps of the store, not of this machine;
//! - the timestamp of a commit that is bound to a lease is below the end of that lease;
//! - an answer about a commit token never changes, once given.

mod commit_tokens;
mod gateways;
mod notifications;
mod prepared_transactions;
pub mod records;
mod session_locks;
mod system_keys;

pub use commit_tokens::{
    Asker, CommitStatus, TOKEN_RETENTION, is_expired, record_commit, remove_expired, settle,
};
pub use gateways::{ChangeUnderWay, Epoch, GatewayInfo, GatewayMode, Gateways, LEASE};
pub use notifications::{
    NOTIFICATION_RETENTION, NotificationRow, append_notifications, newest_notification,
    notification_rows, remove_old_notifications,
};
pub use prepared_transactions::{
    Claim, ClaimRefusal, PreparedInfo, PreparedTransactions, Reservation, ReserveRefusal,
};
pub use session_locks::SharedLocks;
pub use system_keys::{Token, statistics_stamp_key, system_table_name, token_key};
