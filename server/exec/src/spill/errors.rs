//! What the operating system refused, as the client sees it.

use std::io::{self, ErrorKind};
use std::path::Path;

use braid_types::{Error, SqlState};

/// 53100 if the disk is full, else 58030.
pub(crate) fn io_error(error: &io::Error, path: &Path) -> Error {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    let is_full = full.contains(&error.kind());
    let state = if is_full { SqlState::DiskFull } else { SqlState::IoError };
    let error = Error::new(state, format!("could not use a temporary file: {error}"))
        .detail(format!("The path is \"{}\".", path.display()));
    match is_full {
        true => {
            error.hint("Free some space there, or start the server with another --temp-folder.")
        }
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_its_path() {
        let error = io_error(&io::Error::from(ErrorKind::StorageFull), Path::new("/a/b"));
        assert_eq!(error.state(), SqlState::DiskFull);
        assert_eq!(error.fields().detail.as_deref(), Some("The path is \"/a/b\"."));
    }
}
