//! The TiKV stand-in: its rules, which a real cluster is asked for as well, and its faults.

mod client;
mod commits;
mod locks;
mod others;
mod reads;
mod rules;
mod standin;
