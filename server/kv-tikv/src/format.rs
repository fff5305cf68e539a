//! The version of the format, written under the prefix: a database of another version is refused,
//! and so is a prefix under which something else lies.

use crate::{OpenError, cursor::TikvCursor, keys::Prefix, meeting::Meeting, snapshot::Ground};
use braid_kv::{CommitOutcome, Database, Error, Result, Span, TxnOptions};
use std::sync::Arc;

/// The version of the format that this code reads and writes.
pub const FORMAT_VERSION: u32 = 1;
const NAME: &str = "braid-kv";
/// Where the version is written.
pub(crate) const KEY: &[u8] = b"format";

/// Checks the version, or writes it if the database is new. `meta` is the store that lies under
/// the prefix for such things.
pub(crate) async fn check(
    data: &Arc<Ground>,
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
        if !is_empty(data, txn.snapshot().await?.0).await? {
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

async fn is_empty(data: &Arc<Ground>, ts: u64) -> Result<bool> {
    let meeting = Meeting::new(&data.cluster, ts, 0);
    let all = data.prefix.all();
    let mut cursor = TikvCursor::new(data.clone(), all, ts, false, true, meeting);
    Ok(cursor.read(1, usize::MAX).await?.is_empty())
}

impl Prefix {
    /// Everything under the prefix of the data.
    fn all(&self) -> Span {
        Span::prefix(self.key(&[]))
    }
}
