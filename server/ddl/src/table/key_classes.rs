//! Operator classes and collations of the keys of indexes.
//!
//! Texts have one order, that of their bytes. So both are checked and shown, and change no key.

use braid_catalog::{Column, Index, OperatorClass};
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::names::lookup::parts;
use crate::table::columns::{check_collatable, check_collation, collation_of};

/// The collation of a key, if it is another than that of its column.
pub(crate) fn key_collation(
    written: Option<&ObjectName>,
    ty: &SqlType,
    of_column: Option<&str>,
) -> Result<Option<String>> {
    if written.is_none() {
        return Ok(None);
    }
    check_collation(written)?;
    // PostgreSQL gives no position for a key.
    check_collatable(ty)?;
    let wanted = collation_of(written, ty)?;
    let wanted = wanted.unwrap_or_else(|| "default".to_owned());
    Ok(Some(wanted).filter(|wanted| wanted != of_column.unwrap_or(collation_of_type(ty))))
}

/// The collation of a type whose column has none of its own.
fn collation_of_type(ty: &SqlType) -> &'static str {
    if *ty == SqlType::Name { "C" } else { "default" }
}

/// The operator class of a key, if it is another than its type's default.
pub(crate) fn key_class(written: Option<&ObjectName>, ty: &SqlType) -> Result<Option<u32>> {
    let Some(written) = written else { return Ok(None) };
    let mut parts = parts(written);
    let name = parts.pop().unwrap_or_default();
    let is_system = parts.last().is_none_or(|schema| schema == "pg_catalog");
    let Some(class) = OperatorClass::by_name(&name).filter(|_| is_system) else {
        let full: String = parts.iter().map(|part| format!("{part}.")).collect();
        let message =
            format!("operator class \"{full}{name}\" does not exist for access method \"btree\"");
        return Err(Error::new(SqlState::UndefinedObject, message));
    };
    check_class(class, ty)?;
    Ok(Some(class.oid).filter(|oid| OperatorClass::default_of(ty).is_none_or(|c| c.oid != *oid)))
}

fn check_class(class: &OperatorClass, ty: &SqlType) -> Result<()> {
    if class.accepts(ty) {
        return Ok(());
    }
    let (name, shown) = (class.name, ty.plain_name());
    let message = format!("operator class \"{name}\" does not accept data type {shown}");
    Err(Error::new(SqlState::DatatypeMismatch, message))
}

/// What the keys of a column say, after it has got another type or collation.
pub(crate) fn restate(indexes: &mut [Index], column: &Column) -> Result<()> {
    let keys = indexes.iter_mut().flat_map(|index| &mut index.keys);
    for key in keys.filter(|key| key.column == column.id) {
        if let Some(class) = key.operator_class.and_then(OperatorClass::by_oid) {
            check_class(class, &column.ty)?;
        }
        let Some(collation) = &key.collation else { continue };
        check_collatable(&column.ty)?;
        let of_column = column.collation.as_deref().unwrap_or(collation_of_type(&column.ty));
        if collation == of_column {
            key.collation = None;
        }
    }
    Ok(())
}
