//! One decoded value, small and cheap to clone.
//!
//! Here: the value, its SQL order, equality and hash; the array and the range, because they and a
//! datum contain each other. Not here: text and binary forms, work on arrays (`array`) and ranges
//! (`range`).
//!
//! Rules:
//! - a datum is at most 32 bytes;
//! - `compare` is a total order in which NULL comes last, NaN after every number, and numbers of
//!   different kinds compare by their exact value; equality and hash follow it.
//! - `char(n)` ignores trailing blanks; only the type shows this: see [`Datum::compare_typed`].

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use crate::array::Dimension;
use crate::floats::{compare_floats, hash_float};
use crate::numeric::from_f64_exact;
use crate::{EnumLabel, Json, Numeric, SqlType, citext, enums, work};

/// A row of datums.
pub type Row = Vec<Datum>;

/// One SQL value. Its static [`SqlType`] is known from elsewhere; the datum holds what is stored.
#[derive(Clone, Debug)]
pub enum Datum {
    /// SQL NULL of any type.
    Null,
    /// `boolean`
    Bool(bool),
    /// `int2`, `int4`, `int8`, `oid` and the `reg*` types
    Int(i64),
    /// `float4` (rounded to it) and `float8`
    Float(f64),
    /// `numeric`
    Numeric(Numeric),
    /// `text`, `varchar`, `char(n)` (blank padded), `name`, `"char"`
    Text(Arc<str>),
    /// `citext`: compares without regard to case
    Citext(Arc<str>),
    /// `bytea`
    Bytes(Arc<[u8]>),
    /// `uuid`
    Uuid([u8; 16]),
    /// `date`: days since 2000-01-01; `i32::MAX`/`MIN` are ±infinity
    Date(i32),
    /// `time`: microseconds since midnight
    Time(i64),
    /// `timestamp`: microseconds since 2000-01-01; `i64::MAX`/`MIN` are ±infinity
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 UTC; `i64::MAX`/`MIN` are ±infinity
    Timestamptz(i64),
    /// `interval`
    Interval(Interval),
    /// `json` (its text) and `jsonb` (normalised)
    Json(Arc<Json>),
    /// an array
    Array(Arc<Array>),
    /// an anonymous row
    Record(Arc<[Datum]>),
    /// a value of an enum
    Enum(Arc<EnumLabel>),
    /// a range
    Range(Arc<Range>),
    /// a multirange: sorted ranges with gaps between them
    Multirange(Arc<[Range]>),
}

/// An array.
#[derive(Clone, Debug)]
pub struct Array {
    /// The type of its elements.
    pub element: SqlType,
    /// The subscript of the first element, 1 unless a literal or an assignment said otherwise.
    pub lower: i32,
    /// The elements; those of the last dimension stand side by side.
    pub items: Vec<Datum>,
    /// The dimensions after the first one; most arrays have none.
    pub inner: Vec<Dimension>,
    /// Its elements as a set. Code that changes the elements in place empties it.
    pub members: Members,
}

/// The set of an array's elements, once somebody has asked for it. A copy of the array has none.
#[derive(Debug, Default)]
pub struct Members(pub(crate) OnceLock<HashSet<Datum>>);

impl Clone for Members {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A range. `Unbounded` is what SQL calls an infinite bound.
#[derive(Clone, Debug)]
pub enum Range {
    /// The range without values.
    Empty,
    /// From a lower to an upper bound.
    Between(Bound<Datum>, Bound<Datum>),
}

/// PostgreSQL's interval: three parts that are compared as 30-day months and 24-hour days.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// The whole length in microseconds, a month being 30 days and a day 24 hours.
    pub fn span_micros(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.micros)
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.span_micros() == other.span_micros()
    }
}
impl Eq for Interval {}
impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.span_micros().cmp(&other.span_micros())
    }
}
impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span_micros().hash(state);
    }
}

fn compare_int_float(int: i64, float: f64) -> Ordering {
    if float.is_nan() || float >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if float < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    let whole = float.floor();
    // The range was checked, so this conversion is exact.
    match int.cmp(&(whole as i64)) {
        Ordering::Equal if float > whole => Ordering::Less,
        order => order,
    }
}

impl Datum {
    /// A text datum.
    pub fn text(value: impl Into<Arc<str>>) -> Self {
        Datum::Text(value.into())
    }

    /// A jsonb or json datum.
    pub fn json(value: Json) -> Self {
        Datum::Json(Arc::new(value))
    }

    /// An array datum whose first subscript is 1.
    pub fn array(element: SqlType, items: Vec<Datum>) -> Self {
        Datum::Array(Arc::new(Array::new(element, items)))
    }

    /// A bytea datum.
    pub fn bytes(value: impl Into<Arc<[u8]>>) -> Self {
        Datum::Bytes(value.into())
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The boolean inside; `None` for NULL and for anything else.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Datum::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer inside; `None` for NULL and for anything else.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Datum::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The numeric inside; `None` for NULL and for anything else.
    pub fn as_numeric(&self) -> Option<&Numeric> {
        match self {
            Datum::Numeric(value) => Some(value),
            _ => None,
        }
    }

    /// The text inside; `None` for NULL and for anything else.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Datum::Text(value) | Datum::Citext(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes inside; `None` for NULL and for anything else.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Datum::Bytes(value) => Some(value),
            _ => None,
        }
    }

    /// The interval inside; `None` for NULL and for anything else.
    pub fn as_interval(&self) -> Option<Interval> {
        match self {
            Datum::Interval(value) => Some(*value),
            _ => None,
        }
    }

    /// The JSON value inside; `None` for NULL and for anything else.
    pub fn as_json(&self) -> Option<&Json> {
        match self {
            Datum::Json(value) => Some(value),
            _ => None,
        }
    }

    /// The label of an enum's value; `None` for NULL and for anything else.
    pub fn as_label(&self) -> Option<&Arc<EnumLabel>> {
        match self {
            Datum::Enum(label) => Some(label),
            _ => None,
        }
    }

    /// The array inside; `None` for NULL and for anything else.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Datum::Array(value) => Some(value),
            _ => None,
        }
    }

    /// The ranges inside: none or one of a range, all of a multirange; `None` for anything else.
    pub fn as_ranges(&self) -> Option<&[Range]> {
        match self {
            Datum::Range(value) => Some(value.as_set()),
            Datum::Multirange(ranges) => Some(ranges),
            _ => None,
        }
    }

    /// Approximate bytes of memory it takes, for limits.
    pub fn size_bytes(&self) -> usize {
        let inner = match self {
            Datum::Numeric(value) => value.heap_bytes(),
            Datum::Text(value) | Datum::Citext(value) => value.len() + 16,
            Datum::Bytes(value) => value.len() + 16,
            Datum::Json(value) => value.size_bytes() + 16,
            Datum::Array(value) => value.items.iter().map(Datum::size_bytes).sum::<usize>() + 64,
            Datum::Record(fields) => fields.iter().map(Datum::size_bytes).sum::<usize>() + 16,
            Datum::Range(value) => value.size_bytes() + 16,
            Datum::Multirange(ranges) => ranges.iter().map(Range::size_bytes).sum::<usize>() + 16,
            _ => 0,
        };
        size_of::<Datum>() + inner
    }

    /// SQL order of two values of one type; NULL equals NULL and sorts last.
    pub fn compare(&self, other: &Self) -> Ordering {
        use Datum::*;
        match (self, other) {
            (Int(a), Int(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Citext(a), Citext(b)) => citext::compare(a, b),
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Greater,
            (_, Null) => Ordering::Less,
            (Bool(a), Bool(b)) => a.cmp(b),
            (Float(a), Float(b)) => compare_floats(*a, *b),
            (Int(a), Float(b)) => compare_int_float(*a, *b),
            (Float(a), Int(b)) => compare_int_float(*b, *a).reverse(),
            (Numeric(a), Numeric(b)) => a.cmp(b),
            (Numeric(a), Int(b)) => a.cmp(&crate::Numeric::from_i64(*b)),
            (Int(a), Numeric(b)) => crate::Numeric::from_i64(*a).cmp(b),
            (Numeric(a), Float(b)) => a.cmp(&from_f64_exact(*b)),
            (Float(a), Numeric(b)) => from_f64_exact(*a).cmp(b),
            (Bytes(a), Bytes(b)) => a.cmp(b),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(b),
            (Time(a), Time(b)) => a.cmp(b),
            (Timestamp(a) | Timestamptz(a), Timestamp(b) | Timestamptz(b)) => a.cmp(b),
            (Date(a), Timestamp(b) | Timestamptz(b)) => compare_date_micros(*a, *b),
            (Timestamp(a) | Timestamptz(a), Date(b)) => compare_date_micros(*b, *a).reverse(),
            (Interval(a), Interval(b)) => a.cmp(b),
            (Json(a), Json(b)) => a.compare(b),
            (Array(a), Array(b)) => a.compare(b),
            (Record(a), Record(b)) => compare_rows(a, b),
            (Enum(a), Enum(b)) => enums::compare(a, b),
            (Range(a), Range(b)) => a.compare(b),
            (Multirange(a), Multirange(b)) => compare_multiranges(a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// As [`Datum::compare`], for values of that type: `char(n)` ignores trailing blanks.
    pub fn compare_typed(&self, other: &Self, ty: &SqlType) -> Ordering {
        match (ty, self, other) {
            (SqlType::Char(_), Datum::Text(a), Datum::Text(b)) => {
                let (a, b) = (a.trim_end_matches(' '), b.trim_end_matches(' '));
                a.as_bytes().cmp(b.as_bytes())
            }
            (SqlType::Record(fields), Datum::Record(a), Datum::Record(b)) => {
                for ((left, right), (_, ty)) in a.iter().zip(b.iter()).zip(fields) {
                    let order = left.compare_typed(right, ty);
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                let known = fields.len();
                match (a.get(known..), b.get(known..)) {
                    (Some(a), Some(b)) => compare_rows(a, b),
                    _ => a.len().cmp(&b.len()),
                }
            }
            _ => self.compare(other),
        }
    }

    /// Where values that cannot be compared stand; only for a total order.
    fn rank(&self) -> u8 {
        match self {
            Datum::Bool(_) => 1,
            Datum::Int(_) | Datum::Float(_) | Datum::Numeric(_) => 2,
            Datum::Text(_) | Datum::Citext(_) => 3,
            Datum::Bytes(_) => 4,
            Datum::Uuid(_) => 5,
            Datum::Date(_) | Datum::Timestamp(_) | Datum::Timestamptz(_) => 6,
            Datum::Time(_) => 7,
            Datum::Interval(_) => 8,
            Datum::Json(_) => 9,
            Datum::Array(_) => 10,
            Datum::Record(_) => 11,
            Datum::Enum(_) => 12,
            Datum::Range(_) => 13,
            Datum::Multirange(_) => 14,
            Datum::Null => 15,
        }
    }
}

fn compare_date_micros(date: i32, micros: i64) -> Ordering {
    match date {
        i32::MAX => i64::MAX.cmp(&micros),
        i32::MIN => i64::MIN.cmp(&micros),
        // In 128 bits, as a date can lie beyond the last timestamp but never beyond infinity.
        _ if micros == i64::MAX => Ordering::Less,
        _ if micros == i64::MIN => Ordering::Greater,
        days => (i128::from(days) * 86_400_000_000).cmp(&i128::from(micros)),
    }
}

/// Multiranges compare range by range, then by their number.
fn compare_multiranges(a: &[Range], b: &[Range]) -> Ordering {
    for (left, right) in a.iter().zip(b) {
        work::note(1);
        let order = left.compare(right);
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// Rows compare column by column, NULL last, then by length.
pub fn compare_rows(a: &[Datum], b: &[Datum]) -> Ordering {
    for (left, right) in a.iter().zip(b) {
        let order = left.compare(right);
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

impl PartialEq for Datum {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // The usual keys of hash tables first.
        match (self, other) {
            (Datum::Int(a), Datum::Int(b)) => a == b,
            (Datum::Text(a), Datum::Text(b)) => a == b,
            _ => self.compare(other) == Ordering::Equal,
        }
    }
}
impl Eq for Datum {}
impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Datum {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other)
    }
}

impl Hash for Datum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Datum::Null => state.write_u8(0),
            Datum::Bool(value) => value.hash(state),
            Datum::Int(value) => value.hash(state),
            Datum::Float(value) => hash_float(*value, state),
            Datum::Numeric(value) => value.hash(state),
            Datum::Text(value) => value.hash(state),
            Datum::Citext(value) => citext::hash(value, state),
            Datum::Bytes(value) => value.hash(state),
            Datum::Uuid(value) => value.hash(state),
            Datum::Date(i32::MAX) => i64::MAX.hash(state),
            Datum::Date(i32::MIN) => i64::MIN.hash(state),
            Datum::Date(value) => {
                i64::from(*value).wrapping_mul(86_400_000_000).hash(state);
            }
            Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => {
                value.hash(state);
            }
            Datum::Interval(value) => value.hash(state),
            Datum::Json(value) => value.hash(state),
            Datum::Array(value) => {
                value.items.len().hash(state);
                for item in &value.items {
                    work::note(1);
                    hash_typed(item, &value.element, state);
                }
            }
            Datum::Enum(label) => label.order.hash(state),
            Datum::Range(value) => value.hash(state),
            Datum::Multirange(ranges) => ranges.hash(state),
            Datum::Record(fields) => {
                for field in fields.iter() {
                    field.hash(state);
                }
            }
        }
    }
}

/// Hashes a value as [`Datum::compare_typed`] compares it.
fn hash_typed<H: Hasher>(value: &Datum, ty: &SqlType, state: &mut H) {
    match (ty, value) {
        (SqlType::Char(_), Datum::Text(text)) => text.trim_end_matches(' ').hash(state),
        (SqlType::Record(types), Datum::Record(fields)) => {
            for (place, field) in fields.iter().enumerate() {
                match types.get(place) {
                    Some((_, ty)) => hash_typed(field, ty, state),
                    None => field.hash(state),
                }
            }
        }
        _ => value.hash(state),
    }
}

/// Whether values of the type that are equal may differ in blanks. Arrays compare and hash by the
/// type of their elements themselves.
pub fn ignores_blanks(ty: &SqlType) -> bool {
    match ty {
        SqlType::Char(_) => true,
        SqlType::Record(fields) => fields.iter().any(|(_, ty)| ignores_blanks(ty)),
        _ => false,
    }
}

/// Takes the blanks away that do not count in a value of this type.
pub fn strip_blanks(value: &mut Datum, ty: &SqlType) {
    match (ty, value) {
        (SqlType::Char(_), Datum::Text(text)) if text.ends_with(' ') => {
            *text = text.trim_end_matches(' ').into();
        }
        (SqlType::Record(fields), Datum::Record(values)) if ignores_blanks(ty) => {
            let mut stripped = values.to_vec();
            for (value, (_, ty)) in stripped.iter_mut().zip(fields) {
                strip_blanks(value, ty);
            }
            *values = stripped.into();
        }
        _ => {}
    }
}
