//! Views and materialized views as one: both have a query that depends on other objects.
//!
//! A materialized view is a table that keeps the rows of its query. So it has indexes, statistics
//! and privileges like any other table; only its query is looked at as a view's.

use std::sync::Arc;

use crate::{Catalog, Draft, Id, Table, View, ViewOptions};

impl Table {
    /// A materialized view as the view that its query would be.
    pub fn as_view(&self) -> Option<View> {
        let materialized = self.materialized.as_ref()?;
        let columns = self.visible_columns();
        Some(View {
            id: self.id,
            database: self.database,
            schema: self.schema,
            name: self.name.clone(),
            owner: self.owner,
            columns: columns.map(|column| (column.name.clone(), column.ty.clone())).collect(),
            query: materialized.query.clone(),
            search_path: materialized.search_path.clone(),
            stored: materialized.stored.clone(),
            depends_on: materialized.depends_on.clone(),
            check_option: None,
            options: ViewOptions::default(),
            domains: Vec::new(),
            defaults: Vec::new(),
            triggers: Vec::new(),
            column_grants: Vec::new(),
            column_comments: Vec::new(),
            grants: self.grants.clone(),
            comment: self.comment.clone(),
        })
    }
}

/// The queries of all views of a catalog, also of the materialized ones.
#[derive(Clone, Copy)]
pub struct Queries<'c> {
    catalog: &'c Catalog,
}

impl<'c> Queries<'c> {
    /// Those of a catalog.
    pub fn of(catalog: &'c Catalog) -> Self {
        Queries { catalog }
    }

    /// Every view.
    pub fn iter(self) -> impl Iterator<Item = Arc<View>> + 'c {
        let materialized = self.catalog.tables().iter().filter_map(|table| table.as_view());
        self.catalog.views().iter().cloned().chain(materialized.map(Arc::new))
    }

    /// The views of a database.
    pub fn in_database(self, database: Id) -> impl Iterator<Item = Arc<View>> + 'c {
        self.iter().filter(move |view| view.database == database)
    }

    /// The view of that id.
    pub fn get(self, id: Id) -> Option<Arc<View>> {
        let materialized = || self.catalog.table(id)?.as_view().map(Arc::new);
        self.catalog.views().get(id).cloned().or_else(materialized)
    }
}

impl Draft {
    /// Changes the query of a view or a materialized view, which has that id already.
    pub fn put_query(&mut self, view: View) {
        let Some(table) = self.catalog().table(view.id) else {
            self.put(view);
            return;
        };
        let mut table = Table::clone(table);
        if let Some(materialized) = &mut table.materialized {
            materialized.stored = view.stored;
            materialized.depends_on = view.depends_on;
        }
        self.put(table);
    }
}
