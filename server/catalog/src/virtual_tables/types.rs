//! Types, casts, collations, operator classes, access methods, languages, tablespaces.

use braid_types::cast::{CastContext, context};
use braid_types::{Datum, Result, Row, SqlType};

use super::registry::{RowsOf, VirtualContext};
use super::relations::{BTREE, HEAP};
use super::sheet::{Sheet, flag, int, text};
use crate::ROOT;

pub(super) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_cast" => pg_cast,
        "pg_collation" => pg_collation,
        "pg_opclass" => pg_opclass,
        "pg_opfamily" => pg_opfamily,
        "pg_am" => pg_am,
        "pg_language" => pg_language,
        "pg_tablespace" => pg_tablespace,
        _ => return None,
    })
}

/// The oid of `pg_catalog`.
const SYSTEM_SCHEMA: i64 = 11;

/// Default operator classes of btree: type, class, its name, its family.
const OPERATOR_CLASSES: &[(u32, u32, &str, u32)] = &[
    (16, 10003, "bool_ops", 424),
    (17, 10006, "bytea_ops", 428),
    (18, 10007, "char_ops", 429),
    (19, 10028, "name_ops", 1994),
    (20, 3124, "int8_ops", 1976),
    (21, 1979, "int2_ops", 1976),
    (23, 1978, "int4_ops", 1976),
    (25, 3126, "text_ops", 1994),
    (26, 1981, "oid_ops", 1989),
    (27, 10050, "tid_ops", 2789),
    (30, 10032, "oidvector_ops", 1991),
    (700, 10012, "float4_ops", 1970),
    (701, 3123, "float8_ops", 1970),
    (1042, 10004, "bpchar_ops", 426),
    (1082, 3122, "date_ops", 434),
    (1083, 10038, "time_ops", 1996),
    (1114, 3128, "timestamp_ops", 434),
    (1184, 3127, "timestamptz_ops", 434),
    (1186, 10022, "interval_ops", 1982),
    (1700, 3125, "numeric_ops", 1988),
    (2249, 10034, "record_ops", 2994),
    (2277, 10000, "array_ops", 397),
    (2950, 10065, "uuid_ops", 2968),
    (3220, 10067, "pg_lsn_ops", 3253),
    (3500, 10069, "enum_ops", 3522),
    (3802, 10088, "jsonb_ops", 4033),
    (5069, 10053, "xid8_ops", 5067),
];

/// The default operator class of a type; 0 if it has none.
pub(super) fn operator_class(ty: &SqlType) -> u32 {
    let oid = match ty {
        SqlType::Varchar(_) => SqlType::Text.oid(),
        SqlType::OidVector => 30,
        ty if ty.is_array() => 2277,
        ty if ty.is_oid() => SqlType::Oid.oid(),
        ty if ty.is_enum() => 3500,
        ty => ty.oid(),
    };
    let found = OPERATOR_CLASSES.iter().find(|(of, ..)| *of == oid);
    found.map_or(0, |(_, class, ..)| *class)
}

fn pg_cast(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "castsource", "casttarget", "castcontext", "castmethod"];
    let mut sheet = Sheet::new("pg_cast", &columns);
    let types: Vec<SqlType> =
        SqlType::all().into_iter().filter(|ty| !matches!(ty, SqlType::Array(_))).collect();
    let mut number = 10_100_u32;
    for from in &types {
        for to in types.iter().filter(|to| to.oid() != from.oid()) {
            let letter = match context(from, to) {
                Some(CastContext::Implicit) => "i",
                Some(CastContext::Assignment) => "a",
                Some(CastContext::Explicit) => "e",
                None => continue,
            };
            sheet.push([int(number), int(from.oid()), int(to.oid()), text(letter), text("f")]);
            number += 1;
        }
    }
    sheet.rows()
}

fn pg_collation(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
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
        ],
    );
    for (oid, name) in [(100, "default"), (950, "C"), (951, "POSIX")] {
        let (provider, locale) = if oid == 100 { ("d", Datum::Null) } else { ("c", text(name)) };
        sheet.push([
            int(oid),
            text(name),
            int(SYSTEM_SCHEMA),
            int(ROOT),
            text(provider),
            flag(true),
            int(-1),
            locale.clone(),
            locale,
        ]);
    }
    sheet.rows()
}

fn pg_opclass(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
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
    for (ty, class, name, family) in OPERATOR_CLASSES {
        sheet.push([
            int(*class),
            int(BTREE),
            text(name),
            int(SYSTEM_SCHEMA),
            int(ROOT),
            int(*family),
            int(*ty),
            flag(true),
            int(0),
        ]);
    }
    sheet.rows()
}

fn pg_opfamily(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "opfmethod", "opfname", "opfnamespace", "opfowner"];
    let mut sheet = Sheet::new("pg_opfamily", &columns);
    let mut seen = Vec::new();
    for (_, _, name, family) in OPERATOR_CLASSES {
        if !seen.contains(family) {
            seen.push(*family);
            let name = match family {
                1976 => "integer_ops",
                1970 => "float_ops",
                434 => "datetime_ops",
                1994 => "text_ops",
                _ => name,
            };
            sheet.push([int(*family), int(BTREE), text(name), int(SYSTEM_SCHEMA), int(ROOT)]);
        }
    }
    sheet.rows()
}

fn pg_am(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new("pg_am", &["oid", "amname", "amtype"]);
    sheet.push([int(HEAP), text("heap"), text("t")]);
    sheet.push([int(BTREE), text("btree"), text("i")]);
    sheet.rows()
}

fn pg_language(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "lanname", "lanowner", "lanispl", "lanpltrusted"];
    let mut sheet = Sheet::new("pg_language", &columns);
    for (oid, name, trusted) in [(12, "internal", false), (13, "c", false), (14, "sql", true)] {
        sheet.push([int(oid), text(name), int(ROOT), flag(false), flag(trusted)]);
    }
    sheet.rows()
}

fn pg_tablespace(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new("pg_tablespace", &["oid", "spcname", "spcowner"]);
    sheet.push([int(1663), text("pg_default"), int(ROOT)]);
    sheet.push([int(1664), text("pg_global"), int(ROOT)]);
    sheet.rows()
}
