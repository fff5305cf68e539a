//! A stand-in for a cluster of PD and TiKV: their gRPC services in one process, in memory, for
//! tests.
//!
//! ```text
//! pd_service     store_service        what clients speak to: a port for each member and store
//!      └────┬────────┘
//!         state ── faults             a request's way: counted, late, lost, held, twice …
//!           ├── reads writes outcomes each request, between protocol and engine
//!           ├── cluster  clock  safe_points
//!           ├── waits                 who waits for which lock; circles
//!           └── engine                keys, locks, versions: TiKV's rules
//! ```
//!
//! What it is true to: which answer a request gets, as a client sees it. What it is not:
//! replication (all stores share one engine, so nothing is ever lost but what was in a leader's
//! memory), speed, follower reads, raw keys beyond get and put, coprocessor, shared locks,
//! assertions, pipelined DML. Where a client's mistake would be passed over in silence by a real
//! store, this one may refuse it.
//!
//! Its rules are checked against the real thing: `tests/tikv/rules.rs` runs on both.
//! [`RealCluster`] starts and disturbs a real one, [`admin`] looks into either from outside.

pub mod admin;
mod certificates;
mod cluster;
pub mod engine;
mod faults;
mod real;
mod service;
mod standin;
mod waits;

pub use certificates::{Authority, Identity, Tls};
pub use faults::{Fault, Gate, Plan, Rpc, Rule};
pub use real::RealCluster;
pub use service::Delays;
pub use standin::{Config, PdControl, TikvStandIn};
