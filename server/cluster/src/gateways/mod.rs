//! Several gateways over one store: who is there, which of them may trust its cached catalog, and
//! who has which duty.
//!
//! ```text
//!   A  marks the change ── waits ────┬─ commits at D ── takes the mark away
//!   B  fast ───────────┐ sees it     │ strict ───────────────┌─ fast
//!      its fast commits end ─────────┘
//!   C  paused ……………… its lease ends: A need not wait for it any more
//! ```
//!
//! Each gateway keeps a record in the store with the end of its lease, which it renews all the
//! time. While it is *fast* it uses its newest cached catalog without asking for the version, and
//! its commits do not prove the schema ([`braid_kv::SchemaLease`]). While it is *strict* each
//! transaction reads the version at its snapshot and proves at its commit that the descriptors of
//! its tables are what they were there: that is safe in every case. A schema change first
//! marks itself, then waits until every other gateway whose lease has not ended says that it is
//! strict, then commits. Its own gateway need not say so: it knows of the change, and until the
//! outcome is decided its transactions read and prove as those of a strict one do.
//!
//! So no change takes effect between the beginning and the end of another gateway's fast period,
//! and no gateway ever uses a version that is not the newest at its snapshot.
//!
//! # What must always hold
//!
//! - Points of time are timestamps of the store, never this machine's clock. With one exception: a
//!   read that takes no timestamp (`Standing` of the crate `catalog`) looks before and
//!   after it whether the
//!   period lasts, and takes the lease for over by this machine's clock when half of it is left. It
//!   may show a row by an old schema if the store's clock jumps by the other half meanwhile.
//! - A commit of a fast gateway, and every commit of a schema change, has a timestamp below the end
//!   of its gateway's lease ([`braid_kv::CommitFence`]). After the end of a lease there are no
//!   commits under it, even if its gateway was paused meanwhile.
//! - A gateway says that it is strict after the last of its fast commits is decided.
//! - A gateway's own change waits for its own fast commits, too.
//! - A gateway becomes fast in a transaction that proves that others have no mark. A gateway
//!   that becomes fast after a mark sees the mark. The marking gateway reads the records after
//!   its mark. So one of the two sees the other.
//! - A lease that has ended is not renewed: the gateway begins again, strict, without duties.
//!
//! A store without a clock ([`braid_kv::Store::clock`]) has one gateway only: nothing of this is
//! written, and every duty is its own.

mod gateway;
mod keeper;
mod lease;
mod open;
mod record;

pub use gateway::{ChangeUnderWay, Gateways, LEASE};
pub use lease::Epoch;
pub(crate) use lease::Lease;
pub use record::{GatewayInfo, GatewayMode};
