//! A raw connection that sends several statements before one Sync: an implicit transaction.
//!
//! tokio-postgres sends a Sync behind each statement, so it cannot be used here.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Rows of a key and the values behind it.
pub(super) type Rows = Vec<(i64, Vec<i64>)>;

/// How a transaction was answered.
pub(super) enum Answer {
    /// The rows of each statement.
    Committed(Vec<Rows>),
    /// The SQLSTATE of its error.
    Refused(String),
}

/// A connection.
pub(super) struct Pipeline(TcpStream);

fn put_text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.bytes());
    body.push(0);
}

fn put_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend(u32::try_from(body.len() + 4).expect("is short").to_be_bytes());
    out.extend(body);
}

impl Pipeline {
    /// Connects as `root`.
    pub(super) async fn connect(url: &str) -> Result<Pipeline> {
        let address = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
        let stream = TcpStream::connect(address.expect("an address in the URL")).await?;
        stream.set_nodelay(true)?;
        let mut packet = 196_608u32.to_be_bytes().to_vec();
        for text in ["user", "root", "database", "defaultdb", ""] {
            put_text(&mut packet, text);
        }
        let mut pipeline = Pipeline(stream);
        let length = u32::try_from(packet.len() + 4).expect("is short").to_be_bytes();
        pipeline.0.write_all(&[&length[..], &packet].concat()).await?;
        while pipeline.message().await?.0 != b'Z' {}
        Ok(pipeline)
    }

    /// Runs the statements as one transaction.
    pub(super) async fn run(&mut self, statements: &[String]) -> Result<Answer> {
        let mut out = Vec::new();
        for sql in statements {
            let mut parse = Vec::new();
            put_text(&mut parse, "");
            put_text(&mut parse, sql);
            parse.extend(0u16.to_be_bytes());
            put_message(&mut out, b'P', &parse);
            // No names, no formats, no values.
            put_message(&mut out, b'B', &[0; 8]);
            put_message(&mut out, b'E', &[0; 5]);
        }
        put_message(&mut out, b'S', &[]);
        self.0.write_all(&out).await?;
        let (mut all, mut rows, mut refused) = (Vec::new(), Rows::new(), None);
        loop {
            let (kind, body) = self.message().await?;
            match kind {
                b'D' => rows.push(row(&body)),
                b'C' => all.push(std::mem::take(&mut rows)),
                b'E' => refused = Some(sqlstate(&body)),
                b'Z' => break,
                _ => {}
            }
        }
        if refused.is_none() {
            assert_eq!(all.len(), statements.len(), "one answer for each of {statements:?}");
        }
        Ok(refused.map_or(Answer::Committed(all), Answer::Refused))
    }

    async fn message(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let length = length.checked_sub(4).ok_or_else(|| Error::from(ErrorKind::InvalidData))?;
        let mut body = vec![0; length as usize];
        self.0.read_exact(&mut body).await?;
        // The server ends the session, or refuses it.
        if head[0] == b'E' && body.windows(6).any(|field| field == b"SFATAL") {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        Ok((head[0], body))
    }
}

/// The two columns of a DataRow: a key, and values with spaces between them.
fn row(body: &[u8]) -> (i64, Vec<i64>) {
    let mut rest = &body[2..];
    let mut text = || {
        let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let (text, behind) = rest[4..].split_at(length);
        rest = behind;
        std::str::from_utf8(text).expect("is text").to_owned()
    };
    let key = text().parse().expect("a key");
    (key, text().split_whitespace().map(|value| value.parse().expect("a number")).collect())
}

fn sqlstate(body: &[u8]) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let code = fields.find_map(|field| field.strip_prefix(b"C")).expect("a SQLSTATE");
    String::from_utf8_lossy(code).into_owned()
}
