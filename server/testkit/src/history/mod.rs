//! A checker of transactional histories: what clients were told, against what strict
//! serializability allows.
//!
//! A [`History`] holds what each transaction did, when it was sent and answered, and how it ended:
//! committed, failed or unknown. Keys are lists, to which unique values are appended, or registers,
//! to which unique values are written. [`check`] works out who must stand before whom:
//!
//! ```text
//!   T1 ──ww──► T2   T2 appended after T1's value, or wrote over a value that it had read of T1
//!   T1 ──wr──► T2   T2 read T1's value
//!   T1 ──rw──► T2   T1 read the state that T2 changed
//!   T1 ──rt──► T2   T1 was answered before T2 was sent
//! ```
//!
//! and looks for cycles: none, if there is an order of the transactions, agreeing with real time,
//! in which one after the other would have read the same. The embedded store promises that order:
//! a commit is published before it is acknowledged, and a snapshot is taken after its transaction's
//! first statement was sent. The real-time edges are what makes the check a strict one.
//!
//! What needs no graph is looked for first: values of transactions that failed, or undone by
//! ROLLBACK TO ([`Kind::AbortedRead`]); values that their own transaction replaced
//! ([`Kind::IntermediateRead`]); values nobody wrote, or twice in one list; two readings of a list
//! of which neither is the start of the other; readings that contradict their own transaction;
//! acknowledged appends that a later reading lacks.
//!
//! What it does not see: an order of blind writes to a register that nobody can know from outside.
//! It knows that the first state comes first, that a transaction which read a value and wrote
//! another put the second after the first, and real time. Lists leave nothing open.
//!
//! A transaction of unknown outcome counts as committed once somebody has read one of its values,
//! and constrains nothing otherwise; it has no moment of being answered.

mod cycle;
mod edges;
mod facts;
mod graph;
mod jsonl;
mod record;
mod report;

pub use edges::check;
pub use record::{History, Key, Op, Outcome, Transaction, Value};
pub use report::{Anomaly, Kind, Report};
