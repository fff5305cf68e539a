//! What a session needs of the connection around it: a place for results, and COPY data.
//!
//! Here: the trait that `wire` implements, and the plain data that passes through it. Not here:
//! how anything is encoded.
//!
//! Rules:
//! - output is buffered; nothing leaves before [`Client::flush`], so that a statement can be run
//!   again as long as [`Client::rewind`] succeeds;
//! - a [`Mark`] stands between two messages; what was written behind it is an [`OutputSegment`],
//!   which a retry drops.

use std::io;

use braid_types::encoding::Encoding;
use braid_types::{Error, FormatSettings, Row, SqlState, SqlType};
use bytes::Bytes;
use futures_util::future::BoxFuture;

/// A column of a result, as a client is told about it.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// The table that it comes from, 0 if none.
    pub table_oid: u32,
    /// Its number in that table, 0 if none or if it is the table's whole row.
    pub column_number: i16,
    /// The modifier of a type of times.
    pub modifier: Option<i32>,
}

impl ResultColumn {
    /// A column that comes from no table.
    pub fn computed(name: impl Into<String>, ty: SqlType) -> ResultColumn {
        ResultColumn { name: name.into(), ty, table_oid: 0, column_number: 0, modifier: None }
    }

    /// The number of its type as clients see it. A table's whole row has the table's row type;
    /// a column that is still unknown is text.
    pub fn type_oid(&self) -> u32 {
        match &self.ty {
            SqlType::Unknown => SqlType::Text.oid(),
            SqlType::Record(_) if self.table_oid != 0 && self.column_number == 0 => {
                braid_builtins::row_type(self.table_oid)
            }
            ty => ty.oid(),
        }
    }
}

/// A place between two messages to the client, in bytes from the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// The place behind that many bytes.
    pub fn behind(bytes: u64) -> Mark {
        Mark(bytes)
    }

    /// The bytes before it.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// Messages that were taken out of the output.
#[derive(Clone, Debug)]
pub struct OutputSegment {
    start: Mark,
    messages: Vec<u8>,
}

impl OutputSegment {
    /// Messages that began at a mark.
    pub fn new(start: Mark, messages: Vec<u8>) -> OutputSegment {
        OutputSegment { start, messages }
    }

    /// All of its messages.
    pub fn messages(&self) -> &[u8] {
        &self.messages
    }

    /// The mark behind its last message.
    pub fn end(&self) -> Mark {
        Mark(self.start.0 + self.messages.len() as u64)
    }

    /// Its messages between two marks.
    pub fn between(&self, from: Mark, to: Mark) -> &[u8] {
        let place = |mark: Mark| {
            let place = usize::try_from(mark.0.saturating_sub(self.start.0)).unwrap_or(usize::MAX);
            place.min(self.messages.len())
        };
        self.messages.get(place(from)..place(to)).unwrap_or_default()
    }
}

/// What Describe and Close are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A prepared statement.
    Statement(&'a str),
    /// A portal.
    Portal(&'a str),
}

/// The formats asked for: none means text, one holds for all, else one a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats(Vec<bool>);

impl Formats {
    /// Text for every column.
    pub const TEXT: Formats = Formats(Vec::new());

    /// Formats from protocol codes; `None` if one is neither 0 (text) nor 1 (binary).
    pub fn from_codes(codes: impl IntoIterator<Item = i16>) -> Result<Formats, i16> {
        let mut formats = Vec::new();
        for code in codes {
            formats.push(match code {
                0 => false,
                1 => true,
                other => return Err(other),
            });
        }
        Ok(Formats(formats))
    }

    /// Every column in binary.
    pub fn all_binary() -> Formats {
        Formats(vec![true])
    }

    /// How many were given.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether value `i` is binary.
    pub fn is_binary(&self, i: usize) -> bool {
        match self.0.as_slice() {
            [] => false,
            [one] => *one,
            many => many.get(i).copied().unwrap_or(false),
        }
    }
}

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// `DEBUG1`
    Debug,
    /// `LOG`
    Log,
    /// `NOTICE`
    Notice,
    /// `WARNING`
    Warning,
    /// `INFO`: always sent.
    Info,
}

impl Severity {
    /// The word of the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Log => "LOG",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Info => "INFO",
        }
    }
}

/// A message that is not an error.
#[derive(Clone, Debug)]
pub struct Notice {
    /// How loud it is.
    pub severity: Severity,
    /// What it says, in the shape of an error.
    pub fields: Error,
}

/// A message of the client during COPY FROM STDIN.
pub enum CopyInput {
    /// A piece of the data.
    Data(Bytes),
    /// The end of the data.
    Done,
    /// The client gave up, with its reason.
    Fail(String),
}

/// The connection as a session sees it.
pub trait Client: Send {
    /// The encoding of what is written from now on.
    fn set_encoding(&mut self, encoding: &'static Encoding);
    /// RowDescription.
    fn row_description(&mut self, columns: &[ResultColumn], formats: &Formats);
    /// One DataRow for each row. 22P05 for a character that the client's encoding lacks.
    fn data_rows(
        &mut self,
        rows: &[Row],
        columns: &[ResultColumn],
        formats: &Formats,
        settings: &FormatSettings,
    ) -> Result<(), Error>;
    /// NoData.
    fn no_data(&mut self);
    /// ParameterDescription.
    fn parameter_description(&mut self, types: &[SqlType]);
    /// CommandComplete.
    fn command_complete(&mut self, tag: &str);
    /// EmptyQueryResponse.
    fn empty_query(&mut self);
    /// PortalSuspended.
    fn portal_suspended(&mut self);
    /// NoticeResponse.
    fn notice(&mut self, notice: &Notice);
    /// NotificationResponse.
    fn notification(&mut self, pid: i32, channel: &str, payload: &str);
    /// ParameterStatus.
    fn parameter_status(&mut self, name: &str, value: &str);
    /// CopyInResponse, with that many columns, all of them text or binary.
    fn copy_in_response(&mut self, columns: usize, binary: bool);
    /// CopyOutResponse, with that many columns, all of them text or binary.
    fn copy_out_response(&mut self, columns: usize, binary: bool);
    /// CopyData.
    fn copy_data(&mut self, data: &[u8]);
    /// CopyDone.
    fn copy_done(&mut self);
    /// The end of what was written so far, sent or not.
    fn mark(&self) -> Mark;
    /// The bytes that have not left yet.
    fn unsent_bytes(&self) -> u64;
    /// Whether nothing behind a mark has left.
    fn is_held(&self, mark: Mark) -> bool;
    /// Drops what was written behind a mark; false if some of it has left.
    fn rewind(&mut self, mark: Mark) -> bool {
        self.detach(mark).is_some()
    }
    /// Takes what was written behind a mark out of the output; `None` if some of it has left.
    fn detach(&mut self, mark: Mark) -> Option<OutputSegment>;
    /// Writes messages that were written before.
    fn attach(&mut self, messages: &[u8]);
    /// Sends everything.
    fn flush(&mut self) -> BoxFuture<'_, io::Result<()>>;
    /// The next message of a COPY FROM STDIN; an error ends the connection.
    fn receive_copy(&mut self) -> BoxFuture<'_, Result<CopyInput, Error>>;
}

/// The cause of an error that ends the connection: its client is gone.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the client is gone")]
pub struct ConnectionLost;

/// 08006: the client is gone.
pub(crate) fn connection_lost(error: &std::io::Error) -> Error {
    Error::new(SqlState::ConnectionFailure, error.to_string()).caused_by(ConnectionLost)
}
