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
//! There is no logic here, and no key is encoded: see `braid-kv-tikv` for the client.

/// Regions, peers, stores.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod metapb {
    tonic::include_proto!("metapb");
}

/// Edges of the graph of waiting transactions.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod deadlock {
    tonic::include_proto!("deadlock");
}

/// Errors about a region.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod errorpb {
    tonic::include_proto!("errorpb");
}

/// Requests about transactions, and their answers.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod kvrpcpb {
    tonic::include_proto!("kvrpcpb");
}

/// The service of a store.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod tikvpb {
    tonic::include_proto!("tikvpb");
}

/// The placement driver.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod pdpb {
    tonic::include_proto!("pdpb");
}
