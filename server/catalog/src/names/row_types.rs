//! The row types of relations: by number, by name, and with today's columns.

use std::sync::Arc;

use braid_sql::quote_ident;
use braid_types::sql_type::{
    Field, RowName, RowType, relation_of_row_type, row_array_type_oid, row_type_oid,
};
use braid_types::{Result, SqlType};

use super::qualified;
use super::resolve::Names;
use crate::{Catalog, Id, Relation, SearchPath};

/// The row types of a catalog.
#[derive(Clone, Copy)]
pub struct RowTypes<'c> {
    catalog: &'c Catalog,
}

impl<'c> Names<'c> {
    /// The row types of the relations.
    pub fn row_types(self) -> RowTypes<'c> {
        RowTypes { catalog: self.catalog }
    }
}

impl RowTypes<'_> {
    /// The row type of a relation; `None` for a sequence or an index.
    pub fn of_relation(self, relation: &Relation) -> Option<RowType> {
        let fields = columns(relation)?;
        let id = relation.oid();
        let name = relation.name();
        let schema = relation.schema_name(self.catalog);
        let display = match schema.as_str() {
            "public" | crate::PG_CATALOG => quote_ident(name),
            schema => qualified(schema, name),
        };
        let name = RowName {
            oid: row_type_oid(id),
            array_oid: row_array_type_oid(id),
            name: name.to_owned(),
            array_name: format!("_{name}"),
            array_display: format!("{display}[]"),
            display,
        };
        Some(RowType::named(Arc::new(name), fields))
    }

    /// The row type of that number.
    pub fn get(self, oid: u32) -> Option<RowType> {
        match relation_of_row_type(oid)? {
            (relation, false) => self.of_relation(&self.catalog.relation(relation)?),
            (_, true) => None,
        }
    }

    /// The row type of that number, or the arrays of one, as a type.
    pub fn type_of(self, oid: u32) -> Option<SqlType> {
        let (relation, is_array) = relation_of_row_type(oid)?;
        let row = self.of_relation(&self.catalog.relation(relation)?)?;
        let ty = SqlType::Record(row);
        Some(if is_array { ty.array() } else { ty })
    }

    /// The row type of the relation that a name of one to three parts means. 0A000 for a foreign
    /// database, 42601 for too many parts.
    pub fn resolve(self, path: &SearchPath, name: &[String]) -> Result<Option<SqlType>> {
        let found = self.catalog.names().resolve(path, name)?;
        Ok(found.and_then(|relation| self.of_relation(&relation)).map(SqlType::Record))
    }

    /// Its name as a session has to write it; without a search path only relations of `public`
    /// stand without their schema.
    pub fn text(self, path: Option<&SearchPath>, name: &RowName) -> String {
        let relation = relation_of_row_type(name.oid).map_or(0, |(relation, _)| relation);
        let (Some(path), Some(found)) = (path, self.catalog.relation(relation)) else {
            return name.display.clone();
        };
        match self.is_visible(path, relation, found.name()) {
            true => quote_ident(found.name()),
            false => qualified(&found.schema_name(self.catalog), found.name()),
        }
    }

    fn is_visible(self, path: &SearchPath, relation: Id, name: &str) -> bool {
        let first = self.catalog.names().resolve(path, &[name.to_owned()]);
        first.ok().flatten().is_some_and(|first| first.oid() == relation)
    }
}

/// The columns of a relation's rows.
fn columns(relation: &Relation) -> Option<Vec<Field>> {
    Some(match relation {
        Relation::Table(table) => {
            table.visible_columns().map(|c| (c.name.clone(), c.ty.clone())).collect()
        }
        Relation::View(view) => view.columns.clone(),
        Relation::Virtual(table) => {
            table.columns.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect()
        }
        Relation::Sequence(_) | Relation::Index(..) => return None,
    })
}
