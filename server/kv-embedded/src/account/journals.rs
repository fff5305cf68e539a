//! Reads fjall's journals before fjall does: where each ends, and whether something was lost.

use super::record::{Commit, read_batch};
use crate::folder::Folder;
use rustix::{fs::SeekFrom, io::Errno};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// The tail of a journal is compared with zeros in pieces of this many bytes.
const PIECE: usize = 4 << 10;
static ZEROS: [u8; PIECE] = [0; PIECE];

/// What the journals hold.
pub(super) struct Journals {
    /// The number of the newest one.
    pub(super) newest: u64,
    /// The last commit that they hold.
    pub(super) last: Option<Commit>,
    /// The newest one ends in something that cannot be read.
    pub(super) is_torn: bool,
    /// Why commits that were durable cannot be read.
    pub(super) damage: Option<String>,
}

/// The numbers of the journals in a folder, oldest first.
fn list(store: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(store)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jnl"));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of the newest journal of fjall's.
pub(crate) fn newest_journal(folder: &Folder) -> io::Result<u64> {
    Ok(list(&folder.store())?.last().copied().unwrap_or(0))
}

/// Reads all journals of a folder.
pub(super) fn read(store: &Path) -> io::Result<Journals> {
    let numbers = list(store)?;
    let newest = numbers.last().copied().unwrap_or(0);
    let mut found = Journals { newest, last: None, is_torn: false, damage: None };
    if numbers.is_empty() {
        found.damage = Some("there is no journal in \"store\"".to_owned());
    }
    for (at, &number) in numbers.iter().enumerate() {
        let missing = (at > 0).then(|| numbers[at - 1] + 1).filter(|&next| next != number);
        if let Some(missing) = missing {
            found.damage = Some(format!("the journal \"store/{missing}.jnl\" is missing"));
        }
        if found.damage.is_some() {
            break;
        }
        let bytes = read_data(&store.join(format!("{number}.jnl")))?;
        let scan = scan(&bytes, found.last, number == newest);
        (found.last, found.is_torn) = (scan.last, scan.is_torn);
        found.damage = scan.damage.map(|why| format!("the journal \"store/{number}.jnl\" {why}"));
    }
    Ok(found)
}

/// A journal without the hole at its end, which takes most of its length.
fn read_data(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut end = 0;
    loop {
        let data = match rustix::fs::seek(&file, SeekFrom::Data(end)) {
            Ok(data) => data,
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        end = rustix::fs::seek(&file, SeekFrom::Hole(data))?;
    }
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(end).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What one journal holds.
#[derive(Debug, PartialEq, Eq)]
struct Scan {
    last: Option<Commit>,
    is_torn: bool,
    damage: Option<String>,
}

/// Reads a journal. The newest one may be torn at its end; the others were synced as a whole.
fn scan(bytes: &[u8], before: Option<Commit>, is_newest: bool) -> Scan {
    let mut last = before;
    let mut at = 0;
    let mut sequence = 0;
    while let Some(batch) = read_batch(bytes, at) {
        if let (Some(commit), Some(known)) = (batch.commit, last)
            && commit.previous != known.number
        {
            let (from, to) = (known.number, commit.previous);
            let damage = format!("goes on behind commit {to}, what was before it ends at {from}");
            return Scan { last, is_torn: false, damage: Some(damage) };
        }
        last = batch.commit.or(last);
        (at, sequence) = (batch.end, batch.sequence);
    }
    let Some(tear) = next_data(bytes, at) else {
        return Scan { last, is_torn: false, damage: None };
    };
    let behind = commits_after(bytes, tear, sequence);
    let lost = match behind.as_slice() {
        [] => false,
        // It may have been on its way, like the batch before it, which is not known to be a commit.
        [only] => last.is_some_and(|last| last.number != only.previous),
        // The second one was written after the sync of the first.
        _ => true,
    };
    let damage = match behind.last() {
        Some(found) if lost => {
            let (from, to) = (last.map_or(0, |last| last.number), found.number);
            Some(format!(
                "is damaged at byte {at}: of the commits behind {from} up to {to} at least some \
                 were durable and cannot be read"
            ))
        }
        _ if !is_newest => {
            Some(format!("cannot be read from byte {at} on, but it was finished and synced"))
        }
        _ => {
            tracing::debug!(at, "the journal has a torn end, as after a crash");
            None
        }
    };
    Scan { last, is_torn: true, damage }
}

/// The first two and the last commit in whole batches after a tear.
fn commits_after(bytes: &[u8], tear: usize, sequence: u64) -> Vec<Commit> {
    let mut found: Vec<Commit> = Vec::new();
    let mut at = tear;
    while let Some(place) = next_data(bytes, at) {
        // Older bytes cannot be there: a journal is never used again.
        match read_batch(bytes, place).filter(|batch| batch.sequence >= sequence) {
            Some(batch) => {
                if let Some(commit) = batch.commit {
                    found.truncate(2);
                    found.push(commit);
                }
                at = batch.end;
            }
            None => at = place + 1,
        }
    }
    found
}

/// The next place from here on with something else than zero.
fn next_data(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        let piece = &bytes[at..bytes.len().min(at + PIECE)];
        if piece != &ZEROS[..piece.len()] {
            return piece.iter().position(|&byte| byte != 0).map(|offset| at + offset);
        }
        at += piece.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{super::record::encode_commit, *};
    use crate::account::COMMIT;

    /// A batch of fjall's: an item of `data`, and the commit record if there is one.
    fn batch(sequence: u64, commit: Option<(u64, u64)>, value: &[u8]) -> Vec<u8> {
        let mut items = item(1, b"key", value);
        if let Some((number, previous)) = commit {
            items.extend(item(3, COMMIT, &encode_commit(Commit { number, previous })));
        }
        let mut bytes = vec![1];
        bytes.extend((1 + u32::from(commit.is_some())).to_le_bytes());
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(&items);
        bytes.push(3);
        bytes.extend(xxhash_rust::xxh3::xxh3_64(&items).to_le_bytes());
        bytes.extend(b"FJL\x03");
        bytes
    }

    fn item(keyspace: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0];
        bytes.extend(keyspace.to_le_bytes());
        bytes.extend((key.len() as u16).to_le_bytes());
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(key);
        bytes.extend(value);
        bytes
    }

    /// Commits 1 to `count`, each a batch, and where each of them ends.
    fn journal(count: u64) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for number in 1..=count {
            bytes.extend(batch(number, Some((number, number - 1)), &[number as u8; 40]));
            ends.push(bytes.len());
        }
        bytes.extend([0; 9_000]);
        (bytes, ends)
    }

    fn number(scan: &Scan) -> u64 {
        scan.last.map_or(0, |last| last.number)
    }

    #[test]
    fn a_journal_in_order_is_read_to_its_end() {
        let (bytes, _) = journal(20);
        let scan = scan(&bytes, None, true);
        assert_eq!((number(&scan), scan.is_torn, scan.damage), (20, false, None));
    }

    #[test]
    fn a_torn_end_is_normal_in_the_newest_journal_only() {
        let (bytes, ends) = journal(20);
        for cut in ends[18] + 1..ends[19] {
            let mut torn = bytes.clone();
            torn[cut..].fill(0);
            let newest = scan(&torn, None, true);
            assert_eq!((number(&newest), newest.is_torn, newest.damage), (19, true, None));
            assert!(scan(&torn, None, false).damage.is_some(), "a finished journal, at {cut}");
        }
    }

    #[test]
    fn a_hole_before_durable_commits_is_damage() {
        let (bytes, ends) = journal(20);
        for hole in 0..ends[16] {
            let mut damaged = bytes.clone();
            damaged[hole..hole + 30].fill(0);
            let scan = scan(&damaged, None, true);
            assert!(scan.damage.is_some(), "zeros at {hole}: {scan:?}");
        }
    }

    #[test]
    fn what_was_on_its_way_together_may_be_torn() {
        let mut bytes = batch(1, Some((1, 0)), b"a");
        let torn = bytes.len();
        // The cleaner's batch is not synced by itself, so the commit behind it may be whole.
        bytes.extend(batch(2, None, b"cleaner"));
        bytes.extend(batch(3, Some((2, 1)), b"b"));
        let mut damaged = bytes.clone();
        damaged[torn..torn + 20].fill(0);
        let only = scan(&damaged, None, true);
        assert_eq!((number(&only), only.damage), (1, None));
        // With another commit behind it, the one before was synced.
        damaged.extend(batch(4, Some((3, 2)), b"c"));
        assert!(scan(&damaged, None, true).damage.is_some());
    }

    #[test]
    fn a_gap_between_journals_is_damage() {
        let before = Some(Commit { number: 7, previous: 6 });
        let next = batch(9, Some((9, 8)), b"a");
        assert!(scan(&next, before, true).damage.is_some());
        assert!(scan(&batch(9, Some((9, 7)), b"a"), before, true).damage.is_none());
    }
}
