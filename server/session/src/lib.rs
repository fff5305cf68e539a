//! One connection's life: transactions, prepared statements, portals, settings.
//!
//! ```text
//! wire ── simple ─┐                       ┌─ plan, exec     queries and DML
//!         parse   ├─► Session ─ run_portal├─ exec::ddl      definitions
//!         bind …  │     │                 └─ dispatch, copy the rest
//!         sync ───┘     └─ transaction: None, Active, Failed; one kv transaction at most
//!
//! Server: the database, the catalog, cached plans, limits, every session by number
//! ```
//!
//! What is here: the state of a transaction, who may connect, what `SET` means, when a statement
//! is run again, what a statement is allowed to wait for. What is not: sockets and bytes of the
//! protocol (`wire` implements [`Client`]), names and plans (`plan`), rows (`exec`).
//!
//! Rules that must always hold:
//! - a statement is run again only while nothing of it has left;
//! - a command tag leaves after the commit that it speaks of;
//! - an error in a block leaves nothing but ROLLBACK, COMMIT and ROLLBACK TO SAVEPOINT;
//! - a session's kv transaction ends with it;
//! - who computes for long does it on a thread of its own (`compute`).

mod auth;
mod check_table;
mod client;
mod clock;
mod commit_token;
mod compute;
mod copy;
mod cursor;
mod deadline;
mod deferred;
mod dispatch;
mod entry;
mod environment;
mod errors;
mod explain;
mod extended;
mod garbage;
mod gateways;
mod group;
mod identity;
mod left_over;
mod lock_table;
mod metrics;
mod notify;
mod options;
mod plan_cache;
mod planning;
mod portal;
mod prepared;
mod put_off;
mod replay;
mod run;
mod savepoints;
mod server;
mod server_metrics;
mod session;
pub mod settings;
mod shared;
mod show;
mod simple;
mod skeleton;
mod snapshots;
mod temporary;
mod text;
mod transaction;

pub use auth::{ScramExchange, hash_password};
pub use check_table::Checked;
pub use client::{Client, CopyInput, Formats, Notice, ResultColumn, Severity};
pub use entry::Ender;
pub use metrics::{Metric, MetricKind};
pub use options::SessionOptions;
pub use server::{Authentication, Permit, Server, ServerOptions};
pub use session::{IdleLimit, Session, Status};
pub use text::utf8;
