//! Finds the files of the corpus, unpacking it if need be.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The corpus on disk.
#[derive(Debug)]
pub struct Corpus {
    root: PathBuf,
    files: Vec<String>,
    /// Removed when the corpus is dropped.
    _unpacked: Option<TempDir>,
}

impl Corpus {
    /// Opens a folder that holds the unpacked `test` tree or an archive of it (`*.tar.xz`, unpacked
    /// with the system's `tar`). An error if there is neither.
    pub fn open(folder: &Path) -> io::Result<Self> {
        if folder.join("test").is_dir() {
            return Self::read(folder.to_owned(), None);
        }
        let archive = std::fs::read_dir(folder)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .find(|path| path.to_string_lossy().ends_with(".tar.xz"))
            .ok_or_else(|| io::Error::other("neither a test folder nor a .tar.xz in it"))?;
        let unpacked = TempDir::new()?;
        let status =
            Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(unpacked.path()).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("tar cannot unpack {}", archive.display())));
        }
        Self::read(unpacked.path().to_owned(), Some(unpacked))
    }

    fn read(root: PathBuf, unpacked: Option<TempDir>) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![PathBuf::from("test")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                if entry.file_type()?.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "test") {
                    files.push(path.to_string_lossy().into_owned());
                }
            }
        }
        files.sort();
        Ok(Corpus { root, files, _unpacked: unpacked })
    }

    /// The names of its files, sorted, from `test/` on.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The text of a file.
    pub fn text(&self, file: &str) -> io::Result<String> {
        std::fs::read_to_string(self.root.join(file))
    }
}
