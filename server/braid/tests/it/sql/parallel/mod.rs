//! Aggregates whose rows several workers read.

mod generator;
mod memory;
mod random;
mod statements;
mod surroundings;
mod tables;
