//! The folder of a process's temporary files.
//!
//! ```text
//!   base/                      --temp-folder
//!     statements-1/            of this process
//!       LOCK                   held while the process lives; a crash releases it
//!       1, 2, 3 …              one file for each operator that spills
//!     statements-2/            of another process with the same base
//! ```
//!
//! A folder whose lock is free belongs to a process that has ended. It is removed at the next start
//! of a process with this base. The folder of this process is made when the first operator spills.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_types::Result;
use parking_lot::Mutex;

use crate::spill::errors::io_error;

const PREFIX: &str = "statements-";
const LOCK: &str = "LOCK";
/// The modes of folders and files: their owner's.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Processes that may have the same base.
const PROCESSES_MAX: u32 = 10_000;

/// The folder of a process's temporary files.
pub struct TempFolder {
    base: PathBuf,
    /// The folder of this process, once a file was needed.
    own: Mutex<Option<Own>>,
    next: AtomicU64,
    /// What all sessions have written.
    pub(super) counts: TempCounts,
}

/// What was written, and what exists.
#[derive(Default)]
pub(super) struct TempCounts {
    pub(super) files: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) used: AtomicU64,
}

impl TempCounts {
    pub(super) fn total(&self) -> (u64, u64) {
        (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

struct Own {
    path: PathBuf,
    /// Kept open: closing it releases the lock.
    _lock: File,
}

impl TempFolder {
    /// Files are going to be below `base`. What processes before have left there is removed.
    pub fn new(base: PathBuf) -> Arc<Self> {
        for path in folders(&base) {
            // Another process may use it, or not let us in.
            if matches!(lock(&path), Ok(Some(_))) {
                fs::remove_dir_all(&path).ok();
            }
        }
        let (own, next) = (Mutex::new(None), AtomicU64::new(0));
        Arc::new(Self { base, own, next, counts: TempCounts::default() })
    }

    /// Files written since the start, and their bytes.
    pub fn written(&self) -> (u64, u64) {
        self.counts.total()
    }

    /// Bytes of the files that exist now.
    pub fn used_bytes(&self) -> u64 {
        self.counts.used_bytes()
    }

    /// An empty file, and its path.
    pub(super) fn create(&self) -> Result<(File, PathBuf)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let folder = self.folder().map_err(|error| io_error(&error, &self.base))?;
        let path = folder.join(number.to_string());
        // Only a new file: a link that somebody has put there is not followed.
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).mode(FILE_MODE).open(&path)
        };
        let file = open().or_else(|error| match error.kind() {
            // Somebody has tidied up the system's temporary folder.
            ErrorKind::NotFound => make(&folder).and_then(|()| open()),
            ErrorKind::AlreadyExists => fs::remove_file(&path).and_then(|()| open()),
            _ => Err(error),
        });
        Ok((file.map_err(|error| io_error(&error, &path))?, path))
    }

    /// The folder of this process.
    fn folder(&self) -> io::Result<PathBuf> {
        let mut own = self.own.lock();
        if let Some(own) = &*own {
            return Ok(own.path.clone());
        }
        for number in 1..=PROCESSES_MAX {
            let path = self.base.join(format!("{PREFIX}{number}"));
            make(&path)?;
            if let Some(lock) = lock(&path)? {
                *own = Some(Own { path: path.clone(), _lock: lock });
                return Ok(path);
            }
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "too many processes use the folder"))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if let Some(own) = self.own.lock().take() {
            fs::remove_dir_all(&own.path).ok();
        }
    }
}

fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// The lock of a process's folder; `None` if that process lives.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(FILE_MODE);
    let file = options.open(path.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The folders of all processes.
fn folders(base: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(base) else { return Vec::new() };
    let ours = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.starts_with(PREFIX)) && path.is_dir()
    };
    entries.flatten().map(|entry| entry.path()).filter(ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_has_left_is_removed_and_what_another_uses_stays() {
        let base = tempfile::tempdir().expect("a folder");
        let left = base.path().join("statements-7");
        make(&left).expect("a folder");
        fs::write(left.join("1"), "rows").expect("a file");
        let living = TempFolder::new(base.path().to_owned());
        assert!(!left.exists());
        let (_file, path) = living.create().expect("a file");
        let other = TempFolder::new(base.path().to_owned());
        let (_other_file, other_path) = other.create().expect("a file");
        assert!(path.exists() && other_path.exists() && path.parent() != other_path.parent());
        drop(other);
        assert!(path.exists() && !other_path.exists());
    }

    #[test]
    fn files_belong_to_their_owner() {
        use std::os::unix::fs::PermissionsExt;
        let base = tempfile::tempdir().expect("a folder");
        let folder = TempFolder::new(base.path().to_owned());
        let (file, _) = folder.create().expect("a file");
        let mode = file.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_link_is_not_followed() {
        let base = tempfile::tempdir().expect("a folder");
        let folder = TempFolder::new(base.path().to_owned());
        let (_, path) = folder.create().expect("a file");
        let (target, link) = (base.path().join("target"), path.with_file_name("2"));
        fs::write(&target, "other").expect("a file");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert!(folder.create().is_ok());
        assert_eq!(fs::read(&target).expect("a file"), b"other");
        assert!(!fs::symlink_metadata(&link).expect("a file").is_symlink());
    }

    #[test]
    fn a_folder_that_was_tidied_up_is_made_again() {
        let base = tempfile::tempdir().expect("a folder");
        let folder = TempFolder::new(base.path().to_owned());
        let (_, path) = folder.create().expect("a file");
        fs::remove_dir_all(path.parent().expect("a folder")).expect("removed");
        assert!(folder.create().is_ok());
    }
}
