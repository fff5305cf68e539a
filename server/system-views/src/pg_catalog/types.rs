//! Ranges, casts, collations, operator classes, access methods, languages, tablespaces, large
//! objects, text search.

use braid_types::cast::{CastContext, context};
use braid_types::collation::{BYTE_COLLATIONS, icu_locales};
use braid_types::search::configs;
use braid_types::{Datum, RangeKind, Result, Row, SqlType};

use crate::cell::{acl_items, flag, int, text};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::relations::{BTREE, GIN, GIST, HASH, HEAP, SPGIST};
use crate::row_builder::RowBuilder;
use braid_builtins::{COLLATION_VERSION, function_oid};
use braid_catalog::{
    Collations, INVERTED_CLASSES, OPERATOR_CLASSES, Object, OperatorClass, ROOT, family_name,
};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_cast" => pg_cast,
        "pg_range" => pg_range,
        "pg_collation" => pg_collation,
        "pg_opclass" => pg_opclass,
        "pg_opfamily" => pg_opfamily,
        "pg_am" => pg_am,
        "pg_language" => pg_language,
        "pg_tablespace" => pg_tablespace,
        "pg_largeobject_metadata" => pg_largeobject_metadata,
        "pg_ts_config" => pg_ts_config,
        "pg_ts_config_map" => pg_ts_config_map,
        "pg_ts_dict" => pg_ts_dict,
        "pg_ts_parser" => pg_ts_parser,
        "pg_ts_template" => pg_ts_template,
        _ => return None,
    })
}

/// The oid of `pg_catalog`.
const SYSTEM_SCHEMA: i64 = 11;

fn pg_cast(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "castsource", "casttarget", "castcontext", "castmethod"];
    let mut builder = RowBuilder::new("pg_cast", &columns);
    let types: Vec<SqlType> = braid_types::sql_type::all()
        .into_iter()
        .filter(|ty| !matches!(ty, SqlType::Array(_)))
        .collect();
    let mut number = 10_100_u32;
    for from in &types {
        for to in types.iter().filter(|to| to.oid() != from.oid()) {
            let letter = match context(from, to) {
                Some(CastContext::Implicit) => "i",
                Some(CastContext::Assignment) => "a",
                Some(CastContext::Explicit) => "e",
                None => continue,
            };
            builder.push([int(number), int(from.oid()), int(to.oid()), text(letter), text("f")]);
            number += 1;
        }
    }
    builder.rows()
}

fn pg_range(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_range",
        &[
            "rngtypid",
            "rngsubtype",
            "rngmultitypid",
            "rngcollation",
            "rngsubopc",
            "rngcanonical",
            "rngsubdiff",
        ],
    );
    for kind in RangeKind::ALL {
        let (range, subtype) = (SqlType::Range(kind), kind.subtype());
        let name = range.short_name();
        let class = OperatorClass::default_of(subtype).map_or(0, |class| class.oid);
        let is_discrete = matches!(kind, RangeKind::Int4 | RangeKind::Int8 | RangeKind::Date);
        let canonical = if is_discrete { function_oid(&format!("{name}_canonical")) } else { 0 };
        builder.push([
            int(range.oid()),
            int(subtype.oid()),
            int(SqlType::Multirange(kind).oid()),
            int(0),
            int(class),
            int(canonical),
            int(function_oid(&format!("{name}_subdiff"))),
        ]);
    }
    builder.rows()
}

fn push_own_collations(cx: &VirtualContext<'_>, builder: &mut RowBuilder) {
    let here = cx.path.database;
    for (schema, own) in Collations::of(cx.catalog).iter().filter(|(of, _)| of.database == here) {
        let is_icu = own.locale.is_some();
        let of_bytes = || if is_icu { Datum::Null } else { text("C") };
        builder.push([
            int(own.id),
            text(&own.name),
            int(schema.id),
            int(own.owner),
            text(if is_icu { "i" } else { "c" }),
            flag(own.deterministic),
            int(if is_icu { -1 } else { 6 }),
            of_bytes(),
            of_bytes(),
            own.locale.as_ref().map_or(Datum::Null, text),
            if is_icu { text(COLLATION_VERSION) } else { Datum::Null },
        ]);
    }
}

fn pg_collation(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_collation",
        &[
            "oid",
            "collname",
            "collnamespace",
            "collowner",
            "collprovider",
            "collisdeterministic",
            "collencoding",
            "collcollate",
            "collctype",
            "colliculocale",
            "collversion",
        ],
    );
    for (oid, name) in BYTE_COLLATIONS {
        let (provider, locale) = match name {
            "default" => ("d", Datum::Null),
            "ucs_basic" => ("c", text("C")),
            name => ("c", text(name)),
        };
        let encoding = if name == "ucs_basic" { 6 } else { -1 };
        builder.push([
            int(oid),
            text(name),
            int(SYSTEM_SCHEMA),
            int(ROOT),
            text(provider),
            flag(true),
            int(encoding),
            locale.clone(),
            locale,
            Datum::Null,
            Datum::Null,
        ]);
    }
    for (oid, locale) in icu_locales() {
        builder.push([
            int(oid),
            text(format!("{locale}-x-icu")),
            int(SYSTEM_SCHEMA),
            int(ROOT),
            text("i"),
            flag(true),
            int(-1),
            Datum::Null,
            Datum::Null,
            text(locale),
            text(COLLATION_VERSION),
        ]);
    }
    push_own_collations(cx, &mut builder);
    builder.rows()
}

/// Operator classes with the oids of their access methods.
fn all_classes() -> impl Iterator<Item = (i64, &'static OperatorClass)> {
    let btree = OPERATOR_CLASSES.iter().map(|class| (BTREE, class));
    btree.chain(INVERTED_CLASSES.iter().map(|(_, class)| (GIN, class)))
}

fn pg_opclass(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_opclass",
        &[
            "oid",
            "opcmethod",
            "opcname",
            "opcnamespace",
            "opcowner",
            "opcfamily",
            "opcintype",
            "opcdefault",
            "opckeytype",
        ],
    );
    for (method, class) in all_classes() {
        builder.push([
            int(class.oid),
            int(method),
            text(class.name),
            int(SYSTEM_SCHEMA),
            int(ROOT),
            int(class.family),
            int(class.input),
            flag(class.is_default),
            int(class.key),
        ]);
    }
    builder.rows()
}

fn pg_opfamily(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "opfmethod", "opfname", "opfnamespace", "opfowner"];
    let mut builder = RowBuilder::new("pg_opfamily", &columns);
    let mut seen = Vec::new();
    for (method, class) in all_classes() {
        if !seen.contains(&class.family) {
            seen.push(class.family);
            let name = text(family_name(class));
            builder.push([int(class.family), int(method), name, int(SYSTEM_SCHEMA), int(ROOT)]);
        }
    }
    builder.rows()
}

fn pg_am(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_am", &["oid", "amname", "amtype"]);
    builder.push([int(HEAP), text("heap"), text("t")]);
    let methods =
        [(BTREE, "btree"), (HASH, "hash"), (GIST, "gist"), (GIN, "gin"), (SPGIST, "spgist")];
    for (oid, name) in methods {
        builder.push([int(oid), text(name), text("i")]);
    }
    builder.rows()
}

fn pg_language(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "lanname", "lanowner", "lanispl", "lanpltrusted"];
    let mut builder = RowBuilder::new("pg_language", &columns);
    for (oid, name, trusted) in [(12, "internal", false), (13, "c", false), (14, "sql", true)] {
        builder.push([int(oid), text(name), int(ROOT), flag(false), flag(trusted)]);
    }
    let plpgsql = braid_catalog::Language::Plpgsql;
    builder.push([int(plpgsql.oid()), text(plpgsql.name()), int(ROOT), flag(true), flag(true)]);
    builder.rows()
}

fn pg_largeobject_metadata(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_largeobject_metadata", &["oid", "lomowner", "lomacl"]);
    for found in cx.large_objects {
        let acl = cx.catalog.privileges().acl(Object::LargeObject(found));
        builder.push([int(found.id), int(found.owner), acl_items(acl)]);
    }
    builder.rows()
}

fn pg_tablespace(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_tablespace", &["oid", "spcname", "spcowner"]);
    builder.push([int(1663), text("pg_default"), int(ROOT)]);
    builder.push([int(1664), text("pg_global"), int(ROOT)]);
    builder.rows()
}

/// The oid of the only parser of text search.
const PARSER: i64 = 3722;
/// The oids of the templates `simple` and `snowball`.
const SIMPLE_TEMPLATE: i64 = 3727;
const SNOWBALL_TEMPLATE: i64 = 13_150;
/// The kinds of tokens that are words, whose dictionary depends on the configuration.
const WORD_TOKENS: [i64; 6] = [1, 2, 10, 11, 16, 17];
/// The kinds of tokens that every configuration takes as they are.
const OTHER_TOKENS: [i64; 13] = [3, 4, 5, 6, 7, 8, 9, 15, 18, 19, 20, 21, 22];

fn pg_ts_config(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "cfgname", "cfgnamespace", "cfgowner", "cfgparser"];
    let mut builder = RowBuilder::new("pg_ts_config", &columns);
    for (oid, name, _) in configs::CONFIGS {
        builder.push([int(oid), text(name), int(SYSTEM_SCHEMA), int(ROOT), int(PARSER)]);
    }
    builder.rows()
}

fn pg_ts_config_map(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["mapcfg", "maptokentype", "mapseqno", "mapdict"];
    let mut builder = RowBuilder::new("pg_ts_config_map", &columns);
    for (oid, _, dictionary) in configs::CONFIGS {
        for token in WORD_TOKENS {
            builder.push([int(oid), int(token), int(1), int(dictionary)]);
        }
        for token in OTHER_TOKENS {
            builder.push([int(oid), int(token), int(1), int(configs::SIMPLE_DICTIONARY)]);
        }
    }
    builder.rows()
}

fn pg_ts_dict(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns =
        ["oid", "dictname", "dictnamespace", "dictowner", "dicttemplate", "dictinitoption"];
    let mut builder = RowBuilder::new("pg_ts_dict", &columns);
    for (oid, name) in configs::DICTIONARIES {
        let (template, options) = match name.strip_suffix("_stem") {
            Some(language) => {
                let options = format!("language = '{language}', stopwords = '{language}'");
                (SNOWBALL_TEMPLATE, text(&options))
            }
            None => (SIMPLE_TEMPLATE, Datum::Null),
        };
        let (schema, owner) = (int(SYSTEM_SCHEMA), int(ROOT));
        builder.push([int(oid), text(name), schema, owner, int(template), options]);
    }
    builder.rows()
}

fn pg_ts_parser(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "oid",
        "prsname",
        "prsnamespace",
        "prsstart",
        "prstoken",
        "prsend",
        "prsheadline",
        "prslextype",
    ];
    let mut builder = RowBuilder::new("pg_ts_parser", &columns);
    let function = |name: &str| int(function_oid(&format!("prsd_{name}")));
    builder.push([
        int(PARSER),
        text("default"),
        int(SYSTEM_SCHEMA),
        function("start"),
        function("nexttoken"),
        function("end"),
        function("headline"),
        function("lextype"),
    ]);
    builder.rows()
}

fn pg_ts_template(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "tmplname", "tmplnamespace", "tmplinit", "tmpllexize"];
    let mut builder = RowBuilder::new("pg_ts_template", &columns);
    for (oid, name) in [(SIMPLE_TEMPLATE, "simple"), (SNOWBALL_TEMPLATE, "snowball")] {
        let function = |what: &str| int(function_oid(&format!("d{name}_{what}")));
        builder.push([
            int(oid),
            text(name),
            int(SYSTEM_SCHEMA),
            function("init"),
            function("lexize"),
        ]);
    }
    builder.rows()
}
