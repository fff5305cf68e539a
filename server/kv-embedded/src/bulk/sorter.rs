//! Sorts pairs by key: in memory, and in sorted runs on disk where they do not fit.
//!
//! A run is an unnamed file in the data folder. Its name goes as soon as it is open, so that its
//! space is free when the process ends, in whatever way.

use crate::key_head::head;
use braid_kv::{Error, Result};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::{self, File, OpenOptions},
    hint::black_box,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes that are read from or written to a run at once.
const PIECE: usize = 256 << 10;

static NEXT_FILE: AtomicU64 = AtomicU64::new(0);

/// Pairs whose bytes are asked for at once: about as many misses as a processor has under way.
const TOUCHED: usize = 16;

/// Bytes of one chunk of the arena. A pair that is longer has a chunk of its own.
const CHUNK: usize = 1 << 20;

/// Keys and values in memory, in chunks. A full chunk is never copied.
#[derive(Default)]
struct Arena {
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

impl Arena {
    /// Adds a key and its value, next to each other; where they are.
    fn add(&mut self, key: &[u8], value: &[u8]) -> (u32, u32) {
        let added = key.len() + value.len();
        if self.chunks.last().is_none_or(|last| last.capacity() - last.len() < added) {
            let chunk = Vec::with_capacity(CHUNK.max(added));
            self.bytes += chunk.capacity();
            self.chunks.push(chunk);
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let at = chunk.len();
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(value);
        (number as u32, at as u32)
    }

    /// Reads a byte at both ends of each pair. Sorted pairs lie anywhere, so that each is a cache
    /// miss; asked for in a row, the misses pass side by side.
    fn touch(&self, pairs: &[Pair]) {
        let ends = |pair: &Pair| {
            let (first, last) = (pair.at as usize, (pair.at + pair.key + pair.value) as usize);
            let chunk = &self.chunks[pair.chunk as usize];
            chunk[first] ^ chunk[last.saturating_sub(1).max(first)]
        };
        let pairs = pairs.iter().filter(|pair| pair.key + pair.value > 0);
        black_box(pairs.fold(0, |sum, pair| sum ^ ends(pair)));
    }
}

/// A pair in memory.
#[derive(Clone, Copy)]
struct Pair {
    /// The first bytes of the key after the prefix: most comparisons need no more.
    head: u64,
    chunk: u32,
    at: u32,
    key: u32,
    value: u32,
}

/// Called with each pair in key order; false ends the walk.
pub(super) type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<bool>;

pub(super) struct Sorter {
    folder: PathBuf,
    /// Bytes with which every key begins.
    prefix: usize,
    arena: Arena,
    pairs: Vec<Pair>,
    is_sorted: bool,
    runs: Vec<File>,
    /// Bytes of all keys and values.
    pub(super) bytes: u64,
    pub(super) count: u64,
}

impl Sorter {
    /// `folder` is for runs; all keys begin with the same `prefix` bytes.
    pub(super) fn new(folder: PathBuf, prefix: usize) -> Sorter {
        let (arena, pairs, runs) = (Arena::default(), Vec::new(), Vec::new());
        Sorter { folder, prefix, arena, pairs, is_sorted: true, runs, bytes: 0, count: 0 }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.arena.bytes + self.pairs.capacity() * size_of::<Pair>()
    }

    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        let (chunk, at) = self.arena.add(key, value);
        self.bytes += (key.len() + value.len()) as u64;
        self.count += 1;
        self.is_sorted = false;
        let (head, key, value) = (head(key, self.prefix), key.len() as u32, value.len() as u32);
        self.pairs.push(Pair { head, chunk, at, key, value });
    }

    fn sort(&mut self) {
        if !std::mem::replace(&mut self.is_sorted, true) {
            let Sorter { arena, pairs, .. } = self;
            pairs.sort_unstable_by(|a, b| {
                a.head.cmp(&b.head).then_with(|| a.key(arena).cmp(b.key(arena)))
            });
        }
    }

    /// The pairs in memory, whose bytes are asked for in groups.
    fn touched(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.chunks(TOUCHED).inspect(|pairs| self.arena.touch(pairs)).flatten()
    }

    /// Writes what is in memory to a run.
    pub(super) fn spill(&mut self) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        self.sort();
        let run = self.write_run().map_err(|error| {
            let path = self.folder.display();
            match error.kind() {
                io::ErrorKind::StorageFull => {
                    Error::DiskFull(format!("\"{path}\": {error}").into())
                }
                _ => Error::Storage(format!("\"{path}\": {error}").into()),
            }
        })?;
        self.runs.push(run);
        (self.arena, self.pairs) = (Arena::default(), Vec::new());
        Ok(())
    }

    fn write_run(&self) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let number = NEXT_FILE.fetch_add(1, Relaxed);
        let path = self.folder.join(format!("sort-{number}"));
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        fs::remove_file(&path)?;
        let mut out = BufWriter::with_capacity(PIECE, file);
        for pair in self.touched() {
            out.write_all(&pair.key.to_le_bytes())?;
            out.write_all(&pair.value.to_le_bytes())?;
            out.write_all(pair.key(&self.arena))?;
            out.write_all(pair.value(&self.arena))?;
        }
        out.into_inner().map_err(|error| error.into_error())
    }

    /// Whether two neighbours have the same key; `None` if a walk has to find that out.
    pub(super) fn has_twice(&mut self) -> Option<bool> {
        if !self.runs.is_empty() {
            return None;
        }
        self.sort();
        let (pairs, arena) = (&self.pairs, &self.arena);
        let same = |a: &Pair, b: &Pair| a.head == b.head && a.key(arena) == b.key(arena);
        Some(pairs.windows(2).any(|pair| same(&pair[0], &pair[1])))
    }

    /// Walks over all pairs in key order; again if it is called again.
    pub(super) fn walk(&mut self, visit: Visit<'_>) -> Result<()> {
        if self.runs.is_empty() {
            self.sort();
            for pair in self.touched() {
                if !visit(pair.key(&self.arena), pair.value(&self.arena))? {
                    return Ok(());
                }
            }
            return Ok(());
        }
        self.spill()?;
        self.merge(visit)
    }

    fn merge(&self, visit: Visit<'_>) -> Result<()> {
        let broken = |error: io::Error| Error::Storage(format!("a temporary file: {error}").into());
        let mut runs = Vec::with_capacity(self.runs.len());
        let mut heap = BinaryHeap::with_capacity(self.runs.len());
        for file in &self.runs {
            let mut reader = RunReader::open(file).map_err(broken)?;
            if let Some(key) = reader.next(Vec::new()).map_err(broken)? {
                heap.push(Reverse((key, runs.len())));
            }
            runs.push(reader);
        }
        while let Some(Reverse((key, run))) = heap.pop() {
            if !visit(&key, &runs[run].value)? {
                return Ok(());
            }
            if let Some(next) = runs[run].next(key).map_err(broken)? {
                heap.push(Reverse((next, run)));
            }
        }
        Ok(())
    }
}

impl Pair {
    fn key<'a>(&self, arena: &'a Arena) -> &'a [u8] {
        &arena.chunks[self.chunk as usize][self.at as usize..][..self.key as usize]
    }

    fn value<'a>(&self, arena: &'a Arena) -> &'a [u8] {
        let at = (self.at + self.key) as usize;
        &arena.chunks[self.chunk as usize][at..][..self.value as usize]
    }
}

struct RunReader<'a> {
    file: BufReader<&'a File>,
    value: Vec<u8>,
}

impl<'a> RunReader<'a> {
    fn open(mut file: &'a File) -> io::Result<RunReader<'a>> {
        file.rewind()?;
        Ok(RunReader { file: BufReader::with_capacity(PIECE, file), value: Vec::new() })
    }

    /// The next key, in the buffer that is given; its value is in `value`.
    fn next(&mut self, mut key: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        let mut lengths = [0; 8];
        if self.file.read(&mut lengths[..1])? == 0 {
            return Ok(None);
        }
        self.file.read_exact(&mut lengths[1..])?;
        let [a, b, c, d, e, f, g, h] = lengths;
        key.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
        self.file.read_exact(&mut key)?;
        self.value.resize(u32::from_le_bytes([e, f, g, h]) as usize, 0);
        self.file.read_exact(&mut self.value)?;
        Ok(Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In memory and spilled at random places, the order is that of a sorted list.
    #[test]
    fn pairs_come_in_key_order_with_and_without_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut seed = 5u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for spills in 0..4 {
            let mut sorter = Sorter::new(folder.path().join("tmp"), 2);
            let mut expected = Vec::new();
            for i in 0..2_000u64 {
                let mut key = b"pp".to_vec();
                key.extend((0..random(12)).map(|_| random(3) as u8));
                let value = i.to_be_bytes()[..random(8) as usize].to_vec();
                sorter.add(&key, &value);
                expected.push((key, value));
                if spills > 0 && random(2_000) < spills {
                    sorter.spill().expect("is spilled");
                }
            }
            expected.sort();
            for _ in 0..2 {
                let mut found = Vec::new();
                sorter
                    .walk(&mut |key, value| {
                        found.push((key.to_vec(), value.to_vec()));
                        Ok(true)
                    })
                    .expect("is walked");
                found.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
                assert_eq!(found, expected);
            }
            let mut last = Vec::new();
            sorter
                .walk(&mut |key, _| {
                    assert!(last.as_slice() <= key);
                    last = key.to_vec();
                    Ok(true)
                })
                .expect("is walked");
        }
        let left = fs::read_dir(folder.path().join("tmp")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "no file keeps its name");
    }
}
