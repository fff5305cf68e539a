//! Why a database cannot be opened.

use braid_kv::Error;
use std::path::PathBuf;

/// The oldest version of PD and TiKV that is accepted: the first long-term release that knows every
/// request that is used. Among them are the check that a primary is one, and the check of
/// constraints in pessimistic transactions.
pub const VERSION_MIN: [u64; 3] = [7, 5, 0];

/// A database on TiKV cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address cannot be read.
    #[error("address of the store \"{address}\": {why}")]
    Address {
        /// As it was given.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The database was written by another version.
    #[error(
        "the database under \"{prefix}\" has format \"{found}\", which this version cannot read"
    )]
    Format {
        /// The prefix of its keys.
        prefix: String,
        /// What is written there.
        found: String,
    },
    /// There are keys under the prefix, and they are not of a database.
    #[error("the keys under \"{prefix}\" are not of a BraidDB database; choose another prefix")]
    Foreign {
        /// The prefix.
        prefix: String,
    },
    /// A file for TLS cannot be used.
    #[error("could not load \"{}\": {why}", file.display())]
    TlsFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A store is too old.
    #[error(
        "{what} of the cluster has version {found}, and {}.{}.{} is the oldest that can be used",
        VERSION_MIN[0], VERSION_MIN[1], VERSION_MIN[2]
    )]
    Version {
        /// Who it is.
        what: String,
        /// Its version.
        found: String,
    },
    /// Members of PD that were named together do not belong together.
    #[error("the members of PD at {one} and {other} are of different clusters")]
    Clusters {
        /// One of them.
        one: String,
        /// Another.
        other: String,
    },
    /// The cluster does not answer.
    #[error(transparent)]
    Cluster(#[from] Error),
}
