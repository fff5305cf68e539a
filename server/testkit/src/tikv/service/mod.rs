//! The gRPC services, and how a request goes through them.
//!
//! - `pd_service`, `store_service`: a port for each member and store
//! - `state`: counts, delays, drops or repeats a request, then runs it
//! - `reads`, `writes`, `outcomes`: each request, between protocol and engine
//! - `raw`: requests for keys without versions
//! - `convert`: between the types of the engine and those of the protocol

mod convert;
mod outcomes;
mod pd_service;
mod raw;
mod reads;
mod state;
mod store_service;
mod writes;

pub(super) use pd_service::PdService;
pub use state::Delays;
pub(super) use state::{Core, Pd, Shared};
pub(super) use store_service::StoreService;
