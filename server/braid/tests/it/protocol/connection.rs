//! A client that says exactly what it is told, right or wrong.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::show::show;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A raw connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The number of its session.
    pid: u32,
}

/// User, address and database of a URL.
fn parts(url: &str) -> Result<(&str, &str, &str)> {
    let rest = url.split_once("://").ok_or("no URL")?.1;
    let (user, rest) = rest.split_once('@').ok_or("no user in the URL")?;
    let (address, database) = rest.split_once('/').ok_or("no database in the URL")?;
    let user = user.split(':').next().unwrap_or(user);
    Ok((user, address, database.split('?').next().unwrap_or(database)))
}

fn codes<T: std::str::FromStr>(text: &str) -> Result<Vec<T>>
where
    T::Err: Error + 'static,
{
    text.split(',').filter(|code| !code.is_empty()).map(|code| Ok(code.parse()?)).collect()
}

fn decode_hex(text: &str) -> Result<Vec<u8>> {
    let digits: String = text.split_whitespace().collect();
    if !digits.len().is_multiple_of(2) {
        return Err("an odd number of hex digits".into());
    }
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    Ok(bytes.collect::<std::result::Result<_, _>>()?)
}

impl Connection {
    /// Connects; sends nothing.
    pub(crate) fn open(url: &str) -> Result<Connection> {
        let (_, address, _) = parts(url)?;
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, pid: 0 })
    }

    /// Sends a startup packet and reads up to the first ReadyForQuery.
    pub(crate) fn start(&mut self, url: &str) -> Result<()> {
        let (user, _, database) = parts(url)?;
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for text in ["user", user, "database", database, "client_encoding", "UTF8", ""] {
            body.extend(text.bytes());
            body.push(0);
        }
        let length = u32::try_from(body.len() + 4)?;
        self.stream.write_all(&length.to_be_bytes())?;
        self.stream.write_all(&body)?;
        let answer = self.until("ReadyForQuery")?;
        if answer.contains("ReadyForQuery") { Ok(()) } else { Err(answer.into()) }
    }

    /// Sends a message.
    pub(crate) fn message(&mut self, kind: u8, body: &[u8]) -> Result<()> {
        let mut bytes = vec![kind];
        bytes.extend(u32::try_from(body.len() + 4)?.to_be_bytes());
        bytes.extend(body);
        self.write(&bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self.stream.write_all(bytes) {
            // The server may have closed it already; the next read shows it.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
            other => Ok(other?),
        }
    }

    /// Sends a message of one text.
    pub(crate) fn text(&mut self, kind: u8, text: &str) -> Result<()> {
        let mut body = text.as_bytes().to_vec();
        body.push(0);
        self.message(kind, &body)
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, hex: &str) -> Result<()> {
        let bytes = decode_hex(hex)?;
        self.write(&bytes)
    }

    /// CopyData of bytes in hex.
    pub(crate) fn copy_hex(&mut self, hex: &str) -> Result<()> {
        let bytes = decode_hex(hex)?;
        self.message(b'd', &bytes)
    }

    /// Query.
    pub(crate) fn query(&mut self, sql: &str) -> Result<()> {
        self.text(b'Q', sql)
    }

    /// Parse, with parameter types as oids with commas between.
    pub(crate) fn parse(&mut self, name: &str, sql: &str, types: &str) -> Result<()> {
        let types: Vec<u32> = codes(types)?;
        let mut body = Vec::new();
        for text in [name, sql] {
            body.extend(text.bytes());
            body.push(0);
        }
        body.extend(u16::try_from(types.len())?.to_be_bytes());
        for ty in types {
            body.extend(ty.to_be_bytes());
        }
        self.message(b'P', &body)
    }

    /// Bind. A value is text, `NULL`, or bytes as `0x…`.
    pub(crate) fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &str,
        values: &[String],
        results: &str,
    ) -> Result<()> {
        let mut body = Vec::new();
        for text in [portal, statement] {
            body.extend(text.bytes());
            body.push(0);
        }
        put_codes(&mut body, formats)?;
        body.extend(u16::try_from(values.len())?.to_be_bytes());
        for value in values {
            if value == "NULL" {
                body.extend((-1i32).to_be_bytes());
                continue;
            }
            let bytes = match value.strip_prefix("0x") {
                Some(hex) => decode_hex(hex)?,
                None => value.as_bytes().to_vec(),
            };
            body.extend(u32::try_from(bytes.len())?.to_be_bytes());
            body.extend(bytes);
        }
        put_codes(&mut body, results)?;
        self.message(b'B', &body)
    }

    /// Execute.
    pub(crate) fn execute(&mut self, portal: &str, rows: u32) -> Result<()> {
        let mut body = portal.as_bytes().to_vec();
        body.push(0);
        body.extend(rows.to_be_bytes());
        self.message(b'E', &body)
    }

    /// Describe or Close.
    pub(crate) fn named(&mut self, kind: u8, target: u8, name: &str) -> Result<()> {
        let mut body = vec![target];
        body.extend(name.bytes());
        body.push(0);
        self.message(kind, &body)
    }

    /// Reads up to a message of that name, or the end, and shows what came.
    pub(crate) fn until(&mut self, wanted: &str) -> Result<String> {
        let mut shown = String::new();
        loop {
            let mut head = [0; 5];
            match self.stream.read_exact(&mut head) {
                Ok(()) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                    ) =>
                {
                    shown.push_str("(closed)\n");
                    return Ok(shown);
                }
                Err(error) => return Err(format!("{error} after:\n{shown}").into()),
            }
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; usize::try_from(length)?.checked_sub(4).ok_or("length")?];
            self.stream.read_exact(&mut body)?;
            let number = body.first_chunk::<4>().copied().map_or(0, u32::from_be_bytes);
            if head[0] == b'K' {
                self.pid = number;
            }
            let mut line = show(head[0], &body)?;
            if head[0] == b'A' {
                line.push_str(if number == self.pid { " from itself" } else { " from another" });
            }
            shown.push_str(&line);
            shown.push('\n');
            if line.split(' ').next() == Some(wanted) {
                return Ok(shown);
            }
        }
    }
}

fn put_codes(body: &mut Vec<u8>, text: &str) -> Result<()> {
    let codes: Vec<u16> = codes(text)?;
    body.extend(u16::try_from(codes.len())?.to_be_bytes());
    for code in codes {
        body.extend(code.to_be_bytes());
    }
    Ok(())
}
