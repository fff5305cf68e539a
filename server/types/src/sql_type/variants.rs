//! The types, their modifiers, and which type is made of which.

use std::sync::Arc;

use crate::EnumType;

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

impl SqlType {
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
            SqlType::Record(fields) => fields.iter().find_map(|(_, ty)| ty.inner_enum()),
            ty => ty.innermost().as_enum(),
        }
    }
}

/// Puts what `known` has in the place of each enum of that oid.
pub fn refresh_enums(ty: &mut SqlType, known: &dyn Fn(u32) -> Option<Arc<EnumType>>) {
    match ty {
        SqlType::Enum(ty) => {
            if let Some(fresh) = known(ty.oid) {
                *ty = fresh;
            }
        }
        SqlType::Array(element) => refresh_enums(element, known),
        SqlType::Record(fields) => {
            fields.iter_mut().for_each(|(_, ty)| refresh_enums(ty, known));
        }
        _ => {}
    }
}
