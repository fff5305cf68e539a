//! Cursors of DECLARE: FETCH, MOVE, CLOSE, and those that outlive their transaction.
//!
//! A cursor is a portal whose rows are counted: position 0 is before the first row, n the n-th.
//! One that scrolls keeps its rows; others keep none, and can only go forward.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::CursorInfo;
use braid_sql::ast::{CursorTarget, DeclareCursor, FetchCursor, FetchDirection, Statement};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::client::{Client, Formats};
use crate::clock::now_micros;
use crate::portal::{CursorState, Portal, Run, Source};
use crate::prepared::Prepared;
use crate::run::Ended;
use crate::session::Session;

const BATCH_ROWS: usize = 1024;

fn unknown_cursor(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("cursor \"{name}\" does not exist"))
}

impl CursorState {
    fn last_known(&self) -> i64 {
        self.first + self.rows.len() as i64 - 1
    }

    /// The row at a position, if it is kept.
    fn row(&self, position: i64) -> Option<&Row> {
        usize::try_from(position - self.first).ok().and_then(|index| self.rows.get(index))
    }
}

impl Session {
    /// `DECLARE`
    pub(crate) async fn declare(
        &mut self,
        declare: &DeclareCursor,
        outer: &Prepared,
        params: &Arc<Vec<Datum>>,
    ) -> Result<()> {
        if !declare.hold {
            self.require_block("DECLARE CURSOR")?;
        }
        let name = braid_sql::fold(&declare.name);
        if self.portals.contains_key(&name) {
            return Err(Error::new(
                SqlState::DuplicateCursor,
                format!("cursor \"{name}\" already exists"),
            ));
        }
        let text = outer.parsed.text.get(declare.text.clone()).unwrap_or_default();
        let parsed = self.server.plans.parse(text)?;
        let prepared = Prepared::new(&name, parsed, Some(0), outer.params.clone());
        let prepared = Arc::new(Box::pin(self.describe_new(prepared)).await?);
        if prepared.parameters() > params.len() {
            return Err(prepared.no_parameter());
        }
        let open = self.ensure_open();
        open.statements += 1;
        let seq = open.txn.next_statement();
        let running = self.start(&prepared, params, seq).await?;
        let formats = if declare.binary { Formats::all_binary() } else { Formats::TEXT };
        let mut portal = Portal::new(prepared, params.clone(), formats);
        portal.run = Run::Open(running);
        portal.cursor = Some(Box::new(CursorState {
            hold: declare.hold,
            scroll: declare.scroll == Some(true),
            binary: declare.binary,
            text: outer.text().to_owned(),
            time: now_micros(),
            position: 0,
            rows: VecDeque::new(),
            first: 1,
            at_end: false,
        }));
        self.portals.insert(name, portal);
        self.note_cursors();
        self.replay.blocked = true;
        Ok(())
    }

    /// `FETCH` and `MOVE`: the rows, and the tag.
    pub(crate) async fn fetch(&mut self, fetch: &FetchCursor) -> Result<(VecDeque<Row>, String)> {
        let name = braid_sql::fold(&fetch.name);
        let mut portal = self.portals.remove(&name).ok_or_else(|| unknown_cursor(&name))?;
        self.replay.blocked = true;
        let result = self.fetch_from(&mut portal, fetch.direction).await;
        self.portals.insert(name, portal);
        let rows = result?;
        let word = if fetch.is_move { "MOVE" } else { "FETCH" };
        let tag = format!("{word} {}", rows.len());
        Ok((rows, tag))
    }

    async fn fetch_from(
        &mut self,
        portal: &mut Portal,
        direction: FetchDirection,
    ) -> Result<VecDeque<Row>> {
        let cancel = self.shared.entry.cancel.clone();
        if portal.cursor.is_none() {
            // A portal of the protocol can be fetched from as well, forward.
            portal.cursor = Some(Box::new(plain_state()));
        }
        let Portal { run, cursor, .. } = portal;
        let Some(state) = cursor.as_deref_mut() else { return Ok(VecDeque::new()) };
        let mut rows = Rows { run, state, cancel: &cancel };
        let at = rows.state.position;
        match direction {
            FetchDirection::Forward(0) | FetchDirection::Relative(0) => rows.current().await,
            FetchDirection::Forward(n) if n > 0 => rows.forward(n).await,
            FetchDirection::Forward(n) => rows.backward(n.saturating_neg()).await,
            FetchDirection::Backward(0) => rows.current().await,
            FetchDirection::Backward(n) if n > 0 => rows.backward(n).await,
            FetchDirection::Backward(n) => rows.forward(n.saturating_neg()).await,
            FetchDirection::First => rows.single(1).await,
            FetchDirection::Last => {
                rows.read_to(i64::MAX).await?;
                let last = rows.state.last_known();
                rows.single(last).await
            }
            FetchDirection::Absolute(n) if n >= 0 => rows.single(n).await,
            FetchDirection::Absolute(n) => {
                rows.read_to(i64::MAX).await?;
                let position = (rows.state.last_known() + 1 + n).max(0);
                rows.single(position).await
            }
            FetchDirection::Relative(n) => rows.single(at.saturating_add(n).max(0)).await,
        }
    }

    /// A FETCH has the columns that its cursor has now: it may have been prepared before.
    pub(crate) fn with_cursor_columns(&self, prepared: Arc<Prepared>) -> Arc<Prepared> {
        let Some(Statement::Fetch(fetch)) = prepared.statement() else { return prepared };
        let cursor = self.portals.get(&braid_sql::fold(&fetch.name));
        let columns = cursor.and_then(|cursor| cursor.columns().cloned());
        if fetch.is_move || columns.is_none() {
            return prepared;
        }
        let (parsed, hints) = (prepared.parsed.clone(), prepared.hints.clone());
        let mut fetched = Prepared::new(&prepared.name, parsed, prepared.index, hints);
        fetched.params = prepared.params.clone();
        fetched.columns = columns;
        Arc::new(fetched)
    }

    /// Sends what FETCH found.
    pub(crate) async fn send_fetched(
        &mut self,
        portal: &mut Portal,
        fetch: &FetchCursor,
        rows: VecDeque<Row>,
        tag: String,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let name = braid_sql::fold(&fetch.name);
        let source = self.portals.get(&name).ok_or_else(|| unknown_cursor(&name))?;
        let columns = source.columns().cloned().unwrap_or_else(|| Arc::from([]));
        let binary = source.cursor.as_ref().is_some_and(|cursor| cursor.binary);
        if binary {
            portal.formats = Formats::all_binary();
        }
        if describe {
            client.row_description(&columns, &portal.formats);
        }
        let source = Source::Rows(rows, tag);
        portal.run = Run::Open(crate::portal::Running { columns, source, standing: None });
        self.deliver(portal, 0, client).await
    }

    /// `CLOSE`
    pub(crate) fn close_cursor(&mut self, target: &CursorTarget) -> Result<String> {
        let tag = match target {
            CursorTarget::All => {
                self.portals.retain(|_, portal| portal.cursor.is_none());
                "CLOSE CURSOR ALL"
            }
            CursorTarget::Name(name) => {
                let name = braid_sql::fold(name);
                self.portals.remove(&name).ok_or_else(|| unknown_cursor(&name))?;
                "CLOSE CURSOR"
            }
        };
        self.note_cursors();
        Ok(tag.to_owned())
    }

    /// Reads cursors WITH HOLD to their end, before their transaction commits.
    pub(crate) async fn materialize_held(&mut self) -> Result<()> {
        let cancel = self.shared.entry.cancel.clone();
        for portal in self.portals.values_mut() {
            let Some(state) = portal.cursor.as_deref_mut() else { continue };
            if !state.hold || portal.held {
                continue;
            }
            let scroll = std::mem::replace(&mut state.scroll, true);
            let mut rows = Rows { run: &mut portal.run, state, cancel: &cancel };
            let result = rows.read_to(i64::MAX).await;
            rows.state.scroll = scroll;
            result?;
            portal.held = true;
        }
        Ok(())
    }

    /// Tells the catalog views which cursors there are.
    pub(crate) fn note_cursors(&self) {
        let known = self.shared.state.lock().cursors.len();
        if known == 0 && self.portals.values().all(|portal| portal.cursor.is_none()) {
            return;
        }
        let mut list: Vec<CursorInfo> = Vec::new();
        for (name, portal) in &self.portals {
            if let Some(cursor) = &portal.cursor {
                list.push(CursorInfo {
                    name: name.clone(),
                    statement: cursor.text.clone(),
                    is_holdable: cursor.hold,
                    is_binary: cursor.binary,
                    is_scrollable: cursor.scroll,
                    creation_time: cursor.time,
                });
            }
        }
        list.sort_by(|a, b| a.name.cmp(&b.name));
        self.shared.state.lock().cursors = list;
    }
}

fn plain_state() -> CursorState {
    CursorState {
        hold: false,
        scroll: false,
        binary: false,
        text: String::new(),
        time: now_micros(),
        position: 0,
        rows: VecDeque::new(),
        first: 1,
        at_end: false,
    }
}

/// A cursor's rows while one FETCH works on them.
struct Rows<'a> {
    run: &'a mut Run,
    state: &'a mut CursorState,
    cancel: &'a braid_exec::Cancel,
}

impl Rows<'_> {
    /// Reads until the row at `position` is known, or there are no more.
    async fn read_to(&mut self, position: i64) -> Result<()> {
        while self.state.last_known() < position && !self.state.at_end {
            let Run::Open(running) = self.run else {
                self.state.at_end = true;
                break;
            };
            let missing = position.saturating_sub(self.state.last_known());
            let wanted = usize::try_from(missing).unwrap_or(BATCH_ROWS).min(BATCH_ROWS);
            let rows = running.source.next(wanted, self.cancel).await?;
            self.state.at_end = rows.is_empty();
            self.state.rows.extend(rows);
            self.forget();
        }
        Ok(())
    }

    /// A cursor that does not scroll keeps no row behind its position but the current one.
    fn forget(&mut self) {
        if self.state.scroll {
            return;
        }
        while self.state.first < self.state.position && !self.state.rows.is_empty() {
            self.state.rows.pop_front();
            self.state.first += 1;
        }
    }

    fn require_scroll(&self) -> Result<()> {
        if self.state.scroll {
            return Ok(());
        }
        Err(Error::new(SqlState::ObjectNotInPrerequisiteState, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    async fn current(&mut self) -> Result<VecDeque<Row>> {
        Ok(self.state.row(self.state.position).cloned().into_iter().collect())
    }

    async fn forward(&mut self, count: i64) -> Result<VecDeque<Row>> {
        let target = self.state.position.saturating_add(count);
        let mut rows = VecDeque::new();
        while self.state.position < target {
            let next = self.state.position + 1;
            self.read_to(next).await?;
            self.state.position = next.min(self.state.last_known() + 1);
            match self.state.row(next) {
                Some(row) => rows.push_back(row.clone()),
                None => break,
            }
            self.forget();
        }
        Ok(rows)
    }

    async fn backward(&mut self, count: i64) -> Result<VecDeque<Row>> {
        self.require_scroll()?;
        let mut rows = VecDeque::new();
        while self.state.position > 0 && (rows.len() as i64) < count {
            self.state.position -= 1;
            match self.state.row(self.state.position) {
                Some(row) => rows.push_back(row.clone()),
                None => break,
            }
        }
        Ok(rows)
    }

    /// Goes to one position; its row, if there is one.
    async fn single(&mut self, position: i64) -> Result<VecDeque<Row>> {
        if position < self.state.position {
            self.require_scroll()?;
        }
        if position > self.state.position {
            // Rows passed over are not kept.
            while self.state.position < position {
                let next = self.state.position + 1;
                self.read_to(next).await?;
                self.state.position = next.min(self.state.last_known() + 1);
                self.forget();
                if self.state.row(next).is_none() {
                    break;
                }
            }
        } else {
            self.state.position = position;
        }
        self.current().await
    }
}
