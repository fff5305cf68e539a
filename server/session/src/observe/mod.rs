//! What operators see of statements and transactions: times, the slow-statement log, trace ids.
//!
//! ```text
//! message ─► begin_statement ─► runs, runs again ─► end_statement
//!            class, trace                            ├─► histogram of its class
//!                                                    ├─► a log line, if it was slow
//!                                                    └─► a span, if its trace is sampled
//! ```
//!
//! A session has one running statement at a time. An Execute outside of a block is paused at its
//! end and resumed for the commit at Sync, so that both protocols measure the same. A statement
//! that is queued beside the session takes its measurement along into its task.
//!
//! What the system views show of the running server is here as well (`runtime_info`).
//!
//! Rules: a statement pays for two reads of the clock and two additions to counters of its own
//! thread; nothing is allocated unless the statement is logged; values of parameters are never
//! logged.

mod class;
pub(crate) mod finish;
pub(crate) mod running;
mod runtime_info;
mod spans;
pub(crate) mod statements;
mod times;
mod traced;
pub(crate) mod traceparent;
pub(crate) mod transactions;

pub use class::StatementClass;
pub use spans::{Span, SpanQueue, SpanReceiver, SpanSubject};
pub use times::{Times, TransactionTimes};
