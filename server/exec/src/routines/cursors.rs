//! Cursors that PL/pgSQL has opened. They live until they are closed or their transaction ends, so
//! that a function can hand one to its caller or to the client.
//!
//! The cursor of a running loop outlives a COMMIT or ROLLBACK in the loop: the rest of its rows is
//! read before, in memory and beyond 4 MiB on disk.
//!
//! Position 0 is before the first row, n is the n-th. A cursor that scrolls keeps its rows; others
//! keep only the current one, and can only go forward. One that does not say keeps its rows while
//! they are few.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_catalog::{Id, Table};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Mutex as WaitingMutex;

use crate::memory::{Memory, row_bytes};
use crate::spill::{RowPages, TempSpace};

/// Rows that a cursor asks for at a time.
const BATCH_ROWS: usize = 64;
/// A cursor that does not say whether it scrolls keeps its rows up to that many bytes.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Where the rows of a cursor come from.
pub trait CursorSource: Send {
    /// The next rows; none at the end.
    fn next(&mut self, rows_max: usize) -> BoxFuture<'_, Result<Vec<Row>>>;
}

/// Where FETCH or MOVE goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorStep {
    /// Over that many rows; backward if negative.
    By(i64),
    /// To the n-th row, counted from the end if negative.
    To(i64),
    /// To the row that many places further.
    Relative(i64),
}

/// An open cursor.
pub struct RoutineCursor {
    source: Box<dyn CursorSource>,
    memory: Arc<Memory>,
    /// Its columns.
    pub fields: Vec<(String, SqlType)>,
    scroll: Option<bool>,
    /// The table whose key its rows have behind its columns, for `WHERE CURRENT OF`.
    keyed: Option<Id>,
    rows: VecDeque<Row>,
    /// The number of the first row in `rows`, from 1.
    first: i64,
    position: i64,
    at_end: bool,
    counted: usize,
    /// Its statement only reads.
    is_read_only: bool,
    /// The transaction that it was opened in has ended.
    is_kept: bool,
}

impl RoutineCursor {
    /// A cursor before its first row, with `SCROLL` (true) or `NO SCROLL`.
    pub fn new(
        source: Box<dyn CursorSource>,
        memory: Arc<Memory>,
        fields: Vec<(String, SqlType)>,
        scroll: Option<bool>,
    ) -> Self {
        Self {
            source,
            memory,
            fields,
            scroll,
            keyed: None,
            rows: VecDeque::new(),
            first: 1,
            position: 0,
            at_end: false,
            counted: 0,
            is_read_only: true,
            is_kept: false,
        }
    }

    /// The cursor, for several users.
    pub fn shared(self) -> SharedCursor {
        Arc::new(WaitingMutex::new(self))
    }

    /// Its statement does not only read, so no transaction may end in its loop.
    pub fn refuse_to_outlive(&mut self) {
        self.is_read_only = false;
    }

    /// Its rows have the key of a table behind its columns.
    pub fn add_key_of(&mut self, table: Id) {
        self.keyed = Some(table);
    }

    /// The key of the row of a table on which it stands. 24000 if it stands on none.
    pub fn key_of(&self, name: &str, table: &Table) -> Result<Vec<Datum>> {
        let invalid = |what: String| invalid_state(format!("cursor \"{name}\" is not {what}"));
        if self.is_kept {
            return invalid_state(format!("cursor \"{name}\" is held from a previous transaction"));
        }
        if self.keyed != Some(table.id) {
            return invalid(format!("a simply updatable scan of table \"{}\"", table.name));
        }
        match self.row(self.position) {
            Some(row) => Ok(row.iter().skip(self.fields.len()).cloned().collect()),
            None => invalid("positioned on a row".to_owned()),
        }
    }

    fn keeps_rows(&self) -> bool {
        self.scroll != Some(false)
    }

    fn last_known(&self) -> i64 {
        self.first + self.rows.len() as i64 - 1
    }

    fn row(&self, position: i64) -> Option<&Row> {
        usize::try_from(position - self.first).ok().and_then(|place| self.rows.get(place))
    }

    /// Drops the rows before the current one, which a cursor that does not scroll never shows.
    fn forget(&mut self) {
        while !self.keeps_rows() && self.first < self.position && !self.rows.is_empty() {
            self.rows.pop_front();
            self.first += 1;
        }
    }

    /// Goes one row forward; false at the end.
    async fn advance(&mut self) -> Result<bool> {
        let next = self.position.saturating_add(1);
        while self.last_known() < next && !self.at_end {
            let rows = self.source.next(BATCH_ROWS).await?;
            self.at_end = rows.is_empty();
            if self.keeps_rows() {
                let bytes: usize = rows.iter().map(|row| row_bytes(row)).sum();
                self.counted += bytes;
                self.memory.take(bytes)?;
            }
            self.rows.extend(rows);
            if self.scroll.is_none() && self.counted > KEPT_BYTES_MAX {
                self.scroll = Some(false);
                self.memory.give(std::mem::take(&mut self.counted));
            }
        }
        self.position = next.min(self.last_known() + 1);
        self.forget();
        Ok(self.row(next).is_some())
    }

    fn require_scroll(&self) -> Result<()> {
        if self.keeps_rows() {
            return Ok(());
        }
        Err(Error::new(SqlState::ObjectNotInPrerequisiteState, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    fn current(&self) -> Vec<Row> {
        self.row(self.position).cloned().into_iter().collect()
    }

    /// The next rows of a loop that takes all of them; none at the end.
    pub async fn next_rows(&mut self) -> Result<Vec<Row>> {
        let rows = match self.at_end {
            true => Vec::new(),
            false => self.source.next(BATCH_ROWS).await?,
        };
        self.at_end = rows.is_empty();
        Ok(rows)
    }

    /// Reads the rest of its rows, so that it outlives its transaction. 55000 if it may not.
    async fn keep(&mut self, space: &Arc<TempSpace>) -> Result<()> {
        if !self.is_read_only {
            let message = "cannot perform transaction commands inside a cursor loop that is not \
                           read-only";
            return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
        }
        if std::mem::replace(&mut self.is_kept, true) || self.at_end {
            return Ok(());
        }
        let mut rest = RowPages::new(space);
        loop {
            let rows = self.source.next(BATCH_ROWS).await?;
            if rows.is_empty() {
                break;
            }
            rest.append(rows)?;
        }
        self.source = Box::new(KeptRows { rows: rest, next: 0 });
        Ok(())
    }

    /// Goes to another place; the rows that it passes.
    pub async fn fetch(&mut self, step: CursorStep) -> Result<Vec<Row>> {
        let mut rows = self.go(step).await?;
        rows.iter_mut().for_each(|row| row.truncate(self.fields.len()));
        Ok(rows)
    }

    async fn go(&mut self, step: CursorStep) -> Result<Vec<Row>> {
        match step {
            CursorStep::By(0) => Ok(self.current()),
            CursorStep::By(count) if count > 0 => self.forward(count).await,
            CursorStep::By(count) => self.backward(count.saturating_neg()),
            CursorStep::To(place) if place >= 0 => self.go_to(place).await,
            CursorStep::To(place) => {
                while self.advance().await? {}
                let last = self.last_known();
                self.go_to((last + 1 + place).max(0)).await
            }
            CursorStep::Relative(count) => {
                self.go_to(self.position.saturating_add(count).max(0)).await
            }
        }
    }

    async fn forward(&mut self, count: i64) -> Result<Vec<Row>> {
        let mut found = Vec::new();
        for _ in 0..count {
            if !self.advance().await? {
                break;
            }
            found.extend(self.row(self.position).cloned());
        }
        Ok(found)
    }

    fn backward(&mut self, count: i64) -> Result<Vec<Row>> {
        self.require_scroll()?;
        let mut found = Vec::new();
        while self.position > 0 && (found.len() as i64) < count {
            self.position -= 1;
            match self.row(self.position) {
                Some(row) => found.push(row.clone()),
                None => break,
            }
        }
        Ok(found)
    }

    async fn go_to(&mut self, position: i64) -> Result<Vec<Row>> {
        if position < self.position {
            self.require_scroll()?;
            self.position = position;
        }
        while self.position < position && self.advance().await? {}
        Ok(self.current())
    }
}

impl Drop for RoutineCursor {
    fn drop(&mut self) {
        self.memory.give(self.counted);
    }
}

/// The rows of a loop whose transaction has ended.
struct KeptRows {
    rows: RowPages,
    /// The number of the next row.
    next: usize,
}

impl KeptRows {
    fn take(&mut self, rows_max: usize) -> Result<Vec<Row>> {
        let mut found = Vec::new();
        while found.len() < rows_max
            && let Some(row) = self.rows.get(self.next)?
        {
            found.push(row);
            self.next += 1;
        }
        self.rows.forget_before(self.next);
        Ok(found)
    }
}

impl CursorSource for KeptRows {
    fn next(&mut self, rows_max: usize) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(std::future::ready(self.take(rows_max)))
    }
}

/// A cursor that several may use, one after the other.
pub type SharedCursor = Arc<WaitingMutex<RoutineCursor>>;

/// The open cursors of a session, by name.
#[derive(Default)]
pub struct RoutineCursors {
    open: Mutex<HashMap<String, SharedCursor>>,
    /// Those of running loops, the innermost last.
    loops: Mutex<Vec<SharedCursor>>,
    unnamed: AtomicU64,
}

/// A loop over the rows of a cursor runs as long as this lives.
pub struct RunningLoop<'c> {
    cursors: &'c RoutineCursors,
    cursor: SharedCursor,
}

impl Drop for RunningLoop<'_> {
    fn drop(&mut self) {
        self.cursors.loops.lock().retain(|other| !Arc::ptr_eq(other, &self.cursor));
    }
}

impl RoutineCursors {
    /// A name for a cursor without one.
    pub fn new_name(&self) -> String {
        let number = self.unnamed.fetch_add(1, Ordering::Relaxed) + 1;
        format!("<unnamed portal {number}>")
    }

    /// Whether there is a cursor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.open.lock().contains_key(name)
    }

    /// Adds a cursor. 42P03 if there is one of that name.
    pub fn add(&self, name: &str, cursor: RoutineCursor) -> Result<()> {
        let mut open = self.open.lock();
        if open.contains_key(name) {
            let message = format!("cursor \"{name}\" already in use");
            return Err(Error::new(SqlState::DuplicateCursor, message));
        }
        open.insert(name.to_owned(), cursor.shared());
        Ok(())
    }

    /// The cursor of that name. 34000 if there is none.
    pub fn get(&self, name: &str) -> Result<SharedCursor> {
        self.open.lock().get(name).cloned().ok_or_else(|| unknown(name))
    }

    /// Closes the cursor of that name. 34000 if there is none.
    pub fn close(&self, name: &str) -> Result<()> {
        let closed = self.open.lock().remove(name);
        closed.map(drop).ok_or_else(|| unknown(name))
    }

    /// A loop over the rows of this cursor begins.
    pub fn begin_loop(&self, cursor: &SharedCursor) -> RunningLoop<'_> {
        self.loops.lock().push(cursor.clone());
        RunningLoop { cursors: self, cursor: cursor.clone() }
    }

    /// Lets the cursors of running loops outlive the transaction. 55000 if one may not.
    pub async fn keep_loops(&self, space: &Arc<TempSpace>) -> Result<()> {
        let loops = self.loops.lock().clone();
        for cursor in loops {
            cursor.lock().await.keep(space).await?;
        }
        Ok(())
    }

    /// Closes the cursors, at the end of a transaction, but for those of running loops.
    pub fn close_all(&self) {
        let loops = self.loops.lock().clone();
        let is_running = |cursor: &SharedCursor| loops.iter().any(|one| Arc::ptr_eq(one, cursor));
        let mut open = self.open.lock();
        let closed: Vec<_> = open.extract_if(|_, cursor| !is_running(cursor)).collect();
        drop(open);
        drop(closed);
    }
}

fn invalid_state<T>(message: String) -> Result<T> {
    Err(Error::new(SqlState::InvalidCursorState, message))
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("cursor \"{name}\" does not exist"))
}
