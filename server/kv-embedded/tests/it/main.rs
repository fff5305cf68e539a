//! The embedded store: the rules of `kv`, restarts, crashes, damage.

mod basics;
mod bulk_load;
mod common;
mod compaction;
mod concurrency;
mod contract;
mod crash;
mod damage;
mod journal;
mod large_commits;
mod leader;
mod lookups;
mod model;
mod observers;
mod prepared;
mod range_cache;
mod restart;
mod rules;
mod shapes;
mod shared;
