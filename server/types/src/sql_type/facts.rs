//! What `pg_type` says of the types: oids, lengths, categories.

use super::any_type::AnyType;
use super::scalars::SCALARS;
use super::variants::{RowType, SqlType};
use crate::geometry::Shape;
use crate::snapshot::SnapshotName;
use crate::{EnumType, RangeKind};

/// What `pg_type` says of a scalar type.
pub(super) struct Facts<'t> {
    pub(super) oid: u32,
    pub(super) array_oid: u32,
    pub(super) name: &'t str,
    pub(super) array_name: &'t str,
    pub(super) display: &'t str,
    pub(super) len: i16,
    pub(super) category: char,
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

/// The facts of a type; those of its elements for an array.
pub(super) fn facts(ty: &SqlType) -> Facts<'_> {
    match ty {
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
        SqlType::Refcursor => facts!(1790, 2201, "refcursor", "refcursor", -1, 'U'),
        SqlType::TsVector => facts!(3614, 3643, "tsvector", "tsvector", -1, 'U'),
        SqlType::TsQuery => facts!(3615, 3645, "tsquery", "tsquery", -1, 'U'),
        SqlType::Regconfig => facts!(3734, 3735, "regconfig", "regconfig", 4, 'N'),
        SqlType::Regdictionary => facts!(3769, 3770, "regdictionary", "regdictionary", 4, 'N'),
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
        SqlType::Bit(_) | SqlType::Varbit(_) | SqlType::Citext | SqlType::Hstore => more_facts(ty),
        SqlType::Tid | SqlType::Aclitem | SqlType::Money => more_facts(ty),
        SqlType::Snapshot(_) => more_facts(ty),
        SqlType::Geometry(shape) => shape_facts(*shape),
        SqlType::Name => facts!(19, 1003, "name", "name", 64, 'S'),
        SqlType::InternalChar => facts!(18, 1002, "char", "\"char\"", 1, 'Z'),
        SqlType::Record(row) => row_facts(row),
        SqlType::Range(kind) => range_facts(*kind),
        SqlType::Multirange(kind) => multirange_facts(*kind),
        SqlType::Any(_) | SqlType::Void => pseudo_facts(ty),
        SqlType::Enum(found) => enum_facts(found),
        // An array of arrays is the same type in PostgreSQL.
        SqlType::Array(element) => facts(element),
    }
}

/// The facts of the rarer types.
fn more_facts(ty: &SqlType) -> Facts<'static> {
    match ty {
        SqlType::Bit(_) => facts!(1560, 1561, "bit", "bit", -1, 'V'),
        SqlType::Varbit(_) => facts!(1562, 1563, "varbit", "bit varying", -1, 'V'),
        // Types of extensions have no fixed numbers in PostgreSQL.
        SqlType::Citext => facts!(15_001, 15_002, "citext", "citext", -1, 'S'),
        SqlType::Hstore => facts!(15_003, 15_004, "hstore", "hstore", -1, 'U'),
        SqlType::Tid => facts!(27, 1010, "tid", "tid", 6, 'U'),
        SqlType::Snapshot(SnapshotName::Pg) => {
            facts!(5038, 5039, "pg_snapshot", "pg_snapshot", -1, 'U')
        }
        SqlType::Snapshot(SnapshotName::Txid) => {
            facts!(2970, 2949, "txid_snapshot", "txid_snapshot", -1, 'U')
        }
        SqlType::Money => facts!(790, 791, "money", "money", 8, 'N'),
        _ => facts!(1033, 1034, "aclitem", "aclitem", 12, 'U'),
    }
}

fn shape_facts(shape: Shape) -> Facts<'static> {
    match shape {
        Shape::Point => facts!(600, 1017, "point", "point", 16, 'G'),
        Shape::Segment => facts!(601, 1018, "lseg", "lseg", 32, 'G'),
        Shape::Path => facts!(602, 1019, "path", "path", -1, 'G'),
        Shape::Corners => facts!(603, 1020, "box", "box", 32, 'G'),
        Shape::Polygon => facts!(604, 1027, "polygon", "polygon", -1, 'G'),
        Shape::Line => facts!(628, 629, "line", "line", 24, 'G'),
        Shape::Circle => facts!(718, 719, "circle", "circle", 24, 'G'),
    }
}

fn enum_facts(found: &EnumType) -> Facts<'_> {
    Facts {
        oid: found.oid,
        array_oid: found.array_oid,
        name: &found.name,
        array_name: &found.array_name,
        display: &found.display,
        len: 4,
        category: 'E',
    }
}

fn row_facts(row: &RowType) -> Facts<'_> {
    match row.name() {
        None => facts!(2249, 2287, "record", "record", -1, 'P'),
        Some(found) => Facts {
            oid: found.oid,
            array_oid: found.array_oid,
            name: &found.name,
            array_name: &found.array_name,
            display: &found.display,
            len: -1,
            category: 'C',
        },
    }
}

fn range_facts(kind: RangeKind) -> Facts<'static> {
    match kind {
        RangeKind::Int4 => facts!(3904, 3905, "int4range", "int4range", -1, 'R'),
        RangeKind::Num => facts!(3906, 3907, "numrange", "numrange", -1, 'R'),
        RangeKind::Ts => facts!(3908, 3909, "tsrange", "tsrange", -1, 'R'),
        RangeKind::Tstz => facts!(3910, 3911, "tstzrange", "tstzrange", -1, 'R'),
        RangeKind::Date => facts!(3912, 3913, "daterange", "daterange", -1, 'R'),
        RangeKind::Int8 => facts!(3926, 3927, "int8range", "int8range", -1, 'R'),
    }
}

fn multirange_facts(kind: RangeKind) -> Facts<'static> {
    match kind {
        RangeKind::Int4 => facts!(4451, 6150, "int4multirange", "int4multirange", -1, 'R'),
        RangeKind::Num => facts!(4532, 6151, "nummultirange", "nummultirange", -1, 'R'),
        RangeKind::Ts => facts!(4533, 6152, "tsmultirange", "tsmultirange", -1, 'R'),
        RangeKind::Tstz => facts!(4534, 6153, "tstzmultirange", "tstzmultirange", -1, 'R'),
        RangeKind::Date => facts!(4535, 6155, "datemultirange", "datemultirange", -1, 'R'),
        RangeKind::Int8 => facts!(4536, 6157, "int8multirange", "int8multirange", -1, 'R'),
    }
}

fn pseudo_facts(ty: &SqlType) -> Facts<'static> {
    let SqlType::Any(any) = ty else { return facts!(2278, 0, "void", "void", 4, 'P') };
    match any {
        AnyType::Element => facts!(2283, 0, "anyelement", "anyelement", 4, 'P'),
        AnyType::Array => facts!(2277, 0, "anyarray", "anyarray", -1, 'P'),
        AnyType::NonArray => facts!(2776, 0, "anynonarray", "anynonarray", 4, 'P'),
        AnyType::Range => facts!(3831, 0, "anyrange", "anyrange", -1, 'P'),
        AnyType::Multirange => facts!(4537, 0, "anymultirange", "anymultirange", -1, 'P'),
        AnyType::Enum => facts!(3500, 0, "anyenum", "anyenum", 4, 'P'),
        AnyType::Compatible => facts!(5077, 0, "anycompatible", "anycompatible", 4, 'P'),
        AnyType::CompatibleArray => {
            facts!(5078, 0, "anycompatiblearray", "anycompatiblearray", -1, 'P')
        }
        AnyType::CompatibleNonArray => {
            facts!(5079, 0, "anycompatiblenonarray", "anycompatiblenonarray", 4, 'P')
        }
    }
}

/// Every type without modifiers, arrays after their elements, as rows of `pg_type`.
pub fn all() -> Vec<SqlType> {
    let mut types = SCALARS.to_vec();
    let arrays = SCALARS.iter().filter(|ty| array_oid(ty) != 0);
    types.extend(arrays.map(|ty| SqlType::Array(Box::new(ty.clone()))));
    types
}

/// The number of the type of its arrays; 0 if there are none.
pub fn array_oid(ty: &SqlType) -> u32 {
    facts(ty).array_oid
}

/// `pg_type.typlen`: bytes, -1 for variable length.
pub fn length(ty: &SqlType) -> i16 {
    match ty {
        SqlType::Array(_) => -1,
        other => facts(other).len,
    }
}

/// `pg_type.typstorage`.
pub fn storage(ty: &SqlType) -> char {
    match ty {
        SqlType::Numeric(_) | SqlType::Inet | SqlType::Cidr => 'm',
        ty if ty.is_vector() => 'p',
        ty if length(ty) == -1 => 'x',
        _ => 'p',
    }
}

/// `pg_type.typcategory`.
pub fn category(ty: &SqlType) -> char {
    match ty {
        SqlType::Array(_) => 'A',
        other => facts(other).category,
    }
}

/// `pg_type.typispreferred`: the type of its category that ambiguous calls fall to.
pub fn is_preferred(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bool
            | SqlType::Float8
            | SqlType::Oid
            | SqlType::Text
            | SqlType::Timestamptz
            | SqlType::Interval
            | SqlType::Inet
            | SqlType::Varbit(_)
    )
}

impl SqlType {
    /// PostgreSQL's number of the type.
    pub fn oid(&self) -> u32 {
        match self {
            SqlType::Array(element) => array_oid(element),
            other => facts(other).oid,
        }
    }

    /// The type with this number, without modifiers.
    pub fn from_oid(oid: u32) -> Option<SqlType> {
        if oid == 0 {
            return None;
        }
        for ty in SCALARS {
            let facts = facts(ty);
            if facts.oid == oid {
                return Some(ty.clone());
            }
            if facts.array_oid == oid {
                return Some(SqlType::Array(Box::new(ty.clone())));
            }
        }
        None
    }
}
