//! The version of the format, written under the prefix: a database of another version is refused,
//! and so is a prefix that other data uses.

use crate::{
    OpenError, cluster::Cluster, keyspace::Keyspace, locks::LockResolver, read::TikvCursor,
};
use braid_kv::{CommitOutcome, Database, Error, Result, TxnOptions};
use std::sync::Arc;

/// The version of the format that this code reads and writes.
pub const FORMAT_VERSION: u32 = 1;
const NAME: &str = "braid-kv";
/// Where the version is written.
pub(crate) const KEY: &[u8] = b"format";

/// Checks the version, or writes it if the database is new. `meta` is the store for
/// the keyspace of such things.
pub(crate) async fn check(
    cluster: &Arc<Cluster>,
    meta: &Database,
    prefix: &str,
) -> Result<(), OpenError> {
    let ours = format!("{NAME} {FORMAT_VERSION}");
    loop {
        let txn = meta.begin(TxnOptions::default());
        let statement = txn.next_statement();
        if let Some(found) = txn.get(statement, KEY).await? {
            let found = String::from_utf8_lossy(&found).into_owned();
            return match found == ours {
                true => Ok(()),
                false => Err(OpenError::Format { prefix: prefix.to_owned(), found }),
            };
        }
        // At the same snapshot: another gateway may be making the database just now.
        if !is_empty(cluster, &Keyspace::data(prefix), txn.snapshots().current().await?.0).await? {
            return Err(OpenError::Foreign { prefix: prefix.to_owned() });
        }
        txn.put_new(statement, KEY, ours.clone())?;
        match txn.commit().await {
            // If another gateway was faster: look what it has written.
            Ok(CommitOutcome::Committed(_) | CommitOutcome::Retry(_)) => {}
            Err(Error::Duplicate { .. }) => {}
            Ok(CommitOutcome::Unknown) => return Err(Error::Unknown.into()),
            Err(error) => return Err(error.into()),
        }
    }
}

async fn is_empty(cluster: &Arc<Cluster>, data: &Keyspace, ts: u64) -> Result<bool> {
    let resolver = LockResolver::new(cluster, ts, 0);
    let mut cursor = TikvCursor::of_store_keys(cluster, data.all(), true, resolver);
    Ok(cursor.read(1, usize::MAX).await?.is_empty())
}
