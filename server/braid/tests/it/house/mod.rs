//! The repository itself: style, and the files for Docker.

mod crates;
mod dependencies;
mod docker;
mod release;
mod structure;
mod tidy;
mod tidy_checks;
