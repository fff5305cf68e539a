//! Golden scripts of SQL that see only the wire: the same file runs on `braid` and on PostgreSQL.
//!
//! ```text
//! # Proves that a unique key holds between sessions.
//! > CREATE TABLE t (id int PRIMARY KEY)
//! t1:> BEGIN
//! t1:> INSERT INTO t VALUES (1)
//! t2:[blocks]> INSERT INTO t VALUES (1)
//! t1:> COMMIT
//! t2:!wait
//! ---
//! ```
//!
//! - `> SQL` sends a statement; a prefix `t1:` names the session, each its own connection.
//! - `!` expects a failure, which prints as its SQLSTATE.
//! - `[blocks]` expects the statement to wait for another session. It prints `blocked`; `wait`
//!   prints what comes of it, once something else has let it go on.
//! - `[message]` prints an error's message, detail and hint too, `[where]` its context; `[sorted]`
//!   sorts the rows, for queries without an order; `[types]` prints the types of the columns.
//! - `notified` prints the notifications that a session has received since it was last asked.
//! - `disconnect` closes a session.
//!
//! Every script has a database of its own. Rows print as `a | b`, NULL as `NULL`; a text that could
//! be mistaken is in quotes.

mod print;
mod session;

pub use session::{ScriptRunner, run};
