//! A cursor's rows: position 0 is before the first row, n the n-th.
//!
//! A cursor that scrolls keeps its rows, the last ones in memory and others on disk. Those that do
//! not scroll keep none, and can only go forward. One that says neither becomes one of these when
//! its rows have become many.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_exec::{RowPages, TempSpace, row_bytes};
use braid_system_views::CursorInfo;
use braid_types::{Error, Result, Row, SqlState, SqlType};

use crate::client::ResultColumn;
use crate::clock::now_micros;
use crate::session::Session;
use crate::statement::portal::{CursorState, Run};

pub(crate) const BATCH_ROWS: usize = 1024;
/// Bytes of rows that a cursor keeps that does not say whether it scrolls.
const KEPT_BYTES_MAX: usize = 4 << 20;

impl CursorState {
    pub(crate) fn last_known(&self) -> i64 {
        i64::try_from(self.rows.end()).unwrap_or(i64::MAX)
    }

    /// The row at a position, if it is kept.
    pub(crate) fn row(&self, position: i64) -> Result<Option<Row>> {
        match usize::try_from(position - 1) {
            Ok(number) => self.rows.get(number),
            Err(_) => Ok(None),
        }
    }
}

/// A cursor's rows while one FETCH works on them.
pub(crate) struct Rows<'a> {
    pub run: &'a mut Run,
    pub state: &'a mut CursorState,
    pub cancel: &'a braid_exec::Cancel,
}

impl Rows<'_> {
    /// Reads until the row at `position` is known, or there are no more.
    pub(crate) async fn read_to(&mut self, position: i64) -> Result<()> {
        while self.state.last_known() < position && !self.state.at_end {
            let Run::Open(running) = self.run else {
                self.state.at_end = true;
                break;
            };
            let missing = position.saturating_sub(self.state.last_known());
            let wanted = usize::try_from(missing).unwrap_or(BATCH_ROWS).min(BATCH_ROWS);
            let rows = running.source.next(wanted, self.cancel).await?;
            self.state.at_end = rows.is_empty();
            if self.state.scroll.is_none() {
                self.state.kept_bytes += rows.iter().map(|row| row_bytes(row)).sum::<usize>();
                if self.state.kept_bytes > KEPT_BYTES_MAX {
                    self.state.scroll = Some(false);
                }
            }
            self.state.rows.append(rows)?;
            self.forget();
        }
        Ok(())
    }

    /// A cursor that does not scroll drops the rows before its current one.
    pub(crate) fn forget(&mut self) {
        if self.state.scroll != Some(false) {
            return;
        }
        let current = usize::try_from(self.state.position - 1).unwrap_or(0);
        self.state.rows.forget_before(current);
    }

    pub(crate) fn require_scroll(&self) -> Result<()> {
        if self.state.scroll != Some(false) {
            return Ok(());
        }
        Err(Error::new(SqlState::ObjectNotInPrerequisiteState, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    pub(crate) async fn current(&mut self) -> Result<VecDeque<Row>> {
        Ok(self.state.row(self.state.position)?.into_iter().collect())
    }

    pub(crate) async fn forward(&mut self, count: i64) -> Result<VecDeque<Row>> {
        let target = self.state.position.saturating_add(count);
        let mut rows = VecDeque::new();
        while self.state.position < target {
            let next = self.state.position + 1;
            self.read_to(next).await?;
            self.state.position = next.min(self.state.last_known() + 1);
            match self.state.row(next)? {
                Some(row) => rows.push_back(row),
                None => break,
            }
            self.forget();
        }
        Ok(rows)
    }

    pub(crate) async fn backward(&mut self, count: i64) -> Result<VecDeque<Row>> {
        self.require_scroll()?;
        let mut rows = VecDeque::new();
        while self.state.position > 0 && (rows.len() as i64) < count {
            self.state.position -= 1;
            match self.state.row(self.state.position)? {
                Some(row) => rows.push_back(row),
                None => break,
            }
        }
        Ok(rows)
    }

    /// Goes to one position; its row, if there is one.
    pub(crate) async fn single(&mut self, position: i64) -> Result<VecDeque<Row>> {
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
                if self.state.row(next)?.is_none() {
                    break;
                }
            }
        } else {
            self.state.position = position;
        }
        self.current().await
    }
}

/// Shows a cursor that was opened in the catalog views.
pub(crate) fn note_cursor(session: &Session, name: &str) {
    let portal = session.portals.get(name);
    let Some(cursor) = portal.and_then(|portal| portal.cursor.as_ref()) else { return };
    let info = CursorInfo {
        name: name.to_owned(),
        statement: cursor.text.clone(),
        is_holdable: cursor.hold,
        is_binary: cursor.binary,
        is_scrollable: cursor.scroll != Some(false),
        creation_time: cursor.time,
    };
    session.shared.state.lock().cursors.insert(name.to_owned(), info);
}

/// The catalog views show a cursor that was closed no longer.
pub(crate) fn forget_cursor(session: &Session, name: &str) {
    session.shared.state.lock().cursors.remove(name);
}

/// The same of all cursors that are not open any more.
pub(crate) fn forget_cursors(session: &Session) {
    let is_open = |name: &String| session.portals.get(name).is_some_and(|p| p.cursor.is_some());
    session.shared.state.lock().cursors.retain(|name, _| is_open(name));
}

pub(crate) fn plain_state(temp: &Arc<TempSpace>) -> CursorState {
    CursorState {
        hold: false,
        scroll: Some(false),
        kept_bytes: 0,
        binary: false,
        text: String::new(),
        time: now_micros(),
        savepoints: 0,
        position: 0,
        rows: RowPages::new(temp),
        at_end: false,
        row_key: None,
    }
}

/// The columns of a cursor of any kind.
pub(crate) fn cursor_columns(session: &Session, name: &str) -> Option<Arc<[ResultColumn]>> {
    if let Some(portal) = session.portals.get(name) {
        return portal.columns().cloned();
    }
    let cursor = session.shared.cursors.get(name).ok()?;
    let cursor = cursor.try_lock().ok()?;
    let column = |(name, ty): &(String, SqlType)| ResultColumn::computed(name, ty.clone());
    Some(cursor.fields.iter().map(column).collect())
}
