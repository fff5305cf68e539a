//! One connection's bytes: the input buffer with its frames, the output buffer, flushing.
//!
//! Rules:
//! - a client that has not proved who it is gets [`STARTUP_MESSAGE_BYTES_MAX`] at most;
//! - input is read into a small buffer that grows only as far as the frame that is awaited;
//! - both buffers shrink when they are empty, so that an idle connection stays small;
//! - a write that makes no progress for [`WRITE_STALL`] ends the connection.

use std::io;
use std::time::Duration;

use braid_session::{
    Client, ConnectionLost, CopyInput, Formats, Mark, Notice, OutputSegment, ResultColumn,
};
use braid_types::encoding::Encoding;
use braid_types::{Error, FormatSettings, Result, Row, SqlState, SqlType};
use bytes::{Buf, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::server::TlsStream;

use crate::backend;
use crate::encode::{encode_row, encode_texts, to_utf8};
use crate::frontend::{Frontend, Header, gone, protocol};
use crate::socket::{Socket, Watch};

/// How much is read at once.
const READ_BYTES: usize = 4 << 10;
/// Buffers with more room than this are given back when they are empty.
const KEEP_BYTES: usize = 16 << 10;
/// The largest message of a client that has not proved who it is.
const STARTUP_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// How long a client may refuse to take what it asked for.
const WRITE_STALL: Duration = Duration::from_secs(600);

/// The socket, with or without TLS.
pub(crate) enum Stream {
    /// Plain TCP.
    Plain(Socket),
    /// TLS over TCP.
    Tls(Box<TlsStream<Socket>>),
}

trait Bytestream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytestream for T {}

impl Stream {
    fn socket(&mut self) -> &mut dyn Bytestream {
        match self {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream.as_mut(),
        }
    }

    fn watch(&self) -> Watch {
        match self {
            Stream::Plain(stream) => stream.watch(),
            Stream::Tls(stream) => stream.get_ref().0.watch(),
        }
    }
}

/// A whole message.
pub(crate) struct Frame {
    pub kind: u8,
    pub body: Bytes,
}

/// The buffers over a socket.
pub(crate) struct Channel {
    stream: Stream,
    input: BytesMut,
    out: Vec<u8>,
    /// How many bytes of `out` have left. Kept here, so that a dropped send can go on later.
    done: usize,
    /// Bytes that have left since the start.
    sent: u64,
    message_bytes_max: usize,
    encoding: &'static Encoding,
}

impl Channel {
    /// The buffers of a client that has not proved who it is.
    pub(crate) fn new(stream: Stream) -> Channel {
        Channel {
            stream,
            input: BytesMut::new(),
            out: Vec::new(),
            done: 0,
            sent: 0,
            message_bytes_max: STARTUP_MESSAGE_BYTES_MAX,
            encoding: Encoding::utf8(),
        }
    }

    /// Takes messages of this size from now on.
    pub(crate) fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
    }

    /// The socket back, for a TLS handshake; `None` if bytes came before it (an injection).
    pub(crate) fn into_plain(self) -> Option<Socket> {
        match self.stream {
            Stream::Plain(stream) if self.input.is_empty() => Some(stream),
            _ => None,
        }
    }

    /// Looks whether the client is still there while others use the channel.
    pub(crate) fn watch(&self) -> Watch {
        self.stream.watch()
    }

    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Writes one message of texts in the client's encoding.
    pub(crate) fn write(&mut self, message: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        message(&mut self.out);
        if self.encoding.converts() {
            encode_texts(self.encoding, &mut self.out, at);
        }
    }

    /// The body of a message of the client in UTF8.
    pub(crate) fn to_utf8(&self, frame: &Frame) -> Result<Bytes> {
        to_utf8(self.encoding, frame.kind, &frame.body)
    }

    /// Reads more; false at the end of the stream.
    pub(crate) async fn fill(&mut self) -> io::Result<bool> {
        self.input.reserve(READ_BYTES);
        let count = self.stream.socket().read_buf(&mut self.input).await?;
        Ok(count > 0)
    }

    /// Whether a part of a message is there.
    pub(crate) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// The next whole message, if it is there.
    pub(crate) fn frame(&mut self) -> Result<Option<Frame>> {
        let Some(header) = Header::read(&self.input, self.message_bytes_max)? else {
            return Ok(None);
        };
        let whole = Header::LEN + header.body_len;
        if self.input.len() < whole {
            // Grows with what has come, so that a lie about the length costs nothing, and in few
            // steps, because each leaves a hole of the size before it.
            let missing = whole - self.input.len();
            self.input.reserve(missing.min((7 * self.input.len()).max(READ_BYTES)));
            return Ok(None);
        }
        self.input.advance(Header::LEN);
        let body = self.input.split_to(header.body_len).freeze();
        Ok(Some(Frame { kind: header.kind, body }))
    }

    /// The next message before the session has begun: length and body without a type byte.
    pub(crate) fn startup_frame(&mut self, bytes_max: usize) -> Result<Option<Bytes>> {
        let Some(length) = self.input.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        if length < 8 || length > bytes_max {
            return Err(gone("invalid length of startup packet"));
        }
        if self.input.len() < length {
            return Ok(None);
        }
        self.input.advance(4);
        Ok(Some(self.input.split_to(length - 4).freeze()))
    }

    /// Gives back memory that an idle connection does not need.
    pub(crate) fn shrink(&mut self) {
        if self.input.is_empty() && self.input.capacity() > KEEP_BYTES {
            self.input = BytesMut::new();
        }
        if self.out.is_empty() && self.out.capacity() > KEEP_BYTES {
            self.out = Vec::new();
        }
    }

    pub(crate) async fn send(&mut self) -> io::Result<()> {
        while self.done < self.out.len() {
            let write = self.stream.socket().write(&self.out[self.done..]);
            let count = tokio::time::timeout(WRITE_STALL, write)
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.done += count;
            self.sent += count as u64;
        }
        self.out.clear();
        self.done = 0;
        if matches!(self.stream, Stream::Tls(_)) {
            self.stream.socket().flush().await?;
        }
        Ok(())
    }

    /// Says goodbye at the level of the socket.
    pub(crate) async fn shutdown(&mut self) {
        let close = self.stream.socket().shutdown();
        // The other side may never answer; the socket is dropped right after.
        tokio::time::timeout(Duration::from_secs(1), close).await.ok();
    }

    async fn next_copy(&mut self) -> Result<CopyInput> {
        loop {
            while let Some(frame) = self.frame()? {
                let body = to_utf8(self.encoding, frame.kind, &frame.body)?;
                match Frontend::parse(frame.kind, &body)? {
                    Frontend::CopyData => return Ok(CopyInput::Data(frame.body)),
                    Frontend::CopyDone => return Ok(CopyInput::Done),
                    Frontend::CopyFail(reason) => return Ok(CopyInput::Fail(reason.to_owned())),
                    // Clients that think in the extended protocol send these ahead.
                    Frontend::Flush | Frontend::Sync => {}
                    _ => {
                        return Err(protocol(format!(
                            "unexpected message type 0x{:02X} during COPY from stdin",
                            frame.kind
                        )));
                    }
                }
            }
            if !self.fill().await.map_err(|error| lost(&error))? {
                return Err(lost(&"unexpected EOF on client connection with an open transaction"));
            }
        }
    }
}

/// 08006: the client is gone.
pub(crate) fn lost(reason: &dyn std::fmt::Display) -> Error {
    Error::new(SqlState::ConnectionFailure, reason.to_string()).caused_by(ConnectionLost)
}

impl Client for Channel {
    fn set_encoding(&mut self, encoding: &'static Encoding) {
        self.encoding = encoding;
    }

    fn row_description(&mut self, columns: &[ResultColumn], formats: &Formats) {
        self.write(|out| backend::row_description(out, columns, formats));
    }

    fn data_rows(
        &mut self,
        rows: &[Row],
        columns: &[ResultColumn],
        formats: &Formats,
        settings: &FormatSettings,
    ) -> Result<()> {
        for row in rows {
            let at = self.out.len();
            backend::data_row(&mut self.out, row, columns, formats, settings);
            if self.encoding.converts() {
                encode_row(self.encoding, &mut self.out, at, columns, formats)?;
            }
        }
        Ok(())
    }

    fn no_data(&mut self) {
        backend::bare(&mut self.out, b'n');
    }

    fn parameter_description(&mut self, types: &[SqlType]) {
        backend::parameter_description(&mut self.out, types);
    }

    fn command_complete(&mut self, tag: &str) {
        self.write(|out| backend::command_complete(out, tag));
    }

    fn empty_query(&mut self) {
        backend::bare(&mut self.out, b'I');
    }

    fn portal_suspended(&mut self) {
        backend::bare(&mut self.out, b's');
    }

    fn notice(&mut self, notice: &Notice) {
        self.write(|out| backend::notice(out, notice));
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        self.write(|out| backend::notification(out, pid, channel, payload));
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.write(|out| backend::parameter_status(out, name, value));
    }

    fn copy_in_response(&mut self, columns: usize, binary: bool) {
        backend::copy_response(&mut self.out, b'G', columns, binary);
    }

    fn copy_out_response(&mut self, columns: usize, binary: bool) {
        backend::copy_response(&mut self.out, b'H', columns, binary);
    }

    fn copy_data(&mut self, data: &[u8]) {
        backend::copy_data(&mut self.out, data);
    }

    fn copy_done(&mut self) {
        backend::bare(&mut self.out, b'c');
    }

    fn mark(&self) -> Mark {
        Mark::behind(self.sent + self.unsent_bytes())
    }

    fn unsent_bytes(&self) -> u64 {
        (self.out.len() - self.done) as u64
    }

    fn is_held(&self, mark: Mark) -> bool {
        mark.bytes() >= self.sent
    }

    fn detach(&mut self, mark: Mark) -> Option<OutputSegment> {
        let unsent = usize::try_from(mark.bytes().checked_sub(self.sent)?).ok()?;
        let keep = self.done + unsent;
        (keep <= self.out.len()).then(|| OutputSegment::new(mark, self.out.split_off(keep)))
    }

    fn attach(&mut self, messages: &[u8]) {
        self.out.extend_from_slice(messages);
    }

    fn flush(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(self.send())
    }

    fn receive_copy(&mut self) -> BoxFuture<'_, Result<CopyInput, Error>> {
        Box::pin(self.next_copy())
    }
}
