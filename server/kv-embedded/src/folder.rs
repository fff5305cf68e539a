//! The data folder: who may use it, and whether it is ours.
//!
//! ```text
//!   braid-data/
//!     LOCK      held while a process uses the folder; a crash releases it
//!     FORMAT    "BraidDB data folder", the format version, whether creation has finished
//!     ACCOUNT   the last commit that is known to be durable; see the module `account`
//!     store/    fjall's files
//!     tmp/      what is sorted just now; emptied at the start
//! ```
//!
//! Nothing is written into a folder before it is known to be ours or empty. A folder that we make
//! or take over empty is open to its owner only.

use rustix::fs::Mode;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The version of everything below the folder, keys and values included.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: &str = "BraidDB data folder";
const LOCK: &str = "LOCK";
const FORMAT: &str = "FORMAT";
/// Behind the name of a file that is being written.
const NEW: &str = ".new";
const FORMAT_NEW: &str = "FORMAT.new";
const STORE: &str = "store";
const TEMPORARY: &str = "tmp";
/// The mode of a new data folder.
const PRIVATE: u32 = 0o700;
/// The bits of a mode that let others in.
const OTHERS: u32 = 0o077;

/// Why a data folder cannot be opened. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the folder.
    #[error("data folder \"{path}\" is in use by another process")]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// There are files in the folder, but no database.
    #[error("data folder \"{path}\" is not empty and not a BraidDB database")]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// The database has another format version.
    #[error(
        "data folder \"{path}\" has format version {found}, this server knows version {known}",
        known = FORMAT_VERSION
    )]
    Version {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// The database is damaged.
    #[error("data folder \"{path}\" is corrupt: {detail}")]
    Corrupt {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The operating system refused something.
    #[error("cannot open data folder \"{path}\": {source}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

/// A data folder that this process holds.
pub(crate) struct Folder {
    path: PathBuf,
    is_new: bool,
    /// Kept open: closing it releases the lock.
    _lock: File,
}

/// What the FORMAT file says.
enum Format {
    Missing,
    Creating,
    Ready,
}

impl Folder {
    /// Takes the folder, creating it if there is none.
    pub(crate) fn take(path: &Path) -> Result<Folder, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(path).map_err(io)?;
        let empty = is_empty(path).map_err(io)?;
        if let (Format::Missing, false) = (read_format(path)?, empty) {
            return Err(OpenError::Foreign { path: path.to_owned() });
        }
        let lock = take_lock(path)?;
        let format = read_format(path)?;
        let is_new = !matches!(format, Format::Ready);
        let folder = Folder { path: path.to_owned(), is_new, _lock: lock };
        match format {
            Format::Missing => {
                fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE)).map_err(io)?;
                folder.write_format("creating").map_err(io)?;
            }
            Format::Creating => fs::remove_dir_all(folder.store())
                .or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
                .map_err(io)?,
            Format::Ready if folder.store().is_dir() => {}
            Format::Ready => return Err(folder.corrupt("the folder \"store\" is missing")),
        }
        remove_temporary(&folder.temporary()).map_err(io)?;
        let mode = fs::metadata(path).map_err(io)?.permissions().mode();
        if mode & OTHERS != 0 {
            let (path, mode) = (path.display(), format!("{:04o}", mode & 0o7777));
            tracing::warn!(%path, mode, "others can read the data folder; its mode should be 0700");
        }
        Ok(folder)
    }

    /// Where fjall's files are.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// Where files are that no start needs. Nobody expects it to exist.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path.join(TEMPORARY)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the database has yet to be created.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Says that creation has finished: from now on a missing store is damage.
    pub(crate) fn mark_ready(&self) -> Result<(), OpenError> {
        if !self.is_new {
            return Ok(());
        }
        self.write_format("ready")
            .map_err(|source| OpenError::Io { path: self.path.clone(), source })
    }

    pub(crate) fn corrupt(&self, detail: impl Into<String>) -> OpenError {
        OpenError::Corrupt { path: self.path.clone(), detail: detail.into() }
    }

    /// Bytes that may still be written.
    pub(crate) fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Why this many bytes cannot be written if others are kept in reserve; none if they can.
    pub(crate) fn lacks_room(&self, reserve: u64, needed: u64) -> Option<String> {
        let free = self.free_bytes().ok()?;
        if free >= reserve.saturating_add(needed) {
            return None;
        }
        let path = self.path.display();
        Some(format!("{free} bytes are free at \"{path}\", {reserve} are kept in reserve"))
    }

    fn write_format(&self, state: &str) -> io::Result<()> {
        self.replace(FORMAT, &format!("{MAGIC}\nversion {FORMAT_VERSION}\nstate {state}\n"))
    }

    /// Writes a small file, durably and as a whole.
    pub(crate) fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let new = self.path.join(format!("{name}{NEW}"));
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.path.join(name))?;
        File::open(&self.path)?.sync_all()
    }
}

/// Makes the files that this process creates from now on readable by its user only.
pub fn make_files_private() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Whether there is a database in a folder, of whatever version and in whatever state.
pub fn holds_database(path: &Path) -> bool {
    path.join(FORMAT).is_file()
}

fn remove_temporary(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn take_lock(path: &Path) -> Result<File, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path.join(LOCK))
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

/// Whether nothing is inside but what an interrupted first start may have left.
fn is_empty(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let ours = [LOCK, FORMAT_NEW, "lost+found"].iter().any(|known| name == **known);
        if !ours {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_format(path: &Path) -> Result<Format, OpenError> {
    let bytes = match fs::read(path.join(FORMAT)) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Format::Missing),
        Err(source) => return Err(OpenError::Io { path: path.to_owned(), source }),
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    let corrupt = |what: &str| OpenError::Corrupt {
        path: path.to_owned(),
        detail: format!("the file \"{FORMAT}\" has no {what}"),
    };
    let version =
        lines.next().and_then(|l| l.strip_prefix("version ")).ok_or_else(|| corrupt("version"))?;
    if version.parse() != Ok(FORMAT_VERSION) {
        let found = version.chars().take(20).collect();
        return Err(OpenError::Version { path: path.to_owned(), found });
    }
    match lines.next().and_then(|l| l.strip_prefix("state ")) {
        Some("creating") => Ok(Format::Creating),
        Some("ready") => Ok(Format::Ready),
        _ => Err(corrupt("state")),
    }
}
