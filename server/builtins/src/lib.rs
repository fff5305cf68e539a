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
mod arrays;
mod call;
mod casts;
mod compare;
mod datetimes;
mod enums;
mod families;
mod floats;
mod function;
mod input_functions;
mod integers;
mod json;
mod lsns;
mod macs;
mod networks;
mod numerics;
mod parameters;
mod polymorphic;
mod procedures;
mod pseudo_types;
mod reg;
mod reg_signatures;
mod registry;
mod resolve;
mod sets;
mod strings;
mod system;
mod type_names;
mod uuids;
mod window;

pub use aggregate::{Accumulator, Aggregate, ResolvedAggregate, resolve_aggregate};
pub use function::{
    Advisory, Arg, Call, Environment, Eval, Function, Lookup, Returns, Rows, SetFunction, Special,
    Volatility,
};
pub use input_functions::input_function;
pub use parameters::{Parameter, parameters};
pub use procedures::{Operator, Procedure, arg_oid, operators, procedures};
pub use pseudo_types::{PSEUDO_TYPES, PseudoType};
pub use reg::{cast_reg, function_oid, is_reg_cast};
pub use registry::{all_aggregates, all_functions, all_set_functions, is_aggregate};
pub use resolve::{
    Resolved, ResolvedSet, resolve_function, resolve_operator, resolve_set_function,
};
pub use type_names::{row_array_type, row_type};
pub use window::{ResolvedWindow, WindowKind, is_window, resolve_window};
