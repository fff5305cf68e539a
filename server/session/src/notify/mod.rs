//! LISTEN and NOTIFY: from a transaction's commit to the clients that listen.
//!
//! ```text
//!  one process   commit ─ committer ─ observer: Hub::incoming ─ Hub::listen ───┐
//!  TiKV          commit with a row ─── every gateway polls the rows ───────────┼─► Inbox of each
//!                                                                              │   listener
//!  a client      between its transactions ◄── wire takes what is in its inbox ─┘
//! ```
//!
//! Rules that must always hold:
//! - a notification is delivered exactly if its transaction has committed, and every listener
//!   receives notifications in the order of commits;
//! - the order comes from the store: the committer calls observers in its order, and over TiKV a
//!   lock that is held until the commit gives the rows their numbers. A session that publishes
//!   after its commit's answer would be overtaken by others;
//! - LISTEN takes effect no later than the answer to its COMMIT;
//! - a listener's inbox is bounded. A session that goes over the limit is ended, since it could
//!   not be told otherwise that it has lost notifications.
//!
//! - `hub`: who listens to what, and the order
//! - `inbox`: what waits for one session
//! - `commit`: what a commit does
//! - `follow`: the rows that other gateways leave in the store

pub(crate) mod commit;
mod follow;
mod hub;
mod inbox;

pub(crate) use follow::read_rows;
pub(crate) use hub::Hub;
pub use hub::NotificationCounts;
pub(crate) use inbox::Inbox;
