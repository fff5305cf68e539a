//! The parser of PL/pgSQL, without a server.

mod bodies;
