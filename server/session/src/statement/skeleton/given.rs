//! The values of a statement that is prepared by its skeleton.

use std::sync::Arc;

use braid_types::{Datum, SqlType};

use crate::statement::plans::cache::CachedPlan;

/// What a statement has that is prepared by its skeleton.
pub(crate) struct Given {
    /// The types of the skeleton's parameters.
    pub types: Vec<SqlType>,
    /// The values, unless they are parameters.
    pub values: Option<Arc<Vec<Datum>>>,
    /// The only plan that they are for; any other is of the whole text.
    pub plan: Option<Arc<CachedPlan>>,
    /// Whether the statement's own text is kept in full.
    pub has_whole_text: bool,
}

impl Given {
    /// Whether a plan takes these values.
    pub(crate) fn fits(&self, plan: &Arc<CachedPlan>) -> bool {
        self.types == plan.plan.params
            && self.plan.as_ref().is_none_or(|only| Arc::ptr_eq(only, plan))
    }

    /// Whether the statement can be planned as it is written.
    pub(crate) fn can_be_whole(&self) -> bool {
        self.values.is_some() && self.has_whole_text
    }
}
