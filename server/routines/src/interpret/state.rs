//! The state of a running body, and where its statements lead.

use std::sync::Arc;

use braid_exec::{ExecContext, RoutineRows};
use braid_types::{Datum, Error};

use super::frame::Frame;
use crate::body::Code;
use crate::host::Host;
use crate::simple::Prepared;

/// Where a statement leads.
pub(super) enum Flow {
    /// To the next one.
    Next,
    /// Out of a loop or block (true), or to a loop's next round, by its label.
    Leave(bool, Option<String>),
    /// Out of the routine.
    Return(Datum),
}

/// A running body.
pub(super) struct Run<'r> {
    pub(super) code: Arc<Code>,
    pub(super) host: &'r mut dyn Host,
    /// What expressions without queries use.
    pub(super) cx: Arc<ExecContext>,
    pub(super) frame: Frame,
    /// Where the rows of a set go.
    pub(super) rows: Option<&'r mut RoutineRows>,
    /// Rows of the last statement, for GET DIAGNOSTICS.
    pub(super) row_count: i64,
    /// The errors whose handlers are running, the innermost last.
    pub(super) caught: Vec<Error>,
    /// The expressions whose values wait for nothing, as they are bound for `cx`, by their numbers.
    pub(super) prepared: Vec<Option<Prepared>>,
    /// The catalog and the settings are those of `cx`: nothing has run since it was looked at.
    pub(super) is_settled: bool,
    /// Rounds of loops.
    pub(super) rounds: u32,
    /// The line and the words of the statement that has failed.
    pub(super) failed_at: Option<(u32, &'static str)>,
}
