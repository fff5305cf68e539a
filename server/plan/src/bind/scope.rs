//! Which columns and WITH entries a name can mean.

use braid_catalog::Id;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::expr::Slot;

/// A column that can be named.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    /// The name of its table in the query.
    pub table: String,
    /// The schema of its table, where `schema.table.column` is allowed.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// Its slot.
    pub slot: Slot,
    /// Its type.
    pub ty: SqlType,
    /// Not part of `*`.
    pub hidden: bool,
    /// Named by USING or NATURAL and represented by the merged column.
    pub merged: bool,
    /// The column of a function that returns one value a row: the function's name means it too.
    pub is_row: bool,
    /// Its table and number there, 0 if it is an expression.
    pub origin: (Id, u16),
}

/// The columns of a FROM clause.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// In order.
    pub columns: Vec<ScopeColumn>,
    /// The names of tables, for duplicates and whole-row references.
    pub tables: Vec<String>,
    /// The tables whose rows have system columns.
    pub sources: Vec<RowSource>,
}

/// A table of FROM whose rows have system columns.
#[derive(Clone, Debug)]
pub struct RowSource {
    /// The name of the table in the query.
    pub table: String,
    /// Its schema.
    pub schema: Option<String>,
    /// Its oid.
    pub relation: Id,
    /// Its primary key. Of a catalog, a column that is never NULL.
    pub key: Vec<(Slot, SqlType)>,
    /// Whether it has a `ctid`.
    pub has_place: bool,
    /// Where `xmax` is, if the rows have it: 0 in rows that an INSERT has inserted.
    pub replaced: Option<Slot>,
    /// Whether it stands in a JOIN, so that its system columns need its name before them.
    pub joined: bool,
}

/// A scope and the ones around it.
#[derive(Clone, Copy)]
pub struct Scopes<'s> {
    /// The innermost.
    pub scope: &'s Scope,
    /// What is around it.
    pub parent: Option<&'s Scopes<'s>>,
}

/// A WITH entry that can be named.
#[derive(Clone, Debug)]
pub struct CteDefinition {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// Its columns.
    pub columns: Vec<(String, SqlType)>,
    /// Inside of its own recursive term.
    pub working: bool,
}

impl Scope {
    /// System columns of these tables need the table's name before them from here on.
    pub fn join_sources(&mut self) {
        for source in &mut self.sources {
            source.joined = true;
        }
    }

    /// Adds another scope's columns; 42712 if a table's name is there twice.
    pub fn merge(&mut self, other: Scope) -> Result<()> {
        for name in &other.tables {
            if self.tables.contains(name) {
                return Err(Error::new(
                    SqlState::DuplicateAlias,
                    format!("table name \"{name}\" specified more than once"),
                ));
            }
        }
        self.tables.extend(other.tables);
        self.sources.extend(other.sources);
        self.columns.extend(other.columns);
        Ok(())
    }

    /// The column of an unqualified name; 42702 if there are several.
    pub fn find(&self, name: &str) -> Result<Option<&ScopeColumn>> {
        let mut matches = self.columns.iter().filter(|c| !c.merged && c.name == name);
        let first = matches.next();
        if matches.next().is_some() {
            return Err(Error::new(
                SqlState::AmbiguousColumn,
                format!("column reference \"{name}\" is ambiguous"),
            ));
        }
        Ok(first)
    }

    /// The column of a table.
    pub fn find_in(
        &self,
        schema: Option<&str>,
        table: &str,
        name: &str,
    ) -> Result<Option<&ScopeColumn>> {
        let mut matches = self.columns.iter().filter(|c| {
            c.name == name
                && c.table == table
                && (schema.is_none() || c.schema.as_deref() == schema)
        });
        let first = matches.next();
        if matches.next().is_some() {
            return Err(Error::new(
                SqlState::AmbiguousColumn,
                format!("column reference \"{table}.{name}\" is ambiguous"),
            ));
        }
        Ok(first)
    }

    /// The visible columns of a table, in order.
    pub fn columns_of<'s>(&'s self, table: &'s str) -> impl Iterator<Item = &'s ScopeColumn> {
        self.columns.iter().filter(move |c| c.table == table && !c.hidden)
    }
}
