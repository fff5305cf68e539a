//! Extensions of PostgreSQL whose types and functions are built in.
//!
//! `CREATE EXTENSION` keeps the schema that it names for the database. A call may then write the
//! functions of the extension with that schema, as the dumps of PostgreSQL do. Without a schema
//! the functions are always found.

use braid_sql::quote_ident;
use braid_types::SqlType;

use crate::{Catalog, ExtensionSchema, Id, SearchPath, virtual_schema_name};

/// An extension that is always there.
pub struct Extension {
    /// Its number while a database does not use it: below those of users, so that no dump has it.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// The version of PostgreSQL 15.
    pub version: &'static str,
    /// What it is for.
    pub comment: &'static str,
    /// The names of its functions.
    functions: &'static [&'static str],
}

/// The extensions that are always there.
pub const EXTENSIONS: &[Extension] = &[
    Extension {
        oid: 15_002,
        name: "pg_stat_statements",
        version: "1.10",
        comment: "statistics of all statements that were run",
        functions: &["pg_stat_statements", "pg_stat_statements_info", "pg_stat_statements_reset"],
    },
    Extension {
        oid: 15_003,
        name: "plpgsql",
        version: "1.0",
        comment: "PL/pgSQL procedural language",
        functions: &[],
    },
    Extension {
        oid: 15_004,
        name: "pgcrypto",
        version: "1.3",
        comment: "hashes, passwords and random bytes",
        functions: &["crypt", "digest", "gen_random_bytes", "gen_random_uuid", "gen_salt", "hmac"],
    },
    Extension {
        oid: 15_005,
        name: "uuid-ossp",
        version: "1.1",
        comment: "functions for UUIDs",
        functions: &[
            "uuid_generate_v1",
            "uuid_generate_v1mc",
            "uuid_generate_v3",
            "uuid_generate_v4",
            "uuid_generate_v5",
            "uuid_nil",
            "uuid_ns_dns",
            "uuid_ns_oid",
            "uuid_ns_url",
            "uuid_ns_x500",
        ],
    },
    Extension {
        oid: 15_006,
        name: "btree_gist",
        version: "1.7",
        comment: "equality in EXCLUDE constraints",
        functions: &[],
    },
    Extension {
        oid: 15_007,
        name: "pg_trgm",
        version: "1.6",
        comment: "similarity of texts, and indexes for LIKE",
        functions: &[
            "set_limit",
            "show_limit",
            "show_trgm",
            "similarity",
            "similarity_dist",
            "similarity_op",
            "strict_word_similarity",
            "word_similarity",
        ],
    },
    Extension {
        oid: 15_008,
        name: "citext",
        version: "1.6",
        comment: "texts that compare without regard to case",
        functions: &[
            "citext",
            "citext_cmp",
            "max",
            "min",
            "regexp_match",
            "regexp_matches",
            "regexp_replace",
            "regexp_split_to_array",
            "regexp_split_to_table",
            "replace",
            "split_part",
            "strpos",
            "translate",
        ],
    },
    Extension {
        oid: 15_009,
        name: "hstore",
        version: "1.8",
        comment: "sets of keys and values",
        functions: &[
            "akeys",
            "avals",
            "defined",
            "delete",
            "each",
            "exist",
            "exists_all",
            "exists_any",
            "fetchval",
            "hs_concat",
            "hs_contains",
            "hstore",
            "hstore_to_array",
            "hstore_to_json",
            "hstore_to_json_loose",
            "hstore_to_jsonb",
            "hstore_to_jsonb_loose",
            "hstore_to_matrix",
            "isdefined",
            "isexists",
            "populate_record",
            "skeys",
            "slice",
            "slice_array",
            "svals",
            "tconvert",
        ],
    },
    Extension {
        oid: 15_010,
        name: "btree_gin",
        version: "1.3",
        comment: "numbers, texts, times and the like in GIN indexes",
        functions: &[],
    },
    Extension {
        oid: 15_011,
        name: "unaccent",
        version: "1.1",
        comment: "letters without their accents",
        functions: &["unaccent"],
    },
];

impl Extension {
    /// The extension of that name.
    pub fn named(name: &str) -> Option<&'static Extension> {
        EXTENSIONS.iter().find(|known| known.name == name)
    }

    /// The extension that alone has functions of that name.
    pub fn of_function(name: &str) -> Option<&'static Extension> {
        EXTENSIONS.iter().find(|known| known.own_functions().any(|own| own == name))
    }

    /// The names of its functions that are not also those of built-in functions.
    pub fn own_functions(&self) -> impl Iterator<Item = &'static str> {
        let shared = |name: &&str| match self.name {
            "citext" => !name.starts_with("citext"),
            _ => *name == "gen_random_uuid",
        };
        self.functions.iter().copied().filter(move |name| !shared(name))
    }

    /// Its number in a database that has created or uses it, so that dumps have it.
    pub fn dumped_oid(&self) -> Id {
        FIRST_OF_USERS + self.oid
    }

    /// Whether it is part of every database from the start, in `pg_catalog`.
    pub fn is_preinstalled(&self) -> bool {
        self.name == "plpgsql"
    }
}

/// The lowest number of an object of users in PostgreSQL.
const FIRST_OF_USERS: Id = 16_384;

/// The schema of an extension that was not created.
const PUBLIC_SCHEMA: &str = "public";

/// The schema of an extension where names need it: `public`, unless it was created in another one.
/// `None` if the path has it.
pub fn extension_schema(catalog: &Catalog, path: &SearchPath, extension: &str) -> Option<String> {
    let created = created_extensions(catalog, path.database).iter();
    let own = created.filter(|own| own.name == extension).map(|own| own.schema).next();
    let name = match own {
        Some(id) => match virtual_schema_name(id) {
            Some(name) => name.to_owned(),
            None => catalog.schema_name(id),
        },
        None => PUBLIC_SCHEMA.to_owned(),
    };
    let is_found = path.names(true).any(|schema| schema == name);
    (!is_found).then(|| quote_ident(&name))
}

/// What `CREATE EXTENSION` has noted for a database.
pub fn created_extensions(catalog: &Catalog, database: Id) -> &[ExtensionSchema] {
    catalog.database(database).map_or(&[], |found| &found.extensions)
}

/// Whether an extension that was created in a schema has a function of that name.
pub fn is_extension_function(
    catalog: &Catalog,
    database: Id,
    schema: &str,
    function: &str,
) -> bool {
    let created = created_extensions(catalog, database);
    let has = |created: &ExtensionSchema| {
        let extension = Extension::named(&created.name);
        extension.is_some_and(|extension| extension.functions.contains(&function))
    };
    let found = catalog.names().schema(database, schema);
    found.is_some_and(|found| created.iter().any(|own| own.schema == found.id && has(own)))
}

/// Whether an extension that was created in a schema has a type of that name.
pub fn is_extension_type(catalog: &Catalog, database: Id, schema: &str, name: &str) -> bool {
    let mut created = created_extensions(catalog, database).iter();
    let found = catalog.names().schema(database, schema);
    ["citext", "hstore"].contains(&name)
        && found.is_some_and(|found| created.any(|own| own.schema == found.id && own.name == name))
}

/// The schema that the name of a built-in type needs: that of its extension.
pub fn type_schema(catalog: &Catalog, path: &SearchPath, ty: &SqlType) -> Option<String> {
    let extension = match ty.innermost() {
        SqlType::Citext => "citext",
        SqlType::Hstore => "hstore",
        _ => return None,
    };
    extension_schema(catalog, path, extension)
}
