//! A catalog with the search path of a session. What functions ask of it is in `answers`.

use std::sync::Arc;

use braid_catalog::{Catalog, CatalogNames, Domain, DomainCheck, Relation, SearchPath};

/// A catalog and the search path of a session.
#[derive(Clone)]
pub struct CatalogLookup {
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// Where unqualified names are looked for.
    pub path: Arc<SearchPath>,
}

impl CatalogLookup {
    /// A lookup in `catalog` along `path`.
    pub fn new(catalog: Arc<Catalog>, path: impl Into<Arc<SearchPath>>) -> Self {
        CatalogLookup { catalog, path: path.into() }
    }

    /// The schemas of the search path that exist and may be used; `implicit` adds `pg_catalog`.
    pub fn schemas(&self, implicit: bool) -> Vec<String> {
        let CatalogLookup { catalog, path } = self;
        let existing = |name: &str| match braid_catalog::is_virtual_schema(name) {
            true => Some(name.to_owned()),
            // `pg_temp` goes by its own name.
            false => catalog
                .names()
                .schema(path.database, name)
                .filter(|_| catalog.names().may_search(path, name))
                .map(|schema| schema.name.clone()),
        };
        path.names(implicit).filter_map(existing).collect()
    }

    pub(super) fn names(&self) -> CatalogNames<'_> {
        CatalogNames { catalog: &self.catalog, path: Some(&self.path) }
    }

    pub(super) fn relation_comment(&self, oid: u32, column: i32) -> Option<String> {
        let relation = self.catalog.relation(oid)?;
        match (relation, column) {
            (Relation::Table(table), 0) => table.comment.clone(),
            (Relation::Table(table), column) => {
                let id = u16::try_from(column).ok()?;
                table.column(id)?.comment.clone()
            }
            (Relation::Composite(found), column) => {
                let mut columns = found.columns.iter();
                columns.find(|known| i32::from(known.id) == column)?.comment.clone()
            }
            (Relation::View(view), 0) => view.comment.clone(),
            (Relation::View(view), column) => {
                view.column_comment(u16::try_from(column).ok()?).map(str::to_owned)
            }
            (Relation::Sequence(sequence), 0) => sequence.comment.clone(),
            (Relation::Index(_, index), 0) => index.comment.clone(),
            _ => None,
        }
    }

    /// The constraint of a domain of that oid.
    pub(super) fn domain_check(&self, oid: u32) -> Option<(&Domain, &DomainCheck)> {
        self.catalog.domains().iter().find_map(|domain| {
            let check = domain.checks.iter().find(|check| check.id == oid)?;
            Some((&**domain, check))
        })
    }

    pub(super) fn constraint_comment(&self, oid: u32) -> Option<String> {
        if let Some((_, check)) = self.domain_check(oid) {
            return check.comment.clone();
        }
        self.catalog.tables().iter().find_map(|table| {
            let check = table.checks.iter().find(|check| check.id == oid);
            let key = table.foreign_keys.iter().find(|key| key.id == oid);
            let index = table.all_indexes().find(|index| index.constraint == Some(oid));
            let check = check.and_then(|check| check.comment.clone());
            check
                .or_else(|| key.and_then(|key| key.comment.clone()))
                .or_else(|| index.and_then(|index| index.constraint_comment.clone()))
        })
    }
}
