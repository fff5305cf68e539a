//! `pg_dump`, `pg_dumpall` and `pg_restore` of PostgreSQL 15, from BraidDB and into it.
//!
//! Every test is skipped with a line that says so where these programs are missing. What is
//! restored into a real PostgreSQL, or comes from one, needs `POSTGRES_URL` as well.

mod altered;
mod everything;
mod extensions;
mod forty_tables;
mod grantors;
mod own_features;
mod roles;
mod snapshots;
mod tools;
