//! Where the data of COPY comes from and goes to: the client, or a file of the server.
//!
//! Files are for superusers and for members of `pg_read_server_files` and
//! `pg_write_server_files`. They are read and written on threads that may block.

use std::fs::{File, FileType, OpenOptions, metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use braid_catalog::{READ_SERVER_FILES, WRITE_SERVER_FILES};
use braid_types::{Error, Result, SqlState};
use bytes::Bytes;

use crate::client::{Client, CopyInput, connection_lost};
use crate::session::Session;
use crate::transaction::open::{catalog_at, ensure_open};

/// Bytes of a file that are read or written at once.
const PIECE_BYTES: usize = 256 << 10;

/// Where the data of COPY FROM comes from.
pub(super) enum DataSource<'c> {
    Client(&'c mut dyn Client),
    File(ServerFile),
}

/// Where the data of COPY TO goes to.
pub(super) enum DataTarget<'c> {
    Client(&'c mut dyn Client),
    File(ServerFile, Vec<u8>),
}

/// A file of the server.
pub(super) struct ServerFile {
    path: PathBuf,
    /// None while a piece is on its way.
    file: Option<File>,
}

impl<'c> DataSource<'c> {
    /// The file, if the statement names one, else the client.
    pub(super) async fn open(file: Option<&str>, client: &'c mut dyn Client) -> Result<Self> {
        let Some(name) = file else { return Ok(Self::Client(client)) };
        let path = PathBuf::from(name);
        let file = blocking(move || {
            let open = check_kind(&path).and_then(|()| File::open(&path));
            let hint =
                "COPY FROM reads a file of the server. psql's \\copy reads one of the client.";
            let file =
                open.map_err(|error| failed(&path, "open", "for reading", &error).hint(hint));
            Ok(ServerFile { file: Some(file?), path })
        });
        Ok(Self::File(file.await?))
    }

    /// Asks the client for the data, if it has them.
    pub(super) async fn begin(&mut self, columns: usize, binary: bool) -> Result<()> {
        let Self::Client(client) = self else { return Ok(()) };
        client.copy_in_response(columns, binary);
        client.flush().await.map_err(|error| connection_lost(&error))
    }

    /// The next piece of the data.
    pub(super) async fn receive(&mut self) -> Result<CopyInput> {
        match self {
            Self::Client(client) => client.receive_copy().await,
            Self::File(source) => {
                let mut piece = vec![0; PIECE_BYTES];
                let (piece, count) = source
                    .with("read", move |file| {
                        let count = file.read(&mut piece)?;
                        Ok((piece, count))
                    })
                    .await?;
                Ok(match count {
                    0 => CopyInput::Done,
                    count => CopyInput::Data(Bytes::from(piece).slice(..count)),
                })
            }
        }
    }
}

impl<'c> DataTarget<'c> {
    /// The file, if the statement names one, else the client. A file that exists is emptied.
    pub(super) async fn open(file: Option<&str>, client: &'c mut dyn Client) -> Result<Self> {
        let Some(name) = file else { return Ok(Self::Client(client)) };
        let path = PathBuf::from(name);
        if !path.is_absolute() {
            let message = "relative path not allowed for COPY to file";
            return Err(Error::new(SqlState::InvalidName, message));
        }
        let file = blocking(move || {
            let open = check_kind(&path).and_then(|()| {
                OpenOptions::new().write(true).create(true).truncate(true).open(&path)
            });
            let hint =
                "COPY TO writes a file of the server. psql's \\copy writes one of the client.";
            let file =
                open.map_err(|error| failed(&path, "open", "for writing", &error).hint(hint));
            Ok(ServerFile { file: Some(file?), path })
        });
        Ok(Self::File(file.await?, Vec::new()))
    }

    /// Announces the data to the client, if it gets them.
    pub(super) fn begin(&mut self, columns: usize, binary: bool) {
        if let Self::Client(client) = self {
            client.copy_out_response(columns, binary);
        }
    }

    /// Takes a line.
    pub(super) fn put(&mut self, line: &[u8]) {
        match self {
            Self::Client(client) => client.copy_data(line),
            Self::File(_, waiting) => waiting.extend_from_slice(line),
        }
    }

    /// Lets what waits go, if it is more than `bytes_max` bytes.
    pub(super) async fn relieve(&mut self, bytes_max: u64) -> Result<()> {
        match self {
            Self::Client(client) if client.unsent_bytes() > bytes_max => {
                client.flush().await.map_err(|error| connection_lost(&error))
            }
            Self::File(target, waiting) if waiting.len() >= PIECE_BYTES => {
                target.write(std::mem::take(waiting)).await
            }
            _ => Ok(()),
        }
    }

    /// Ends the data.
    pub(super) async fn finish(&mut self) -> Result<()> {
        match self {
            Self::Client(client) => {
                client.copy_done();
                Ok(())
            }
            Self::File(target, waiting) => target.write(std::mem::take(waiting)).await,
        }
    }
}

impl ServerFile {
    async fn write(&mut self, piece: Vec<u8>) -> Result<()> {
        self.with("write to", move |file| file.write_all(&piece)).await
    }

    /// Works with the file on a thread that may block.
    async fn with<T: Send + 'static>(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&mut File) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut file =
            self.file.take().ok_or_else(|| Error::internal("the file of COPY is in use"))?;
        let path = self.path.clone();
        let (file, result) = blocking(move || {
            let result = work(&mut file).map_err(|error| failed(&path, what, "", &error));
            Ok((file, result))
        })
        .await?;
        self.file = Some(file);
        result
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::internal("the thread of COPY's file has failed"))?
}

/// Nothing can be copied from or to a directory. A pipe could wait for ever, and no cancel
/// request would end it.
fn check_kind(path: &Path) -> std::io::Result<()> {
    let waits = |kind: FileType| kind.is_fifo() || kind.is_socket();
    match metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if waits(found.file_type()) => Err(ErrorKind::Unsupported.into()),
        // What is not there is made, or refused when it is opened.
        _ => Ok(()),
    }
}

/// 42501 unless the user may read, or write, files of the server.
pub(super) async fn check_may_use_files(session: &mut Session, reads: bool) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let user = session.derived().user.clone();
    let user = catalog.names().role(&user).map_or(0, |role| role.id);
    let (role, name, what) = match reads {
        true => (READ_SERVER_FILES, "pg_read_server_files", "COPY from a file"),
        false => (WRITE_SERVER_FILES, "pg_write_server_files", "COPY to a file"),
    };
    let privileges = catalog.privileges();
    if privileges.is_superuser(user) || privileges.acts_as(user, role) {
        return Ok(());
    }
    let message = format!("must be superuser or have privileges of the {name} role to {what}");
    Err(Error::new(SqlState::InsufficientPrivilege, message).hint(
        "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.",
    ))
}

/// The error of a file, with PostgreSQL's SQLSTATE.
fn failed(path: &Path, what: &str, purpose: &str, error: &std::io::Error) -> Error {
    let name = path.display();
    let (state, reason) = match error.kind() {
        ErrorKind::IsADirectory => {
            let message = format!("\"{name}\" is a directory");
            return Error::new(SqlState::WrongObjectType, message);
        }
        ErrorKind::Unsupported => {
            return Error::unsupported(format_args!("COPY with \"{name}\", a pipe or socket"));
        }
        ErrorKind::NotFound => (SqlState::UndefinedFile, "No such file or directory".to_owned()),
        ErrorKind::PermissionDenied => {
            (SqlState::InsufficientPrivilege, "Permission denied".to_owned())
        }
        ErrorKind::StorageFull => (SqlState::DiskFull, "No space left on device".to_owned()),
        ErrorKind::NotADirectory => (SqlState::UndefinedFile, "Not a directory".to_owned()),
        _ => (SqlState::IoError, error.to_string()),
    };
    let space = if purpose.is_empty() { "" } else { " " };
    Error::new(state, format!("could not {what} file \"{name}\"{space}{purpose}: {reason}"))
}
