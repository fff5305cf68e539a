//! Portals and cursors: a bound statement and how far it has run.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::Standing;
use braid_exec::Execution;
use braid_types::{Datum, Row};

use crate::client::{Formats, ResultColumn};
use crate::prepared::Prepared;

/// Where rows come from.
pub(crate) enum Source {
    /// A running plan; another tag than its own, if there is one.
    Execution(Box<Execution>, Option<&'static str>),
    /// Rows that are there, and the tag.
    Rows(VecDeque<Row>, String),
}

/// A statement that has begun.
pub(crate) struct Running {
    pub columns: Arc<[ResultColumn]>,
    pub source: Source,
    /// What it was planned with, if that has to stand until its rows are there.
    pub standing: Option<Standing>,
}

/// How far a portal has run.
pub(crate) enum Run {
    /// Not begun.
    New,
    /// Begun.
    Open(Running),
    /// At its end.
    Done,
}

/// What DECLARE said, and where the cursor stands.
pub(crate) struct CursorState {
    pub hold: bool,
    pub scroll: bool,
    pub binary: bool,
    /// The query's text.
    pub text: String,
    pub time: i64,
    /// 0 is before the first row, n the n-th row, one more than the last is behind it.
    pub position: i64,
    /// Rows from `first` on that were read; all of them if it scrolls.
    pub rows: VecDeque<Row>,
    /// The number of the first row in `rows`, from 1.
    pub first: i64,
    /// Whether the query has no more rows.
    pub at_end: bool,
}

/// A bound statement.
pub(crate) struct Portal {
    pub prepared: Arc<Prepared>,
    pub params: Arc<Vec<Datum>>,
    pub formats: Formats,
    pub run: Run,
    /// Set for a cursor of DECLARE.
    pub cursor: Option<Box<CursorState>>,
    /// A cursor WITH HOLD whose transaction has committed.
    pub held: bool,
}

impl Portal {
    pub(crate) fn new(
        prepared: Arc<Prepared>,
        params: Arc<Vec<Datum>>,
        formats: Formats,
    ) -> Portal {
        Portal { prepared, params, formats, run: Run::New, cursor: None, held: false }
    }

    /// Whether it outlives its transaction.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Its columns, as far as they are known; `None` if it returns no rows.
    pub(crate) fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        match &self.run {
            Run::Open(running) => Some(&running.columns),
            Run::New | Run::Done => self.prepared.columns.as_ref(),
        }
    }
}
