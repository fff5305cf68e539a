//! What a plan says about range deletes: which tables go along, or why rows go one by one.
//!
//! The words of [`Refusal::word`] are part of the interface: EXPLAIN shows them.

use std::sync::Arc;

use braid_catalog::{IndexNumber, Table};

/// A schema that allows range deletes.
#[derive(Debug)]
pub struct RangeDelete {
    /// The tables whose rows go with those of the table.
    pub below: Vec<Arc<Table>>,
    /// Indexes of these tables and of the table itself whose entries lie outside of the range.
    pub outside: Vec<(Arc<Table>, Vec<IndexNumber>)>,
}

/// Why rows go one by one.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// `off`, `returning`, `condition`, `no_cascade`, `deferrable`, `not_validated`, `foreign_key`,
    /// `index`, `moving` or `trigger`.
    pub word: &'static str,
    /// What it is about, if that is an object.
    pub object: Option<String>,
}

impl Refusal {
    /// A refusal that is about an object.
    pub(crate) fn of(word: &'static str, object: impl Into<String>) -> Refusal {
        Refusal { word, object: Some(object.into()) }
    }

    /// `no (foreign_key: c_p_fkey on c)`.
    pub fn describe(&self) -> String {
        match &self.object {
            Some(object) => format!("no ({}: {object})", self.word),
            None => format!("no ({})", self.word),
        }
    }
}
