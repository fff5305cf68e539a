//! EXPLAIN: the plan in words, with the spans that its scans read, and with ANALYZE what each
//! operator did in a run.
//!
//! ANALYZE really runs the statement: what it changes stays changed.

mod operator;
mod spans;

pub(crate) use operator::ExplainOperator;
