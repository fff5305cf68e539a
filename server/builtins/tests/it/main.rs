//! Functions, operators and aggregates, evaluated without a server.

mod aggregates;
mod expressions;
mod no_panic;
mod partials;
mod support;
