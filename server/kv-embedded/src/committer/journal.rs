//! Room in fjall's journal that the disk has already given, so that a sync writes data only.
//!
//! A new journal of fjall is one hole. A write into the hole takes blocks, and the sync after it
//! has to write down which: a second wait for the disk, as long as the first. So zeros are written
//! ahead of the data, as PostgreSQL does with its WAL segments.
//!
//! ```text
//!   journal   data data data 00000000000000000 · · · hole · · ·
//!                           ▲ next batch      ▲ filled
//! ```
//!
//! Rules: only a leader comes here, and nobody else writes to the journal meanwhile. Zeros go only
//! where zeros are read, so nothing here can change what the journal says. Whatever fails here is
//! no failure: the sync takes longer.
//!
//! A journal that was opened again after a restart has no hole, fjall appends to it; the next one
//! has.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// Bytes zero-filled per refill.
const STEP: u64 = 256 << 10;
/// More is filled when there is less than this.
const LOW: u64 = 64 << 10;
/// In such pieces.
static ZEROS: [u8; PIECE] = [0; PIECE];
const PIECE: usize = 64 << 10;
/// Bytes read to see whether a place has data: no commit has that many zeros.
const PROBE: usize = 4 << 10;
/// A sync of more than this takes long enough for its blocks not to matter.
const BATCH_BYTES_MAX: u64 = 64 << 10;
/// What a batch takes besides its keys and values, roughly.
const BATCH_OVERHEAD: u64 = 64;

/// Keeps the journal filled ahead of the data.
pub(super) struct JournalRoom {
    folder: PathBuf,
    journal: Option<Journal>,
}

struct Journal {
    number: u64,
    file: File,
    /// Roughly where its data end, rather more than less.
    used: u64,
    /// Up to where it needs no look.
    filled: u64,
}

impl JournalRoom {
    /// For the journals in a folder of fjall's.
    pub(super) fn new(folder: &Path) -> JournalRoom {
        JournalRoom { folder: folder.to_owned(), journal: None }
    }

    /// Whether there is little room left, so that some should be made while nobody waits.
    pub(super) fn is_short(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.used + LOW > journal.filled)
    }

    /// Makes room for those that come next.
    pub(super) fn refill(&mut self) {
        if let Err(error) = self.fill() {
            tracing::debug!(%error, "no room was made in the journal");
            self.journal = None;
        }
    }

    /// Makes room for a batch that is about to be written, if there is none for a small one.
    pub(super) fn prepare(&mut self, bytes: u64) {
        let is_small = bytes <= BATCH_BYTES_MAX;
        if let Some(journal) = &mut self.journal {
            journal.used += bytes + BATCH_OVERHEAD;
            if !is_small || journal.used <= journal.filled {
                return;
            }
        }
        if is_small {
            self.refill();
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.switch()?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.fill()
    }

    /// Goes on to the newest journal.
    fn switch(&mut self) -> io::Result<()> {
        let newest = match &self.journal {
            Some(journal) if !self.path(journal.number + 1).exists() => return Ok(()),
            Some(journal) => journal.number + 1,
            None => match newest(&self.folder)? {
                Some(number) => number,
                None => return Ok(()),
            },
        };
        let file = OpenOptions::new().read(true).write(true).open(self.path(newest))?;
        // What is read here is a hole, and reading ahead of that would fill memory with zeros.
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
        self.journal = Some(Journal { number: newest, file, used: 0, filled: 0 });
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.jnl"))
    }
}

impl Journal {
    fn fill(&mut self) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        let mut at = self.filled;
        while at < end && !self.is_zero(at, PROBE.min((end - at) as usize))? {
            at += STEP;
        }
        let until = end.min(at + STEP);
        self.used = self.used.min(at);
        self.filled = at + STEP;
        while at < until {
            let piece = PIECE.min((until - at) as usize);
            if self.is_zero(at, piece)? {
                self.file.write_all_at(&ZEROS[..piece], at)?;
            }
            at += piece as u64;
        }
        Ok(())
    }

    fn is_zero(&self, at: u64, bytes: usize) -> io::Result<bool> {
        let mut found = vec![0; bytes];
        self.file.read_exact_at(&mut found, at)?;
        Ok(found == ZEROS[..bytes])
    }
}

/// The number of the newest journal.
fn newest(folder: &Path) -> io::Result<Option<u64>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jnl"));
        newest = newest.max(number.and_then(|number| number.parse().ok()));
    }
    Ok(newest)
}
