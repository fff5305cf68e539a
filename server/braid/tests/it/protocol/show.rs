//! Messages of a server as one line each, without what differs from server to server: file and
//! line of an error, oids of tables, keys.

use std::error::Error;
use std::fmt::Write;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len).ok_or("a message is too short")?;
        self.0 = rest;
        Ok(head)
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take(2)?.try_into()?))
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn text(&mut self) -> Result<String> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or("an open string")?;
        let text = String::from_utf8(self.take(end)?.to_vec())?;
        self.take(1)?;
        Ok(text)
    }
}

/// One line for a message.
pub(crate) fn show(kind: u8, body: &[u8]) -> Result<String> {
    let mut body = Body(body);
    let line = match kind {
        b'1' => "ParseComplete".to_owned(),
        b'2' => "BindComplete".to_owned(),
        b'3' => "CloseComplete".to_owned(),
        b'n' => "NoData".to_owned(),
        b's' => "PortalSuspended".to_owned(),
        b'I' => "EmptyQueryResponse".to_owned(),
        b'c' => "CopyDone".to_owned(),
        b'K' => {
            body.take(body.0.len())?;
            "BackendKeyData".to_owned()
        }
        b'A' => {
            body.i32()?;
            format!("NotificationResponse {} {:?}", body.text()?, body.text()?)
        }
        b'R' => format!("Authentication {}", {
            let code = body.i32()?;
            body.take(body.0.len())?;
            code
        }),
        b'S' => format!("ParameterStatus {}={}", body.text()?, body.text()?),
        b'C' => format!("CommandComplete {:?}", body.text()?),
        b'Z' => format!("ReadyForQuery {}", char::from(body.u8()?)),
        b'd' => {
            let data = body.take(body.0.len())?;
            match std::str::from_utf8(data) {
                Ok(text) if !text.contains('\0') => format!("CopyData {text:?}"),
                _ => data.iter().fold("CopyData 0x".to_owned(), |hex, b| format!("{hex}{b:02x}")),
            }
        }
        b'G' => format!("CopyInResponse {}", copy_formats(&mut body)?),
        b'H' => format!("CopyOutResponse {}", copy_formats(&mut body)?),
        b't' => {
            let mut line = "ParameterDescription".to_owned();
            for _ in 0..body.i16()? as u16 {
                write!(line, " {}", type_number(body.i32()?))?;
            }
            line
        }
        b'T' => row_description(&mut body)?,
        b'D' => data_row(&mut body)?,
        b'E' => format!("ErrorResponse {}", error_fields(&mut body)?),
        b'N' => format!("NoticeResponse {}", error_fields(&mut body)?),
        b'v' => format!("NegotiateProtocolVersion {} {}", body.i32()?, {
            let count = body.i32()?;
            let names: Result<Vec<String>> = (0..count).map(|_| body.text()).collect();
            names?.join(",")
        }),
        other => return Err(format!("unknown message {:?}", char::from(other)).into()),
    };
    if body.0.is_empty() { Ok(line) } else { Err(format!("bytes behind {line}").into()) }
}

fn copy_formats(body: &mut Body<'_>) -> Result<String> {
    let whole = body.u8()?;
    let count = body.i16()?;
    let formats: Result<Vec<String>> = (0..count).map(|_| Ok(body.i16()?.to_string())).collect();
    Ok(format!("{whole} [{}]", formats?.join(",")))
}

/// The number of a type; those of users differ from run to run.
fn type_number(oid: i32) -> String {
    const FIRST_OF_USERS: i32 = 16_384;
    if oid < FIRST_OF_USERS { oid.to_string() } else { "of a user".to_owned() }
}

fn row_description(body: &mut Body<'_>) -> Result<String> {
    let mut line = "RowDescription".to_owned();
    for _ in 0..body.i16()? {
        let name = body.text()?;
        let table = if body.i32()? == 0 { "" } else { " of a table" };
        let number = body.i16()?;
        let oid = type_number(body.i32()?);
        let (len, typmod, format) = (body.i16()?, body.i32()?, body.i16()?);
        write!(
            line,
            " [{name}{table} {number} type {oid} len {len} mod {typmod} format {format}]"
        )?;
    }
    Ok(line)
}

fn data_row(body: &mut Body<'_>) -> Result<String> {
    let mut line = "DataRow".to_owned();
    for _ in 0..body.i16()? {
        match usize::try_from(body.i32()?) {
            Err(_) => line.push_str(" NULL"),
            Ok(len) => {
                let bytes = body.take(len)?;
                let printable = std::str::from_utf8(bytes)
                    .ok()
                    .filter(|text| !text.chars().any(|c| c.is_control() && c != '\n'));
                match printable {
                    Some(text) => write!(line, " {text:?}")?,
                    None => {
                        line.push_str(" 0x");
                        bytes.iter().try_for_each(|byte| write!(line, "{byte:02x}"))?;
                    }
                }
            }
        }
    }
    Ok(line)
}

/// Severity, SQLSTATE, message, and the fields that help; not where in the source it was raised.
fn error_fields(body: &mut Body<'_>) -> Result<String> {
    let mut line = String::new();
    loop {
        match body.u8()? {
            0 => return Ok(line.trim_end().to_owned()),
            b'S' | b'F' | b'L' => {
                body.text()?;
            }
            b'R' => {
                // PostgreSQL names a function in every error; clients decide by these.
                let routine = body.text()?;
                let known =
                    ["RevalidateCachedQuery", "FetchPreparedStatement", "transformAssignedExpr"];
                if known.contains(&routine.as_str()) {
                    write!(line, "R={routine} ")?;
                }
            }
            b'V' | b'C' => write!(line, "{} ", body.text()?)?,
            b'M' => write!(line, "{:?} ", body.text()?)?,
            kind => write!(line, "{}={:?} ", char::from(kind), body.text()?)?,
        }
    }
}
