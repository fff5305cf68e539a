//! What an index computes from a row before it makes an entry: whether the row belongs to it, and
//! the keys that are expressions.
//!
//! ```text
//!   row ── predicate ──▶ no entry
//!            └── keys ──▶ row with the keys in their columns' places ──▶ IndexRows::entry
//! ```
//!
//! Rule: an index has an entry for exactly the rows whose predicate holds, with the values that the
//! expressions have for the stored version of the row. So the entry of an old row is found by
//! computing them again. Expressions are computed only for rows inside of the predicate, whose
//! condition may be what keeps them from failing.

use std::borrow::Cow;
use std::sync::Arc;

use braid_catalog::{Index, Table};
use braid_plan::eval::{EvalContext, eval, holds};
use braid_plan::{Expr, IndexPart, PlanContext, bind_index_exprs};
use braid_types::{Datum, Result};

/// The expressions of one index over its table's row.
#[derive(Default)]
pub struct IndexExprs {
    predicate: Option<Expr>,
    keys: Vec<(usize, Expr)>,
}

impl IndexExprs {
    /// Those among the expressions of all indexes of a table that belong to this one.
    pub fn of(table: &Table, index: &Index, all: &[(IndexPart, Expr)]) -> Self {
        let mut found = Self::default();
        for (part, e) in all {
            match part {
                IndexPart::Predicate(number) if *number == index.number => {
                    found.predicate = Some(e.clone());
                }
                IndexPart::Key(place)
                    if index.keys.iter().any(|key| key.column == table.columns[*place].id) =>
                {
                    found.keys.push((*place, e.clone()));
                }
                _ => {}
            }
        }
        found
    }

    /// Binds the expressions of an index.
    pub fn bind(cx: &PlanContext<'_>, table: &Arc<Table>, index: &Index) -> Result<Self> {
        Ok(Self::of(table, index, &bind_index_exprs(cx, table, index)?))
    }

    /// Whether an entry depends on more than the columns that it has.
    pub fn is_computed(&self) -> bool {
        self.predicate.is_some() || !self.keys.is_empty()
    }

    /// The row with its keys, to make the entry of; `None` if the index leaves the row out.
    pub fn row<'r>(
        &self,
        row: &'r [Datum],
        cx: &EvalContext<'_>,
    ) -> Result<Option<Cow<'r, [Datum]>>> {
        if let Some(predicate) = &self.predicate
            && !holds(predicate, row, cx)?
        {
            return Ok(None);
        }
        if self.keys.is_empty() {
            return Ok(Some(Cow::Borrowed(row)));
        }
        let mut keyed = row.to_vec();
        for (place, e) in &self.keys {
            keyed[*place] = eval(e, row, cx)?;
        }
        Ok(Some(Cow::Owned(keyed)))
    }
}
