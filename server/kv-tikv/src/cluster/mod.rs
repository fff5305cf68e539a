//! The cluster as a client sees it: PD, timestamps, regions, requests to stores.
//!
//! ```text
//!   client     requests about keys ── split by region ── retried with growing pauses
//!     │
//!   regions    which store leads the region of a key            flow_control   keys in flight
//!     │                                                         backoff        pauses
//!    pd ── timestamps ── rpc ── dialer      connections         store_health   what does not serve
//! ```
//!
//! Keys are store keys here: the keyspace's prefix has been added.

mod backoff;
mod client;
mod dialer;
mod flow_control;
mod pd;
pub(crate) mod probe;
mod region_key;
mod regions;
mod rpc;
mod store_health;
mod timestamps;

pub(crate) use backoff::Backoff;
pub(crate) use client::{Cluster, Keyed, REGIONS_AT_ONCE, RequestOptions, RpcFailure};
pub(crate) use dialer::Dialer;
pub use dialer::TlsFiles;
pub(crate) use regions::Region;
pub(crate) use rpc::Request;
