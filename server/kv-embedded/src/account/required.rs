//! The files that fjall trusts: without one of them it would make a new database, or a part of one,
//! without a word, and a damaged list of tables would end the process or hide rows.

use crate::folder::{Folder, OpenError};
use std::{fs, path::Path};
use xxhash_rust::xxh3::xxh3_128;

/// fjall's numbers of the keyspaces: its own, then ours in the order in which `files` makes them.
const KEYSPACES: [&str; 4] = ["0", "1", "2", "3"];
/// The number of the keyspace `meta`, as journals name it.
pub(super) const META_KEYSPACE: u64 = 3;
/// What the file `store/version` holds: the layout of fjall's files that we know.
const LAYOUT: &[u8] = b"FJL\x03";

/// Refuses a store without one of its files, with a damaged list of tables, or with another layout.
pub(super) fn check(folder: &Folder) -> Result<(), OpenError> {
    let store = folder.store();
    let gone = |what: &str| {
        folder.corrupt(format!("\"store/{what}\" is missing; restore the folder from a backup"))
    };
    match fs::read(store.join("version")) {
        Ok(found) if found == LAYOUT => {}
        Ok(_) => {
            return Err(folder.corrupt(
                "\"store/version\" names a layout of files that this version does not know; \
                 start the version that wrote it",
            ));
        }
        Err(_) => return Err(gone("version")),
    }
    for keyspace in KEYSPACES {
        let path = store.join("keyspaces").join(keyspace);
        let current = format!("keyspaces/{keyspace}/current");
        let Some(version) = current_version(&path) else { return Err(gone(&current)) };
        let name = format!("keyspaces/{keyspace}/v{}", version.number);
        let Ok(bytes) = fs::read(store.join(&name)) else { return Err(gone(&name)) };
        if xxh3_128(&bytes) != version.checksum {
            return Err(folder.corrupt(format!(
                "\"store/{name}\" is not what \"store/{current}\" describes; \
                 restore the folder from a backup"
            )));
        }
    }
    Ok(())
}

/// What a keyspace's `current` says of the file with the list of its tables.
struct CurrentVersion {
    number: u64,
    /// The XXH3 of the file's bytes. fjall writes it and does not compare it.
    checksum: u128,
}

fn current_version(keyspace: &Path) -> Option<CurrentVersion> {
    let bytes = fs::read(keyspace.join("current")).ok()?;
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    let checksum = rest.first_chunk::<16>()?;
    Some(CurrentVersion {
        number: u64::from_le_bytes(*number),
        checksum: u128::from_le_bytes(*checksum),
    })
}
