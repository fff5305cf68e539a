//! Results of subqueries that are computed once.

use std::sync::OnceLock;

use braid_plan::{SubqueryExpr, SubqueryKind};
use braid_types::{Datum, Result, Row, work};

use crate::operator::key_form::KeySet;

/// Memory of a value in a set, roughly.
const ENTRY_BYTES: usize = size_of::<Datum>() + 8;

/// Whether a subquery is a value that does not depend on the row, so that a run computes it once.
pub(crate) fn is_kept_value(subquery: &SubqueryExpr) -> bool {
    subquery.outer.is_empty() && !matches!(subquery.kind, SubqueryKind::Quantified { .. })
}

/// The result of a subquery that does not depend on its surroundings.
pub(crate) struct CachedSubquery {
    pub(crate) rows: Vec<Row>,
    /// The values of the only column, once somebody has asked for them.
    set: OnceLock<SubquerySet>,
    /// The same as an array.
    pub(crate) array: OnceLock<Datum>,
}

/// The values of a subquery, for `= ANY`.
pub(crate) struct SubquerySet {
    pub(crate) values: KeySet<Datum>,
    /// Whether NULL was among them.
    pub(crate) has_null: bool,
}

impl CachedSubquery {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self { rows, set: OnceLock::new(), array: OnceLock::new() }
    }

    /// The values as a set. 53200 if the statement's memory does not suffice.
    pub(crate) fn set(&self) -> Result<&SubquerySet> {
        if self.set.get().is_none() {
            work::afford(self.rows.len() * ENTRY_BYTES)?;
        }
        Ok(self.set.get_or_init(|| {
            let values = self.rows.iter().filter_map(|row| row.first());
            let has_null = values.clone().any(Datum::is_null);
            let values = values.filter(|value| !value.is_null()).cloned().collect();
            SubquerySet { values, has_null }
        }))
    }
}
