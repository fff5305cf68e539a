//! Descriptions of objects that are there from the start. Those of functions, operators and types
//! are left out.

use braid_catalog::{EXTENSIONS, Id, Language};
use braid_types::search::configs;

use super::relations::{BTREE, GIN, GIST, HASH, HEAP, SPGIST};

/// The description of a built-in object.
pub(crate) struct Description {
    /// The name of the catalog that lists it.
    pub(crate) catalog: &'static str,
    /// The number of that catalog.
    pub(crate) class: u32,
    /// The number of the object.
    pub(crate) oid: Id,
    /// The text.
    pub(crate) text: &'static str,
}

/// Catalogs by name and number.
const PG_AM: (&str, u32) = ("pg_am", 2601);
const PG_LANGUAGE: (&str, u32) = ("pg_language", 2612);
const PG_EXTENSION: (&str, u32) = ("pg_extension", 3079);
const PG_TS_DICT: (&str, u32) = ("pg_ts_dict", 3600);
const PG_TS_PARSER: (&str, u32) = ("pg_ts_parser", 3601);
const PG_TS_CONFIG: (&str, u32) = ("pg_ts_config", 3602);

/// The parser of text search.
const DEFAULT_PARSER: Id = 3722;

/// All of them.
pub(crate) fn descriptions() -> impl Iterator<Item = Description> {
    let simple = "simple dictionary: just lower case and check for stopword";
    let objects = [
        (PG_LANGUAGE, 12, "built-in functions"),
        (PG_LANGUAGE, 13, "dynamically-loaded C functions"),
        (PG_LANGUAGE, 14, "SQL-language functions"),
        (PG_LANGUAGE, Language::Plpgsql.oid(), "PL/pgSQL procedural language"),
        (PG_TS_CONFIG, configs::SIMPLE, "simple configuration"),
        (PG_TS_CONFIG, configs::ENGLISH, "configuration for english language"),
        (PG_TS_DICT, configs::SIMPLE_DICTIONARY, simple),
        (PG_TS_DICT, configs::ENGLISH_DICTIONARY, "snowball stemmer for english language"),
        (PG_TS_PARSER, DEFAULT_PARSER, "default word parser"),
    ];
    let methods = [
        (HEAP, "heap table access method"),
        (BTREE, "b-tree index access method"),
        (HASH, "hash index access method"),
        (GIST, "GiST index access method"),
        (GIN, "GIN index access method"),
        (SPGIST, "SP-GiST index access method"),
    ];
    let methods = methods.into_iter().filter_map(|(oid, text)| {
        let oid = Id::try_from(oid).ok()?;
        Some((PG_AM, oid, text))
    });
    // Others may be dumped, and a dump would then comment on them.
    let extensions = EXTENSIONS.iter().filter(|extension| extension.is_preinstalled());
    let extensions = extensions.map(|found| (PG_EXTENSION, found.oid, found.comment));
    let all = objects.into_iter().chain(methods).chain(extensions);
    all.map(|((catalog, class), oid, text)| Description { catalog, class, oid, text })
}
