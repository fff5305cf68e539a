//! SQL/JSON path: what a `jsonpath` finds in a `jsonb`.
//!
//! The type itself, its reader and its printer are `braid_types::jsonpath`. Here are the functions
//! and operators (`functions`) and the evaluator, in parts by what an expression does.
//!
//! ```text
//! evaluate    beginnings and steps, the list of what was found
//!   access      keys, subscripts, wildcards
//!   methods     .size(), .double(), .datetime()…
//!   keyvalue    .keyvalue() with its object numbers
//!   numbers     + - * / % and signs
//!   conditions  filters, comparisons, like_regex
//! ```
//!
//! Rules: an evaluation ends as [`evaluate::Outcome`] says; errors of the data can be suppressed
//! ([`evaluate::Evaluator::fail`]), a missing variable or a cast that needs a zone cannot. Nesting
//! is bounded; loops count their work, lists their memory.

mod access;
mod conditions;
mod evaluate;
mod functions;
mod item;
mod keyvalue;
mod methods;
mod moments;
mod numbers;

pub(super) use functions::register;
