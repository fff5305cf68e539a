//! Why a database cannot be opened.

use braid_kv::Error;

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
    /// The cluster does not answer.
    #[error(transparent)]
    Cluster(#[from] Error),
}
