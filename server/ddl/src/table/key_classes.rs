//! Operator classes and collations of the keys of indexes.
//!
//! A class is checked and shown, and changes no key of an index with an order. In an inverted index
//! it says what the terms are. A collation of ICU makes the key of an index that is not unique a
//! sort key.

use braid_catalog::{Column, Index, OperatorClass, Table, TermClass, created_extensions};
use braid_codec::key::is_orderable;
use braid_codec::terms::has_terms;
use braid_plan::collation_named;
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::table::columns::{check_collatable, collation_of};

/// The collation of a key, if it is another than that of its column.
pub(crate) fn key_collation(
    cx: &DdlContext<'_>,
    written: Option<&ObjectName>,
    ty: &SqlType,
    of_column: Option<&str>,
) -> Result<Option<String>> {
    if written.is_none() {
        return Ok(None);
    }
    if let Some(written) = written {
        collation_named(&cx.catalog(), cx.path(), written)?;
    }
    // PostgreSQL gives no position for a key.
    check_collatable(ty)?;
    let wanted = collation_of(cx, written, ty)?;
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
        return Err(no_class(&parts, &name, "btree"));
    };
    check_class(class, ty)?;
    Ok(Some(class.oid).filter(|oid| OperatorClass::default_of(ty).is_none_or(|c| c.oid != *oid)))
}

fn check_class(class: &OperatorClass, ty: &SqlType) -> Result<()> {
    if class.accepts(ty) { Ok(()) } else { Err(not_accepted(class, ty)) }
}

/// 42804 for a class that is not for values of a type.
fn not_accepted(class: &OperatorClass, ty: &SqlType) -> Error {
    let (name, shown) = (class.name, ty.plain_name());
    let message = format!("operator class \"{name}\" does not accept data type {shown}");
    Error::new(SqlState::DatatypeMismatch, message)
}

/// 42704 for the name of a class that an access method does not have.
fn no_class(schema: &[String], name: &str, method: &str) -> Error {
    let full: String = schema.iter().map(|part| format!("{part}.")).collect();
    let message =
        format!("operator class \"{full}{name}\" does not exist for access method \"{method}\"");
    Error::new(SqlState::UndefinedObject, message)
}

/// 42704 for a type that an access method knows nothing of.
pub(crate) fn no_default_class(ty: &SqlType, method: &str) -> Error {
    let message = format!(
        "data type {} has no default operator class for access method \"{method}\"",
        ty.display_name()
    );
    Error::new(SqlState::UndefinedObject, message).hint(
        "You must specify an operator class for the index or define a default operator class for \
         the data type.",
    )
}

/// What the terms of a key of an inverted index are, and its operator class, if it is another than
/// its type's default. The classes of extensions are found in `public`, and where these were made.
pub(crate) fn key_terms(
    cx: &DdlContext<'_>,
    written: Option<&ObjectName>,
    ty: &SqlType,
) -> Result<(TermClass, Option<u32>)> {
    let Some(written) = written else {
        let terms = OperatorClass::default_terms(ty).ok_or_else(|| no_default_class(ty, "gin"))?;
        check_elements(ty)?;
        return Ok((terms, None));
    };
    let mut parts = parts(written);
    let name = parts.pop().unwrap_or_default();
    if let Some(class) = OperatorClass::by_name(&name)
        && has_terms(TermClass::Scalar, ty)
        && parts.last().is_none_or(|schema| has_schema(cx, "btree_gin", schema))
    {
        check_class(class, ty)?;
        return Ok((TermClass::Scalar, None));
    }
    let found = OperatorClass::inverted(&name).filter(|(terms, _)| {
        parts.last().is_none_or(|schema| match terms {
            TermClass::Trigram => has_schema(cx, "pg_trgm", schema),
            TermClass::Hstore => has_schema(cx, "hstore", schema),
            TermClass::Scalar => false,
            TermClass::Jsonb | TermClass::JsonbPath | TermClass::Array | TermClass::Lexeme => {
                schema == "pg_catalog"
            }
        })
    });
    let (terms, class) = found.ok_or_else(|| no_class(&parts, &name, "gin"))?;
    if !has_terms(terms, ty) {
        return Err(not_accepted(class, ty));
    }
    check_elements(ty)?;
    Ok((terms, Some(class.oid).filter(|_| !class.is_default)))
}

/// Whether an extension is found in a schema by name.
fn has_schema(cx: &DdlContext<'_>, extension: &str, schema: &str) -> bool {
    let (catalog, database) = (cx.catalog(), cx.path().database);
    let found = catalog.names().schema(database, schema).map(|found| found.id);
    let mut created = created_extensions(&catalog, database).iter();
    schema == "public" || created.any(|own| own.name == extension && Some(own.schema) == found)
}

/// 42883 for arrays whose elements cannot be compared.
fn check_elements(ty: &SqlType) -> Result<()> {
    let Some(element) = ty.element().filter(|element| !is_orderable(element)) else {
        return Ok(());
    };
    let name = element.plain_name();
    let message = format!("could not identify a comparison function for type {name}");
    Err(Error::new(SqlState::UndefinedFunction, message))
}

/// What the terms of inverted indexes are, after columns have got other types.
pub(crate) fn restate_terms(table: &mut Table) -> Result<()> {
    let columns = &table.columns;
    for index in table.indexes.iter_mut().filter(|index| index.is_inverted()) {
        for (key, terms) in index.keys.iter().zip(&mut index.inverted) {
            let Some(column) = columns.iter().find(|column| column.id == key.column) else {
                continue;
            };
            let class = key.operator_class.and_then(OperatorClass::by_oid);
            match class {
                None => {
                    // Other terms become values only if they were values.
                    let default = OperatorClass::default_terms(&column.ty)
                        .filter(|new| *new != TermClass::Scalar || new == terms);
                    *terms = default.ok_or_else(|| no_default_class(&column.ty, "gin"))?;
                    check_elements(&column.ty)?;
                }
                Some(class) if !has_terms(*terms, &column.ty) => {
                    return Err(not_accepted(class, &column.ty));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// What the keys of a column say, after it has got another type or collation.
pub(crate) fn restate(indexes: &mut [Index], column: &Column) -> Result<()> {
    let ordered = indexes.iter_mut().filter(|index| !index.is_inverted());
    let keys = ordered.flat_map(|index| &mut index.keys);
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
