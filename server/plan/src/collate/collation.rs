//! A collation, and what its name means.

use std::sync::Arc;

use braid_catalog::{Catalog, Collations, SearchPath, is_virtual_schema};
use braid_sql::ast::ObjectName;
use braid_types::collation::{built_in_oid, icu_locale};
use braid_types::{Error, Result, SqlState, SqlType};

/// A collation as expressions have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collation {
    /// As columns keep it.
    pub stored: Arc<str>,
    /// How messages call it.
    pub name: Arc<str>,
    /// Its order, if it is not that of bytes.
    pub icu: Option<Arc<Icu>>,
}

/// The order of a collation of ICU.
#[derive(Debug, PartialEq, Eq)]
pub struct Icu {
    /// Its locale.
    pub locale: String,
    /// Whether only equal bytes are equal.
    pub is_deterministic: bool,
}

/// How columns keep the collation of the database.
const DEFAULT: &str = "default";

impl Collation {
    /// A collation that compares bytes.
    pub(crate) fn of_bytes(name: &str) -> Self {
        Self { stored: name.into(), name: name.into(), icu: None }
    }

    /// The collation of the database.
    pub(crate) fn database() -> Self {
        Self::of_bytes(DEFAULT)
    }

    /// Whether it is that of the database, which gives way to others.
    pub fn is_default(&self) -> bool {
        &*self.stored == DEFAULT
    }

    /// Whether different bytes may be equal.
    pub fn is_nondeterministic(&self) -> bool {
        self.icu.as_ref().is_some_and(|icu| !icu.is_deterministic)
    }
}

/// Whether values of a type have a collation.
pub(crate) fn is_collatable(ty: &SqlType) -> bool {
    let ty = ty.innermost();
    ty.is_string() || *ty == SqlType::Citext
}

/// The collation that a column keeps under that name.
pub fn stored_collation(catalog: &Catalog, stored: &str) -> Collation {
    if let Some((_, own)) = Collations::of(catalog).stored(stored) {
        let (name, is_deterministic) = (own.name.as_str().into(), own.deterministic);
        let icu = own.locale.clone().map(|locale| Arc::new(Icu { locale, is_deterministic }));
        return Collation { stored: stored.into(), name, icu };
    }
    let icu = icu_locale(stored)
        .map(|locale| Arc::new(Icu { locale: locale.to_owned(), is_deterministic: true }));
    Collation { stored: stored.into(), name: stored.into(), icu }
}

/// The collation that a name means; 42704 if there is none.
pub fn collation_named(
    catalog: &Catalog,
    path: &SearchPath,
    name: &ObjectName,
) -> Result<Collation> {
    let idents = name.0.iter().filter_map(|part| part.as_ident());
    let parts: Vec<String> = idents.map(braid_sql::fold).collect();
    let built_in_name = match parts.as_slice() {
        [name] => built_in(name).or_else(|| own_form(catalog, name)),
        [schema, name] if schema == "pg_catalog" => built_in(name),
        _ => None,
    };
    if let Some(stored) = built_in_name {
        return Ok(stored_collation(catalog, stored));
    }
    match Collations::of(catalog).resolve(path, &parts)? {
        Some(own) => Ok(stored_collation(catalog, &own.stored())),
        None => Err(unknown(catalog, path, &parts)),
    }
}

/// A collation of users as stored expressions name it.
fn own_form<'n>(catalog: &Catalog, name: &'n str) -> Option<&'n str> {
    Collations::of(catalog).stored(name).map(|_| name)
}

/// The collation of `pg_catalog` that a name means. Collations C of operating systems compare
/// bytes, too.
fn built_in(name: &str) -> Option<&str> {
    match name {
        "C.UTF-8" | "C.utf8" => Some("C"),
        name => built_in_oid(name).map(|_| name),
    }
}

fn unknown(catalog: &Catalog, path: &SearchPath, parts: &[String]) -> Error {
    if let [schema, _] = parts
        && !is_virtual_schema(schema)
        && catalog.names().schema(path.database, schema).is_none()
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Error::new(SqlState::InvalidSchemaName, message);
    }
    let name = parts.join(".");
    let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
    Error::new(SqlState::UndefinedObject, message)
}
