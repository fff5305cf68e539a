//! Background jobs: they run for as long as the server lives.

mod analyze;
mod commit_tokens;
mod garbage;
mod left_over;
mod notifications;
mod session_locks;
mod start;
mod statistics;
mod unfinished;

pub(crate) use start::start;
pub(crate) use unfinished::remove_unfinished;
