//! Views with the names that their relations and columns have today.

use std::collections::HashMap;

use braid_types::SqlType;

use super::Collations;
use braid_sql::quote_ident;
use braid_sql::{Layout, Names};

use crate::names::qualified;
use crate::{Catalog, Extension, Relation, SearchPath, View, extension_schema};

/// The names of a catalog as a session has to write them.
#[derive(Clone, Copy)]
pub struct CatalogNames<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// Where unqualified names are looked for; `None`: every name has its schema.
    pub path: Option<&'a SearchPath>,
}

/// A view's query with today's names; `None` if it is kept as it was written.
pub fn view_text(
    catalog: &Catalog,
    path: &SearchPath,
    view: &View,
    layout: Layout,
) -> Option<String> {
    let query = braid_sql::parse_query(&view.stored.as_ref()?.query).ok()?;
    let columns: Vec<String> = view.columns.iter().map(|(name, _)| name.clone()).collect();
    let names = CatalogNames { catalog, path: Some(path) };
    let text = braid_sql::shown_text(&query, &names, &columns, layout).ok()?;
    Some(Collations::of(catalog).named(Some(path), text))
}

impl Names for CatalogNames<'_> {
    fn relation(&self, id: u32, ctes: &[String]) -> Option<(String, String)> {
        let relation = self.catalog.relation(id)?;
        let bare = relation.name().to_owned();
        let visible =
            self.path.is_some_and(|path| self.catalog.names().is_visible(path, &relation));
        let hidden = ctes.contains(&bare) || !visible;
        let shown = match hidden {
            true => qualified(&self.catalog.names().schema_of(&relation).1, &bare),
            false => quote_ident(&bare),
        };
        Some((shown, bare))
    }

    fn type_name(&self, id: u32) -> Option<String> {
        if let Some(found) = self.catalog.domains().get(id) {
            return Some(self.catalog.domains().text(self.path, found));
        }
        if let Some(found) = self.catalog.enums().get(id) {
            return Some(self.catalog.enums().text(self.path, found));
        }
        let row = self.catalog.names().row_types().get(id)?;
        row.name().map(|name| self.catalog.names().row_types().text(self.path, name))
    }

    fn routine_name(&self, id: u32) -> Option<String> {
        let routines = self.catalog.names().routines();
        routines.get(id).map(|routine| routines.text(self.path, routine))
    }

    fn column_types(&self, id: u32) -> HashMap<u16, String> {
        let of = |(id, ty): (u16, &SqlType)| (id, ty.plain_name().to_owned());
        match self.catalog.relation(id) {
            Some(Relation::Table(table)) => {
                table.columns.iter().map(|column| of((column.id, &column.ty))).collect()
            }
            Some(Relation::View(view)) => {
                (1..).zip(view.columns.iter().map(|(_, ty)| ty)).map(of).collect()
            }
            _ => HashMap::new(),
        }
    }

    fn extension_schema(&self, extension: &str) -> Option<String> {
        extension_schema(self.catalog, self.path?, extension)
    }

    fn function_schema(&self, function: &str) -> Option<String> {
        let extension = Extension::of_function(function)?;
        extension_schema(self.catalog, self.path?, extension.name)
    }

    fn columns(&self, id: u32) -> Vec<(u16, String)> {
        match self.catalog.relation(id) {
            Some(Relation::Table(table)) => {
                let shown = table.columns.iter().filter(|column| !column.hidden);
                shown.map(|column| (column.id, column.name.clone())).collect()
            }
            Some(Relation::View(view)) => {
                (1..).zip(view.columns.iter().map(|(name, _)| name.clone())).collect()
            }
            Some(Relation::Composite(found)) => {
                found.columns.iter().map(|column| (column.id, column.name.clone())).collect()
            }
            Some(Relation::Sequence(_)) => {
                let names = ["last_value", "log_cnt", "is_called"];
                (1..).zip(names.map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }
}
