//! The catalog over an embedded store: changes, caches, commit tokens.

mod catalog;
mod commit_tokens;
mod notifications;
