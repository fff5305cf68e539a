//! The extended protocol: Parse, Bind, Describe, Execute, Close, Sync.
//!
//! Rules: everything between two Syncs is one implicit transaction; Sync commits it, and what
//! was executed runs again if that meets a conflict and nothing has left; portals end with their
//! transaction.

use std::sync::Arc;

use braid_types::{Datum, Error, Result, SqlState, SqlType, binary, text};

use crate::client::{Client, Formats};
use crate::clock::now_micros;
use crate::deadline::Reruns;
use crate::errors::{is_injected, is_retryable};
use crate::portal::{Portal, Run};
use crate::prepared::{ends_failure, runs_in_any_block, unknown_statement};
use crate::run::Ended;
use crate::session::Session;
use crate::text::utf8_without_nul;
use crate::transaction::Block;

fn protocol(message: String) -> Error {
    Error::new(SqlState::ProtocolViolation, message)
}

fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("portal \"{name}\" does not exist"))
}

impl Session {
    /// Parse.
    pub async fn parse(
        &mut self,
        name: &str,
        sql: &str,
        types: &[u32],
        client: &mut dyn Client,
    ) -> Result<()> {
        self.begin_request();
        let prepared = self.prepare_text(name, sql, types).await?;
        self.keep_prepared(prepared);
        self.send_notices(client);
        Ok(())
    }

    /// Bind.
    pub async fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        param_formats: &[i16],
        params: &[Option<&[u8]>],
        result_formats: &[i16],
    ) -> Result<()> {
        self.begin_request();
        let prepared =
            self.prepared.get(statement).cloned().ok_or_else(|| unknown_statement(statement))?;
        let prepared = self.with_cursor_columns(prepared);
        if !prepared.statement().is_some_and(runs_in_any_block) {
            self.check_block()?;
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
        let types = self.current_params(&prepared).await?;
        let active = self.active();
        let micros = self.open.as_ref().map_or_else(now_micros, |open| open.micros);
        let mut values = Vec::with_capacity(params.len());
        for (i, (value, ty)) in params.iter().zip(&types).enumerate() {
            let Some(bytes) = value else {
                values.push(Datum::Null);
                continue;
            };
            let ty = if *ty == SqlType::Unknown { &SqlType::Text } else { ty };
            let value = if formats.is_binary(i) {
                binary::decode(ty, bytes)
            } else if ty.innermost().is_reg() {
                self.reg_parameter(ty, bytes).await
            } else {
                utf8_without_nul(bytes)
                    .and_then(|text| text::parse(ty, text, &active.format, micros))
            };
            values.push(value.map_err(|error| in_parameter(error, portal, i, &formats))?);
        }
        self.portals.insert(portal.to_owned(), Portal::new(prepared, Arc::new(values), results));
        Ok(())
    }

    /// A number or a name for `regclass` and its kin: looked up as a cast in a query would be.
    async fn reg_parameter(&mut self, ty: &SqlType, bytes: &[u8]) -> Result<Datum> {
        let value = utf8_without_nul(bytes)?;
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            return text::parse(ty, value, &self.active().format, 0);
        }
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let cx = braid_plan::PlanContext {
            catalog: &catalog,
            path: &env.lookup.path,
            env: &env,
            text: "",
            param_types: &[],
        };
        let literal = format!("'{}'::{}", value.replace('\'', "''"), ty.plain_name());
        let expr = braid_plan::bind_scalar(&cx, &literal, ty)?;
        let cx = braid_plan::eval::EvalContext { env: &env, params: &[], outer: &[] };
        braid_plan::eval::eval(&expr, &[], &cx)
    }

    /// Describe of a statement.
    pub async fn describe_statement(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        let prepared = self.prepared.get(name).cloned().ok_or_else(|| unknown_statement(name))?;
        if self.block == Block::Failed && prepared.columns.is_some() {
            self.check_block()?;
        }
        client.parameter_description(&prepared.params);
        match &prepared.columns {
            Some(columns) => client.row_description(columns, &Formats::TEXT),
            None => client.no_data(),
        }
        Ok(())
    }

    /// Describe of a portal.
    pub fn describe_portal(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        let portal = self.portals.get(name).ok_or_else(|| unknown_portal(name))?;
        match portal.columns() {
            Some(_) if self.block == Block::Failed => self.check_block()?,
            Some(columns) => client.row_description(columns, &portal.formats),
            None => client.no_data(),
        }
        Ok(())
    }

    /// Execute.
    pub async fn execute(
        &mut self,
        name: &str,
        rows_max: u32,
        client: &mut dyn Client,
    ) -> Result<()> {
        self.begin_request();
        let portal = self.portals.remove(name).ok_or_else(|| unknown_portal(name))?;
        // All attempts are one statement: its time goes on, and a cancel stops what comes next.
        let is_empty = portal.prepared.statement().is_none();
        let text = portal.prepared.whole_text().clone();
        let guard = if is_empty { None } else { self.guard_statement(&text) };
        let result = self.execute_portal(name, portal, rows_max, client).await;
        drop(guard);
        self.end_request();
        result
    }

    async fn execute_portal(
        &mut self,
        name: &str,
        mut portal: Portal,
        rows_max: u32,
        client: &mut dyn Client,
    ) -> Result<()> {
        let fresh = matches!(portal.run, Run::New);
        let block = self.block;
        let mut start = client.position();
        let mut result = self.run_portal(&mut portal, u64::from(rows_max), client, false).await;
        if let Err(error) = &result
            && fresh
            && matches!(block, Block::None | Block::Active)
            && is_retryable(error)
            && !is_injected(error)
            && client.rewind(start)
        {
            let error = error.clone();
            let again = self.execute_again(&mut portal, rows_max, block, error, client);
            result = Box::pin(again).await.map(|(ended, position)| {
                start = position;
                ended
            });
        }
        let ended = result?;
        self.remember_step(&portal, fresh && ended == Ended::Complete, block, start, client);
        let ends = portal.prepared.statement().is_some_and(ends_failure);
        if !ends {
            self.portals.insert(name.to_owned(), portal);
        }
        Ok(())
    }

    /// Close of a statement.
    pub fn close_statement(&mut self, name: &str) {
        if self.prepared.remove(name).is_some() {
            self.note_prepared();
        }
    }

    /// Close of a portal.
    pub fn close_portal(&mut self, name: &str) {
        if self.portals.remove(name).is_some() {
            self.note_cursors();
        }
    }

    /// Sync: an implicit transaction ends.
    pub async fn sync(&mut self, client: &mut dyn Client) -> Result<()> {
        self.begin_request();
        let result =
            if self.block == Block::None { self.finish_batch(client).await } else { Ok(()) };
        self.replay.clear();
        self.end_request();
        if let Err(error) = &result {
            self.fail(error).await;
        }
        self.send_notices(client);
        self.note_idle();
        result
    }

    /// Commits what was executed since the last Sync, and runs it again on a conflict.
    pub(crate) async fn finish_batch(&mut self, client: &mut dyn Client) -> Result<()> {
        if self.replay.steps.is_empty() || self.open.is_none() {
            return self.commit_open().await;
        }
        // The tags stay in the buffer: a failed commit takes the last one back.
        let Err(error) = self.commit_open().await else { return Ok(()) };
        match Box::pin(self.commit_again_from_steps(error, client)).await {
            Err(error) => {
                client.rewind(self.tag_position);
                Err(error)
            }
            done => done,
        }
    }

    /// Runs what was executed since the last Sync again until it commits; the error if it does
    /// not. What was in the buffer is there again then.
    async fn commit_again_from_steps(
        &mut self,
        mut error: Error,
        client: &mut dyn Client,
    ) -> Result<()> {
        let Some(text) = self.replay.last_text() else { return Err(error) };
        let guard = self.guard_statement(&text);
        let mut reruns = Reruns::new();
        while is_retryable(&error)
            && self.shared.advisory.may_run_again(None, &error)
            && let Some(attempt) = reruns.next()
            && let Some(steps) = self.replay.take()
        {
            self.server.counters.server_retries.add(&error);
            self.pause(attempt).await?;
            match self.replay_steps(steps, client).await {
                Ok(false) => break,
                Ok(true) => match self.commit_open().await {
                    Ok(()) => return Ok(()),
                    Err(again) => error = again,
                },
                Err(again) => error = again,
            }
        }
        drop(guard);
        Err(error)
    }
}

/// Says which parameter could not be read.
fn in_parameter(error: Error, portal: &str, place: usize, formats: &Formats) -> Error {
    let portal = match portal {
        "" => "unnamed portal".to_owned(),
        portal => format!("portal \"{portal}\""),
    };
    // PostgreSQL shows no values here either, unless it is told to.
    let is_text = !formats.is_binary(place);
    let was_read = error.state() != SqlState::CharacterNotInRepertoire;
    let value = if is_text && was_read { " = '...'" } else { "" };
    error.context(format!("{portal} parameter ${}{value}", place + 1))
}

fn formats_of(codes: &[i16]) -> Result<Formats> {
    Formats::from_codes(codes.iter().copied()).map_err(|code| {
        Error::new(SqlState::InvalidParameterValue, format!("unsupported format code: {code}"))
    })
}
