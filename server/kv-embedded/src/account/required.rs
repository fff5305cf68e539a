//! The files without which fjall would make a new database, or a part of one, without a word.

use crate::folder::{Folder, OpenError};
use std::{fs, path::Path};

/// fjall's numbers of the keyspaces: its own, then ours in the order in which `files` makes them.
const KEYSPACES: [&str; 4] = ["0", "1", "2", "3"];
/// The number of the keyspace `meta`, as journals name it.
pub(super) const META_KEYSPACE: u64 = 3;
/// What the file `store/version` holds: the layout of fjall's files that we know.
const LAYOUT: &[u8] = b"FJL\x03";

/// Refuses a store without one of its files, or with another layout.
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
        if !path.join(&version).is_file() {
            return Err(gone(&format!("keyspaces/{keyspace}/{version}")));
        }
    }
    Ok(())
}

/// The name of the file that a keyspace's `current` points to.
fn current_version(keyspace: &Path) -> Option<String> {
    let bytes = fs::read(keyspace.join("current")).ok()?;
    let number = bytes.first_chunk::<8>()?;
    Some(format!("v{}", u64::from_le_bytes(*number)))
}
