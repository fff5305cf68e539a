//! Types of users by name: enums, composite types and domains.

use std::sync::Arc;

use braid_catalog::names::qualified;
use braid_catalog::{Catalog, Composite, Domain, Enum, Id, Named, Object, Relation};
use braid_plan::{TypeNames, domain_of};
use braid_sql::ast::{DataType, Ident, ObjectName};
use braid_sql::{fold, quote_ident};
use braid_types::sql_type::row_type_oid;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{WrongKind, parts};
use crate::names::types::{enum_name, find_enum, sql_type, undefined_type};

/// A type that a user has made.
#[derive(Clone)]
pub(crate) enum UserType {
    Enum(Arc<Enum>),
    Domain(Arc<Domain>),
    Composite(Arc<Composite>),
}

impl UserType {
    /// The type of that id.
    pub(crate) fn by_id(catalog: &Catalog, id: Id) -> Option<Self> {
        let domain = || catalog.domains().get(id).cloned().map(UserType::Domain);
        let composite = || catalog.names().composites().get(id).cloned().map(UserType::Composite);
        catalog.enums().get(id).cloned().map(UserType::Enum).or_else(domain).or_else(composite)
    }

    /// The types in a schema.
    pub(crate) fn in_schema(catalog: &Catalog, schema: Id) -> impl Iterator<Item = Id> {
        let enums = catalog.enums().iter().filter(move |found| found.schema == schema);
        let domains = catalog.domains().iter().filter(move |found| found.schema == schema);
        let composites =
            catalog.names().composites().iter().filter(move |found| found.schema == schema);
        let domains = domains.map(|found| found.id);
        enums.map(|found| found.id).chain(domains).chain(composites.map(|found| found.id))
    }

    pub(crate) fn id(&self) -> Id {
        match self {
            UserType::Enum(found) => found.id,
            UserType::Domain(found) => found.id,
            UserType::Composite(found) => found.id,
        }
    }

    /// Its number as a type, which stored texts have.
    pub(crate) fn oid(&self) -> u32 {
        match self {
            UserType::Composite(found) => row_type_oid(found.id),
            other => other.id(),
        }
    }

    pub(crate) fn database(&self) -> Id {
        match self {
            UserType::Enum(found) => found.database,
            UserType::Domain(found) => found.database,
            UserType::Composite(found) => found.database,
        }
    }

    pub(crate) fn object(&self) -> Object<'_> {
        match self {
            UserType::Enum(found) => Object::Enum(found),
            UserType::Domain(found) => Object::Domain(found),
            UserType::Composite(found) => Object::Composite(found),
        }
    }

    /// Its name as this session has to write it.
    pub(crate) fn shown(&self, cx: &DdlContext<'_>) -> String {
        match self {
            UserType::Enum(found) => enum_name(cx, found),
            UserType::Domain(found) => domain_name(cx, found),
            UserType::Composite(found) => {
                let (catalog, relation) = (cx.catalog(), Relation::Composite(found.clone()));
                match catalog.names().is_visible(cx.path(), &relation) {
                    true => quote_ident(&found.name),
                    false => qualified(&catalog.schema_name(found.schema), &found.name),
                }
            }
        }
    }
}

/// A domain's name as this session has to write it.
pub(crate) fn domain_name(cx: &DdlContext<'_>, found: &Domain) -> String {
    cx.catalog().domains().text(Some(cx.path()), found)
}

/// The type of users of that name, and whether the name is that of its arrays' type.
pub(crate) fn find_user_type(cx: &DdlContext<'_>, name: &ObjectName) -> Result<(UserType, bool)> {
    if let Some(Relation::Composite(found)) = cx.find(name)? {
        return Ok((UserType::Composite(found), false));
    }
    match named_domain(cx, name)? {
        Some(found) => Ok((UserType::Domain(found), false)),
        None => find_enum(cx, name).map(|(found, is_array)| (UserType::Enum(found), is_array)),
    }
}

/// The domain that a name means.
pub(crate) fn named_domain(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Option<Arc<Domain>>> {
    domain_named(cx, &DataType::Custom(name.clone(), Vec::new()))
}

fn domain_named(cx: &DdlContext<'_>, data_type: &DataType) -> Result<Option<Arc<Domain>>> {
    let catalog = cx.catalog();
    let names = TypeNames { catalog: &catalog, path: cx.path() };
    Ok(domain_of(data_type, names)?.cloned())
}

/// The domain that a column is to have, if its type is one. 42501 if the user may not use it.
pub(crate) fn column_domain(
    cx: &DdlContext<'_>,
    data_type: &DataType,
) -> Result<Option<Arc<Domain>>> {
    let found = domain_named(cx, data_type)?;
    if let Some(found) = &found {
        cx.catalog().privileges().check(cx.user(), Object::Domain(found), "USAGE")?;
    }
    Ok(found)
}

/// The domain of that name. 42704 if there is no such type, 42809 if it is no domain.
pub(crate) fn find_domain(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Domain>> {
    if let Some(found) = named_domain(cx, name)? {
        return Ok(found);
    }
    let written = parts(name);
    let wrong = |name: &str| {
        Error::new(SqlState::WrongObjectType, format!("{name} is not a domain"))
            .caused_by(WrongKind { name: name.to_owned() })
    };
    match sql_type(cx, &DataType::Custom(name.clone(), Vec::new())) {
        Ok(ty) => Err(wrong(&ty.display_name())),
        Err(_) => match cx.find(name)? {
            Some(found) => Err(wrong(found.name())),
            None => Err(undefined_type(&written)),
        },
    }
}

/// The domain of that name, which the user has to own.
pub(crate) fn own_domain(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Domain>> {
    let found = find_domain(cx, name)?;
    cx.check_owner(Object::Domain(&found))?;
    Ok(found)
}

/// The schema that a type is moved to by SET SCHEMA; `None` if it is there. 42710 if that has a
/// type of the same name.
pub(crate) fn new_schema(
    cx: &DdlContext<'_>,
    schema: &Ident,
    (own, name): (Id, &str),
) -> Result<Option<Id>> {
    let schema = cx.schema(&fold(schema))?;
    let catalog = cx.catalog();
    catalog.privileges().check(cx.user(), Object::Schema(&schema), "CREATE")?;
    if schema.id == own {
        return Ok(None);
    }
    let is_row_type = matches!(
        catalog.names().find(schema.id, name),
        Some(Named::Table(_) | Named::View(_) | Named::Composite(_))
    );
    let is_taken = is_row_type
        || catalog.enums().find(schema.id, name).is_some()
        || catalog.domains().find(schema.id, name).is_some();
    if is_taken {
        let message = format!("type \"{name}\" already exists in schema \"{}\"", schema.name);
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    Ok(Some(schema.id))
}
