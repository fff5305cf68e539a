//! The call of a trigger, as `dml` hands it to the session.

use std::sync::Arc;

use braid_catalog::{Routine, Table, Trigger, TriggerEvent};
use braid_types::{Datum, Row};

/// A call of a trigger's function. It gives the row that the function returns.
pub struct TriggerCall<'a> {
    /// The trigger.
    pub trigger: &'a Trigger,
    /// Its function.
    pub function: &'a Arc<Routine>,
    /// Its table; a view stands there as a table.
    pub table: &'a Arc<Table>,
    /// What it fires for.
    pub event: TriggerEvent,
    /// The row before, by the table's columns.
    pub old: Option<Row>,
    /// The row after.
    pub new: Option<Row>,
    /// The transition tables, as arrays of rows of the visible columns.
    pub tables: Vec<(String, Datum)>,
}
