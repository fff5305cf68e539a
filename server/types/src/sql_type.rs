//! The types a column, parameter or expression can have, with PostgreSQL's names and numbers.
//!
//! Here: the enum, its oids, names, modifiers and categories, as `pg_type` shows them.
//! Not here: how values of a type read, print, compare or convert.
//!
//! Rule: `from_oid_typmod(ty.oid(), ty.typmod()) == Some(ty)` for every type that has an oid of
//! its own (records keep their fields elsewhere).

use std::sync::Arc;

use crate::EnumType;
use crate::scalar_types::SCALARS;

/// A SQL type with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum SqlType {
    /// A literal or parameter whose type is not decided yet.
    Unknown,
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric(precision, scale)`; no modifier: any
    Numeric(Option<(u16, i16)>),
    /// `text`
    Text,
    /// `varchar(n)` in characters
    Varchar(Option<u32>),
    /// `char(n)` in characters, blank padded; 0 is `bpchar` without a length
    Char(u32),
    /// `bytea`
    Bytes,
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `time without time zone`
    Time,
    /// `time with time zone` (held as [`crate::Datum::Bytes`], see [`crate::timetz`])
    Timetz,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `interval`
    Interval,
    /// `json`: keeps its text
    Json,
    /// `jsonb`: normalised
    Jsonb,
    /// `jsonpath` (held as [`crate::Datum::Text`], in canonical form)
    Jsonpath,
    /// A one-dimensional array.
    Array(Box<SqlType>),
    /// `oid` (held as [`crate::Datum::Int`])
    Oid,
    /// `regclass` (an oid that prints as a relation's name)
    Regclass,
    /// `regtype` (an oid that prints as a type's name)
    Regtype,
    /// `regproc` (an oid that prints as a function's name)
    Regproc,
    /// `regprocedure`
    Regprocedure,
    /// `regoper`
    Regoper,
    /// `regoperator`
    Regoperator,
    /// `regcollation`
    Regcollation,
    /// `regnamespace`
    Regnamespace,
    /// `regrole`
    Regrole,
    /// `int2vector`: integers whose first subscript is 0 (held as [`crate::Datum::Array`])
    Int2Vector,
    /// `oidvector`: oids whose first subscript is 0 (held as [`crate::Datum::Array`])
    OidVector,
    /// `xid`: 32 bits without a sign and without an order (held as [`crate::Datum::Int`])
    Xid,
    /// `cid`: as `xid`
    Cid,
    /// `xid8`: 64 bits without a sign (held as [`crate::unsigned`] says)
    Xid8,
    /// `pg_lsn`: 64 bits without a sign (held as [`crate::unsigned`] says)
    PgLsn,
    /// `tid`: the place of a row (held as [`crate::Datum::Bytes`], see [`crate::tid`])
    Tid,
    /// `inet` (held as [`crate::Datum::Bytes`], see [`crate::net`])
    Inet,
    /// `cidr` (held as [`crate::Datum::Bytes`], see [`crate::net`])
    Cidr,
    /// `macaddr` (held as [`crate::Datum::Bytes`])
    Macaddr,
    /// `macaddr8` (held as [`crate::Datum::Bytes`])
    Macaddr8,
    /// `aclitem`: a privilege as PostgreSQL prints it (held as [`crate::Datum::Text`])
    Aclitem,
    /// `name`: text of up to 63 bytes, for catalog columns
    Name,
    /// `"char"`: one byte, for catalog columns (held as text)
    InternalChar,
    /// An anonymous row.
    Record(Vec<(String, SqlType)>),
    /// An enum; a descriptor stores its oid.
    Enum(#[serde(with = "crate::enums::by_oid")] Arc<EnumType>),
    /// What a function without a result returns.
    Void,
}

/// What `pg_type` says of a scalar type.
struct Facts<'t> {
    oid: u32,
    array_oid: u32,
    name: &'t str,
    array_name: &'t str,
    display: &'t str,
    len: i16,
    category: char,
}

macro_rules! facts {
    ($oid:literal, $array:literal, $name:literal, $display:literal, $len:literal, $cat:literal) => {
        Facts {
            oid: $oid,
            array_oid: $array,
            name: $name,
            array_name: concat!("_", $name),
            display: $display,
            len: $len,
            category: $cat,
        }
    };
}

impl SqlType {
    fn facts(&self) -> Facts<'_> {
        match self {
            SqlType::Unknown => facts!(705, 0, "unknown", "unknown", -2, 'X'),
            SqlType::Bool => facts!(16, 1000, "bool", "boolean", 1, 'B'),
            SqlType::Int2 => facts!(21, 1005, "int2", "smallint", 2, 'N'),
            SqlType::Int4 => facts!(23, 1007, "int4", "integer", 4, 'N'),
            SqlType::Int8 => facts!(20, 1016, "int8", "bigint", 8, 'N'),
            SqlType::Float4 => facts!(700, 1021, "float4", "real", 4, 'N'),
            SqlType::Float8 => facts!(701, 1022, "float8", "double precision", 8, 'N'),
            SqlType::Numeric(_) => facts!(1700, 1231, "numeric", "numeric", -1, 'N'),
            SqlType::Text => facts!(25, 1009, "text", "text", -1, 'S'),
            SqlType::Varchar(_) => facts!(1043, 1015, "varchar", "character varying", -1, 'S'),
            SqlType::Char(_) => facts!(1042, 1014, "bpchar", "character", -1, 'S'),
            SqlType::Bytes => facts!(17, 1001, "bytea", "bytea", -1, 'U'),
            SqlType::Uuid => facts!(2950, 2951, "uuid", "uuid", 16, 'U'),
            SqlType::Date => facts!(1082, 1182, "date", "date", 4, 'D'),
            SqlType::Time => facts!(1083, 1183, "time", "time without time zone", 8, 'D'),
            SqlType::Timetz => facts!(1266, 1270, "timetz", "time with time zone", 12, 'D'),
            SqlType::Inet => facts!(869, 1041, "inet", "inet", -1, 'I'),
            SqlType::Cidr => facts!(650, 651, "cidr", "cidr", -1, 'I'),
            SqlType::Macaddr => facts!(829, 1040, "macaddr", "macaddr", 6, 'U'),
            SqlType::Macaddr8 => facts!(774, 775, "macaddr8", "macaddr8", 8, 'U'),
            SqlType::Timestamp => {
                facts!(1114, 1115, "timestamp", "timestamp without time zone", 8, 'D')
            }
            SqlType::Timestamptz => {
                facts!(1184, 1185, "timestamptz", "timestamp with time zone", 8, 'D')
            }
            SqlType::Interval => facts!(1186, 1187, "interval", "interval", 16, 'T'),
            SqlType::Json => facts!(114, 199, "json", "json", -1, 'U'),
            SqlType::Jsonb => facts!(3802, 3807, "jsonb", "jsonb", -1, 'U'),
            SqlType::Jsonpath => facts!(4072, 4073, "jsonpath", "jsonpath", -1, 'U'),
            SqlType::Oid => facts!(26, 1028, "oid", "oid", 4, 'N'),
            SqlType::Regclass => facts!(2205, 2210, "regclass", "regclass", 4, 'N'),
            SqlType::Regtype => facts!(2206, 2211, "regtype", "regtype", 4, 'N'),
            SqlType::Regproc => facts!(24, 1008, "regproc", "regproc", 4, 'N'),
            SqlType::Regprocedure => facts!(2202, 2207, "regprocedure", "regprocedure", 4, 'N'),
            SqlType::Regoper => facts!(2203, 2208, "regoper", "regoper", 4, 'N'),
            SqlType::Regoperator => facts!(2204, 2209, "regoperator", "regoperator", 4, 'N'),
            SqlType::Regcollation => facts!(4191, 4192, "regcollation", "regcollation", 4, 'N'),
            SqlType::Regnamespace => facts!(4089, 4090, "regnamespace", "regnamespace", 4, 'N'),
            SqlType::Regrole => facts!(4096, 4097, "regrole", "regrole", 4, 'N'),
            SqlType::Int2Vector => facts!(22, 1006, "int2vector", "int2vector", -1, 'A'),
            SqlType::OidVector => facts!(30, 1013, "oidvector", "oidvector", -1, 'A'),
            SqlType::Xid => facts!(28, 1011, "xid", "xid", 4, 'U'),
            SqlType::Cid => facts!(29, 1012, "cid", "cid", 4, 'U'),
            SqlType::Xid8 => facts!(5069, 271, "xid8", "xid8", 8, 'U'),
            SqlType::PgLsn => facts!(3220, 3221, "pg_lsn", "pg_lsn", 8, 'U'),
            SqlType::Tid => facts!(27, 1010, "tid", "tid", 6, 'U'),
            SqlType::Aclitem => facts!(1033, 1034, "aclitem", "aclitem", 12, 'U'),
            SqlType::Name => facts!(19, 1003, "name", "name", 64, 'S'),
            SqlType::InternalChar => facts!(18, 1002, "char", "\"char\"", 1, 'Z'),
            SqlType::Record(_) => facts!(2249, 2287, "record", "record", -1, 'P'),
            SqlType::Void => facts!(2278, 0, "void", "void", 4, 'P'),
            SqlType::Enum(ty) => Facts {
                oid: ty.oid,
                array_oid: ty.array_oid,
                name: &ty.name,
                array_name: &ty.array_name,
                display: &ty.display,
                len: 4,
                category: 'E',
            },
            // An array of arrays is the same type in PostgreSQL.
            SqlType::Array(element) => element.facts(),
        }
    }

    /// Every type without modifiers, arrays after their elements, as rows of `pg_type`.
    pub fn all() -> Vec<SqlType> {
        let mut types = SCALARS.to_vec();
        let arrays = SCALARS.iter().filter(|ty| ty.array_oid() != 0);
        types.extend(arrays.map(|ty| SqlType::Array(Box::new(ty.clone()))));
        types
    }

    /// PostgreSQL's number of the type.
    pub fn oid(&self) -> u32 {
        match self {
            SqlType::Array(element) => element.array_oid(),
            other => other.facts().oid,
        }
    }

    /// The number of the type of its arrays; 0 if there are none.
    pub fn array_oid(&self) -> u32 {
        self.facts().array_oid
    }

    /// The type with this number, without modifiers.
    pub fn from_oid(oid: u32) -> Option<SqlType> {
        if oid == 0 {
            return None;
        }
        for ty in SCALARS {
            let facts = ty.facts();
            if facts.oid == oid {
                return Some(ty.clone());
            }
            if facts.array_oid == oid {
                return Some(SqlType::Array(Box::new(ty.clone())));
            }
        }
        None
    }

    /// The type with this number and modifier (`-1`: none).
    pub fn from_oid_typmod(oid: u32, typmod: i32) -> Option<SqlType> {
        Some(SqlType::from_oid(oid)?.with_typmod(typmod))
    }

    /// The same type with PostgreSQL's type modifier (`-1`: none).
    #[must_use]
    pub fn with_typmod(self, typmod: i32) -> SqlType {
        let length = u32::try_from(typmod.saturating_sub(4)).ok();
        match self {
            SqlType::Varchar(_) => SqlType::Varchar(length),
            SqlType::Char(_) => SqlType::Char(length.unwrap_or(0)),
            SqlType::Numeric(_) => SqlType::Numeric(length.map(|packed| {
                let scale = ((packed & 0x7ff) ^ 0x400) as i16 - 0x400;
                ((packed >> 16) as u16, scale)
            })),
            SqlType::Array(element) => SqlType::Array(Box::new(element.with_typmod(typmod))),
            other => other,
        }
    }

    /// The modifier as `pg_attribute.atttypmod` holds it; -1 without one.
    pub fn typmod(&self) -> i32 {
        match self {
            SqlType::Varchar(Some(length)) => i32::try_from(*length).map_or(-1, |n| n + 4),
            SqlType::Char(length) if *length > 0 => i32::try_from(*length).map_or(-1, |n| n + 4),
            SqlType::Numeric(Some((precision, scale))) => {
                ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + 4
            }
            SqlType::Array(element) => element.typmod(),
            _ => -1,
        }
    }

    /// The name with modifiers, as `format_type` prints it.
    pub fn display_name(&self) -> String {
        match self {
            SqlType::Varchar(Some(length)) => format!("character varying({length})"),
            SqlType::Char(0) => "bpchar".to_owned(),
            SqlType::Char(length) => format!("character({length})"),
            SqlType::Numeric(Some((precision, scale))) => format!("numeric({precision},{scale})"),
            SqlType::Array(element) => {
                format!("{}[]", element.innermost().display_name())
            }
            other => other.facts().display.to_owned(),
        }
    }

    /// The name without modifiers, as error messages and `regtype` print it.
    pub fn plain_name(&self) -> &str {
        match self {
            SqlType::Array(element) => element.array_display(),
            other => other.facts().display,
        }
    }

    fn array_display(&self) -> &str {
        match self.innermost() {
            SqlType::Bool => "boolean[]",
            SqlType::Int2 => "smallint[]",
            SqlType::Int4 => "integer[]",
            SqlType::Int8 => "bigint[]",
            SqlType::Float4 => "real[]",
            SqlType::Float8 => "double precision[]",
            SqlType::Numeric(_) => "numeric[]",
            SqlType::Text => "text[]",
            SqlType::Varchar(_) => "character varying[]",
            SqlType::Char(_) => "character[]",
            SqlType::Bytes => "bytea[]",
            SqlType::Uuid => "uuid[]",
            SqlType::Date => "date[]",
            SqlType::Time => "time without time zone[]",
            SqlType::Timetz => "time with time zone[]",
            SqlType::Inet => "inet[]",
            SqlType::Cidr => "cidr[]",
            SqlType::Macaddr => "macaddr[]",
            SqlType::Macaddr8 => "macaddr8[]",
            SqlType::Timestamp => "timestamp without time zone[]",
            SqlType::Timestamptz => "timestamp with time zone[]",
            SqlType::Interval => "interval[]",
            SqlType::Json => "json[]",
            SqlType::Jsonb => "jsonb[]",
            SqlType::Jsonpath => "jsonpath[]",
            SqlType::Oid => "oid[]",
            SqlType::Regclass => "regclass[]",
            SqlType::Regtype => "regtype[]",
            SqlType::Regproc => "regproc[]",
            SqlType::Regprocedure => "regprocedure[]",
            SqlType::Regoper => "regoper[]",
            SqlType::Regoperator => "regoperator[]",
            SqlType::Regcollation => "regcollation[]",
            SqlType::Regnamespace => "regnamespace[]",
            SqlType::Regrole => "regrole[]",
            SqlType::Int2Vector => "int2vector[]",
            SqlType::OidVector => "oidvector[]",
            SqlType::Xid => "xid[]",
            SqlType::Cid => "cid[]",
            SqlType::Xid8 => "xid8[]",
            SqlType::PgLsn => "pg_lsn[]",
            SqlType::Tid => "tid[]",
            SqlType::Aclitem => "aclitem[]",
            SqlType::Name => "name[]",
            SqlType::InternalChar => "\"char\"[]",
            SqlType::Record(_) => "record[]",
            SqlType::Void => "void[]",
            SqlType::Enum(ty) => &ty.array_display,
            SqlType::Unknown | SqlType::Array(_) => "unknown[]",
        }
    }

    /// `pg_type.typname`: `int4`, `_int4`, `bpchar`…
    pub fn short_name(&self) -> &str {
        match self {
            SqlType::Array(element) => element.facts().array_name,
            other => other.facts().name,
        }
    }

    /// `pg_type.typlen`: bytes, -1 for variable length.
    pub fn typlen(&self) -> i16 {
        match self {
            SqlType::Array(_) => -1,
            other => other.facts().len,
        }
    }

    /// `pg_type.typcategory`.
    pub fn category(&self) -> char {
        match self {
            SqlType::Array(_) => 'A',
            other => other.facts().category,
        }
    }

    /// `pg_type.typispreferred`: the type of its category that ambiguous calls fall to.
    pub fn is_preferred(&self) -> bool {
        matches!(
            self,
            SqlType::Bool
                | SqlType::Float8
                | SqlType::Oid
                | SqlType::Text
                | SqlType::Timestamptz
                | SqlType::Interval
                | SqlType::Inet
        )
    }

    /// `smallint`, `integer` or `bigint`.
    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
    }

    /// `real` or `double precision`.
    pub fn is_float(&self) -> bool {
        matches!(self, SqlType::Float4 | SqlType::Float8)
    }

    /// An integer, a float or `numeric`; not the oids.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || matches!(self, SqlType::Numeric(_))
    }

    /// `text`, `varchar`, `char(n)` or `name`.
    pub fn is_string(&self) -> bool {
        matches!(self, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name)
    }

    /// `oid` or one of its `reg*` disguises.
    pub fn is_oid(&self) -> bool {
        *self == SqlType::Oid || self.is_reg()
    }

    /// A `reg*` type.
    pub fn is_reg(&self) -> bool {
        matches!(
            self,
            SqlType::Regclass
                | SqlType::Regtype
                | SqlType::Regproc
                | SqlType::Regprocedure
                | SqlType::Regoper
                | SqlType::Regoperator
                | SqlType::Regcollation
                | SqlType::Regnamespace
                | SqlType::Regrole
        )
    }

    /// A date, a time or a timestamp.
    pub fn is_datetime(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz)
    }

    /// `json` or `jsonb`.
    pub fn is_json(&self) -> bool {
        matches!(self, SqlType::Json | SqlType::Jsonb)
    }

    /// An array, `int2vector` and `oidvector` included.
    pub fn is_array(&self) -> bool {
        self.element().is_some()
    }

    /// `int2vector` or `oidvector`.
    pub fn is_vector(&self) -> bool {
        matches!(self, SqlType::Int2Vector | SqlType::OidVector)
    }

    /// The type of an array's elements; `None` for anything else.
    pub fn element(&self) -> Option<&SqlType> {
        match self {
            SqlType::Array(element) => Some(element),
            SqlType::Int2Vector => Some(&SqlType::Int2),
            SqlType::OidVector => Some(&SqlType::Oid),
            _ => None,
        }
    }

    /// The array type of this type; an array is its own.
    #[must_use]
    pub fn array(self) -> SqlType {
        match self {
            SqlType::Array(_) => self,
            other => SqlType::Array(Box::new(other)),
        }
    }

    /// The element of an array, of its elements and so on; any other type itself.
    pub fn innermost(&self) -> &SqlType {
        match self {
            SqlType::Array(element) => element.innermost(),
            other => other,
        }
    }

    /// The same type without modifiers. (`char` keeps none: it becomes `Char(0)`.)
    #[must_use]
    pub fn bare(&self) -> SqlType {
        match self {
            SqlType::Varchar(_) => SqlType::Varchar(None),
            SqlType::Char(_) => SqlType::Char(0),
            SqlType::Numeric(_) => SqlType::Numeric(None),
            SqlType::Array(element) => SqlType::Array(Box::new(element.bare())),
            other => other.clone(),
        }
    }

    /// Whether both are the same type, modifiers aside.
    pub fn same_base(&self, other: &SqlType) -> bool {
        match (self, other) {
            (SqlType::Array(a), SqlType::Array(b)) => a.same_base(b),
            (SqlType::Enum(a), SqlType::Enum(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// The type of that plain name or alias, in any case, with an optional `[]` or `_` prefix.
    /// `char` and `character` mean `char(1)`; `"char"` (quoted) the one-byte type.
    pub fn from_name(name: &str) -> Option<SqlType> {
        let lower = name.trim().to_ascii_lowercase();
        let lower = lower.strip_prefix("pg_catalog.").unwrap_or(&lower);
        if let Some(element) = lower.strip_suffix("[]") {
            return SqlType::from_name(element).map(SqlType::array);
        }
        if let Some(element) = lower.strip_prefix('_') {
            let found = SCALARS.iter().find(|ty| ty.short_name() == element)?;
            return (found.array_oid() != 0).then(|| found.clone().array());
        }
        let words: Vec<&str> = lower.split_whitespace().collect();
        Some(match words.join(" ").as_str() {
            "bool" | "boolean" => SqlType::Bool,
            "int2" | "smallint" | "smallserial" | "serial2" => SqlType::Int2,
            "int" | "int4" | "integer" | "serial" | "serial4" => SqlType::Int4,
            "int8" | "int64" | "bigint" | "bigserial" | "serial8" => SqlType::Int8,
            "float4" | "real" => SqlType::Float4,
            "float" | "float8" | "double precision" => SqlType::Float8,
            "numeric" | "decimal" | "dec" => SqlType::Numeric(None),
            "text" | "string" => SqlType::Text,
            "varchar" | "character varying" | "char varying" => SqlType::Varchar(None),
            "char" | "character" => SqlType::Char(1),
            "bpchar" => SqlType::Char(0),
            "bytea" | "bytes" | "blob" => SqlType::Bytes,
            "uuid" => SqlType::Uuid,
            "date" => SqlType::Date,
            "time" | "time without time zone" => SqlType::Time,
            "timetz" | "time with time zone" => SqlType::Timetz,
            "inet" => SqlType::Inet,
            "cidr" => SqlType::Cidr,
            "macaddr" => SqlType::Macaddr,
            "macaddr8" => SqlType::Macaddr8,
            "timestamp" | "timestamp without time zone" => SqlType::Timestamp,
            "timestamptz" | "timestamp with time zone" => SqlType::Timestamptz,
            "interval" => SqlType::Interval,
            "json" => SqlType::Json,
            "jsonb" => SqlType::Jsonb,
            "jsonpath" => SqlType::Jsonpath,
            "oid" => SqlType::Oid,
            "regclass" => SqlType::Regclass,
            "regtype" => SqlType::Regtype,
            "regproc" => SqlType::Regproc,
            "regprocedure" => SqlType::Regprocedure,
            "regoper" => SqlType::Regoper,
            "regoperator" => SqlType::Regoperator,
            "regcollation" => SqlType::Regcollation,
            "regnamespace" => SqlType::Regnamespace,
            "regrole" => SqlType::Regrole,
            "int2vector" => SqlType::Int2Vector,
            "oidvector" => SqlType::OidVector,
            "xid" => SqlType::Xid,
            "cid" => SqlType::Cid,
            "xid8" => SqlType::Xid8,
            "pg_lsn" => SqlType::PgLsn,
            "tid" => SqlType::Tid,
            "aclitem" => SqlType::Aclitem,
            "name" => SqlType::Name,
            "\"char\"" => SqlType::InternalChar,
            "record" => SqlType::Record(Vec::new()),
            "void" => SqlType::Void,
            "unknown" => SqlType::Unknown,
            _ => return None,
        })
    }
}

impl std::fmt::Display for SqlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display_name())
    }
}
