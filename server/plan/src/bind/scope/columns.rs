//! Which columns and WITH entries a name can mean.

use braid_catalog::Id;
use braid_sql::ItemColumn;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::tree::expr::Slot;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    /// The name of its table in the query.
    pub table: String,
    /// The schema of its table, where `schema.table.column` is allowed: an alias hides it.
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
    /// Its domain, if it is a column of a query that is no column of a table.
    pub domain: Option<Id>,
    /// Its item of FROM and its number there, where items have numbers.
    pub item: ItemColumn,
}

/// An item of a FROM clause that can be named.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTable {
    /// Its alias, or its own name.
    pub name: String,
    /// Schema and name of the relation; `None` for a subquery, a function or a WITH entry.
    pub relation: Option<(String, String)>,
    /// It has an alias, which hides the relation's own name.
    pub aliased: bool,
    /// It is a join in parentheses: its whole row is never NULL.
    pub is_join: bool,
    /// A column that is NULL exactly where an outer join found no row of it, once it is on the
    /// optional side of one.
    pub presence: Option<(Slot, SqlType)>,
}

/// The columns of a FROM clause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// In order.
    pub columns: Vec<ScopeColumn>,
    /// The tables, for duplicates and whole-row references.
    pub tables: Vec<ScopeTable>,
    /// The tables whose rows have system columns.
    pub sources: Vec<RowSource>,
}

/// A table of FROM whose rows have system columns.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    /// The name of the table in the query.
    pub table: String,
    /// Its schema, where that may stand before its name.
    pub schema: Option<String>,
    /// Its oid.
    pub relation: Id,
    /// The number of its item of FROM, where items have numbers.
    pub item: u32,
    /// Where the oid of a row's own table is, if the rows are of several partitions.
    pub oid: Option<Slot>,
    /// Its primary key. Of a catalog, a column that is never NULL.
    pub key: Vec<(Slot, SqlType)>,
    /// The columns whose change makes another version of the row.
    pub columns: Vec<(Slot, SqlType)>,
    /// Whether it has a `ctid`.
    pub has_place: bool,
    /// Where `xmax` is, if the rows have it: 0 in rows that an INSERT has inserted.
    pub replaced: Option<Slot>,
    /// Whether it stands in a JOIN, so that its system columns need its name before them.
    pub joined: bool,
}

/// A scope and the ones around it.
#[derive(Clone, Copy)]
pub(crate) struct Scopes<'s> {
    /// The innermost.
    pub scope: &'s Scope,
    /// What is around it.
    pub parent: Option<&'s Scopes<'s>>,
}

/// A WITH entry that can be named.
#[derive(Clone, Debug)]
pub(crate) struct CteDefinition {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// Its columns.
    pub columns: Vec<(String, SqlType)>,
    /// Inside of its own recursive term.
    pub working: bool,
    /// A change without RETURNING: nothing can read it.
    pub is_silent: bool,
}

impl ScopeTable {
    /// A subquery, a function or a WITH entry.
    pub(crate) fn plain(name: &str) -> Self {
        let name = name.to_owned();
        Self { name, relation: None, aliased: true, is_join: false, presence: None }
    }

    /// Whether `name`, or `schema.name`, means this table.
    pub(crate) fn is_named(&self, schema: Option<&str>, name: &str) -> bool {
        self.name == name && (schema.is_none() || self.schema() == schema)
    }

    /// Its schema, where that may stand before its name.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.relation.as_ref().filter(|_| !self.aliased).map(|(schema, _)| schema.as_str())
    }

    /// Two tables of one name may stand side by side only if their schemas tell them apart.
    fn collides(&self, other: &Self) -> bool {
        let apart = matches!((self.schema(), other.schema()), (Some(a), Some(b)) if a != b);
        self.name == other.name && !apart
    }
}

impl Scope {
    /// System columns of these tables need the table's name before them from here on.
    pub(crate) fn join_sources(&mut self) {
        for source in &mut self.sources {
            source.joined = true;
        }
    }

    /// A scope of one relation, whose alias hides its own name.
    pub(crate) fn of_relation(mut self, schema: &str, name: &str, aliased: bool) -> Self {
        for table in &mut self.tables {
            table.relation = Some((schema.to_owned(), name.to_owned()));
            table.aliased = aliased;
        }
        for source in &mut self.sources {
            source.schema = (!aliased).then(|| schema.to_owned());
        }
        for column in &mut self.columns {
            column.schema = (!aliased).then(|| schema.to_owned());
        }
        self
    }

    /// Adds another scope's columns; 42712 if a table's name is there twice.
    pub(crate) fn merge(&mut self, other: Scope) -> Result<()> {
        for table in &other.tables {
            if self.tables.iter().any(|known| known.collides(table)) {
                let name = &table.name;
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
    pub(crate) fn find(&self, name: &str) -> Result<Option<&ScopeColumn>> {
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
    pub(crate) fn find_in(
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

    /// Whether there is a table of that name; 42P09 if there are several.
    pub(crate) fn has_table(&self, schema: Option<&str>, name: &str) -> Result<bool> {
        match self.tables.iter().filter(|table| table.is_named(schema, name)).count() {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::new(
                SqlState::AmbiguousAlias,
                format!("table reference \"{name}\" is ambiguous"),
            )),
        }
    }

    /// The column of these numbers.
    pub(crate) fn find_item(&self, column: ItemColumn) -> Option<&ScopeColumn> {
        self.columns.iter().find(|c| c.item == column)
    }

    /// The visible columns of a table, in order.
    pub(crate) fn columns_of<'s, 'n>(
        &'s self,
        schema: Option<&'n str>,
        table: &'n str,
    ) -> impl Iterator<Item = &'s ScopeColumn> + use<'s, 'n> {
        self.columns.iter().filter(move |c| {
            c.table == table && !c.hidden && (schema.is_none() || c.schema.as_deref() == schema)
        })
    }
}

/// A FROM item, with what hints need of it.
pub(crate) struct RangeEntry {
    pub(crate) table: ScopeTable,
    pub(crate) columns: Vec<String>,
}
