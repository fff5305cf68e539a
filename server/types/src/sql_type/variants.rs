//! The types, their modifiers, and which type is made of which.
//!
//! An anonymous row (`record`) is its columns. The row type of a relation has a name and a number
//! besides: two of them are equal only if they have the same number.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::any_type::AnyType;
use super::row_name::{RowAttribute, RowName};
use crate::geometry::Shape;
use crate::snapshot::SnapshotName;
use crate::{EnumType, RangeKind};

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
    /// `bit(n)`; 0 is `bit` without a length (held as [`crate::bits`] says)
    Bit(u32),
    /// `bit varying(n)` (held as [`crate::bits`] says)
    Varbit(Option<u32>),
    /// `citext`: text whose case does not count in comparisons
    Citext,
    /// `pg_snapshot` and `txid_snapshot` (held as [`crate::snapshot`] says)
    Snapshot(SnapshotName),
    /// `hstore` (held as [`crate::hstore`] says)
    Hstore,
    /// `bytea`
    Bytes,
    /// `money` (held as [`crate::money`] says)
    Money,
    /// `point` and the other types of the plane (held as [`crate::geometry`] says)
    Geometry(Shape),
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
    /// `refcursor`: the name of a cursor (held as [`crate::Datum::Text`])
    Refcursor,
    /// `tsvector`: lexemes with their places (held as [`crate::Datum::Bytes`], see
    /// [`crate::search`])
    TsVector,
    /// `tsquery`: what lexemes are looked for (held as [`crate::Datum::Bytes`], see
    /// [`crate::search`])
    TsQuery,
    /// `regconfig`: a configuration of text search (held as [`crate::Datum::Int`]). There are only
    /// built-in ones, so it reads and prints without the catalog.
    Regconfig,
    /// `regdictionary`: as `regconfig`
    Regdictionary,
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
    /// A row: an anonymous one, or one of a type that has a name.
    Record(RowType),
    /// An enum; a descriptor stores its oid.
    Enum(#[serde(with = "crate::enums::by_oid")] Arc<EnumType>),
    /// `int4range` and the other built-in ranges
    Range(RangeKind),
    /// `int4multirange` and the others: sets of ranges
    Multirange(RangeKind),
    /// What a function without a result returns.
    Void,
    /// A polymorphic type, which only parameters and results of functions have.
    Any(AnyType),
}

impl SqlType {
    /// The same type with PostgreSQL's type modifier (`-1`: none).
    #[must_use]
    pub fn with_typmod(self, typmod: i32) -> SqlType {
        let length = u32::try_from(typmod.saturating_sub(4)).ok();
        match self {
            SqlType::Varchar(_) => SqlType::Varchar(length),
            SqlType::Char(_) => SqlType::Char(length.unwrap_or(0)),
            SqlType::Bit(_) => SqlType::Bit(u32::try_from(typmod).unwrap_or(0)),
            SqlType::Varbit(_) => {
                SqlType::Varbit(u32::try_from(typmod).ok().filter(|length| *length > 0))
            }
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
            SqlType::Bit(length) if *length > 0 => i32::try_from(*length).unwrap_or(-1),
            SqlType::Varbit(Some(length)) => i32::try_from(*length).unwrap_or(-1),
            SqlType::Numeric(Some((precision, scale))) => {
                ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + 4
            }
            SqlType::Array(element) => element.typmod(),
            _ => -1,
        }
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
        let is_search = matches!(self, SqlType::Regconfig | SqlType::Regdictionary);
        *self == SqlType::Oid || self.is_reg() || is_search
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
            SqlType::Bit(_) => SqlType::Bit(0),
            SqlType::Varbit(_) => SqlType::Varbit(None),
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
            (SqlType::Record(a), SqlType::Record(b)) => a.is_same(b),
            (SqlType::Any(a), SqlType::Any(b)) => a == b,
            (SqlType::Geometry(a), SqlType::Geometry(b)) => a == b,
            (SqlType::Range(a), SqlType::Range(b)) => a == b,
            (SqlType::Multirange(a), SqlType::Multirange(b)) => a == b,
            (SqlType::Snapshot(a), SqlType::Snapshot(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// An enum.
    pub fn is_enum(&self) -> bool {
        self.as_enum().is_some()
    }

    /// The enum that it is.
    pub fn as_enum(&self) -> Option<&Arc<EnumType>> {
        match self {
            SqlType::Enum(ty) => Some(ty),
            _ => None,
        }
    }

    /// The enum that it is, or whose values it has in arrays or rows.
    pub fn inner_enum(&self) -> Option<&Arc<EnumType>> {
        match self {
            SqlType::Record(row) if row.name().is_none() => {
                row.iter().find_map(|(_, ty)| ty.inner_enum())
            }
            ty => ty.innermost().as_enum(),
        }
    }
}

/// The row type with a name that a type is, or whose values it has in arrays.
pub fn row_name(ty: &SqlType) -> Option<&Arc<RowName>> {
    match ty.innermost() {
        SqlType::Record(row) => row.name(),
        _ => None,
    }
}

/// The kind of a range or multirange.
pub fn range_kind(ty: &SqlType) -> Option<RangeKind> {
    match ty {
        SqlType::Range(kind) | SqlType::Multirange(kind) => Some(*kind),
        _ => None,
    }
}

/// The type of the bounds of a range or multirange.
pub fn range_subtype(ty: &SqlType) -> Option<&'static SqlType> {
    range_kind(ty).map(RangeKind::subtype)
}

impl RangeKind {
    /// The type of the bounds.
    pub fn subtype(self) -> &'static SqlType {
        match self {
            RangeKind::Int4 => &SqlType::Int4,
            RangeKind::Int8 => &SqlType::Int8,
            RangeKind::Num => &SqlType::Numeric(None),
            RangeKind::Ts => &SqlType::Timestamp,
            RangeKind::Tstz => &SqlType::Timestamptz,
            RangeKind::Date => &SqlType::Date,
        }
    }
}

/// The numbers of the enums and of the row types with a name that a type is made of. The columns of
/// a row type with a name are not looked at.
pub fn user_types(ty: &SqlType) -> Vec<u32> {
    match ty {
        SqlType::Enum(ty) => vec![ty.oid],
        SqlType::Array(element) => user_types(element),
        SqlType::Record(row) => match row.name() {
            Some(name) => vec![name.oid],
            None => row.iter().flat_map(|(_, ty)| user_types(ty)).collect(),
        },
        _ => Vec::new(),
    }
}

/// Puts what the catalog knows today in the place of each enum and each row type with a name.
pub fn refresh_types(
    ty: &mut SqlType,
    enums: &dyn Fn(u32) -> Option<Arc<EnumType>>,
    rows: &dyn Fn(u32) -> Option<RowType>,
) {
    match ty {
        SqlType::Enum(ty) => {
            if let Some(fresh) = enums(ty.oid) {
                *ty = fresh;
            }
        }
        SqlType::Array(element) => refresh_types(element, enums, rows),
        SqlType::Record(row) => match row.name() {
            Some(name) => {
                if let Some(fresh) = rows(name.oid) {
                    *row = fresh;
                }
            }
            None => row.iter_mut().for_each(|(_, ty)| refresh_types(ty, enums, rows)),
        },
        _ => {}
    }
}

/// A column of a row: its name and its type.
pub type Field = (String, SqlType);

/// The columns of a row. A descriptor keeps the number alone of one that has a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RowType {
    name: Option<Arc<RowName>>,
    fields: Vec<Field>,
}

impl RowType {
    /// An anonymous row without known columns.
    pub const fn unknown() -> Self {
        RowType { name: None, fields: Vec::new() }
    }

    /// The row type of that name.
    pub fn named(name: Arc<RowName>, fields: Vec<Field>) -> Self {
        RowType { name: Some(name), fields }
    }

    /// Its name; `None` for an anonymous row.
    pub fn name(&self) -> Option<&Arc<RowName>> {
        self.name.as_ref()
    }

    /// Whether it is `record`: a row of any columns.
    pub fn is_any_row(&self) -> bool {
        self.name.is_none() && self.fields.is_empty()
    }

    /// The numbers of its columns; empty for an anonymous row.
    pub fn attributes(&self) -> &[RowAttribute] {
        self.name.as_ref().map_or(&[], |name| &name.attributes)
    }

    /// The number of a column's type as clients see it: that of its domain, if it has one.
    pub fn type_oid(&self, place: usize) -> u32 {
        let domain = self.attributes().get(place).and_then(|attribute| attribute.domain);
        let own = || self.fields.get(place).map_or(SqlType::Unknown.oid(), |(_, ty)| ty.oid());
        domain.unwrap_or_else(own)
    }

    /// The same columns without the name.
    #[must_use]
    pub fn anonymous(&self) -> Self {
        RowType { name: None, fields: self.fields.clone() }
    }

    /// Whether both are the same row type. Anonymous rows are all of type `record`.
    pub fn is_same(&self, other: &RowType) -> bool {
        self.name == other.name
    }
}

impl Deref for RowType {
    type Target = Vec<Field>;

    fn deref(&self) -> &Vec<Field> {
        &self.fields
    }
}

impl DerefMut for RowType {
    fn deref_mut(&mut self) -> &mut Vec<Field> {
        &mut self.fields
    }
}

impl From<Vec<Field>> for RowType {
    fn from(fields: Vec<Field>) -> Self {
        RowType { name: None, fields }
    }
}

impl FromIterator<Field> for RowType {
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> Self {
        RowType { name: None, fields: fields.into_iter().collect() }
    }
}

impl IntoIterator for RowType {
    type Item = Field;
    type IntoIter = std::vec::IntoIter<Field>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.into_iter()
    }
}

impl<'f> IntoIterator for &'f RowType {
    type Item = &'f Field;
    type IntoIter = std::slice::Iter<'f, Field>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.iter()
    }
}

impl Serialize for RowType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.name {
            Some(name) => serializer.serialize_u32(name.oid),
            None => self.fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RowType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StoredRow)
    }
}

/// Reads the number of a row type, or the columns of an anonymous row.
struct StoredRow;

impl<'de> Visitor<'de> for StoredRow {
    type Value = RowType;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the number of a row type, or columns")
    }

    fn visit_u64<E: serde::de::Error>(self, oid: u64) -> Result<RowType, E> {
        let oid = u32::try_from(oid).map_err(E::custom)?;
        let name = RowName { oid, ..RowName::default() };
        Ok(RowType { name: Some(Arc::new(name)), fields: Vec::new() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RowType, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = seq.next_element()? {
            fields.push(field);
        }
        Ok(fields.into())
    }
}
