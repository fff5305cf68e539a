//! Test tools, used by the tests of other rooms and by nothing else.
//!
//! - [`server`]: starts, kills and restarts a real `braid` process.
//! - [`store`]: which store those servers use.
//! - `tikv` (a feature): a stand-in for a cluster of PD and TiKV, in this process.
//! - [`target`]: what a test talks to: a `braid` of its own, or a PostgreSQL that a URL names.
//! - [`script`]: golden scripts of SQL over the wire, for either target.
//! - [`slt`]: the sqllogictest corpus.
//! - [`history`]: decides whether a history of transactions is strictly serializable.
//! - [`random`]: random choices that a seed repeats.
//! - [`storm`]: many connections at once.
//! - [`size`]: how long the long checks may take.
//!
//! Rules: nothing here knows the inside of the server; a test that waits does so with generous
//! bounds and never passes or fails on speed.

pub mod history;
pub mod random;
pub mod script;
pub mod server;
pub mod size;
pub mod slt;
pub mod store;
pub mod storm;
pub mod target;
#[cfg(feature = "tikv")]
pub mod tikv;
