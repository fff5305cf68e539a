//! The row types of relations, composite types included: by number, by name, and with today's
//! columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_sql::quote_ident;
use braid_types::sql_type::{
    Field, RowAttribute, RowName, RowType, relation_of_row_type, row_array_type_oid, row_type_oid,
};
use braid_types::{Result, SqlType};

use super::qualified;
use super::resolve::Names;
use crate::{Catalog, Collection, Column, Composite, Id, Relation, SearchPath};

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

    /// The composite types.
    pub fn composites(self) -> &'c Collection<Composite> {
        &self.catalog.composites
    }

    /// The tables, views and composite types with a column of an enum or of a row type with a name,
    /// or of its arrays.
    pub fn type_users(self, oid: u32) -> impl Iterator<Item = Id> + 'c {
        let from = self.catalog.type_users.iter_from(move |known| known.cmp(&(oid, 0)));
        from.map(|((found, user), ())| (*found, *user))
            .take_while(move |(found, _)| *found == oid)
            .map(|(_, user)| user)
    }
}

impl RowTypes<'_> {
    /// The row type of a relation; `None` for a sequence or an index.
    pub fn of_relation(self, relation: &Relation) -> Option<RowType> {
        let (fields, attributes) = columns(relation)?.into_iter().unzip();
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
            attributes,
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
        let find = |name: &[String]| -> Result<Option<SqlType>> {
            let found = self.catalog.names().resolve(path, name)?;
            Ok(found.and_then(|relation| self.of_relation(&relation)).map(SqlType::Record))
        };
        if let Some(found) = find(name)? {
            return Ok(Some(found));
        }
        // The type of its arrays has a name of its own.
        let mut name = name.to_vec();
        let element = name.last().and_then(|last| last.strip_prefix('_')).map(str::to_owned);
        let (Some(last), Some(element)) = (name.last_mut(), element) else { return Ok(None) };
        *last = element;
        Ok(find(&name)?.map(SqlType::array))
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

    /// The tables that have columns of a row type, also inside of other types.
    pub fn users(self, oid: u32) -> BTreeSet<Id> {
        let (mut found, mut tables) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting = vec![oid];
        while let Some(ty) = waiting.pop() {
            for user in self.catalog.names().type_users(ty).filter(|user| found.insert((ty, *user)))
            {
                waiting.push(row_type_oid(user));
                tables.extend(self.catalog.table(user).map(|table| table.id));
            }
        }
        tables
    }

    fn is_visible(self, path: &SearchPath, relation: Id, name: &str) -> bool {
        let first = self.catalog.names().resolve(path, &[name.to_owned()]);
        first.ok().flatten().is_some_and(|first| first.oid() == relation)
    }
}

/// The columns of a relation's rows.
fn columns(relation: &Relation) -> Option<Vec<(Field, RowAttribute)>> {
    let plain = |(place, (name, ty)): (usize, (String, SqlType))| {
        let number = u16::try_from(place + 1).unwrap_or(u16::MAX);
        ((name, ty), RowAttribute { number, ..RowAttribute::default() })
    };
    Some(match relation {
        Relation::Table(table) => table.visible_columns().map(of_column).collect(),
        Relation::Composite(found) => found.columns.iter().map(of_column).collect(),
        Relation::View(view) => view.columns.iter().cloned().enumerate().map(plain).collect(),
        Relation::Virtual(table) => {
            let columns = table.columns.iter();
            let columns = columns.map(|(name, ty)| ((*name).to_owned(), ty.clone()));
            columns.enumerate().map(plain).collect()
        }
        Relation::Sequence(_) | Relation::Index(..) => return None,
    })
}

fn of_column(column: &Column) -> (Field, RowAttribute) {
    let attribute =
        RowAttribute { number: column.id, domain: column.domain, modifier: column.modifier };
    ((column.name.clone(), column.ty.clone()), attribute)
}
