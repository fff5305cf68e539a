//! One connection's life: transactions, prepared statements, portals, settings.
//!
//! ```text
//! wire ─► protocol ─► statement::runner ─► statement::execute ─► plan, exec queries and changes
//!         simple        prepare, bind,     statement::commands ─► ddl        definitions, settings
//!         extended      catalog, execute,      │
//!         copy          deliver                ▼
//!         cursors                          retry ─► transaction ─► parts      kv
//!
//! parts    settings, statistics, compute, the hub of notify, the queue of groups
//! Engine   the store, the catalog, cached plans, every session by number; made by `server`
//! ```
//!
//! No two files import each other in a circle. [`Session`] has the methods that a connection
//! calls; every step is a function of the module that owns it.
//!
//! What is here: the state of a transaction, what `SET` means, when a statement is run again, what
//! a statement may wait for. What is not: who may connect and background jobs (`server`), sockets
//! and bytes of the protocol (`wire` implements [`Client`]), plans (`plan`), rows (`exec`).
//!
//! Rules that must always hold:
//! - a statement is run again only while nothing of it has left;
//! - a command tag leaves after the commit that it speaks of;
//! - an error in a block leaves nothing but ROLLBACK, COMMIT and ROLLBACK TO SAVEPOINT;
//! - only `transaction::machine` changes the state of a block;
//! - a session's kv transaction ends with it;
//! - a statement that computes for long does it on a thread of its own (`compute`).

mod client;
mod clock;
mod compute;
mod engine;
mod entry;
mod groups;
mod identity;
mod maintenance;
mod notices;
mod notify;
mod observe;
mod options;
mod protocol;
mod registry;
mod retry;
mod routines;
mod session;
pub mod settings;
mod shared;
mod statement;
mod statistics;
mod timer;

mod transaction;

pub use client::{
    Client, ConnectionLost, CopyInput, Formats, Mark, Notice, OutputSegment, ResultColumn,
    Severity, Target,
};
pub use clock::now_micros;
pub use compute::SessionTerminator;
pub use engine::{Counters, Engine, EngineParts, ShownLimits};
pub use entry::SessionEnded;
pub use maintenance::{analyze_table, check_table, finish_taken_over};
pub use notify::NotificationCounts;
pub use observe::{
    Span, SpanQueue, SpanReceiver, SpanSubject, StatementClass, Times, TransactionTimes,
};
pub use options::SessionOptions;
pub use protocol::between::locks_given_back;
pub use protocol::function_call::{FunctionCall, call_function};
pub use protocol::text::utf8;
pub use registry::SessionRegistry;
pub use retry::reason::RetryCounters;
pub use session::{BackendKey, IdleLimit, Login, Session, Status};
