//! The keys of a hash join.

use std::sync::Arc;

use braid_plan::Expr;

use crate::operator::exprs::Exprs;
use crate::operator::join::hash_table::HashTable;

/// The keys of a hash table: expressions over a row that looks for others, and over one in it.
pub(crate) struct Keys<'p> {
    /// Over a row of the other side.
    pub probe: &'p [Expr],
    /// Over a row of the build side.
    pub build: &'p [Expr],
}

/// The same, compiled.
pub(crate) struct KeyExprs {
    pub(crate) probe: Exprs,
    pub(crate) build: Exprs,
    /// The places of the probe's keys in its row, if all are columns.
    probe_places: Option<Vec<usize>>,
}

impl Keys<'_> {
    /// The keys, compiled.
    pub(crate) fn compile(&self) -> Arc<KeyExprs> {
        KeyExprs::new(self.probe.to_vec(), self.build.to_vec())
    }
}

impl KeyExprs {
    pub(crate) fn new(probe: Vec<Expr>, build: Vec<Expr>) -> Arc<Self> {
        let (probe, build) = (Exprs::new(probe), Exprs::new(build));
        let probe_places = probe.places();
        Arc::new(Self { probe, build, probe_places })
    }

    /// The places of the probe's keys in its row, if all are columns.
    pub(crate) fn probe_places(&self) -> Option<&[usize]> {
        self.probe_places.as_deref()
    }

    /// The same keys with the other side as the build side.
    pub(crate) fn swapped(&self) -> Arc<Self> {
        Self::new(self.build.list.clone(), self.probe.list.clone())
    }

    pub(crate) fn table(&self) -> HashTable {
        HashTable::new(&self.probe.list, &self.build.list)
    }
}
