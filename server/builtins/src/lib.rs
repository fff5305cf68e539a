//! Functions, operators and aggregates, found by name and argument types as PostgreSQL finds them.
//!
//! What is here: the registry, overload resolution, and the evaluation of one call on datums.
//! What is not: expressions as trees (`plan`), anything that waits for a store (sequences and
//! sleeping are [`Special`], carried out by `exec`), what a relation is ([`Lookup`] is implemented
//! by `catalog`).
//!
//! ```text
//! name, argument types ──► resolve (casts, return type) ──► Function ──► eval(Call) ──► Datum
//!                              │                               ▲
//!                              └── registry: one file a family ┘
//! ```
//!
//! Rules that must always hold: a strict function never sees NULL; a call never panics; an
//! immutable function reads nothing of its [`Environment`].

mod aggregate;
mod datetimes;
mod geometry;
mod json;
mod names;
mod numbers;
mod ranges;
mod registry;
mod scalars;
mod search;
mod sets;
mod strings;
mod system;
mod text_types;
mod window;

pub use aggregate::{
    Accumulator, Aggregate, AggregateMeaning, ResolvedAggregate, RowOrder, hypothetical,
    is_ordered_set, resolve_aggregate,
};
pub use names::input_functions::input_function;
pub use names::parameters::{Parameter, parameters};
pub use names::procedures::{Operator, Procedure, arg_oid, operators, procedures};
pub use names::pseudo_types::{PSEUDO_TYPES, PseudoType};
pub use names::reg::{cast_reg, function_oid, is_reg_cast};
pub use names::type_names::{row_array_type, row_type};
pub use numbers::floats::seed_random;
pub use registry::call::display;
pub use registry::function::{
    Advisory, Arg, Call, Environment, Eval, Function, LargeObjectCall, Lookup, ObjectIdentity,
    PartitionTree, PrivilegedKind, RelationCounter, Returns, RoutineText, Rows, SetFunction,
    Special, StatisticsText, Volatility, Writable,
};
pub use registry::resolve::{
    Choice, Resolved, ResolvedSet, bind_any, choose, resolve_function, resolve_operator,
    resolve_set_function, resolve_shown, resolve_variadic,
};
pub use registry::tables::{
    all_aggregates, all_functions, all_set_functions, is_aggregate, makes_other_rows,
};
pub use registry::traits::{IndexTraits, SequenceTraits};
pub use search::text_vector;
pub use system::clock_micros;
pub use text_types::{COLLATION_VERSION, check_locale};
pub use window::{ResolvedWindow, WindowKind, is_window, resolve_window};
