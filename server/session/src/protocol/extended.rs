//! The extended protocol: Parse, Bind, Describe, Execute, Close, Sync.
//!
//! Rules: everything between two Syncs is one implicit transaction; Sync commits it, and what
//! was executed runs again if that meets a conflict and nothing has left; portals end with their
//! transaction.

use std::sync::Arc;

use braid_types::{Datum, Error, Result, SqlState, SqlType, text};

use crate::client::{Client, Formats, Target};
use crate::clock::now_micros;
use crate::observe::running::Subject;
use crate::observe::statements::{begin_statement, end_execute, end_statement, resume_statement};
use crate::protocol::between::note_idle;
use crate::protocol::cursors::with_cursor_columns;
use crate::protocol::sync::finish_batch;
use crate::protocol::text::{as_standard, binary_value, utf8_without_nul};
use crate::retry::reason::{is_injected, is_retryable};
use crate::retry::replay::{execute_again, remember_step};
use crate::session::Session;
use crate::statement::binding::{current_params, reg_parameter};
use crate::statement::context::send_notices;
use crate::statement::cursor_rows::forget_cursor;
use crate::statement::deadline::{begin_request, check_request, end_request, guard_statement};
use crate::statement::kinds::{ends_failure, runs_in_any_block};
use crate::statement::portal::{Ended, Portal, Run, Wanted};
use crate::statement::prepare::{drop_prepared, keep_prepared, prepare_text};
use crate::statement::prepared::unknown_statement;
use crate::statement::runner::run_portal;
use crate::transaction::machine::Block;

impl Session {
    /// Parse: prepares a statement, and keeps it under its name until Close. A statement without a
    /// name lasts until the next one. Fails if the text or a type is wrong.
    pub async fn parse(
        &mut self,
        name: &str,
        sql: &str,
        types: &[u32],
        client: &mut dyn Client,
    ) -> Result<()> {
        begin_request(self);
        let sql = as_standard(self, sql)?;
        let prepared = prepare_text(self, name, &sql, types).await?;
        keep_prepared(self, prepared);
        send_notices(self, client);
        Ok(())
    }

    /// Bind: gives values to the parameters of a prepared statement, and keeps the portal. Fails if
    /// a value cannot be read as its type, or if the block has failed.
    pub async fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        param_formats: &[i16],
        params: &[Option<&[u8]>],
        result_formats: &[i16],
    ) -> Result<()> {
        begin_request(self);
        check_request(self)?;
        let prepared =
            self.prepared.get(statement).cloned().ok_or_else(|| unknown_statement(statement))?;
        let prepared = with_cursor_columns(self, prepared);
        if !prepared.statement().is_some_and(runs_in_any_block) {
            self.block.check()?;
        }
        if !portal.is_empty() && self.portals.contains_key(portal) {
            return Err(Error::new(
                SqlState::DuplicateCursor,
                format!("cursor \"{portal}\" already exists"),
            ));
        }
        let wanted = prepared.params.len();
        if params.len() != wanted {
            return Err(protocol(format!(
                "bind message supplies {} parameters, but prepared statement \"{statement}\" \
                 requires {wanted}",
                params.len()
            )));
        }
        if param_formats.len() > 1 && param_formats.len() != params.len() {
            return Err(protocol(format!(
                "bind message has {} parameter formats but {} parameters",
                param_formats.len(),
                params.len()
            )));
        }
        let formats = formats_of(param_formats)?;
        let results = formats_of(result_formats)?;
        let columns = prepared.columns.as_ref().map_or(0, |columns| columns.len());
        if results.len() > 1 && results.len() != columns {
            return Err(protocol(format!(
                "bind message has {} result formats but query has {columns} columns",
                results.len()
            )));
        }
        let types = current_params(self, &prepared).await?;
        let active = self.active();
        let micros = self.open.as_ref().map_or_else(now_micros, |open| open.micros);
        let mut values = Vec::with_capacity(params.len());
        for (i, (value, ty)) in params.iter().zip(&types).enumerate() {
            let Some(bytes) = value else {
                values.push(Datum::Null);
                continue;
            };
            let ty = if *ty == SqlType::Unknown { &SqlType::Text } else { ty };
            let is_binary = formats.is_binary(i);
            let text = if is_binary { None } else { Some(utf8_without_nul(bytes)) };
            // PostgreSQL shows no values here either, unless it is told to.
            let shown = if matches!(text, Some(Ok(_))) { " = '...'" } else { "" };
            let value = match text {
                None => binary_value(ty, bytes, active.client_encoding),
                Some(_) if ty.innermost().is_reg() => reg_parameter(self, ty, bytes).await,
                Some(text) => text.and_then(|text| text::parse(ty, text, &active.format, micros)),
            };
            values.push(value.map_err(|error| in_parameter(error, portal, i, shown))?);
        }
        self.portals.insert(portal.to_owned(), Portal::new(prepared, Arc::new(values), results));
        Ok(())
    }

    /// Describe: sends the parameters and columns of a statement, or the columns of a portal.
    pub fn describe(&mut self, target: Target<'_>, client: &mut dyn Client) -> Result<()> {
        check_request(self)?;
        let name = match target {
            Target::Portal(name) => return describe_portal(self, name, client),
            Target::Statement(name) => name,
        };
        let prepared = self.prepared.get(name).cloned().ok_or_else(|| unknown_statement(name))?;
        if self.block == Block::Failed && prepared.columns.is_some() {
            self.block.check()?;
        }
        client.parameter_description(&prepared.params);
        match &prepared.columns {
            Some(columns) => client.row_description(columns, &Formats::TEXT),
            None => client.no_data(),
        }
        Ok(())
    }

    /// Execute: runs a portal up to `rows_max` rows (0: all). After a conflict it runs again, with
    /// what was executed since the last Sync.
    pub async fn execute(
        &mut self,
        name: &str,
        rows_max: u32,
        client: &mut dyn Client,
    ) -> Result<()> {
        begin_request(self);
        let portal = self.portals.remove(name).ok_or_else(|| unknown_portal(name))?;
        // All attempts are one statement: its time goes on, and a cancel stops what comes next.
        let prepared = portal.prepared.clone();
        let guard = match prepared.statement() {
            None => None,
            Some(statement) => {
                let subject = || Subject::Prepared(prepared.clone());
                begin_statement(self, statement, prepared.trace, subject);
                guard_statement(self, prepared.whole_text())
            }
        };
        let result = execute_portal(self, name, portal, rows_max, client).await;
        drop(guard);
        end_execute(self, result.as_ref().err());
        end_request(self);
        result
    }

    /// Close: forgets a statement or a portal. It is no error if there is none.
    pub fn close_object(&mut self, target: Target<'_>) {
        match target {
            Target::Statement(name) => {
                drop_prepared(self, name);
            }
            Target::Portal(name) => {
                self.portals.remove(name);
                forget_cursor(self, name);
            }
        }
    }

    /// Sync: an implicit transaction ends.
    pub async fn sync(&mut self, client: &mut dyn Client) -> Result<()> {
        begin_request(self);
        resume_statement(self);
        let result =
            if self.block == Block::None { finish_batch(self, client).await } else { Ok(()) };
        end_statement(self, result.as_ref().err());
        self.replay.clear();
        end_request(self);
        if let Err(error) = &result {
            self.fail(error).await;
        }
        send_notices(self, client);
        note_idle(self);
        result
    }
}

/// Describe of a portal.
fn describe_portal(session: &Session, name: &str, client: &mut dyn Client) -> Result<()> {
    let portal = session.portals.get(name).ok_or_else(|| unknown_portal(name))?;
    match portal.columns() {
        Some(_) if session.block == Block::Failed => session.block.check()?,
        Some(columns) => client.row_description(columns, &portal.formats),
        None => client.no_data(),
    }
    Ok(())
}

async fn execute_portal(
    session: &mut Session,
    name: &str,
    mut portal: Portal,
    rows_max: u32,
    client: &mut dyn Client,
) -> Result<()> {
    let fresh = matches!(portal.run, Run::New);
    let block = session.block.state();
    let mut start = client.mark();
    let wanted = Wanted { rows_max: u64::from(rows_max), describe: false };
    let mut result = run_portal(session, &mut portal, wanted, client).await;
    if let Err(error) = &result
        && fresh
        && matches!(block, Block::None | Block::Active)
        && is_retryable(error)
        && !is_injected(error)
        && client.rewind(start)
    {
        let error = error.clone();
        let again = execute_again(session, &mut portal, rows_max, block, error, client);
        result = Box::pin(again).await.map(|(ended, mark)| {
            start = mark;
            ended
        });
    }
    let ended = result?;
    remember_step(session, &portal, fresh && ended == Ended::Complete, block, start, client);
    let ends = portal.prepared.statement().is_some_and(ends_failure);
    if !ends {
        session.portals.insert(name.to_owned(), portal);
    }
    Ok(())
}

fn protocol(message: String) -> Error {
    Error::new(SqlState::ProtocolViolation, message)
}

fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("portal \"{name}\" does not exist"))
}

/// Says which parameter could not be read, and shows its value so far as it is shown.
fn in_parameter(error: Error, portal: &str, place: usize, shown: &str) -> Error {
    let portal = match portal {
        "" => "unnamed portal".to_owned(),
        portal => format!("portal \"{portal}\""),
    };
    error.context(format!("{portal} parameter ${}{shown}", place + 1))
}

fn formats_of(codes: &[i16]) -> Result<Formats> {
    Formats::from_codes(codes.iter().copied()).map_err(|code| {
        Error::new(SqlState::InvalidParameterValue, format!("unsupported format code: {code}"))
    })
}
