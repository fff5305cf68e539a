//! `braid_internal`: what BraidDB shows of itself beyond PostgreSQL's catalogs.

pub(crate) mod objects;
