//! Commit tokens and notifications over an embedded store.

mod commit_tokens;
mod notifications;
