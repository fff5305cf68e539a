//! Disk space that a session takes for temporary files: `temp_file_limit`, and what is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_types::{Error, Result, SqlState};

use crate::spill::folder::TempFolder;

/// Told of the bytes of each file that goes.
type Observer = Box<dyn Fn(u64) + Send + Sync>;

/// No limit.
const NONE: u64 = u64::MAX;

/// Disk space of one session.
pub struct TempSpace {
    pub(super) folder: Arc<TempFolder>,
    limit_bytes: AtomicU64,
    used: AtomicU64,
    observer: Observer,
}

impl TempSpace {
    /// The space of a session without a limit. `observer` is told of the bytes of each file that
    /// goes.
    pub fn new(folder: Arc<TempFolder>, observer: impl Fn(u64) + Send + Sync + 'static) -> Self {
        let observer = Box::new(observer);
        Self { folder, limit_bytes: AtomicU64::new(NONE), used: AtomicU64::new(0), observer }
    }

    /// `temp_file_limit` in bytes; `None`: no limit.
    pub fn set_limit(&self, bytes: Option<u64>) {
        self.limit_bytes.store(bytes.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// A file grows; 53400 beyond the session's limit.
    pub(super) fn grow(&self, bytes: u64) -> Result<()> {
        let limit = self.limit_bytes.load(Ordering::Relaxed);
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used > limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            let message =
                format!("temporary file size exceeds temp_file_limit ({}kB)", limit >> 10);
            return Err(Error::new(SqlState::ConfigurationLimitExceeded, message));
        }
        self.folder.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.folder.counts.used.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// A file is made.
    pub(super) fn begin(&self) {
        self.folder.counts.files.fetch_add(1, Ordering::Relaxed);
    }

    /// A file of that size has gone.
    pub(super) fn end(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.folder.counts.used.fetch_sub(bytes, Ordering::Relaxed);
        (self.observer)(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_limit() {
        let base = tempfile::tempdir().expect("a folder");
        let space = TempSpace::new(TempFolder::new(base.path().to_owned()), |_| {});
        space.set_limit(Some(8192));
        assert!(space.grow(8000).is_ok());
        let error = space.grow(8000).expect_err("too much");
        assert_eq!(error.state(), SqlState::ConfigurationLimitExceeded);
        assert_eq!(error.message(), "temporary file size exceeds temp_file_limit (8kB)");
        space.end(8000);
        assert!(space.grow(8000).is_ok());
        assert_eq!(space.folder.used_bytes(), 8000);
    }
}
