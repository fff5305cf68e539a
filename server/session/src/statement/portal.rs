//! Portals and cursors: a bound statement and how far it has run.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::{ColumnId, Id, Standing, Table};
use braid_exec::{Execution, RowPages};
use braid_types::{Datum, Result, Row, SqlType};

use crate::client::{Formats, ResultColumn};
use crate::statement::prepared::Prepared;

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
    /// `SCROLL` (true) or `NO SCROLL`. A cursor that says neither goes back as long as its rows
    /// are few.
    pub scroll: Option<bool>,
    /// Bytes of the rows of a cursor that says neither.
    pub kept_bytes: usize,
    pub binary: bool,
    /// The query's text.
    pub text: String,
    pub time: i64,
    /// How many of the savepoints that are left were made before it.
    pub savepoints: usize,
    /// 0 is before the first row, n the n-th row, one more than the last is after it.
    pub position: i64,
    /// Rows that were read, from number 0; if it does not scroll, not those before the current one.
    pub rows: RowPages,
    /// Whether the query has no more rows.
    pub at_end: bool,
    /// What the rows have behind the client's columns; `None` if nothing.
    pub row_key: Option<RowKey>,
}

/// The primary key of a cursor's rows, for `WHERE CURRENT OF`: one of one table.
pub(crate) struct RowKey {
    pub table: Id,
    pub columns: Vec<ColumnId>,
}

impl RowKey {
    /// Whether it still is the primary key of this table.
    pub(crate) fn is_of(&self, table: &Table) -> bool {
        let keys = table.primary.keys.iter().map(|part| part.column);
        self.table == table.id && keys.eq(self.columns.iter().copied())
    }
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

    /// How many columns its rows have behind those of the client.
    pub(crate) fn hidden_columns(&self) -> usize {
        let key = self.cursor.as_ref().and_then(|cursor| cursor.row_key.as_ref());
        key.map_or(0, |key| key.columns.len())
    }

    /// Its columns, as far as they are known; `None` if it returns no rows.
    pub(crate) fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        match &self.run {
            Run::Open(running) => Some(&running.columns),
            Run::New | Run::Done => self.prepared.columns.as_ref(),
        }
    }
}

/// Takes the last columns from rows.
pub(crate) fn hide_columns<'r>(rows: impl IntoIterator<Item = &'r mut Row>, count: usize) {
    if count > 0 {
        rows.into_iter().for_each(|row| row.truncate(row.len().saturating_sub(count)));
    }
}

/// What an Execute asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The most rows to send; 0: all.
    pub rows_max: u64,
    /// Whether the columns go first.
    pub describe: bool,
}

impl Wanted {
    /// Every row, after its columns.
    pub(crate) const DESCRIBED: Wanted = Wanted { rows_max: 0, describe: true };
    /// Every row.
    pub(crate) const ALL: Wanted = Wanted { rows_max: 0, describe: false };
}

/// How a portal's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At the end of its rows.
    Complete,
    /// At the limit of rows.
    Suspended,
}

impl Source {
    /// Puts names in the place of object numbers, where `to` says text and `from` does not.
    pub(crate) fn name_objects(
        &self,
        rows: &mut [Row],
        from: &[ResultColumn],
        to: &[ResultColumn],
    ) -> Result<()> {
        let Source::Execution(execution, _) = self else { return Ok(()) };
        let cx = &execution.run().cx;
        let newest = cx.renewed();
        let env = newest.as_ref().map_or(&*cx.env, |newest| &*newest.env);
        for row in rows {
            for (datum, (from, to)) in row.iter_mut().zip(from.iter().zip(to)) {
                if from.ty != to.ty {
                    *datum = braid_builtins::cast_reg(datum, &from.ty, &to.ty, env)?;
                }
            }
        }
        Ok(())
    }

    /// The next rows; none at the end.
    pub(crate) async fn next(
        &mut self,
        rows_max: usize,
        cancel: &braid_exec::Cancel,
    ) -> Result<Vec<Row>> {
        match self {
            Source::Execution(execution, _) => {
                cancel.check()?;
                tokio::select! {
                    biased;
                    rows = execution.next(rows_max) => rows,
                    error = cancel.stopped() => Err(error),
                }
            }
            Source::Rows(rows, _) => {
                let count = rows_max.min(rows.len());
                Ok(rows.drain(..count).collect())
            }
        }
    }

    /// The command tag, once there are no more rows. A SELECT counts the rows of this Execute.
    pub(crate) fn tag(&self, sent: usize) -> String {
        match self {
            Source::Execution(_, Some(tag)) => (*tag).to_owned(),
            Source::Execution(execution, None) if execution.is_query() => {
                format!("SELECT {sent}")
            }
            Source::Execution(execution, None) => execution.tag(),
            Source::Rows(_, tag) => tag.clone(),
        }
    }
}

/// The columns with numbers of catalog objects (`regclass` and similar types) as text, if there are
/// any: as text they show names, which only the catalog knows.
pub(crate) fn named_columns(
    columns: &[ResultColumn],
    formats: &Formats,
) -> Option<Vec<ResultColumn>> {
    let is_named = |(i, column): (usize, &ResultColumn)| {
        column.ty.innermost().is_reg() && !formats.is_binary(i)
    };
    columns.iter().enumerate().any(is_named).then(|| {
        let text = |(i, column): (usize, &ResultColumn)| match is_named((i, column)) {
            true => ResultColumn { ty: SqlType::Text, ..column.clone() },
            false => column.clone(),
        };
        columns.iter().enumerate().map(text).collect()
    })
}
