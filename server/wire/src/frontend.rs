//! Messages of the client: from a frame's bytes to typed fields that borrow from it.
//!
//! Not here: waiting for bytes (`channel`) and what a message does (`connection`).
//!
//! Rules: every read is bounds-checked, a short or overlong message is 08P01; text must be UTF-8
//! (22021); no allocation is larger than the message itself.

use braid_session::{ConnectionLost, FunctionCall, Target, utf8};
use braid_types::{Error, Result, SqlState};

/// Type and length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type byte.
    pub kind: u8,
    /// The bytes that follow the length field.
    pub body_len: usize,
}

impl Header {
    /// How many bytes a header takes.
    pub const LEN: usize = 5;

    /// The header at the start of `bytes`; `None` if it is not whole yet. 08P01 for a length that
    /// cannot be, or one above `body_max`.
    pub fn read(bytes: &[u8], body_max: usize) -> Result<Option<Header>> {
        let Some((kind, rest)) = bytes.split_first() else { return Ok(None) };
        if !is_known(*kind) {
            return Err(protocol(format!("invalid frontend message type {kind}")));
        }
        let Some(length) = rest.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        // PostgreSQL closes without a word as well: there is no telling what follows.
        let body_len = length.checked_sub(4).ok_or_else(|| gone("invalid message length"))?;
        if body_len > body_max {
            return Err(protocol("invalid message length").detail(format!(
                "The message has {body_len} bytes; at most {body_max} are accepted here."
            )));
        }
        Ok(Some(Header { kind: *kind, body_len }))
    }
}

fn is_known(kind: u8) -> bool {
    matches!(
        kind,
        b'B' | b'C'
            | b'D'
            | b'E'
            | b'F'
            | b'H'
            | b'P'
            | b'Q'
            | b'S'
            | b'X'
            | b'c'
            | b'd'
            | b'f'
            | b'p'
    )
}

pub(crate) fn protocol(message: impl Into<String>) -> Error {
    Error::new(SqlState::ProtocolViolation, message)
}

/// The connection is to be closed without a word.
pub(crate) fn gone(why: &str) -> Error {
    Error::new(SqlState::ConnectionFailure, why).caused_by(ConnectionLost)
}

/// The fields of Bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// The portal.
    pub portal: &'a str,
    /// The prepared statement.
    pub statement: &'a str,
    /// Format codes of the parameters.
    pub param_formats: Vec<i16>,
    /// The parameters; `None` is NULL.
    pub params: Vec<Option<&'a [u8]>>,
    /// Format codes of the results.
    pub result_formats: Vec<i16>,
}

/// A message of a client whose session has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frontend<'a> {
    /// A simple query.
    Query(&'a str),
    /// Prepare a statement.
    Parse {
        /// Its name; empty is the unnamed one.
        name: &'a str,
        /// The text.
        sql: &'a str,
        /// Parameter types by oid, 0 where unknown.
        types: Vec<u32>,
    },
    /// Make a portal.
    Bind(Bind<'a>),
    /// Describe a statement or portal.
    Describe(Target<'a>),
    /// Run a portal.
    Execute {
        /// The portal.
        portal: &'a str,
        /// The maximum of rows; 0 means all.
        rows_max: u32,
    },
    /// Close a statement or portal.
    Close(Target<'a>),
    /// Send what is buffered.
    Flush,
    /// The end of an extended-protocol batch.
    Sync,
    /// Goodbye.
    Terminate,
    /// Data of a COPY.
    CopyData,
    /// The end of a COPY.
    CopyDone,
    /// A COPY given up.
    CopyFail(&'a str),
    /// A password or SASL message: its bytes.
    Password(&'a [u8]),
    /// A function by its oid.
    FunctionCall(FunctionCall<'a>),
}

impl<'a> Frontend<'a> {
    /// Reads the body of a message of type `kind`.
    pub fn parse(kind: u8, body: &'a [u8]) -> Result<Frontend<'a>> {
        let mut fields = Fields { kind, rest: body };
        let message = match kind {
            b'Q' => Frontend::Query(fields.text()?),
            b'P' => {
                let (name, sql) = (fields.text()?, fields.text()?);
                let count = fields.count(4)?;
                let types = (0..count).map(|_| fields.u32()).collect::<Result<_>>()?;
                Frontend::Parse { name, sql, types }
            }
            b'B' => Frontend::Bind(fields.bind()?),
            b'D' => Frontend::Describe(fields.target("DESCRIBE")?),
            b'C' => Frontend::Close(fields.target("CLOSE")?),
            b'E' => {
                let portal = fields.text()?;
                // PostgreSQL takes zero and negative counts alike: all rows.
                let rows_max = u32::try_from(fields.u32()? as i32).unwrap_or(0);
                Frontend::Execute { portal, rows_max }
            }
            b'H' => Frontend::Flush,
            b'S' => Frontend::Sync,
            b'X' => Frontend::Terminate,
            b'd' => return Ok(Frontend::CopyData),
            b'c' => Frontend::CopyDone,
            b'f' => Frontend::CopyFail(fields.text()?),
            b'p' => return Ok(Frontend::Password(body)),
            b'F' => Frontend::FunctionCall(fields.function_call()?),
            other => return Err(protocol(format!("invalid frontend message type {other}"))),
        };
        fields.end()?;
        Ok(message)
    }
}

struct Fields<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn short(&self) -> Error {
        protocol("insufficient data left in message")
            .detail(format!("The message type is \"{}\".", char::from(self.kind)))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(head)
    }

    fn u16(&mut self) -> Result<u16> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A count of elements of at least `size` bytes each, all of which must be there.
    fn count(&mut self, size: usize) -> Result<usize> {
        let count = usize::from(self.u16()?);
        if count * size > self.rest.len() { Err(self.short()) } else { Ok(count) }
    }

    fn text(&mut self) -> Result<&'a str> {
        self.terminated().and_then(utf8)
    }

    /// The bytes up to the next zero, which is passed.
    fn terminated(&mut self) -> Result<&'a [u8]> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| protocol("invalid string in message"))?;
        let bytes = self.take(end)?;
        self.take(1)?;
        Ok(bytes)
    }

    fn target(&mut self, command: &str) -> Result<Target<'a>> {
        let kind = self.take(1)?[0];
        let name = self.text()?;
        match kind {
            b'S' => Ok(Target::Statement(name)),
            b'P' => Ok(Target::Portal(name)),
            other => Err(protocol(format!("invalid {command} message subtype {other}"))),
        }
    }

    fn codes(&mut self) -> Result<Vec<i16>> {
        let count = self.count(2)?;
        (0..count).map(|_| self.u16().map(|code| code as i16)).collect()
    }

    fn bind(&mut self) -> Result<Bind<'a>> {
        let (portal, statement) = (self.text()?, self.text()?);
        let param_formats = self.codes()?;
        let params = self.values()?;
        let result_formats = self.codes()?;
        Ok(Bind { portal, statement, param_formats, params, result_formats })
    }

    /// Values with their lengths; -1 is NULL.
    fn values(&mut self) -> Result<Vec<Option<&'a [u8]>>> {
        let count = self.count(4)?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let len = self.u32()? as i32;
            values.push(match usize::try_from(len) {
                Ok(len) => Some(self.take(len)?),
                Err(_) if len == -1 => None,
                Err(_) => return Err(self.short()),
            });
        }
        Ok(values)
    }

    fn function_call(&mut self) -> Result<FunctionCall<'a>> {
        let oid = self.u32()?;
        let (formats, args) = (self.codes()?, self.values()?);
        Ok(FunctionCall { oid, formats, args, result_format: self.u16()? as i16 })
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(protocol("invalid message format")) }
    }
}

/// The first message of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Startup {
    /// TLS, please.
    Ssl,
    /// GSSAPI encryption, please.
    Gss,
    /// Cancel what that session runs.
    Cancel {
        /// The session's number.
        pid: i32,
        /// Its secret.
        secret: i32,
    },
    /// A session.
    Session {
        /// The protocol's minor version.
        minor: u16,
        /// Names and values, in the order sent.
        parameters: Vec<(String, String)>,
    },
}

/// Reads the body (behind the length) of the first message.
pub fn parse_startup(body: &[u8]) -> Result<Startup> {
    let mut fields = Fields { kind: b' ', rest: body };
    let code = fields.u32()?;
    match code {
        80_877_103 => Ok(Startup::Ssl),
        80_877_104 => Ok(Startup::Gss),
        80_877_102 => {
            let (pid, secret) = (fields.u32()? as i32, fields.u32()? as i32);
            fields.end()?;
            Ok(Startup::Cancel { pid, secret })
        }
        version if version >> 16 == 3 => {
            let mut parameters = Vec::new();
            loop {
                let name = startup_text(&mut fields)?;
                if name.is_empty() {
                    break;
                }
                parameters.push((name.to_owned(), startup_text(&mut fields)?.to_owned()));
            }
            fields.end().map_err(|_| startup_layout())?;
            Ok(Startup::Session { minor: (version & 0xffff) as u16, parameters })
        }
        version => Err(unsupported_protocol(version >> 16, version & 0xffff)),
    }
}

fn startup_layout() -> Error {
    protocol("invalid startup packet layout: expected terminator as last byte")
}

fn startup_text<'a>(fields: &mut Fields<'a>) -> Result<&'a str> {
    fields.terminated().map_err(|_| startup_layout()).and_then(utf8)
}

fn unsupported_protocol(major: u32, minor: u32) -> Error {
    Error::new(
        SqlState::FeatureNotSupported,
        format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_truncation_of_a_message_is_an_error() {
        let mut bind = b"portal\0statement\0".to_vec();
        bind.extend([0, 1, 0, 1, 0, 2, 0, 0, 0, 3]);
        bind.extend(b"abc");
        bind.extend([0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0]);
        let Ok(Frontend::Bind(whole)) = Frontend::parse(b'B', &bind) else { panic!("parses") };
        assert_eq!(whole.params, vec![Some(&b"abc"[..]), None]);
        for len in 0..bind.len() {
            let error = Frontend::parse(b'B', &bind[..len]).unwrap_err();
            assert_eq!(error.state(), SqlState::ProtocolViolation, "{len}");
        }
        bind.push(0);
        assert!(Frontend::parse(b'B', &bind).is_err());
    }

    #[test]
    fn text_must_be_utf8() {
        let error = Frontend::parse(b'Q', b"select '\xff\xfe'\0").unwrap_err();
        assert_eq!(error.state(), SqlState::CharacterNotInRepertoire);
        assert_eq!(error.message(), "invalid byte sequence for encoding \"UTF8\": 0xff");
    }

    #[test]
    fn lengths_are_checked_before_the_body_is_there() {
        assert_eq!(Header::read(b"Q\0\0", 100).unwrap(), None);
        let header = Header::read(b"Q\0\0\0\x08", 100).unwrap().unwrap();
        assert_eq!(header.body_len, 4);
        assert!(Header::read(b"Q\0\0\0\x03", 100).is_err());
        assert!(Header::read(b"Q\xff\xff\xff\xff", 100).is_err());
        assert!(Header::read(b"Q\0\0\x01\0", 100).is_err());
        assert!(Header::read(b"z", 100).is_err());
    }

    #[test]
    fn a_startup_packet_needs_its_terminator() {
        let body = b"\0\x03\0\0user\0ann\0\0";
        let parsed = parse_startup(body).unwrap();
        let parameters = vec![("user".to_owned(), "ann".to_owned())];
        assert_eq!(parsed, Startup::Session { minor: 0, parameters });
        for len in 0..body.len() {
            assert!(parse_startup(&body[..len]).is_err(), "{len}");
        }
        assert_eq!(
            parse_startup(b"\0\x02\0\0\0").unwrap_err().state(),
            SqlState::FeatureNotSupported
        );
    }
}
