//! An aggregate of one signature, and what the planner may conclude from it.

use braid_types::SqlType;

use super::accumulator::Accumulator;
use crate::{Arg, Returns};

/// How the order of an aggregate's input rows shows in its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Never, not even in the order of its own additions.
    Ignored,
    /// Never, because the operation commutes.
    Commutes,
    /// Only with floats, whose sums depend on the order.
    CommutesUnlessFloat,
    /// The result depends on it.
    Matters,
}

/// What the planner may conclude from an aggregate, beyond its result's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateMeaning {
    /// The number of rows: `count`. It is 0 without rows, where others are NULL.
    Count,
    /// A sum, or computed from sums: it may overflow.
    Total,
    /// The least of the values.
    Least,
    /// The greatest of the values.
    Greatest,
    /// It compares values for equality.
    ComparesValues,
    /// Nothing.
    Other,
}

impl AggregateMeaning {
    /// Whether it is one of the values, the first one in some order.
    pub fn is_extreme(self) -> bool {
        matches!(self, AggregateMeaning::Least | AggregateMeaning::Greatest)
    }

    fn of(name: &str) -> AggregateMeaning {
        match name {
            "count" => AggregateMeaning::Count,
            "sum" | "avg" => AggregateMeaning::Total,
            "min" => AggregateMeaning::Least,
            "max" => AggregateMeaning::Greatest,
            "mode" | "dense_rank" => AggregateMeaning::ComparesValues,
            name if SPREADS.contains(&name) || PAIRS.contains(&name) => AggregateMeaning::Total,
            _ => AggregateMeaning::Other,
        }
    }
}

/// An aggregate of one signature.
pub struct Aggregate {
    /// Its name.
    pub name: &'static str,
    /// Whether its state grows with the rows that it has taken.
    pub grows: bool,
    /// Whether states can be merged: every state of this name has a partial
    /// ([`Accumulator::partial`]).
    pub merges: bool,
    /// How the order of its rows shows in the result.
    pub row_order: RowOrder,
    /// What the planner may conclude from it.
    pub meaning: AggregateMeaning,
    /// Makes an empty state for arguments of these types.
    pub start: fn(&[SqlType], &SqlType) -> Box<dyn Accumulator>,
}

impl Aggregate {
    /// The aggregate of that name, with its properties.
    pub(crate) fn new(
        name: &'static str,
        start: fn(&[SqlType], &SqlType) -> Box<dyn Accumulator>,
    ) -> Self {
        let found = PROPERTIES.iter().find(|(names, _, _)| names.contains(&name));
        let (grows, row_order) = found.map_or((true, RowOrder::Matters), |(_, g, o)| (*g, *o));
        let merges = found.is_some();
        Self { name, grows, merges, row_order, meaning: AggregateMeaning::of(name), start }
    }

    /// Whether the order of rows of these types never shows in the result.
    pub fn is_commutative(&self, types: &[SqlType]) -> bool {
        match self.row_order {
            RowOrder::Ignored | RowOrder::Commutes => true,
            RowOrder::CommutesUnlessFloat => !types.first().is_some_and(SqlType::is_float),
            RowOrder::Matters => false,
        }
    }
}

/// Variances and standard deviations.
const SPREADS: &[&str] =
    &["var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"];

/// Statistics of pairs of floats.
const PAIRS: &[&str] = &[
    "regr_count",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "regr_avgx",
    "regr_avgy",
    "regr_r2",
    "regr_slope",
    "regr_intercept",
    "covar_pop",
    "covar_samp",
    "corr",
];

/// Names of the aggregates whose states can be merged, whether their state grows, and how they
/// depend on the order of rows. The state of every other aggregate grows and cannot be merged, and
/// its result depends on the order.
const PROPERTIES: &[(&[&str], bool, RowOrder)] = &[
    (&["count", "min", "max", "every", "bool_and", "bool_or"], false, RowOrder::Ignored),
    (&["sum", "avg"], false, RowOrder::CommutesUnlessFloat),
    (SPREADS, false, RowOrder::CommutesUnlessFloat),
    (PAIRS, false, RowOrder::CommutesUnlessFloat),
    // The state over bit strings may have any size.
    (&["bit_and", "bit_or", "bit_xor"], true, RowOrder::Commutes),
];

/// An aggregate with what resolution needs to know.
pub(crate) struct AggregateSignature {
    pub(crate) aggregate: Aggregate,
    pub(crate) args: Vec<Arg>,
    pub(crate) variadic: bool,
    pub(crate) returns: Returns,
}
