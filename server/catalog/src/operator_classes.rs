//! The operator classes of btree and GIN, by PostgreSQL's names and oids.
//!
//! A key of an index may name a class. Every class of btree for a type has the same order here,
//! since texts compare by their bytes. So it changes only what the catalog shows. A class of GIN
//! says what the terms of the index are.

use braid_codec::terms::{TermClass, has_terms};
use braid_types::SqlType;

/// An operator class.
#[derive(Debug)]
pub struct OperatorClass {
    /// Its oid.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// The oid of its family.
    pub family: u32,
    /// The oid of the type that it is for, perhaps a pseudo-type.
    pub input: u32,
    /// Whether it is used where no class is named.
    pub is_default: bool,
    /// The oid of the type of keys, if the index has other ones than its columns; else 0.
    pub key: u32,
}

const NAME: u32 = 19;
const TEXT: u32 = 25;
const OID: u32 = 26;
const OIDVECTOR: u32 = 30;
const INET: u32 = 869;
const BPCHAR: u32 = 1042;
const ANYARRAY: u32 = 2277;
const ANYENUM: u32 = 3500;
const ANYRANGE: u32 = 3831;
const ANYMULTIRANGE: u32 = 4537;

const fn class(input: u32, oid: u32, name: &'static str, family: u32) -> OperatorClass {
    // Names are stored in indexes as `cstring`.
    let key = if input == NAME { 2275 } else { 0 };
    OperatorClass { oid, name, family, input, is_default: true, key }
}

const fn other(input: u32, oid: u32, name: &'static str, family: u32) -> OperatorClass {
    OperatorClass { oid, name, family, input, is_default: false, key: 0 }
}

/// The classes of btree, by the type that they are for.
pub static OPERATOR_CLASSES: &[OperatorClass] = &[
    class(16, 10003, "bool_ops", 424),
    class(17, 10006, "bytea_ops", 428),
    class(18, 10007, "char_ops", 429),
    class(NAME, 10028, "name_ops", 1994),
    class(20, 3124, "int8_ops", 1976),
    class(21, 1979, "int2_ops", 1976),
    class(23, 1978, "int4_ops", 1976),
    class(TEXT, 3126, "text_ops", 1994),
    other(TEXT, 4217, "text_pattern_ops", 2095),
    other(TEXT, 10044, "varchar_ops", 1994),
    other(TEXT, 4218, "varchar_pattern_ops", 2095),
    class(OID, 1981, "oid_ops", 1989),
    class(27, 10050, "tid_ops", 2789),
    class(OIDVECTOR, 10032, "oidvector_ops", 1991),
    class(700, 10012, "float4_ops", 1970),
    class(701, 3123, "float8_ops", 1970),
    class(774, 10026, "macaddr8_ops", 3371),
    class(829, 10024, "macaddr_ops", 1984),
    class(INET, 10015, "inet_ops", 1974),
    other(INET, 10009, "cidr_ops", 1974),
    class(BPCHAR, 10004, "bpchar_ops", 426),
    other(BPCHAR, 4219, "bpchar_pattern_ops", 2097),
    class(1082, 3122, "date_ops", 434),
    class(1083, 10038, "time_ops", 1996),
    class(1114, 3128, "timestamp_ops", 434),
    class(1184, 3127, "timestamptz_ops", 434),
    class(1186, 10022, "interval_ops", 1982),
    class(1266, 10041, "timetz_ops", 2000),
    class(1560, 10002, "bit_ops", 423),
    class(1562, 10043, "varbit_ops", 2002),
    class(1700, 3125, "numeric_ops", 1988),
    class(2249, 10034, "record_ops", 2994),
    class(ANYARRAY, 10000, "array_ops", 397),
    class(2950, 10065, "uuid_ops", 2968),
    class(3220, 10067, "pg_lsn_ops", 3253),
    class(ANYENUM, 10069, "enum_ops", 3522),
    class(3614, 10071, "tsvector_ops", 3626),
    class(3615, 10074, "tsquery_ops", 3683),
    class(3802, 10088, "jsonb_ops", 4033),
    class(ANYRANGE, 10076, "range_ops", 3901),
    class(ANYMULTIRANGE, 10080, "multirange_ops", 4199),
    class(5069, 10053, "xid8_ops", 5067),
    class(15_001, 15_011, "citext_ops", 15_010),
    class(15_003, 15_013, "btree_hstore_ops", 15_012),
];

/// The classes of GIN, with what their terms are. That of pg_trgm has no oid of its own in
/// PostgreSQL.
pub static INVERTED_CLASSES: &[(TermClass, OperatorClass)] = &[
    (TermClass::Array, inverted((ANYARRAY, 2283), 10064, "array_ops", 2745, true)),
    (TermClass::Jsonb, inverted((3802, TEXT), 10090, "jsonb_ops", 4036, true)),
    (TermClass::JsonbPath, inverted((3802, 23), 10091, "jsonb_path_ops", 4037, false)),
    (TermClass::Hstore, inverted((15_003, TEXT), 15_015, "gin_hstore_ops", 15_014, true)),
    (TermClass::Lexeme, inverted((3614, TEXT), 10073, "tsvector_ops", 3659, true)),
    (TermClass::Trigram, inverted((TEXT, 23), 12101, "gin_trgm_ops", 12100, false)),
];

const fn inverted(
    (input, key): (u32, u32),
    oid: u32,
    name: &'static str,
    family: u32,
    is_default: bool,
) -> OperatorClass {
    OperatorClass { oid, name, family, input, is_default, key }
}

/// The name of a family of operator classes.
pub fn family_name(class: &OperatorClass) -> &'static str {
    match class.family {
        1976 => "integer_ops",
        1970 => "float_ops",
        434 => "datetime_ops",
        1994 => "text_ops",
        2095 => "text_pattern_ops",
        1974 => "network_ops",
        _ => class.name,
    }
}

impl OperatorClass {
    /// The extension that has it.
    pub fn extension(&self) -> Option<&'static str> {
        match self.name {
            "citext_ops" => Some("citext"),
            "btree_hstore_ops" | "gin_hstore_ops" => Some("hstore"),
            "gin_trgm_ops" => Some("pg_trgm"),
            _ => None,
        }
    }

    /// The class of that name.
    pub fn by_name(name: &str) -> Option<&'static OperatorClass> {
        OPERATOR_CLASSES.iter().find(|class| class.name == name)
    }

    /// The class of that oid.
    pub fn by_oid(oid: u32) -> Option<&'static OperatorClass> {
        let inverted = INVERTED_CLASSES.iter().map(|(_, class)| class);
        OPERATOR_CLASSES.iter().chain(inverted).find(|class| class.oid == oid)
    }

    /// The class of GIN with these terms for values of a type. Those of btree_gin have the names of
    /// btree's, and its oids here.
    pub fn of_terms(terms: TermClass, ty: &SqlType) -> Option<&'static OperatorClass> {
        if terms == TermClass::Scalar {
            return OperatorClass::default_of(ty);
        }
        let mut classes = INVERTED_CLASSES.iter();
        classes.find(|(class, _)| *class == terms).map(|(_, class)| class)
    }

    /// The class of GIN of that name, and what its terms are.
    pub fn inverted(name: &str) -> Option<(TermClass, &'static OperatorClass)> {
        let mut classes = INVERTED_CLASSES.iter();
        classes.find(|(_, class)| class.name == name).map(|(terms, class)| (*terms, class))
    }

    /// The terms that values of a type have where no class is named.
    pub fn default_terms(ty: &SqlType) -> Option<TermClass> {
        let mut classes = INVERTED_CLASSES.iter();
        let found = classes.find(|(terms, class)| class.is_default && has_terms(*terms, ty));
        let scalar = has_terms(TermClass::Scalar, ty).then_some(TermClass::Scalar);
        found.map(|(terms, _)| *terms).or(scalar)
    }

    /// The default class of a type, if it has one.
    pub fn default_of(ty: &SqlType) -> Option<&'static OperatorClass> {
        let input = match ty {
            SqlType::Varchar(_) => TEXT,
            SqlType::Cidr => INET,
            SqlType::OidVector => OIDVECTOR,
            ty if ty.is_array() => ANYARRAY,
            ty if ty.is_oid() => OID,
            ty if ty.is_enum() => ANYENUM,
            SqlType::Range(_) => ANYRANGE,
            SqlType::Multirange(_) => ANYMULTIRANGE,
            ty => ty.oid(),
        };
        OPERATOR_CLASSES.iter().find(|class| class.input == input && class.is_default)
    }

    /// Whether values of a type are values of the class's type as they are.
    pub fn accepts(&self, ty: &SqlType) -> bool {
        let by_default = OperatorClass::default_of(ty);
        by_default.is_some_and(|class| class.input == self.input)
            || match ty {
                SqlType::Text | SqlType::Varchar(_) => self.input == BPCHAR,
                SqlType::Int4 => self.input == OID,
                _ => false,
            }
    }
}
