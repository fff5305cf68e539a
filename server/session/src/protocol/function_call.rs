//! FunctionCall: a function by its oid, as drivers call those of large objects.
//!
//! The call becomes a query text with literals, so it runs as any other statement: in its
//! transaction, with its timeouts and retries. The price is that arguments pass through
//! their text form.

use std::io;

use braid_builtins::{Arg, Procedure, procedures};
use braid_types::encoding::Encoding;
use braid_types::{Error, FormatSettings, Result, Row, SqlState, SqlType, binary, text};
use futures_util::future::BoxFuture;

use crate::client::{Client, CopyInput, Formats, Mark, Notice, OutputSegment, ResultColumn};
use crate::protocol::text::utf8;
use crate::session::Session;

/// The fields of FunctionCall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall<'a> {
    /// The function.
    pub oid: u32,
    /// Format codes of the arguments.
    pub formats: Vec<i16>,
    /// The arguments; `None` is NULL.
    pub args: Vec<Option<&'a [u8]>>,
    /// The format code of the result.
    pub result_format: i16,
}

/// Calls a function; `None` is NULL. Nothing but notices is written for the client.
pub async fn call_function(
    session: &mut Session,
    call: &FunctionCall<'_>,
    client: &mut dyn Client,
) -> Result<Option<Vec<u8>>> {
    let sql = match query_of(call) {
        Ok(query) => query,
        Err(error) => {
            session.fail(&error).await;
            return Err(error);
        }
    };
    let is_binary = call.result_format != 0;
    let mut caught = Caught { client, is_binary, value: None };
    session.simple(&sql, &mut caught).await?;
    Ok(caught.value)
}

/// The query that calls a function. 42883 if there is none, 08P01 for another number of
/// arguments.
fn query_of(call: &FunctionCall<'_>) -> Result<String> {
    let is_called = |one: &&Procedure| one.oid == call.oid && one.kind == 'f' && !one.set;
    let procedure = procedures().iter().find(is_called).ok_or_else(|| {
        let message = format!("function with OID {} does not exist", call.oid);
        Error::new(SqlState::UndefinedFunction, message)
    })?;
    let (given, wanted) = (call.args.len(), procedure.args.len());
    if given != wanted {
        let message = format!(
            "function call message contains {given} arguments but function requires {wanted}"
        );
        return Err(Error::new(SqlState::ProtocolViolation, message));
    }
    if call.formats.len() > 1 && call.formats.len() != given {
        let formats = call.formats.len();
        let message = format!(
            "function call message contains {formats} argument formats but {given} arguments"
        );
        return Err(Error::new(SqlState::ProtocolViolation, message));
    }
    let mut args = Vec::with_capacity(given);
    for (place, (arg, value)) in procedure.args.iter().zip(&call.args).enumerate() {
        let Arg::Is(ty) = arg else {
            return Err(Error::unsupported("a call of a polymorphic function by its oid"));
        };
        let format = match call.formats.as_slice() {
            [one] => *one,
            many => many.get(place).copied().unwrap_or(0),
        };
        args.push(argument(ty, *value, format)?);
    }
    Ok(format!("SELECT pg_catalog.{}({})", procedure.name, args.join(", ")))
}

/// An argument as a literal of its type.
fn argument(ty: &SqlType, value: Option<&[u8]>, format: i16) -> Result<String> {
    let name = ty.display_name();
    let Some(bytes) = value else { return Ok(format!("NULL::{name}")) };
    let value = match format {
        0 => utf8(bytes)?.to_owned(),
        1 => text::to_string(ty, &binary::decode(ty, bytes)?, &text::FormatSettings::default()),
        other => {
            let message = format!("unsupported format code: {other}");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    };
    let escaped = value.replace('\\', "\\\\").replace('\'', "''");
    Ok(format!("E'{escaped}'::{name}"))
}

/// The client, which gets everything but the result. A repetition replaces the value.
struct Caught<'c> {
    client: &'c mut dyn Client,
    is_binary: bool,
    value: Option<Vec<u8>>,
}

impl Client for Caught<'_> {
    fn set_encoding(&mut self, encoding: &'static Encoding) {
        self.client.set_encoding(encoding);
    }

    fn row_description(&mut self, _: &[ResultColumn], _: &Formats) {}

    fn data_rows(
        &mut self,
        rows: &[Row],
        columns: &[ResultColumn],
        _: &Formats,
        settings: &FormatSettings,
    ) -> Result<()> {
        let value = rows.first().and_then(|row| row.first()).filter(|value| !value.is_null());
        self.value = value.zip(columns.first()).map(|(value, column)| {
            let mut out = Vec::new();
            match self.is_binary {
                true => binary::encode(&column.ty, value, &mut out),
                false => text::format(&column.ty, value, settings, &mut out),
            }
            out
        });
        Ok(())
    }

    fn no_data(&mut self) {}

    fn parameter_description(&mut self, _: &[SqlType]) {}

    fn command_complete(&mut self, _: &str) {}

    fn empty_query(&mut self) {}

    fn portal_suspended(&mut self) {}

    fn notice(&mut self, notice: &Notice) {
        self.client.notice(notice);
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        self.client.notification(pid, channel, payload);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.client.parameter_status(name, value);
    }

    fn copy_in_response(&mut self, _: usize, _: bool) {}

    fn copy_out_response(&mut self, _: usize, _: bool) {}

    fn copy_data(&mut self, _: &[u8]) {}

    fn copy_done(&mut self) {}

    fn mark(&self) -> Mark {
        self.client.mark()
    }

    fn unsent_bytes(&self) -> u64 {
        self.client.unsent_bytes()
    }

    fn is_held(&self, mark: Mark) -> bool {
        self.client.is_held(mark)
    }

    fn detach(&mut self, mark: Mark) -> Option<OutputSegment> {
        self.client.detach(mark)
    }

    fn attach(&mut self, messages: &[u8]) {
        self.client.attach(messages);
    }

    fn flush(&mut self) -> BoxFuture<'_, io::Result<()>> {
        self.client.flush()
    }

    fn receive_copy(&mut self) -> BoxFuture<'_, Result<CopyInput>> {
        self.client.receive_copy()
    }
}
