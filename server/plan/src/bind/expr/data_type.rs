//! From a type as written to a [`SqlType`].

use std::sync::Arc;

use braid_catalog::{Catalog, Domain, Id, SearchPath, is_extension_type, is_virtual_schema};
use braid_sql::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, DateTimeField, ExactNumberInfo, Interval,
    IntervalFields, ObjectName, TimezoneInfo,
};
use braid_types::datetime::typmod::{
    DAY, HOUR, MINUTE, MONTH, PRECISION_MAX, SECOND, YEAR, interval_typmod,
};
use braid_types::{Error, Result, SqlState, SqlType};

/// Where the names of types of users are looked up.
#[derive(Clone, Copy)]
pub struct TypeNames<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// The schemas that are searched.
    pub path: &'a SearchPath,
}

/// The id that stands for a type in stored text.
fn marked_id(parts: &[String]) -> Option<Id> {
    match parts {
        [mark, id] if mark == braid_sql::RELATION_MARK => id.parse().ok(),
        _ => None,
    }
}

impl<'a> TypeNames<'a> {
    /// The domain of that name, unless the name finds an enum in a schema that is searched earlier.
    pub(crate) fn domain(&self, parts: &[String]) -> Result<Option<&'a Arc<Domain>>> {
        if let Some(id) = marked_id(parts) {
            return Ok(self.catalog.domains().get(id));
        }
        let Some(domain) = self.catalog.domains().resolve(self.path, parts)? else {
            return Ok(None);
        };
        let is_hidden = match self.catalog.enums().resolve(self.path, parts)? {
            Some((found, _)) => self.searched_first(found.schema, domain.schema),
            None => false,
        };
        Ok(Some(domain).filter(|_| !is_hidden))
    }

    /// Whether one of two schemas is searched before the other.
    fn searched_first(&self, schema: Id, other: Id) -> bool {
        let names = self.catalog.names();
        let mut searched = self.path.names(true);
        let first = searched.find_map(|name| {
            let found = names.schema(self.path.database, name)?.id;
            [schema, other].contains(&found).then_some(found)
        });
        first == Some(schema)
    }

    /// The enum, or the array of one, of that name; or the type below the domain of that name.
    fn find(&self, parts: &[String]) -> Result<Option<SqlType>> {
        let domain = self.domain(parts)?;
        if let Some(domain) = domain {
            return Ok(Some(self.catalog.domains().base(domain)));
        }
        if let Some(id) = marked_id(parts) {
            let row = || self.catalog.names().row_types().type_of(id);
            return Ok(self.catalog.enums().type_of(id).or_else(row));
        }
        let found = self.catalog.enums().resolve(self.path, parts)?;
        let oid = found.map(|(found, is_array)| if is_array { found.array } else { found.id });
        match oid {
            Some(oid) => Ok(self.catalog.enums().type_of(oid)),
            None => self.catalog.names().row_types().resolve(self.path, parts),
        }
    }
}

/// The type of that name; 42704 if there is none, 0A000 if we do not have it.
pub fn sql_type_of(data_type: &DataType, names: TypeNames<'_>) -> Result<SqlType> {
    type_of(data_type, Some(names))
}

/// The type of a literal that names it: `char 'abc'` and `bit '101'` have no length.
pub(crate) fn literal_type_of(data_type: &DataType, names: TypeNames<'_>) -> Result<SqlType> {
    match data_type {
        DataType::Char(None) | DataType::Character(None) => Ok(SqlType::Char(0)),
        DataType::Bit(None) => Ok(SqlType::Bit(0)),
        other => sql_type_of(other, names),
    }
}

/// The built-in type of that name; 42704 if there is none.
pub fn built_in_type(data_type: &DataType) -> Result<SqlType> {
    type_of(data_type, None)
}

/// The last part of the name of a type that is not built in.
pub(crate) fn own_name(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Custom(name, _) => {
            name.0.last().and_then(|part| part.as_ident()).map(braid_sql::fold)
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => own_name(element),
        _ => None,
    }
}

fn type_of(data_type: &DataType, names: Option<TypeNames<'_>>) -> Result<SqlType> {
    use DataType as D;
    Ok(match data_type {
        D::Boolean | D::Bool => SqlType::Bool,
        D::Int2(Some(_)) | D::Int4(Some(_)) | D::Int8(Some(_)) => return Err(sized(data_type)),
        D::SmallInt(_) | D::Int2(_) => SqlType::Int2,
        D::Int(_) | D::Int4(_) | D::Integer(_) => SqlType::Int4,
        D::BigInt(_) | D::Int8(_) | D::Int64 => SqlType::Int8,
        D::Real | D::Float4 => SqlType::Float4,
        D::Float8 | D::Float64 | D::DoublePrecision | D::Double(_) => SqlType::Float8,
        D::Float(ExactNumberInfo::Precision(p)) if (1..=24).contains(p) => SqlType::Float4,
        D::Float(ExactNumberInfo::Precision(0)) => {
            return Err(invalid("precision for type float must be at least 1 bit"));
        }
        D::Float(ExactNumberInfo::Precision(54..)) => {
            return Err(invalid("precision for type float must be less than 54 bits"));
        }
        D::Float(_) => SqlType::Float8,
        D::Numeric(info) | D::Decimal(info) | D::Dec(info) => numeric(info)?,
        D::Text | D::String(None) => SqlType::Text,
        D::String(Some(length)) => varchar(*length)?,
        D::Varchar(length) | D::CharacterVarying(length) | D::CharVarying(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => varchar(*length)?,
            _ => SqlType::Varchar(None),
        },
        D::Char(length) | D::Character(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => {
                SqlType::Char(length_of("char", *length)?)
            }
            _ => SqlType::Char(1),
        },
        D::Bit(length) => SqlType::Bit(length.map_or(Ok(1), |length| bit_length("bit", length))?),
        D::BitVarying(length) | D::VarBit(length) => {
            SqlType::Varbit(length.map(|length| bit_length("varbit", length)).transpose()?)
        }
        D::Bytea | D::Bytes(_) | D::Blob(_) => SqlType::Bytes,
        D::Uuid => SqlType::Uuid,
        D::Date => SqlType::Date,
        D::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => SqlType::Time,
        D::Time(..) => SqlType::Timetz,
        D::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => SqlType::Timestamp,
        D::Timestamp(..) => SqlType::Timestamptz,
        D::Interval { .. } => SqlType::Interval,
        D::JSON => SqlType::Json,
        D::JSONB => SqlType::Jsonb,
        D::Regclass => SqlType::Regclass,
        D::TsVector => SqlType::TsVector,
        D::TsQuery => SqlType::TsQuery,
        D::Array(element) => match element {
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element)
            | ArrayElemTypeDef::Qualified(element, _) => match element_type(element, names)? {
                // PostgreSQL's int[][] is the same type as int[].
                SqlType::Array(inner) => SqlType::Array(inner),
                element => SqlType::Array(Box::new(element)),
            },
            ArrayElemTypeDef::None => return Err(Error::unsupported("an array without a type")),
        },
        D::Custom(name, modifiers) => custom((name, ""), modifiers, names)?,
        other => {
            let name = other.to_string().to_lowercase();
            return Err(Error::new(
                SqlState::UndefinedObject,
                format!("type \"{name}\" does not exist"),
            ));
        }
    })
}

/// The type of an array's elements. Messages show the array.
fn element_type(element: &DataType, names: Option<TypeNames<'_>>) -> Result<SqlType> {
    match element {
        DataType::Custom(name, modifiers) => custom((name, "[]"), modifiers, names),
        other => type_of(other, names),
    }
}

/// The domain that a type's name means, or what stands for its arrays; `None` for every other type.
/// 0A000 for arrays of a domain over arrays.
pub fn domain_of<'a>(
    data_type: &DataType,
    names: TypeNames<'a>,
) -> Result<Option<&'a Arc<Domain>>> {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            let Some(found) = domain_of(element, names)? else { return Ok(None) };
            // An array of arrays is the same type.
            if found.element.is_some() {
                return Ok(Some(found));
            }
            let arrays = names.catalog.domains().get(found.array);
            let lacks = || Error::unsupported(format_args!("an array of domain {}", found.name));
            arrays.map(Some).ok_or_else(lacks)
        }
        DataType::Custom(name, _) if !is_built_in(data_type, name) => {
            let parts: Vec<String> =
                name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold).collect();
            names.domain(&parts)
        }
        _ => Ok(None),
    }
}

/// Whether a name that has no schema means a type that is built in, which hides types of users.
fn is_built_in(data_type: &DataType, name: &ObjectName) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident()).map(braid_sql::fold);
    let is_lower = last.is_some_and(|last| !last.contains(char::is_uppercase));
    name.0.len() == 1 && is_lower && built_in_type(data_type).is_ok()
}

/// How many dimensions the declaration of an array type has beyond the first.
pub fn more_dimensions_of(data_type: &DataType) -> u8 {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element)
            | ArrayElemTypeDef::Qualified(element, _),
        ) if matches!(**element, DataType::Array(_)) => {
            more_dimensions_of(element).saturating_add(1)
        }
        _ => 0,
    }
}

/// The modifier of a time, timestamp or interval type as written; `None` without one, or for
/// another type.
pub fn time_modifier_of(data_type: &DataType) -> Option<i32> {
    use DataType as D;
    let digits = |precision: u64| {
        i32::try_from(precision).map_or(PRECISION_MAX, |digits| digits.min(PRECISION_MAX))
    };
    match data_type {
        D::Time(precision, _) | D::Timestamp(precision, _) => precision.map(digits),
        D::Interval { fields: None, precision: None } => None,
        D::Interval { fields, precision } => {
            let (first, last) = fields.as_ref().map_or((None, None), |fields| {
                let (first, last) = fields_of(fields);
                (Some(first), last)
            });
            Some(interval_typmod(first, last, precision.map(digits)))
        }
        D::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element)
            | ArrayElemTypeDef::Qualified(element, _),
        ) => time_modifier_of(element),
        _ => None,
    }
}

/// The first and the last field of an interval type.
fn fields_of(fields: &IntervalFields) -> (i32, Option<i32>) {
    match fields {
        IntervalFields::Year => (YEAR, None),
        IntervalFields::Month => (MONTH, None),
        IntervalFields::Day => (DAY, None),
        IntervalFields::Hour => (HOUR, None),
        IntervalFields::Minute => (MINUTE, None),
        IntervalFields::Second => (SECOND, None),
        IntervalFields::YearToMonth => (YEAR, Some(MONTH)),
        IntervalFields::DayToHour => (DAY, Some(HOUR)),
        IntervalFields::DayToMinute => (DAY, Some(MINUTE)),
        IntervalFields::DayToSecond => (DAY, Some(SECOND)),
        IntervalFields::HourToMinute => (HOUR, Some(MINUTE)),
        IntervalFields::HourToSecond => (HOUR, Some(SECOND)),
        IntervalFields::MinuteToSecond => (MINUTE, Some(SECOND)),
    }
}

/// The modifier of an interval literal's fields; 42601 for fields that an interval does not have.
pub(crate) fn interval_modifier(interval: &Interval) -> Result<Option<i32>> {
    let bit = |field: &DateTimeField| match field {
        DateTimeField::Year | DateTimeField::Years => Ok(YEAR),
        DateTimeField::Month | DateTimeField::Months => Ok(MONTH),
        DateTimeField::Day | DateTimeField::Days => Ok(DAY),
        DateTimeField::Hour | DateTimeField::Hours => Ok(HOUR),
        DateTimeField::Minute | DateTimeField::Minutes => Ok(MINUTE),
        DateTimeField::Second | DateTimeField::Seconds => Ok(SECOND),
        other => {
            let message = format!("syntax error at or near \"{other}\"");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    };
    let first = interval.leading_field.as_ref().map(bit).transpose()?;
    let last = interval.last_field.as_ref().map(bit).transpose()?;
    let precision = interval.fractional_seconds_precision.or(interval.leading_precision);
    if first.is_none() && precision.is_none() {
        return Ok(None);
    }
    let digits = precision.map(|precision| {
        i32::try_from(precision).map_or(PRECISION_MAX, |digits| digits.min(PRECISION_MAX))
    });
    Ok(Some(interval_typmod(first, last, digits)))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

fn length_of(name: &str, length: u64) -> Result<u32> {
    match u32::try_from(length) {
        Ok(0) => Err(invalid(format!("length for type {name} must be at least 1"))),
        Ok(length) if length <= 10_485_760 => Ok(length),
        _ => Err(invalid(format!("length for type {name} cannot exceed 10485760"))),
    }
}

/// The most bits that a type can be declared with.
const BITS_MAX: u64 = 83_886_080;

fn bit_length(name: &str, length: u64) -> Result<u32> {
    match u32::try_from(length) {
        Ok(0) => Err(invalid(format!("length for type {name} must be at least 1"))),
        Ok(bits) if length <= BITS_MAX => Ok(bits),
        _ => Err(invalid(format!("length for type {name} cannot exceed {BITS_MAX}"))),
    }
}

fn varchar(length: u64) -> Result<SqlType> {
    Ok(SqlType::Varchar(Some(length_of("varchar", length)?)))
}

fn numeric(info: &ExactNumberInfo) -> Result<SqlType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(SqlType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(SqlType::Numeric(Some((precision as u16, scale as i16))))
}

fn custom(
    (name, brackets): (&ObjectName, &str),
    modifiers: &[String],
    names: Option<TypeNames<'_>>,
) -> Result<SqlType> {
    let parts: Vec<String> =
        name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold).collect();
    let (quoted, last) = match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) => (ident.quote_style.is_some(), braid_sql::fold(ident)),
        None => (false, String::new()),
    };
    let own = |names: Option<TypeNames<'_>>| match names {
        Some(names) => names.find(&parts),
        None => Ok(None),
    };
    // What is built in stands in pg_catalog, under names in lower case.
    let is_own = parts.len() > 1 || last.contains(char::is_uppercase);
    if is_own && let Some(ty) = own(names)? {
        return Ok(ty);
    }
    let schema_known = match &parts[..] {
        [.., schema, _] => is_schema_of(schema, &last, names),
        _ => true,
    };
    let ty = match last.as_str() {
        "char" if quoted || parts.len() > 1 => Some(SqlType::InternalChar),
        "bpchar" => Some(match modifiers.first().and_then(|m| m.parse().ok()) {
            Some(length) => SqlType::Char(length_of("char", length)?),
            None => SqlType::Char(0),
        }),
        "varchar" => Some(match modifiers.first().and_then(|m| m.parse().ok()) {
            Some(length) => varchar(length)?,
            None => SqlType::Varchar(None),
        }),
        "bit" => Some(match modifiers.first().and_then(|m| m.parse().ok()) {
            Some(length) => SqlType::Bit(bit_length("bit", length)?),
            None => SqlType::Bit(0),
        }),
        "varbit" => Some(match modifiers.first().and_then(|m| m.parse().ok()) {
            Some(length) => SqlType::Varbit(Some(bit_length("varbit", length)?)),
            None => SqlType::Varbit(None),
        }),
        "numeric" | "decimal" => Some(match modifiers {
            [] => SqlType::Numeric(None),
            [precision, rest @ ..] => numeric(&ExactNumberInfo::PrecisionAndScale(
                precision.parse().unwrap_or(0),
                rest.first().and_then(|scale| scale.parse().ok()).unwrap_or(0),
            ))?,
        }),
        name => SqlType::from_name(name),
    };
    match ty {
        Some(ty) if schema_known && !last.contains(char::is_uppercase) => {
            return check_modifiers(modifiers, &ty, name);
        }
        _ => {}
    }
    match own(names)? {
        Some(ty) => check_modifiers(modifiers, &ty, name),
        None if last == "xml" && schema_known => {
            Err(Error::unsupported(format_args!("type {last}"))
                .hint("Use text instead.")
                .position(crate::bind::scope::places::first_part(name)))
        }
        None => Err(undefined_type(&parts, brackets, names)
            .position(crate::bind::scope::places::first_part(name))),
    }
}

/// Whether a built-in type may be written with this schema: that of its extension, too.
fn is_schema_of(schema: &str, name: &str, names: Option<TypeNames<'_>>) -> bool {
    let in_extension =
        |names: TypeNames<'_>| is_extension_type(names.catalog, names.path.database, schema, name);
    matches!(schema, "pg_catalog" | "public") || names.is_some_and(in_extension)
}

/// 42704: there is no type of that name; 3F000 if it is not even that of a schema.
fn undefined_type(parts: &[String], brackets: &str, names: Option<TypeNames<'_>>) -> Error {
    if let (Some(names), [.., schema, _]) = (names, parts)
        && !is_virtual_schema(schema)
        && names.catalog.names().schema(names.path.database, schema).is_none()
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Error::new(SqlState::InvalidSchemaName, message);
    }
    let message = format!("type \"{}{brackets}\" does not exist", parts.join("."));
    Error::new(SqlState::UndefinedObject, message)
}

/// 42601 for a modifier of a type that has none.
fn check_modifiers(modifiers: &[String], ty: &SqlType, name: &ObjectName) -> Result<SqlType> {
    let has_modifiers = match ty {
        SqlType::Char(_) | SqlType::Varchar(_) | SqlType::Bit(_) | SqlType::Varbit(_) => true,
        SqlType::Time | SqlType::Timetz | SqlType::Timestamp | SqlType::Timestamptz => true,
        SqlType::Numeric(_) | SqlType::Interval => true,
        _ => modifiers.is_empty(),
    };
    if has_modifiers {
        return Ok(ty.clone());
    }
    let shown = name.0.last().and_then(|part| part.as_ident()).map(braid_sql::fold);
    let shown = shown.unwrap_or_default();
    Err(no_modifier(&shown).position(crate::bind::scope::places::first_part(name)))
}

/// The same for an integer type that is written with its size, as `int4(3)`.
fn sized(data_type: &DataType) -> Error {
    let written = data_type.to_string().to_lowercase();
    no_modifier(written.split('(').next().unwrap_or_default())
}

fn no_modifier(name: &str) -> Error {
    let message = format!("type modifier is not allowed for type \"{name}\"");
    Error::new(SqlState::SyntaxError, message)
}

/// The type that a parameter or a literal takes beside an operand of this type. VARCHAR and CIDR
/// have no comparison of their own: they are compared as TEXT and as INET.
pub(crate) fn compared_type(known: &SqlType) -> SqlType {
    match known {
        SqlType::Varchar(_) => SqlType::Text,
        SqlType::Cidr => SqlType::Inet,
        known => known.bare(),
    }
}
