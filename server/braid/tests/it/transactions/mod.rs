//! Transactions of many connections: isolation, locks, parallel statements, kills.

mod commit_tokens;
mod conflicts;
mod crash;
mod dropped;
mod groups;
mod histories;
mod lock_waits;
mod notifications;
mod prepared;
mod reruns;
mod sessions;
mod workload;
