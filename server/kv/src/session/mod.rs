//! What belongs to one session: its local keys, its locks.

mod local_keyspace;
mod session_locks;

pub use local_keyspace::LocalKeyspace;
pub(crate) use local_keyspace::LocalScan;
pub use session_locks::{SessionLock, SessionLocks};
