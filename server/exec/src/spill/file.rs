//! A temporary file: blocks of bytes, written once, read any number of times.
//!
//! The file belongs to one operator and goes with it. Blocks that nobody needs any more are written
//! again, so that sorting in several passes does not take more and more space.
//!
//! Reads and writes block. They are made [aside](braid_types::work::aside), so that the tasks of
//! other connections go on.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_types::{Result, work};
use parking_lot::Mutex;

use crate::spill::encoding::Dictionary;
use crate::spill::errors::io_error;
use crate::spill::space::TempSpace;

/// Blocks begin at multiples of this many bytes.
const ALIGNMENT: u64 = 4096;

/// Where bytes are in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    offset: u64,
    len: usize,
}

impl Block {
    /// Bytes that it takes in the file.
    fn room(&self) -> u64 {
        (self.len as u64).next_multiple_of(ALIGNMENT).max(ALIGNMENT)
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// A temporary file of one operator.
pub(crate) struct TempFile {
    space: Arc<TempSpace>,
    file: File,
    path: PathBuf,
    room: Mutex<Room>,
    /// What the rows in it refer to.
    pub(crate) names: Mutex<Dictionary>,
    /// How many parts were processed one by one.
    batches: AtomicU64,
}

/// The layout of a file.
#[derive(Default)]
struct Room {
    end: u64,
    /// Where unused blocks are, by their size.
    free: HashMap<u64, Vec<u64>>,
}

impl TempFile {
    /// An empty file.
    pub(crate) fn create(space: &Arc<TempSpace>) -> Result<Arc<Self>> {
        let (file, path) = work::aside(|| space.folder.create())?;
        space.begin();
        Ok(Arc::new(Self {
            space: space.clone(),
            file,
            path,
            room: Mutex::default(),
            names: Mutex::default(),
            batches: AtomicU64::new(0),
        }))
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.room.lock().end
    }

    /// How many parts were processed one by one.
    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// Counts parts that are processed one by one.
    pub(crate) fn add_batches(&self, count: usize) {
        self.batches.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Writes bytes somewhere.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<Block> {
        let mut block = Block { offset: 0, len: bytes.len() };
        block.offset = self.place(block.room())?;
        work::aside(|| self.file.write_all_at(bytes, block.offset))
            .map_err(|error| io_error(&error, &self.path))?;
        Ok(block)
    }

    /// Replaces `out` by the bytes of a block.
    pub(crate) fn read(&self, block: Block, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.resize(block.len, 0);
        work::aside(|| self.file.read_exact_at(out, block.offset))
            .map_err(|error| io_error(&error, &self.path))
    }

    /// The place of a block may be written again.
    pub(crate) fn free(&self, block: Block) {
        self.room.lock().free.entry(block.room()).or_default().push(block.offset);
    }

    /// A place of that size: a free one, or at the end.
    fn place(&self, size: u64) -> Result<u64> {
        let mut room = self.room.lock();
        if let Some(offset) = room.free.get_mut(&size).and_then(Vec::pop) {
            return Ok(offset);
        }
        self.space.grow(size)?;
        let offset = room.end;
        room.end += size;
        Ok(offset)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that cannot be removed now goes at the next start.
        work::aside(|| fs::remove_file(&self.path)).ok();
        self.space.end(self.room.get_mut().end);
    }
}
