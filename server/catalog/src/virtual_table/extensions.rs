//! Extensions of PostgreSQL whose types and functions are built in.

/// An extension that is always there.
pub struct Extension {
    /// Its number, below those of users, so that no dump has it.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// The version of PostgreSQL 15.
    pub version: &'static str,
    /// What it is for.
    pub comment: &'static str,
}

/// The extensions that are always there.
pub const EXTENSIONS: &[Extension] = &[
    Extension {
        oid: 15_002,
        name: "pg_stat_statements",
        version: "1.10",
        comment: "statistics of all statements that were run",
    },
    Extension { oid: 15_003, name: "plpgsql", version: "1.0", comment: "the language PL/pgSQL" },
    Extension {
        oid: 15_004,
        name: "pgcrypto",
        version: "1.3",
        comment: "hashes, passwords and random bytes",
    },
    Extension { oid: 15_005, name: "uuid-ossp", version: "1.1", comment: "functions for UUIDs" },
    Extension {
        oid: 15_006,
        name: "btree_gist",
        version: "1.7",
        comment: "equality in EXCLUDE constraints",
    },
    Extension {
        oid: 15_007,
        name: "pg_trgm",
        version: "1.6",
        comment: "similarity of texts, and indexes for LIKE",
    },
    Extension {
        oid: 15_008,
        name: "citext",
        version: "1.6",
        comment: "texts that compare without regard to case",
    },
    Extension { oid: 15_009, name: "hstore", version: "1.8", comment: "sets of keys and values" },
];
