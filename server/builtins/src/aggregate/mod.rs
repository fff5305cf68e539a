//! Aggregates: found by name and types, fed row by row.
//!
//! ORDER BY, DISTINCT and FILTER inside an aggregate call are `exec`'s: rows arrive here sorted,
//! distinct and filtered. Ordered-set aggregates (`percentile_cont … WITHIN GROUP`) get their
//! direct arguments first in each row, then the sorted value.

mod bits;
mod collect;
mod count;
mod extreme;
mod hypothetical;
mod json;
mod ordered_set;
mod ranges;
mod statistics;
mod steps;
mod sum;

use braid_types::{Datum, Error, Numeric, Result, SqlType};

pub use hypothetical::hypothetical;

use crate::registry::resolve::{
    Candidate, Selection, ambiguous_function, bind_one, no_function, select,
};
use crate::registry::tables::{Registry, registry};
use crate::{Arg, Environment, Returns};

/// The state of one aggregate over one group.
pub trait Accumulator: Send {
    /// Takes one row's arguments. Strict aggregates skip rows with a NULL themselves.
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()>;
    /// The same for many rows whose only argument is an integer, none of them NULL.
    fn add_ints(&mut self, values: &[i64], env: &dyn Environment) -> Result<()> {
        values.iter().try_for_each(|value| self.add(&[Datum::Int(*value)], env))
    }
    /// The same for many rows whose only argument is a float, none of them NULL.
    fn add_floats(&mut self, values: &[f64], env: &dyn Environment) -> Result<()> {
        values.iter().try_for_each(|value| self.add(&[Datum::Float(*value)], env))
    }
    /// The same for many rows whose only argument is a numeric of this scale, none of them NULL:
    /// the numbers without their decimal points.
    fn add_decimals(&mut self, values: &[i64], scale: u16, env: &dyn Environment) -> Result<()> {
        let number = |value: &i64| Datum::Numeric(Numeric::from_parts(i128::from(*value), scale));
        values.iter().try_for_each(|value| self.add(&[number(value)], env))
    }
    /// The same for many rows without arguments.
    fn add_rows(&mut self, rows: usize, env: &dyn Environment) -> Result<()> {
        (0..rows).try_for_each(|_| self.add(&[], env))
    }
    /// The result; may be called again after more rows (window frames).
    fn finish(&self, env: &dyn Environment) -> Result<Datum>;
    /// Takes what the state has collected out of it, in pieces that go to disk. The state goes on
    /// as if it still had them. `None` if that is not possible, or of no use.
    fn save(&mut self) -> Option<Vec<Datum>> {
        None
    }
    /// Puts back a piece, in the order in which the pieces were taken out, into a state that has
    /// taken no rows.
    fn load(&mut self, _piece: &Datum) -> Result<()> {
        Err(Error::internal("a state of this aggregate has no pieces"))
    }
    /// Approximate bytes held, for the memory limit of a statement.
    fn size_bytes(&self) -> usize {
        64
    }
}

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
    /// A sum, or a quotient of one: it may overflow.
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
        Self { name, grows, row_order, meaning: AggregateMeaning::of(name), start }
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

/// Names of aggregates, whether their state grows, and how they depend on the order of rows. The
/// state of every other aggregate grows, and its result depends on the order.
const PROPERTIES: &[(&[&str], bool, RowOrder)] = &[
    (&["count", "min", "max", "every", "bool_and", "bool_or"], false, RowOrder::Ignored),
    (&["sum", "avg"], false, RowOrder::CommutesUnlessFloat),
    (&["bit_and", "bit_or", "bit_xor"], true, RowOrder::Commutes),
];

/// An aggregate with what resolution needs to know.
pub(crate) struct AggregateSignature {
    pub(crate) aggregate: Aggregate,
    pub(crate) args: Vec<Arg>,
    pub(crate) variadic: bool,
    pub(crate) returns: Returns,
}

/// Whether an aggregate needs WITHIN GROUP, as far as its name says.
pub fn is_ordered_set(name: &str) -> bool {
    matches!(name, "mode" | "percentile_cont" | "percentile_disc") || hypothetical(name).is_some()
}

/// What resolution found.
#[derive(Clone)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: &'static Aggregate,
    /// The types that the arguments are to be cast to.
    pub arg_types: Vec<SqlType>,
    /// The type of its result.
    pub returns: SqlType,
}

/// Finds an aggregate; `None` if there is none of that name at all, 42883 if none fits.
/// `count(*)` is asked for with no arguments.
pub fn resolve_aggregate(name: &str, args: &[SqlType]) -> Result<Option<ResolvedAggregate>> {
    let Some(all) = registry().aggregates.get(name) else { return Ok(None) };
    let candidates: Vec<_> = all
        .iter()
        .filter_map(|one| Candidate::expand(one, &one.args, one.variadic, args.len()))
        .collect();
    match select(candidates, args) {
        Selection::None => Err(no_function(name, args)),
        Selection::Many => Err(ambiguous_function(name, args)),
        Selection::One(found) => {
            let (arg_types, returns) = bind_one(&found.args, args, &found.item.returns)?;
            Ok(Some(ResolvedAggregate { aggregate: &found.item.aggregate, arg_types, returns }))
        }
    }
}

pub(crate) fn register(registry: &mut Registry) {
    bits::register(registry);
    count::register(registry);
    sum::register(registry);
    extreme::register(registry);
    collect::register(registry);
    statistics::register(registry);
    json::register(registry);
    ordered_set::register(registry);
    steps::register(registry);
    ranges::register(registry);
}
