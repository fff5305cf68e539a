//! Messages of the server: each function appends one message to a buffer.
//!
//! Not here: when the buffer leaves (`channel`).
//!
//! Rule: values are written straight into the buffer; a row costs no allocation of its own.

use braid_session::{Formats, Notice, ResultColumn};
use braid_types::{Error, FormatSettings, Row, SqlType, binary, text};

/// Starts a message; [`end`] fills in its length.
fn begin(out: &mut Vec<u8>, kind: u8) -> usize {
    out.push(kind);
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

fn end(out: &mut [u8], at: usize) {
    debug_assert!(u32::try_from(out.len() - at).is_ok(), "a message is shorter than 4 GiB");
    let length = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // A NUL would end the string early and break the framing behind it.
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    debug_assert!(u16::try_from(count).is_ok(), "a list in a message has at most 65535 items");
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
}

/// A message without a body.
pub(crate) fn bare(out: &mut Vec<u8>, kind: u8) {
    out.extend_from_slice(&[kind, 0, 0, 0, 4]);
}

pub(crate) fn authentication(out: &mut Vec<u8>, code: u32, data: &[u8]) {
    let at = begin(out, b'R');
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(data);
    end(out, at);
}

/// FunctionCallResponse.
pub(crate) fn function_result(out: &mut Vec<u8>, value: Option<&[u8]>) {
    let at = begin(out, b'V');
    match value {
        None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        Some(value) => {
            let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(value);
        }
    }
    end(out, at);
}

pub(crate) fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    let at = begin(out, b'S');
    put_text(out, name);
    put_text(out, value);
    end(out, at);
}

pub(crate) fn backend_key(out: &mut Vec<u8>, pid: i32, secret: i32) {
    let at = begin(out, b'K');
    out.extend_from_slice(&pid.to_be_bytes());
    out.extend_from_slice(&secret.to_be_bytes());
    end(out, at);
}

/// Protocol 3.0 is what we speak, and these options we do not know.
pub(crate) fn negotiate_version(out: &mut Vec<u8>, unknown_options: &[&str]) {
    let at = begin(out, b'v');
    out.extend_from_slice(&0u32.to_be_bytes());
    let count = u32::try_from(unknown_options.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    for option in unknown_options {
        put_text(out, option);
    }
    end(out, at);
}

pub(crate) fn ready_for_query(out: &mut Vec<u8>, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

pub(crate) fn command_complete(out: &mut Vec<u8>, tag: &str) {
    let at = begin(out, b'C');
    put_text(out, tag);
    end(out, at);
}

pub(crate) fn parameter_description(out: &mut Vec<u8>, types: &[SqlType]) {
    let at = begin(out, b't');
    put_count(out, types.len());
    for ty in types {
        out.extend_from_slice(&ty.oid().to_be_bytes());
    }
    end(out, at);
}

pub(crate) fn row_description(out: &mut Vec<u8>, columns: &[ResultColumn], formats: &Formats) {
    let at = begin(out, b'T');
    put_count(out, columns.len());
    for (i, column) in columns.iter().enumerate() {
        put_text(out, &column.name);
        out.extend_from_slice(&column.table_oid.to_be_bytes());
        out.extend_from_slice(&column.column_number.to_be_bytes());
        // A column that is still unknown reaches the client as text, as in PostgreSQL.
        let ty = if column.ty == SqlType::Unknown { &SqlType::Text } else { &column.ty };
        out.extend_from_slice(&column.type_oid().to_be_bytes());
        out.extend_from_slice(&braid_types::sql_type::length(ty).to_be_bytes());
        let modifier = column.modifier.unwrap_or_else(|| ty.typmod());
        out.extend_from_slice(&modifier.to_be_bytes());
        out.extend_from_slice(&u16::from(formats.is_binary(i)).to_be_bytes());
    }
    end(out, at);
}

pub(crate) fn data_row(
    out: &mut Vec<u8>,
    row: &Row,
    columns: &[ResultColumn],
    formats: &Formats,
    settings: &FormatSettings,
) {
    let at = begin(out, b'D');
    put_count(out, columns.len());
    for (i, (datum, column)) in row.iter().zip(columns).enumerate() {
        if datum.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        if formats.is_binary(i) {
            binary::encode(&column.ty, datum, out);
        } else {
            text::format(&column.ty, datum, settings, out);
        }
        let length = u32::try_from(out.len() - length_at - 4).unwrap_or(u32::MAX);
        out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
    end(out, at);
}

pub(crate) fn copy_response(out: &mut Vec<u8>, kind: u8, columns: usize, binary: bool) {
    let at = begin(out, kind);
    out.push(u8::from(binary));
    put_count(out, columns);
    for _ in 0..columns {
        out.extend_from_slice(&[0, u8::from(binary)]);
    }
    end(out, at);
}

pub(crate) fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    let at = begin(out, b'd');
    out.extend_from_slice(data);
    end(out, at);
}

pub(crate) fn notice(out: &mut Vec<u8>, notice: &Notice) {
    fields(out, b'N', notice.severity.as_str(), &notice.fields);
}

/// NotificationResponse, of the session with that number.
pub(crate) fn notification(out: &mut Vec<u8>, pid: i32, channel: &str, payload: &str) {
    let at = begin(out, b'A');
    out.extend_from_slice(&pid.to_be_bytes());
    put_text(out, channel);
    put_text(out, payload);
    end(out, at);
}

/// ErrorResponse; `severity` is `ERROR`, or `FATAL` if the connection ends.
pub(crate) fn error(out: &mut Vec<u8>, severity: &str, error: &Error) {
    fields(out, b'E', severity, error);
}

fn fields(out: &mut Vec<u8>, kind: u8, severity: &str, error: &Error) {
    let at = begin(out, kind);
    let fields = error.fields();
    let mut put = |name: u8, value: Option<&str>| {
        if let Some(value) = value {
            out.push(name);
            put_text(out, value);
        }
    };
    put(b'S', Some(severity));
    put(b'V', Some(severity));
    put(b'C', Some(fields.code()));
    put(b'M', Some(&fields.message));
    put(b'D', fields.detail.as_deref());
    put(b'H', fields.hint.as_deref());
    put(b'P', fields.position.map(|at| at.to_string()).as_deref());
    put(b'W', fields.context.as_deref());
    put(b's', fields.schema.as_deref());
    put(b't', fields.table.as_deref());
    put(b'c', fields.column.as_deref());
    put(b'd', fields.data_type.as_deref());
    put(b'n', fields.constraint.as_deref());
    put(b'p', fields.internal_position.map(|at| at.to_string()).as_deref());
    put(b'q', fields.internal_query.as_deref());
    put(b'R', fields.routine);
    out.push(0);
    end(out, at);
}
