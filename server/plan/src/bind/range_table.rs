//! The tables that a name before a dot can mean, and what to say where it means none.

use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, SqlState};

use super::Binder;
use super::context::ExprCx;
use super::from::name_parts;
use super::scope::{Scope, ScopeTable, Scopes};
use crate::expr::Expr;

impl Binder<'_> {
    /// Binds a query or a change at a level of its own.
    pub(super) fn in_range<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.range.push(Vec::new());
        let result = bind(self);
        self.range.pop();
        result
    }

    /// Notes the tables of a scope for hints of this query level.
    pub(super) fn enter_range(&mut self, scope: &Scope) {
        if self.range.is_empty() {
            self.range.push(Vec::new());
        }
        if let Some(level) = self.range.last_mut() {
            level.extend(scope.tables.iter().cloned());
        }
    }

    /// Schema and table of a qualifier such as `schema.table`. 0A000 if it names another database,
    /// 42601 if it has too many parts. `column` is what stands after it in messages.
    pub(super) fn table_name<'n>(
        &self,
        qualifier: &'n [String],
        column: Option<&str>,
    ) -> Result<(Option<&'n str>, &'n str)> {
        let shown = || {
            let parts = qualifier.iter().map(String::as_str);
            parts.chain([column.unwrap_or("*")]).collect::<Vec<_>>().join(".")
        };
        match qualifier {
            [table] => Ok((None, table)),
            [schema, table] => Ok((Some(schema), table)),
            [database, schema, table] => {
                if self.context().path.database_name == *database {
                    return Ok((Some(schema), table));
                }
                Err(Error::new(
                    SqlState::FeatureNotSupported,
                    format!("cross-database references are not implemented: {}", shown()),
                ))
            }
            _ => Err(Error::new(
                SqlState::SyntaxError,
                format!("improper qualified name (too many dotted names): {}", shown()),
            )),
        }
    }

    /// `t.*` as one value: the whole row.
    pub(super) fn table_row(&mut self, name: &ObjectName, cx: &ExprCx<'_, '_>) -> Result<Expr> {
        let parts = name_parts(name);
        let (schema, table) = self.table_name(&parts, None)?;
        let scope = self.scope_of_table(&cx.scopes, schema, table)?;
        self.whole_row(scope.columns_of(schema, table))
    }

    /// `t.*` as the columns of the table.
    pub(super) fn columns_of(
        &mut self,
        name: &ObjectName,
        cx: &ExprCx<'_, '_>,
    ) -> Result<Vec<Expr>> {
        let parts = name_parts(name);
        let (schema, table) = self.table_name(&parts, None)?;
        let scope = self.scope_of_table(&cx.scopes, schema, table)?;
        scope.columns_of(schema, table).map(|column| self.column(column)).collect()
    }

    /// The scope, this one or one around it, that has a table of this name; 42P01 if none has.
    pub(super) fn scope_of_table<'s>(
        &self,
        scopes: &Scopes<'s>,
        schema: Option<&str>,
        table: &str,
    ) -> Result<&'s Scope> {
        let mut level = Some(scopes);
        while let Some(scopes) = level {
            if scopes.scope.has_table(schema, table)? {
                return Ok(scopes.scope);
            }
            level = scopes.parent;
        }
        Err(self.missing_table(schema, table, scopes))
    }

    /// 42P01 for a table that cannot be named at this place, with the reason where one is likely.
    pub(super) fn missing_table(
        &self,
        schema: Option<&str>,
        table: &str,
        scopes: &Scopes<'_>,
    ) -> Error {
        let Some(entry) = self.similar_entry(schema, table) else {
            let message = format!("missing FROM-clause entry for table \"{table}\"");
            return Error::new(SqlState::UndefinedTable, message);
        };
        let name = &entry.name;
        let hint = if entry.aliased && name != table && is_visible(scopes, name) {
            format!("Perhaps you meant to reference the table alias \"{name}\".")
        } else {
            format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this \
                 part of the query."
            )
        };
        let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
        Error::new(SqlState::UndefinedTable, message).hint(hint)
    }

    /// The FROM item, visible or not, that has this name or is this relation.
    fn similar_entry(&self, schema: Option<&str>, table: &str) -> Option<&ScopeTable> {
        let mut parts: Vec<String> = schema.map(str::to_owned).into_iter().collect();
        parts.push(table.to_owned());
        let cx = self.context();
        let relation = cx.catalog.resolve(cx.path, &parts).ok().flatten();
        let relation = relation.map(|relation| {
            let schema = relation.schema_name(cx.catalog);
            (schema, relation.name().to_owned())
        });
        let fits = |entry: &&ScopeTable| {
            entry.name == table || (relation.is_some() && entry.relation == relation)
        };
        self.range.iter().rev().find_map(|level| level.iter().find(fits))
    }
}

/// Whether a table of this name can be named here.
fn is_visible(scopes: &Scopes<'_>, name: &str) -> bool {
    let mut level = Some(scopes);
    while let Some(scopes) = level {
        if scopes.scope.tables.iter().any(|table| table.name == name) {
            return true;
        }
        level = scopes.parent;
    }
    false
}
