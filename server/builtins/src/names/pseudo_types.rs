//! PostgreSQL's pseudo-types: they stand in signatures, and no column or value has one.
//!
//! Here: what `pg_type` says of those that are no [`SqlType`](braid_types::SqlType). `record`,
//! `void` and `unknown` are.

/// What `pg_type` says of a pseudo-type.
pub struct PseudoType {
    /// Its number.
    pub oid: u32,
    /// Its name in `pg_type`.
    pub name: &'static str,
    /// How it prints.
    pub display: &'static str,
    /// Bytes, negative for a variable length.
    pub len: i16,
    /// The number of the type of its arrays; 0 if there are none.
    pub array_oid: u32,
}

const fn pseudo(oid: u32, name: &'static str, len: i16) -> PseudoType {
    PseudoType { oid, name, display: name, len, array_oid: 0 }
}

/// `cstring`'s arrays are the only ones of a pseudo-type here.
const CSTRING_ARRAY: u32 = 1263;

/// All of them, by number.
pub const PSEUDO_TYPES: &[PseudoType] = &[
    pseudo(32, "pg_ddl_command", 8),
    pseudo(269, "table_am_handler", 4),
    pseudo(325, "index_am_handler", 4),
    PseudoType { oid: 1263, name: "_cstring", display: "cstring[]", len: -1, array_oid: 0 },
    PseudoType {
        oid: 2275,
        name: "cstring",
        display: "cstring",
        len: -2,
        array_oid: CSTRING_ARRAY,
    },
    PseudoType { oid: 2276, name: "any", display: "\"any\"", len: 4, array_oid: 0 },
    pseudo(2277, "anyarray", -1),
    pseudo(2279, "trigger", 4),
    pseudo(2280, "language_handler", 4),
    pseudo(2281, "internal", 8),
    pseudo(2283, "anyelement", 4),
    pseudo(2776, "anynonarray", 4),
    pseudo(3115, "fdw_handler", 4),
    pseudo(3310, "tsm_handler", 4),
    pseudo(3500, "anyenum", 4),
    pseudo(3831, "anyrange", -1),
    pseudo(3838, "event_trigger", 4),
    pseudo(4537, "anymultirange", -1),
    pseudo(4538, "anycompatiblemultirange", -1),
    pseudo(5077, "anycompatible", 4),
    pseudo(5078, "anycompatiblearray", -1),
    pseudo(5079, "anycompatiblenonarray", 4),
    pseudo(5080, "anycompatiblerange", -1),
];

impl PseudoType {
    /// The one with this number.
    pub fn by_oid(oid: u32) -> Option<&'static PseudoType> {
        PSEUDO_TYPES.iter().find(|ty| ty.oid == oid)
    }

    /// The one of this name in `pg_type`.
    pub fn by_name(name: &str) -> Option<&'static PseudoType> {
        PSEUDO_TYPES.iter().find(|ty| ty.name == name)
    }
}
