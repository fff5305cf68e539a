//! What makes a routine an aggregate: the functions that it consists of, and its state.

use braid_types::SqlType;
use serde::{Deserialize, Serialize};

use super::Id;

/// The definition of an aggregate of a user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AggregateParts {
    /// SFUNC: makes the next state of the state and the arguments of a row.
    pub step: FunctionRef,
    /// STYPE: the type of the state.
    pub state: SqlType,
    /// INITCOND: the first state as text; NULL without it.
    pub initial: Option<String>,
    /// FINALFUNC: makes the result of the last state.
    pub finish: Option<FunctionRef>,
    /// FINALFUNC_EXTRA: the final function also gets a NULL for each argument.
    pub finish_takes_arguments: bool,
    /// FINALFUNC_MODIFY, by its letter in `pg_aggregate`. It changes nothing here.
    pub finish_modifies: char,
    /// COMBINEFUNC, which is not called here.
    pub combine: Option<FunctionRef>,
    /// SSPACE, which changes nothing here.
    pub state_bytes: i32,
    /// SORTOP, which changes nothing here.
    pub sort_operator: Option<String>,
}

/// A function that a descriptor refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FunctionRef {
    /// A built-in one, by name.
    BuiltIn(String),
    /// A function of a user.
    Routine(Id),
}

impl AggregateParts {
    /// The functions that it consists of.
    pub fn functions(&self) -> impl Iterator<Item = &FunctionRef> {
        [&self.step].into_iter().chain(&self.finish).chain(&self.combine)
    }
}

impl FunctionRef {
    /// The number of a function of a user.
    pub fn routine(&self) -> Option<Id> {
        match self {
            FunctionRef::BuiltIn(_) => None,
            FunctionRef::Routine(id) => Some(*id),
        }
    }
}
