//! The part of the gRPC services of PD and TiKV that BraidDB speaks: messages, the two clients,
//! and with the feature `server` the two servers (the stand-in of the tests is one).
//!
//! The files in `proto/` are a selection: package names, message names and field numbers are the
//! cluster's, fields that nobody here reads are left out (a decoder skips what it does not know).
//! Byte fields are [`bytes::Bytes`], so that a value goes from the wire to the engine uncopied.
//!
//! ```text
//!   pdpb    PD: timestamps, regions, stores, safe points
//!   tikvpb  a store: reads, locks, prewrite, commit, resolving
//!   kvrpcpb the messages of tikvpb      errorpb, metapb, deadlock  what they share
//! ```
//!
//! The program in `generate/` writes `generated/`, so a build of the server compiles no compiler of
//! protocols. There is no logic here, and no key is encoded: see `braid-kv-tikv` for the client.

/// Regions, peers, stores.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod metapb {
    include!("generated/metapb.rs");
}

/// Edges of the graph of waiting transactions.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod deadlock {
    include!("generated/deadlock.rs");
}

/// Errors about a region.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod errorpb {
    include!("generated/errorpb.rs");
}

/// Requests about transactions, and their answers.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod kvrpcpb {
    include!("generated/kvrpcpb.rs");
}

/// The service of a store.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod tikvpb {
    include!("generated/tikvpb.rs");
}

/// The placement driver.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod pdpb {
    include!("generated/pdpb.rs");
}
