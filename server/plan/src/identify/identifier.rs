//! What writing a query again needs to know, and notes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use braid_catalog::Id;
use braid_types::{Error, SqlState};

use crate::bind::{NoStoredForm, Notes};
use crate::context::PlanContext;

/// Writes a query with ids.
pub(super) struct Identifier<'n, 'c> {
    pub(super) cx: &'n PlanContext<'c>,
    pub(super) notes: &'n Notes,
    pub(super) uses: BTreeMap<Id, BTreeSet<u16>>,
    /// The relations among the items of FROM, by number.
    pub(super) relations: HashMap<u32, Id>,
}

impl<'n, 'c> Identifier<'n, 'c> {
    pub(super) fn new(cx: &'n PlanContext<'c>, notes: &'n Notes) -> Self {
        Self { cx, notes, uses: BTreeMap::new(), relations: HashMap::new() }
    }
}

/// 0A000 for what has no stored form.
pub(super) fn unstorable(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("{what} cannot be kept in a view"))
        .caused_by(NoStoredForm)
}
