//! The repository itself: style, and the files for Docker.

mod docker;
mod tidy;
mod tidy_checks;
