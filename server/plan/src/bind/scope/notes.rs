//! What binding a view's query finds out about its syntax, so that the query can be written down
//! with ids in place of names (`crate::stored_query`).
//!
//! Notes are found by the address of the syntax that they are about. The syntax outlives them, so
//! no address means two things; parts that the binder copies before it binds them have no notes.

use std::collections::HashMap;

use braid_catalog::Id;
use braid_sql::ast::{
    Expr as Ast, Join, NamedWindowDefinition, ObjectName, SelectItem, TableFactor,
};
use braid_sql::{ItemColumn, UsingColumn};
use braid_types::SqlType;
use braid_types::sql_type::{RowAttribute, relation_of_row_type};

use super::columns::ScopeColumn;

/// What a name in an expression means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A column.
    Column(ItemColumn),
    /// The whole row of an item of FROM.
    Row(u32),
}

/// An item of FROM.
#[derive(Clone, Debug, Default)]
pub(crate) struct ItemNote {
    /// Its number.
    pub label: u32,
    /// The relation, if it is one that is stored.
    pub relation: Option<Id>,
    /// The schema and name of a catalog view.
    pub catalog_view: Option<(&'static str, &'static str)>,
    /// The names and numbers of its columns, in order.
    pub columns: Vec<(String, u16)>,
}

/// A column that `*` stands for.
#[derive(Clone, Debug)]
pub(crate) struct StarColumn {
    /// Its name.
    pub name: String,
    /// Which it is.
    pub column: ItemColumn,
    /// Its type.
    pub ty: SqlType,
    /// Of `(column).*`: the field of that column, by the relation of the row type and its number.
    pub field: Option<(u32, u16)>,
}

impl StarColumn {
    /// A column that `*` stands for.
    pub(crate) fn of_column(column: &ScopeColumn) -> StarColumn {
        let (name, ty) = (column.name.clone(), column.ty.clone());
        StarColumn { name, column: column.item, ty, field: None }
    }

    /// The fields that `(column).*` stands for; none for a row without a stored type.
    pub(crate) fn of_row(column: &ScopeColumn) -> Vec<StarColumn> {
        let SqlType::Record(row) = &column.ty else { return Vec::new() };
        let relation = row.name().and_then(|name| relation_of_row_type(name.oid));
        let Some((relation, _)) = relation else { return Vec::new() };
        let fields = row.iter().zip(row.attributes());
        let star = |((name, ty), attribute): (&(String, SqlType), &RowAttribute)| StarColumn {
            name: name.clone(),
            column: column.item,
            ty: ty.clone(),
            field: Some((relation, attribute.number)),
        };
        fields.map(star).collect()
    }
}

/// The routine that a call means.
#[derive(Clone, Debug)]
pub(crate) struct RoutineNote {
    /// The routine.
    pub id: Id,
    /// The types that its arguments are cast to, in their order.
    pub types: Vec<SqlType>,
    /// Whether no argument has a name.
    pub is_by_place: bool,
}

/// What binding has found out.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) types: HashMap<usize, SqlType>,
    pub(crate) names: HashMap<usize, Reference>,
    pub(crate) items: HashMap<usize, ItemNote>,
    /// The columns of each item, by its number.
    pub(crate) rows: HashMap<u32, Vec<(String, u16)>>,
    pub(crate) joins: HashMap<usize, Vec<UsingColumn>>,
    pub(crate) stars: HashMap<usize, Vec<StarColumn>>,
    pub(crate) places: HashMap<usize, usize>,
    pub(crate) routines: HashMap<usize, RoutineNote>,
    /// The names that `*` gives to scalar subqueries, by their text.
    pub(crate) star_names: HashMap<String, String>,
    /// WINDOW clauses: the definitions as they were bound.
    pub windows: HashMap<usize, super::windows::SharedWindow>,
}

pub(crate) fn address<T>(syntax: &T) -> usize {
    std::ptr::from_ref(syntax).addr()
}

impl Notes {
    /// The type of an expression.
    pub(crate) fn ty(&self, ast: &Ast) -> Option<&SqlType> {
        self.types.get(&address(ast))
    }

    /// What a name means.
    pub(crate) fn name(&self, ast: &Ast) -> Option<Reference> {
        self.names.get(&address(ast)).copied()
    }

    /// An item of FROM.
    pub(crate) fn item(&self, factor: &TableFactor) -> Option<&ItemNote> {
        self.items.get(&address(factor))
    }

    /// A column of an item by its name.
    pub(crate) fn field(&self, label: u32, name: &str) -> Option<ItemColumn> {
        let (_, number) = self.rows.get(&label)?.iter().find(|(known, _)| known == name)?;
        Some((label, *number))
    }

    /// The column of an item that has no other.
    pub(crate) fn only_column(&self, label: u32) -> Option<ItemColumn> {
        match self.rows.get(&label)?.as_slice() {
            [(_, number)] => Some((label, *number)),
            _ => None,
        }
    }

    /// The columns that `t.*` stands for in a row constructor.
    pub(crate) fn row_star(&self, item: &Ast) -> Option<&[StarColumn]> {
        self.stars.get(&address(item)).map(Vec::as_slice)
    }

    /// The columns that USING or NATURAL merges.
    pub(crate) fn join(&self, join: &Join) -> Option<&[UsingColumn]> {
        self.joins.get(&address(join)).map(Vec::as_slice)
    }

    /// The columns that `*` stands for.
    pub(crate) fn star(&self, item: &SelectItem) -> Option<&[StarColumn]> {
        self.stars.get(&address(item)).map(Vec::as_slice)
    }

    /// The routine that a call means, by the name as it is written there.
    pub(crate) fn routine(&self, name: &ObjectName) -> Option<&RoutineNote> {
        self.routines.get(&address(name))
    }

    /// The item of the select list that a key of ORDER BY, GROUP BY or DISTINCT ON stands for.
    pub(crate) fn place(&self, key: &Ast) -> Option<usize> {
        self.places.get(&address(key)).copied()
    }

    /// The window of a WINDOW clause as it was bound.
    pub(crate) fn window(
        &self,
        definition: &NamedWindowDefinition,
    ) -> Option<&super::windows::SharedWindow> {
        self.windows.get(&address(definition))
    }
}

/// What a name in FROM has been found to be.
#[derive(Clone, Copy)]
pub(crate) enum NamedItem {
    /// A table, view or sequence.
    Stored(Id),
    /// A catalog view: its schema and name.
    Catalog(&'static str, &'static str),
}
