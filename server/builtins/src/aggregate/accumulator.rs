//! What an aggregate has collected of one group.

use braid_types::{Datum, Error, Numeric, Result};

use crate::Environment;

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
    /// The state as values, the *partial*, from which [`Accumulator::merge`] adds its rows to
    /// another state. `None` if the aggregate has no partials.
    fn partial(&self) -> Option<Vec<Datum>> {
        None
    }
    /// Adds the rows of another state of the same aggregate, given by its partial. They count as
    /// rows after those of this state. The partial of a state without rows adds nothing.
    fn merge(&mut self, _partial: &[Datum], _env: &dyn Environment) -> Result<()> {
        Err(Error::internal("states of this aggregate cannot be merged"))
    }
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

/// XX000 for a partial that its aggregate does not make.
pub(super) fn wrong_partial() -> Error {
    Error::internal("a partial state of an aggregate has the wrong form")
}
