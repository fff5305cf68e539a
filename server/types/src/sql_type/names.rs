//! Names of types: as messages, `format_type` and `pg_type` show them, and as queries write them.

use super::facts::{array_oid, facts};
use super::scalars::SCALARS;
use super::variants::{RowType, SqlType};
use crate::RangeKind;
use crate::geometry::Shape;
use crate::snapshot::SnapshotName;

impl SqlType {
    /// The name with modifiers, as `format_type` prints it.
    pub fn display_name(&self) -> String {
        match self {
            SqlType::Varchar(Some(length)) => format!("character varying({length})"),
            SqlType::Char(0) => "bpchar".to_owned(),
            SqlType::Char(length) => format!("character({length})"),
            SqlType::Bit(0) => "\"bit\"".to_owned(),
            SqlType::Bit(length) => format!("bit({length})"),
            SqlType::Varbit(Some(length)) => format!("bit varying({length})"),
            SqlType::Numeric(Some((precision, scale))) => format!("numeric({precision},{scale})"),
            SqlType::Array(element) => {
                format!("{}[]", element.innermost().display_name())
            }
            other => facts(other).display.to_owned(),
        }
    }

    /// The name without modifiers, as error messages and `regtype` print it.
    pub fn plain_name(&self) -> &str {
        match self {
            SqlType::Array(element) => array_name(element),
            other => facts(other).display,
        }
    }

    /// `pg_type.typname`: `int4`, `_int4`, `bpchar`…
    pub fn short_name(&self) -> &str {
        match self {
            SqlType::Array(element) => facts(element).array_name,
            other => facts(other).name,
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
            return (array_oid(found) != 0).then(|| found.clone().array());
        }
        let words: Vec<&str> = lower.split_whitespace().collect();
        Some(match words.join(" ").as_str() {
            "bool" | "boolean" => SqlType::Bool,
            "int2" | "smallint" => SqlType::Int2,
            "int" | "int4" | "integer" => SqlType::Int4,
            "int8" | "int64" | "bigint" => SqlType::Int8,
            "float4" | "real" => SqlType::Float4,
            "float" | "float8" | "double precision" => SqlType::Float8,
            "numeric" | "decimal" | "dec" => SqlType::Numeric(None),
            "text" | "string" => SqlType::Text,
            "varchar" | "character varying" | "char varying" => SqlType::Varchar(None),
            "char" | "character" => SqlType::Char(1),
            "bpchar" => SqlType::Char(0),
            "bit" => SqlType::Bit(1),
            "varbit" | "bit varying" => SqlType::Varbit(None),
            "citext" | "public.citext" => SqlType::Citext,
            "hstore" | "public.hstore" => SqlType::Hstore,
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
            "pg_snapshot" => SqlType::Snapshot(SnapshotName::Pg),
            "txid_snapshot" => SqlType::Snapshot(SnapshotName::Txid),
            "refcursor" => SqlType::Refcursor,
            "tsvector" => SqlType::TsVector,
            "tsquery" => SqlType::TsQuery,
            "regconfig" => SqlType::Regconfig,
            "regdictionary" => SqlType::Regdictionary,
            "name" => SqlType::Name,
            "\"char\"" => SqlType::InternalChar,
            name if let Some(ty) = range_named(name).or_else(|| rare_named(name)) => ty,
            "record" => SqlType::Record(RowType::unknown()),
            "void" => SqlType::Void,
            "unknown" => SqlType::Unknown,
            _ => return None,
        })
    }
}

/// The type of that name which is rare: numbers of objects and of transactions, figures, money.
fn rare_named(name: &str) -> Option<SqlType> {
    Some(match name {
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
        "money" => SqlType::Money,
        name => SqlType::Geometry(Shape::named(name)?),
    })
}

/// The range or multirange of that name.
fn range_named(name: &str) -> Option<SqlType> {
    let kind = |end: &str| {
        Some(match name.strip_suffix(end)? {
            "int4" => RangeKind::Int4,
            "int8" => RangeKind::Int8,
            "num" => RangeKind::Num,
            "ts" => RangeKind::Ts,
            "tstz" => RangeKind::Tstz,
            "date" => RangeKind::Date,
            _ => return None,
        })
    };
    let range = || kind("range").map(SqlType::Range);
    kind("multirange").map(SqlType::Multirange).or_else(range)
}

/// The plain name of the arrays of a type.
fn array_name(element: &SqlType) -> &str {
    match element.innermost() {
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
        SqlType::Bit(_) => "bit[]",
        SqlType::Varbit(_) => "bit varying[]",
        SqlType::Citext => "citext[]",
        SqlType::Hstore => "hstore[]",
        SqlType::Bytes => "bytea[]",
        SqlType::Money => "money[]",
        SqlType::Geometry(shape) => shape.array_name(),
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
        SqlType::Snapshot(name) => name.array_name(),
        SqlType::Refcursor => "refcursor[]",
        SqlType::TsVector => "tsvector[]",
        SqlType::TsQuery => "tsquery[]",
        SqlType::Regconfig => "regconfig[]",
        SqlType::Regdictionary => "regdictionary[]",
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
        SqlType::Record(row) => row.name().map_or("record[]", |name| &name.array_display),
        SqlType::Range(kind) => range_array_name(*kind),
        SqlType::Multirange(kind) => multirange_array_name(*kind),
        SqlType::Any(_) => "any[]",
        SqlType::Void => "void[]",
        SqlType::Enum(ty) => &ty.array_display,
        SqlType::Unknown | SqlType::Array(_) => "unknown[]",
    }
}

fn range_array_name(kind: RangeKind) -> &'static str {
    match kind {
        RangeKind::Int4 => "int4range[]",
        RangeKind::Num => "numrange[]",
        RangeKind::Ts => "tsrange[]",
        RangeKind::Tstz => "tstzrange[]",
        RangeKind::Date => "daterange[]",
        RangeKind::Int8 => "int8range[]",
    }
}

fn multirange_array_name(kind: RangeKind) -> &'static str {
    match kind {
        RangeKind::Int4 => "int4multirange[]",
        RangeKind::Num => "nummultirange[]",
        RangeKind::Ts => "tsmultirange[]",
        RangeKind::Tstz => "tstzmultirange[]",
        RangeKind::Date => "datemultirange[]",
        RangeKind::Int8 => "int8multirange[]",
    }
}

impl std::fmt::Display for SqlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display_name())
    }
}
