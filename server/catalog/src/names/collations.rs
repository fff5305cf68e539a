//! The collations of a catalog: by the name that is written, by the form that is stored.

use braid_sql::quote_ident;
use braid_types::Result;
use braid_types::collation::built_in_oid;

use crate::descriptor::{COLLATION_MARK, OwnCollation};
use crate::names::{qualified, searched};
use crate::{Catalog, Id, Schema, SearchPath};

/// The collations of a catalog.
#[derive(Clone, Copy)]
pub struct Collations<'c> {
    catalog: &'c Catalog,
}

impl<'c> Collations<'c> {
    /// Those of a catalog.
    pub fn of(catalog: &'c Catalog) -> Self {
        Collations { catalog }
    }

    /// Every collation of users with its schema.
    pub fn iter(self) -> impl Iterator<Item = (&'c Schema, &'c OwnCollation)> {
        let schemas = self.catalog.schemas.iter();
        schemas.flat_map(|schema| schema.collations.iter().map(|found| (&**schema, found)))
    }

    /// The collation of that id.
    pub fn get(self, id: Id) -> Option<(&'c Schema, &'c OwnCollation)> {
        self.iter().find(|(_, found)| found.id == id)
    }

    /// The collation of that stored form, if it is one of users.
    pub fn stored(self, stored: &str) -> Option<(&'c Schema, &'c OwnCollation)> {
        self.get(stored.strip_prefix(COLLATION_MARK)?.parse().ok()?)
    }

    /// The collation of users that a name means.
    pub fn resolve(self, path: &SearchPath, name: &[String]) -> Result<Option<&'c OwnCollation>> {
        if self.iter().next().is_none() {
            return Ok(None);
        }
        searched(self.catalog, path, name, |schema, name| {
            let mut all = self.iter();
            all.find(|(of, found)| of.id == schema && found.name == name).map(|(_, found)| found)
        })
    }

    /// The oid of a collation by its stored form; that of the database if there is none.
    pub fn oid(self, stored: &str) -> Id {
        match self.stored(stored) {
            Some((_, found)) => found.id,
            None => built_in_oid(stored).unwrap_or(100),
        }
    }

    /// Schema and name of a collation by its stored form.
    pub fn names(self, stored: &str) -> (&'c str, String) {
        match self.stored(stored) {
            Some((schema, found)) => (&schema.name, found.name.clone()),
            None => ("pg_catalog", stored.to_owned()),
        }
    }

    /// A collation as SQL writes it, by its stored form.
    pub fn text(self, path: Option<&SearchPath>, stored: &str) -> String {
        let Some((schema, found)) = self.stored(stored) else { return quote_ident(stored) };
        let is_visible = path.is_some_and(|path| {
            let meant = self.resolve(path, std::slice::from_ref(&found.name));
            meant.ok().flatten().is_some_and(|meant| meant.id == found.id)
        });
        if is_visible { quote_ident(&found.name) } else { qualified(&schema.name, &found.name) }
    }

    /// A stored text with the names of the collations in it.
    pub fn named(self, path: Option<&SearchPath>, text: String) -> String {
        let mark = format!("\"{COLLATION_MARK}");
        if !text.contains(&mark) {
            return text;
        }
        self.iter().fold(text, |text, (_, found)| {
            let stored = quote_ident(&found.stored());
            match text.contains(&stored) {
                true => text.replace(&stored, &self.text(path, &found.stored())),
                false => text,
            }
        })
    }
}
