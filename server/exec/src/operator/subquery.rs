//! Results of subqueries that are computed once.

use braid_types::{Datum, Row};

use crate::operator::key_form::KeySet;

/// The result of a subquery that does not depend on its surroundings.
pub(crate) struct CachedSubquery {
    pub(crate) rows: Vec<Row>,
    /// For `= ANY`: the values, and whether NULL was among them.
    pub(crate) set: Option<(KeySet<Datum>, bool)>,
}
