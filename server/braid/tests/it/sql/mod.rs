//! Statements and their answers, compared with scripts, PostgreSQL and the sqllogictest corpus.

mod copy;
mod errors;
mod golden;
mod interleaved_joins;
mod limits;
mod parallel;
mod random_joins;
mod random_queries;
mod slt;
mod spill;
mod stored_settings;
mod temporary;
mod wire;
