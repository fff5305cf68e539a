//! Statements that are neither queries nor data: transactions, settings, prepared statements,
//! cursors, DDL.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_exec::ddl::{self, DdlContext};
use braid_plan::TypeNames;
use braid_sql::ast::{
    DataType, DiscardKind, Execute, Prepare, Reset, Set, SetScope, SetValue, SettingChange,
    ShowTarget, Spanned, Statement, TransactionModes,
};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

use crate::client::{Client, Formats, Notice, Severity};
use crate::deadline::ATTEMPTS_MAX;
use crate::errors::is_retryable;
use crate::portal::{Portal, Run, Running, Source};
use crate::prepared::{Prepared, duplicate, unknown_statement};
use crate::run::Ended;
use crate::session::Session;
use crate::settings::is_identity;
use crate::shared::isolation_of;
use crate::show;
use crate::transaction::Block;

impl Session {
    /// Runs a statement that the planner does not take.
    pub(crate) async fn run_other(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let prepared = portal.prepared.clone();
        let statement = prepared
            .statement()
            .ok_or_else(|| Error::internal("an empty statement cannot be run"))?;
        if matches!(portal.run, Run::Open(_)) {
            return self.deliver(portal, rows_max, client).await;
        }
        match statement {
            Statement::Execute(execute) => {
                let mut target = self.bind_execute(execute, portal.formats.clone()).await?;
                let run = self.run_portal(&mut target, rows_max, client, describe);
                let ended = Box::pin(run).await?;
                portal.run = std::mem::replace(&mut target.run, Run::Done);
                return Ok(ended);
            }
            Statement::Copy(copy) => {
                let tag = self.run_copy(copy, &prepared, client).await?;
                return Ok(self.complete(client, &tag));
            }
            Statement::Show(target) => {
                let rows = self.show_rows(target)?;
                return self.send_rows(portal, rows, "SHOW", rows_max, client, describe).await;
            }
            Statement::CheckTable(name) => {
                let rows = self.check_table(name).await?;
                return self
                    .send_rows(portal, rows, "CHECK TABLE", rows_max, client, describe)
                    .await;
            }
            Statement::Fetch(fetch) => {
                let (rows, tag) = self.fetch(fetch).await?;
                if fetch.is_move {
                    return Ok(self.complete(client, &tag));
                }
                return self.send_fetched(portal, fetch, rows, tag, client, describe).await;
            }
            _ => {}
        }
        let tag = if ddl::is_ddl(statement) {
            self.run_ddl(&prepared, statement, &portal.params).await?
        } else {
            self.run_command(&prepared, statement, &portal.params).await?
        };
        Ok(self.complete(client, &tag))
    }

    pub(crate) fn complete(&mut self, client: &mut dyn Client, tag: &str) -> Ended {
        self.send_notices(client);
        self.tag_position = client.position();
        client.command_complete(tag);
        Ended::Complete
    }

    /// Sends rows that are there already.
    async fn send_rows(
        &mut self,
        portal: &mut Portal,
        rows: VecDeque<Row>,
        tag: &str,
        rows_max: u64,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let columns = portal.prepared.columns.clone().unwrap_or_else(|| Arc::from([]));
        if describe {
            client.row_description(&columns, &portal.formats);
        }
        let source = Source::Rows(rows, tag.to_owned());
        portal.run = Run::Open(Running { columns, source, standing: None });
        self.deliver(portal, rows_max, client).await
    }

    async fn run_ddl(
        &mut self,
        prepared: &Prepared,
        statement: &Statement,
        params: &Arc<Vec<Datum>>,
    ) -> Result<String> {
        if self.modes().read_only {
            return Err(Error::new(
                SqlState::ReadOnlySqlTransaction,
                "cannot execute DDL in a read-only transaction",
            ));
        }
        self.check_stored_setting(statement)?;
        let implicit = self.block == Block::None
            && !self.in_simple_list
            && self.open.as_ref().is_none_or(|open| open.statements == 0);
        let noted = self.notices.len();
        let mut attempt = 0;
        loop {
            let open = self.ensure_open();
            open.statements += 1;
            let first = open.statements == 1;
            let result = self.attempt_ddl(prepared, statement, params, implicit).await;
            attempt += 1;
            match result {
                Err(error) if is_retryable(&error) && first && attempt < ATTEMPTS_MAX => {
                    self.notices.truncate(noted);
                    self.pause(attempt).await?;
                    self.server.counters.server_retries.add(&error);
                    self.restart_kv().await;
                }
                result => return result,
            }
        }
    }

    /// Whether the setting that a statement keeps for later sessions is one, and its value fits.
    fn check_stored_setting(&self, statement: &Statement) -> Result<()> {
        let set = match statement {
            Statement::AlterUser(alter) => alter.set.as_ref(),
            Statement::AlterDatabase(alter) => match &alter.change {
                SettingChange::Set(set) => Some(set),
                SettingChange::Reset(_) => None,
            },
            _ => None,
        };
        let Some(set) = set else { return Ok(()) };
        let state = self.shared.state.lock();
        match &set.value {
            SetValue::Values(values) => state.settings.check_stored(&set.name, values),
            SetValue::Default => Ok(()),
        }
    }

    /// Finishes what another gateway has begun.
    pub(crate) async fn go_on(&mut self, taken: ddl::TakenOver) -> Result<()> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let exec = self.exec_context(seq, catalog, env);
        let mut cx = DdlContext {
            exec: &exec,
            text: "",
            param_types: &[],
            params: &Arc::default(),
            cache: &self.server.catalog,
            draft: &mut None,
            implicit: true,
            notices: &mut Vec::new(),
            scattered: Vec::new(),
        };
        ddl::go_on(&mut cx, taken).await
    }

    async fn attempt_ddl(
        &mut self,
        prepared: &Prepared,
        statement: &Statement,
        params: &Arc<Vec<Datum>>,
        implicit: bool,
    ) -> Result<String> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let exec = self.exec_context(seq, catalog, env);
        let mut draft = self.open.as_mut().and_then(|open| open.draft.take());
        let mut notices = Vec::new();
        let result = {
            let mut cx = DdlContext {
                exec: &exec,
                text: &prepared.parsed.text,
                param_types: &prepared.params,
                params,
                cache: &self.server.catalog,
                draft: &mut draft,
                implicit,
                notices: &mut notices,
                scattered: Vec::new(),
            };
            ddl::run(statement, &mut cx).await
        };
        if let Some(open) = &mut self.open {
            open.draft = draft;
        }
        let severity = |fields: &Error| match fields.state() {
            SqlState::Warning => Severity::Warning,
            _ => Severity::Notice,
        };
        let notices = notices.into_iter();
        self.notices.extend(notices.map(|fields| Notice { severity: severity(&fields), fields }));
        result
    }

    async fn run_command(
        &mut self,
        prepared: &Prepared,
        statement: &Statement,
        params: &Arc<Vec<Datum>>,
    ) -> Result<String> {
        let tag = match statement {
            Statement::Begin(modes) => {
                self.begin_block(modes)?;
                begin_tag(prepared.text())
            }
            Statement::Commit { and_chain } => self.commit_block(*and_chain).await?,
            Statement::Rollback { to_savepoint: Some(name), .. } => {
                self.rollback_to(&braid_sql::fold(name)).await?;
                "ROLLBACK"
            }
            Statement::Rollback { and_chain, to_savepoint: None } => {
                self.rollback_block(*and_chain).await?;
                "ROLLBACK"
            }
            Statement::Savepoint(name) => {
                self.savepoint(braid_sql::fold(name))?;
                "SAVEPOINT"
            }
            Statement::Release(name) => {
                self.release(&braid_sql::fold(name)).await?;
                "RELEASE"
            }
            Statement::SetTransaction(modes) => {
                self.set_transaction(modes)?;
                "SET"
            }
            Statement::SetSessionCharacteristics(modes) => {
                self.set_characteristics(modes)?;
                "SET"
            }
            Statement::SetConstraints { names, deferred } => {
                self.require_block_softly("SET CONSTRAINTS");
                self.set_constraints(names.as_deref(), *deferred).await?;
                "SET CONSTRAINTS"
            }
            Statement::Set(set) => {
                self.set(set).await?;
                "SET"
            }
            Statement::Reset(reset) => {
                self.reset(reset).await?;
                "RESET"
            }
            Statement::Prepare(prepare) => {
                self.prepare_sql(prepare, prepared).await?;
                "PREPARE"
            }
            Statement::Deallocate(name) => return self.deallocate(name.as_ref()),
            Statement::Discard(kind) => return self.discard(*kind).await,
            Statement::DeclareCursor(declare) => {
                self.declare(declare, prepared, params).await?;
                "DECLARE CURSOR"
            }
            Statement::Close(target) => return self.close_cursor(target),
            other => return self.run_rare(other).await,
        };
        Ok(tag.to_owned())
    }

    /// Commands that few programs use.
    async fn run_rare(&mut self, statement: &Statement) -> Result<String> {
        let tag = match statement {
            Statement::SetTransactionSnapshot(name) => {
                self.import_snapshot(name)?;
                "SET"
            }
            Statement::LockTable(lock) => {
                self.lock_table(lock).await?;
                "LOCK TABLE"
            }
            Statement::Listen(_) | Statement::Unlisten(_) | Statement::Notify { .. } => {
                self.run_notification(statement)?
            }
            Statement::NoOp(command) => command,
            _ => return Err(Error::unsupported("this statement")),
        };
        Ok(tag.to_owned())
    }

    pub(crate) fn require_block_softly(&mut self, command: &str) {
        if self.require_block(command).is_err() {
            self.warn(
                SqlState::NoActiveSqlTransaction,
                &format!("{command} can only be used in transaction blocks"),
            );
        }
    }

    fn set_transaction(&mut self, modes: &TransactionModes) -> Result<()> {
        self.require_block_softly("SET TRANSACTION");
        if self.block == Block::None && !self.in_simple_list {
            return Ok(());
        }
        self.set_modes(modes)
    }

    fn set_characteristics(&mut self, modes: &TransactionModes) -> Result<()> {
        let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
        let mut state = self.shared.state.lock();
        let mut put = |name: &str, value: String| state.settings.set(name, &[value], false);
        if let Some(isolation) = modes.isolation {
            let text = crate::shared::isolation_text(isolation);
            put("default_transaction_isolation", text.to_owned())?;
        }
        if let Some(read_only) = modes.read_only {
            put("default_transaction_read_only", on_off(read_only))?;
        }
        if let Some(deferrable) = modes.deferrable {
            put("default_transaction_deferrable", on_off(deferrable))?;
        }
        Ok(())
    }

    async fn set(&mut self, set: &Set) -> Result<()> {
        let local = set.scope == SetScope::Local;
        if local && self.block == Block::None && !self.in_simple_list {
            self.require_block_softly("SET LOCAL");
        }
        if local && self.block == Block::None {
            // It ends with the implicit transaction, which runs again with it.
            self.ensure_open();
        }
        let values = match &set.value {
            SetValue::Default => None,
            SetValue::Values(values) => Some(values.as_slice()),
        };
        match set.name.as_str() {
            "transaction_isolation" | "transaction_read_only" | "transaction_deferrable" => {
                return self.set_mode(&set.name, values);
            }
            name if is_identity(name) => {
                return self.set_user(&set.name, values, local).await;
            }
            _ => {}
        }
        let mut state = self.shared.state.lock();
        match values {
            None => state.settings.reset(&set.name, local),
            Some(values) => state.settings.set(&set.name, values, local).map(drop),
        }
    }

    /// `SET transaction_isolation` and its kin are `SET TRANSACTION` in other words.
    fn set_mode(&mut self, name: &str, values: Option<&[String]>) -> Result<()> {
        let text = match values {
            None => self.shared.setting(&format!("default_{name}")).unwrap_or_default(),
            Some(values) => crate::settings::Settings::check(name, values)?,
        };
        let mut modes = TransactionModes::default();
        match name {
            "transaction_isolation" => modes.isolation = Some(isolation_of(&text)),
            "transaction_read_only" => modes.read_only = Some(text == "on"),
            _ => modes.deferrable = Some(text == "on"),
        }
        self.set_modes(&modes)
    }

    /// `SET ROLE` and `SET SESSION AUTHORIZATION`.
    async fn set_user(&mut self, name: &str, values: Option<&[String]>, local: bool) -> Result<()> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let wanted = values.and_then(<[String]>::first).map(String::as_str);
        self.shared.set_identity(&catalog, name, wanted, local)
    }

    async fn reset(&mut self, reset: &Reset) -> Result<()> {
        match reset {
            Reset::All => {
                self.shared.state.lock().settings.reset_all();
                Ok(())
            }
            Reset::Name(name) if is_identity(name) => self.set_user(name, None, false).await,
            Reset::Name(name) => self.shared.state.lock().settings.reset(name, false),
        }
    }

    fn show_rows(&self, target: &ShowTarget) -> Result<VecDeque<Row>> {
        match target {
            ShowTarget::All => {
                let mut rows: Vec<(String, String, String)> =
                    self.shared.state.lock().settings.all();
                for (name, value, _) in &mut rows {
                    if let Some(actual) = self.shared.setting(name) {
                        *value = actual;
                    }
                }
                rows.sort_by_key(|(name, _, _)| name.to_lowercase());
                let texts = |(a, b, c): (String, String, String)| {
                    vec![Datum::text(a), Datum::text(b), Datum::text(c)]
                };
                Ok(rows.into_iter().map(texts).collect())
            }
            ShowTarget::Variable(name) => {
                let value = match self.shared.setting(name) {
                    Some(value) => value,
                    None => self.shared.state.lock().settings.show(name)?,
                };
                Ok(VecDeque::from([vec![Datum::text(value)]]))
            }
            ShowTarget::TransactionTimeline => Ok(self.group.timeline.rows()),
            ShowTarget::TransactionStatus => {
                let text = match self.block {
                    Block::None => "NoTxn",
                    Block::Active => "Open",
                    Block::Failed => "Aborted",
                    Block::Released => "CommitWait",
                };
                Ok(VecDeque::from([vec![Datum::text(text)]]))
            }
            _ => Err(Error::unsupported(show::command(target))),
        }
    }

    /// `PREPARE`
    async fn prepare_sql(&mut self, prepare: &Prepare, outer: &Prepared) -> Result<()> {
        let name = braid_sql::fold(&prepare.name);
        if self.prepared.contains_key(&name) {
            return Err(duplicate(&name));
        }
        let text = outer.parsed.text.get(prepare.text.clone()).unwrap_or_default();
        let parsed = self.server.plans.parse(text)?;
        let hints = self.declared_types(&prepare.types).await?;
        let mut prepared = Prepared::new(&name, parsed, Some(0), hints);
        prepared.from_sql = true;
        let prepared = Box::pin(self.describe_new(prepared)).await?;
        self.keep_prepared(Arc::new(prepared));
        self.replay.blocked = true;
        Ok(())
    }

    /// The types of a PREPARE.
    async fn declared_types(&mut self, types: &[DataType]) -> Result<Vec<SqlType>> {
        if types.is_empty() {
            return Ok(Vec::new());
        }
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let names = TypeNames { catalog: &catalog, path: &env.lookup.path };
        types.iter().map(|ty| braid_plan::sql_type_of(ty, names)).collect()
    }

    /// The portal that an EXECUTE stands for.
    pub(crate) async fn bind_execute(
        &mut self,
        execute: &Execute,
        formats: Formats,
    ) -> Result<Portal> {
        let name = braid_sql::fold(&execute.name);
        let target = self.prepared.get(&name).cloned().ok_or_else(|| unknown_statement(&name))?;
        if execute.args.len() != target.params.len() {
            return Err(Error::new(
                SqlState::SyntaxError,
                format!("wrong number of parameters for prepared statement \"{name}\""),
            )
            .detail(format!(
                "Expected {} parameters but got {}.",
                target.params.len(),
                execute.args.len()
            )));
        }
        let types = self.current_params(&target).await?;
        let mut params = Vec::with_capacity(execute.args.len());
        if !execute.args.is_empty() {
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
            let eval_cx = braid_plan::eval::EvalContext { env: &env, params: &[], outer: &[] };
            for (arg, ty) in execute.args.iter().zip(&types) {
                let start = braid_sql::offset_of(arg.span()).saturating_sub(1);
                let expr = braid_plan::bind_scalar(&cx, &arg.to_string(), ty)
                    .map_err(|error| error.moved(start).position(start + 1))?;
                params.push(braid_plan::eval::eval(&expr, &[], &eval_cx)?);
            }
        }
        Ok(Portal::new(target, Arc::new(params), formats))
    }

    fn deallocate(&mut self, name: Option<&braid_sql::ast::Ident>) -> Result<String> {
        self.replay.blocked = true;
        let Some(name) = name else {
            self.prepared.retain(|name, _| name.is_empty());
            self.note_prepared();
            return Ok("DEALLOCATE ALL".to_owned());
        };
        let name = braid_sql::fold(name);
        self.prepared.remove(&name).ok_or_else(|| unknown_statement(&name))?;
        self.note_prepared();
        Ok("DEALLOCATE".to_owned())
    }

    async fn discard(&mut self, kind: DiscardKind) -> Result<String> {
        match kind {
            DiscardKind::Plans => return Ok("DISCARD PLANS".to_owned()),
            DiscardKind::Temp => {
                self.discard_temporary().await?;
                return Ok("DISCARD TEMP".to_owned());
            }
            DiscardKind::Sequences => {
                self.shared.sequences.lock().clear();
                return Ok("DISCARD SEQUENCES".to_owned());
            }
            DiscardKind::All => {}
        }
        if self.block != Block::None || self.in_simple_list {
            return Err(Error::new(
                SqlState::ActiveSqlTransaction,
                "DISCARD ALL cannot run inside a transaction block",
            ));
        }
        self.portals.clear();
        self.note_cursors();
        self.discard_temporary().await?;
        self.prepared.clear();
        self.note_prepared();
        self.shared.sequences.lock().clear();
        self.shared.advisory.discard();
        self.server.hub.leave(&self.shared.inbox);
        let mut state = self.shared.state.lock();
        for name in ["role", "session_authorization", "is_superuser"] {
            state.settings.set_identity(name, None, false);
        }
        state.settings.reset_all();
        Ok("DISCARD ALL".to_owned())
    }
}

/// The command tag of BEGIN, which may be written as START TRANSACTION.
fn begin_tag(text: &str) -> &'static str {
    let is_start = text.trim_start().to_ascii_lowercase().starts_with("start");
    if is_start { "START TRANSACTION" } else { "BEGIN" }
}
