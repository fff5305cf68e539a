//! The objects of CREATE STATISTICS of a catalog, by name and by number.

use std::sync::Arc;

use braid_sql::quote_ident;
use braid_types::Result;

use crate::descriptor::{ExtendedStatistics, StatisticsKind, Table};
use crate::names::{CatalogNames, qualified, searched};
use crate::{Catalog, Id, SearchPath};

/// The objects of CREATE STATISTICS of a catalog.
#[derive(Clone, Copy)]
pub struct StatisticsObjects<'c> {
    catalog: &'c Catalog,
}

impl<'c> StatisticsObjects<'c> {
    /// Those of a catalog.
    pub fn of(catalog: &'c Catalog) -> Self {
        StatisticsObjects { catalog }
    }

    /// Every object with its table.
    pub fn iter(self) -> impl Iterator<Item = (&'c Arc<Table>, &'c ExtendedStatistics)> {
        let tables = self.catalog.tables().iter();
        tables.flat_map(|table| table.statistics.iter().map(move |found| (table, found)))
    }

    /// The object of that number.
    pub fn get(self, id: Id) -> Option<(&'c Arc<Table>, &'c ExtendedStatistics)> {
        self.iter().find(|(_, found)| found.id == id)
    }

    /// The object of that name in a schema.
    pub fn in_schema(
        self,
        schema: Id,
        name: &str,
    ) -> Option<(&'c Arc<Table>, &'c ExtendedStatistics)> {
        self.iter().find(|(_, found)| found.schema == schema && found.name == name)
    }

    /// The object that a name means.
    pub fn resolve(
        self,
        path: &SearchPath,
        name: &[String],
    ) -> Result<Option<(&'c Arc<Table>, &'c ExtendedStatistics)>> {
        searched(self.catalog, path, name, |schema, name| self.in_schema(schema, name))
    }

    /// Whether an unqualified name finds this object.
    pub fn is_visible(self, path: &SearchPath, object: &ExtendedStatistics) -> bool {
        let meant = self.resolve(path, std::slice::from_ref(&object.name));
        meant.ok().flatten().is_some_and(|(_, meant)| meant.id == object.id)
    }
}

impl CatalogNames<'_> {
    /// The expressions of an object.
    pub fn statistics_exprs(&self, table: &Table, object: &ExtendedStatistics) -> Vec<String> {
        object.exprs.iter().map(|expr| self.expr(table, expr, false)).collect()
    }

    /// The columns and expressions of an object: `a, b, (c + 1)`.
    pub fn statistics_columns(&self, table: &Table, object: &ExtendedStatistics) -> String {
        let columns = object.columns.iter().filter_map(|id| table.column(*id));
        let columns = columns.map(|column| quote_ident(&column.name));
        let exprs = object.exprs.iter().map(|expr| self.key_expr(table, expr, true));
        let all: Vec<String> = columns.chain(exprs).collect();
        all.join(", ")
    }

    /// `CREATE STATISTICS …`, with the name of the table as the session writes it.
    pub fn statistics(&self, table: &Table, object: &ExtendedStatistics, shown: &str) -> String {
        let name = qualified(&self.catalog.schema_name(object.schema), &object.name);
        let words: Vec<&str> = object.kinds.iter().map(|kind| kind.word()).collect();
        let kinds = match words.len() {
            count if count == 0 || count == StatisticsKind::ALL.len() => String::new(),
            _ => format!(" ({})", words.join(", ")),
        };
        let columns = self.statistics_columns(table, object);
        format!("CREATE STATISTICS {name}{kinds} ON {columns} FROM {shown}")
    }
}
