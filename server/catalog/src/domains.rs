//! The domains of a catalog: by name, by id, with their base types and their users.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_sql::quote_ident;
use braid_types::sql_type::row_type_oid;
use braid_types::{Result, SqlType};

use crate::names::{NameKind, names_built_in_type, qualified, searched};
use crate::{
    Catalog, CatalogNames, Column, Domain, DomainCheck, Id, Mentioning, SearchPath, StoredExpr,
    Table, enums_named,
};

/// The most domains that may stand over each other.
const CHAIN_MAX: usize = 100;

/// The domains of a catalog.
#[derive(Clone, Copy)]
pub struct Domains<'c> {
    catalog: &'c Catalog,
}

impl Catalog {
    /// The domains.
    pub fn domains(&self) -> Domains<'_> {
        Domains { catalog: self }
    }
}

impl<'c> Domains<'c> {
    /// A domain by id, or what stands for the arrays of one.
    pub fn get(self, id: Id) -> Option<&'c Arc<Domain>> {
        self.catalog.domains.get(id)
    }

    /// Every domain, by id.
    pub fn iter(self) -> impl Iterator<Item = &'c Arc<Domain>> {
        self.catalog.domains.iter().filter(|found| found.element.is_none())
    }

    /// The domains of a database, by id.
    pub fn in_database(self, database: Id) -> impl Iterator<Item = &'c Arc<Domain>> {
        let here = self.catalog.domains.in_database(database);
        here.filter(|found| found.element.is_none())
    }

    /// The domain of that name in a schema.
    pub fn find(self, schema: Id, name: &str) -> Option<&'c Arc<Domain>> {
        let found = self.catalog.object_names.find((NameKind::Domain, schema), name).next()?;
        self.get(found)
    }

    /// The domain that a name of one to three parts means. 0A000 for a foreign database, 42601
    /// for too many parts.
    pub fn resolve(self, path: &SearchPath, name: &[String]) -> Result<Option<&'c Arc<Domain>>> {
        if self.iter().next().is_none() {
            return Ok(None);
        }
        searched(self.catalog, path, name, |schema, name| self.find(schema, name))
    }

    /// The type below a domain, with today's labels of an enum.
    pub fn base(self, domain: &Domain) -> SqlType {
        let mut ty = domain.base.clone();
        self.catalog.enums().refresh(&mut ty);
        ty
    }

    /// The domain and those below it, the lowest last.
    pub fn chain(self, domain: &'c Domain) -> impl Iterator<Item = &'c Domain> {
        let parent = move |domain: &&'c Domain| self.get(domain.parent?).map(|found| &**found);
        std::iter::successors(Some(domain), parent).take(CHAIN_MAX)
    }

    /// Whether a domain or one below it is that one, or its arrays have such elements.
    pub fn is_over(self, domain: Id, lower: Id) -> bool {
        let Some(found) = self.get(domain) else { return false };
        match found.element {
            Some(element) => domain == lower || self.is_over(element, lower),
            None => self.chain(found).any(|below| below.id == lower),
        }
    }

    /// A domain, those over it, and what stands for their arrays.
    fn over(self, id: Id) -> BTreeSet<Id> {
        let (mut found, mut waiting) = (BTreeSet::new(), vec![id]);
        while let Some(next) = waiting.pop() {
            if !found.insert(next) {
                continue;
            }
            let Some(domain) = self.get(next) else { continue };
            waiting.extend(Some(domain.array).filter(|array| *array != 0));
            let mentioning = Mentioning::of(self.catalog, next);
            let above = mentioning.domains().filter(|above| above.parent == Some(next));
            waiting.extend(above.map(|above| above.id));
        }
        found
    }

    /// Whether NULL is no value of the domain.
    pub fn is_not_null(self, domain: &'c Domain) -> bool {
        self.chain(domain).any(|found| found.not_null)
    }

    /// A domain's name as a session has to write it; without a search path only those of
    /// `public` stand without their schema.
    pub fn text(self, path: Option<&SearchPath>, found: &Domain) -> String {
        if let Some(element) = found.element.and_then(|element| self.get(element)) {
            return format!("{}[]", self.text(path, element));
        }
        let is_visible = match path {
            Some(path) => {
                let first = self.resolve(path, std::slice::from_ref(&found.name));
                first.ok().flatten().is_some_and(|first| first.id == found.id)
            }
            None => self.catalog.schema_name(found.schema) == "public",
        };
        match is_visible && !names_built_in_type(&found.name) {
            true => quote_ident(&found.name),
            false => qualified(&self.catalog.schema_name(found.schema), &found.name),
        }
    }

    /// The tables that a change of the domain concerns: a column has it, or one over it, or an
    /// expression of the table names one of them.
    pub fn users(self, id: Id) -> impl Iterator<Item = &'c Arc<Table>> {
        let concerned = self.over(id);
        let is_concerned =
            |column: &Column| column.domain.is_some_and(|id| concerned.contains(&id));
        let mentioning = concerned.iter().map(|id| Mentioning::of(self.catalog, *id));
        let mentioning: Vec<Mentioning<'c>> = mentioning.collect();
        let composites = mentioning.iter().flat_map(|found| found.composites());
        let composites = composites.filter(|found| found.columns.iter().any(is_concerned));
        let rows = self.catalog.names().row_types();
        let holders: BTreeSet<Id> =
            composites.flat_map(|found| rows.users(row_type_oid(found.id))).collect();
        let direct = mentioning.iter().flat_map(|found| found.tables()).map(|table| table.id);
        let candidates: BTreeSet<Id> = direct.chain(holders.iter().copied()).collect();
        let tables = candidates.into_iter().filter_map(move |id| self.catalog.table(id));
        tables.filter(move |table| {
            if holders.contains(&table.id) {
                return true;
            }
            let has = |id: &Id| concerned.contains(id);
            let names = |expr: &StoredExpr| enums_named(expr.sql()).iter().any(has);
            let columns = table.columns.iter().any(|column| {
                column.domain.as_ref().is_some_and(has)
                    || column.default.as_ref().is_some_and(names)
                    || column.generated.as_ref().is_some_and(names)
            });
            let predicates = table.indexes.iter().filter_map(|index| index.predicate.as_ref());
            columns
                || table.checks.iter().any(|check| names(&check.expr))
                || predicates.into_iter().any(names)
        })
    }
}

impl CatalogNames<'_> {
    /// The type of a column as `format_type` prints it: that of its domain, if it has one.
    pub fn column_type(&self, column: &Column) -> String {
        let domain = column.domain.and_then(|id| self.catalog.domains().get(id));
        let text = domain.map(|found| self.catalog.domains().text(self.path, found));
        text.unwrap_or_else(|| column.type_name())
    }

    /// The condition of a domain's constraint, as `pg_get_expr` prints it.
    pub fn domain_condition(&self, domain: &Domain, check: &DomainCheck, pretty: bool) -> String {
        let row = domain.row("VALUE", domain.base.clone());
        match &check.expr {
            StoredExpr::Written(text) => format!("({text})"),
            expr => unquoted_value(&self.expr(&row, expr, pretty)),
        }
    }

    /// The default of a domain, as `pg_type.typdefault` has it.
    pub fn domain_default(&self, domain: &Domain) -> Option<String> {
        let row = domain.row("VALUE", domain.base.clone());
        domain.default.as_ref().map(|expr| self.expr(&row, expr, false))
    }
}

/// The text with VALUE as the word that it is in conditions of domains, outside of literals.
fn unquoted_value(text: &str) -> String {
    const QUOTED: &str = "\"VALUE\"";
    let parts = text.split('\'').enumerate().map(|(place, part)| match place % 2 {
        0 => part.replace(QUOTED, "VALUE"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("'")
}

#[cfg(test)]
mod tests {
    use braid_sql::quote_literal;

    use super::*;

    #[test]
    fn value_is_a_word_outside_of_literals() {
        let literal = quote_literal("it's \"VALUE\"");
        let text = format!("(\"VALUE\" <> {literal}) AND (\"VALUE\" > 1)");
        assert_eq!(unquoted_value(&text), format!("(VALUE <> {literal}) AND (VALUE > 1)"));
    }
}
