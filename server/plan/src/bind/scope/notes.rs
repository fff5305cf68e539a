//! What binding a view's query finds out about its syntax, so that the query can be written down
//! with ids in place of names (`crate::stored_query`).
//!
//! Notes are found by the address of the syntax that they are about. The syntax outlives them, so
//! no address means two things; parts that the binder copies before it binds them have no notes.

use std::collections::HashMap;

use braid_catalog::Id;
use braid_sql::ast::{Expr as Ast, Join, NamedWindowDefinition, SelectItem, TableFactor};
use braid_sql::{ItemColumn, UsingColumn};
use braid_types::SqlType;

use super::columns::{Scope, ScopeColumn};
use crate::bind::Binder;

/// What a name in an expression means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A column.
    Column(ItemColumn),
    /// The whole row of an item of FROM.
    Row(u32),
}

/// An item of FROM.
#[derive(Clone, Debug, Default)]
pub struct ItemNote {
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
pub struct StarColumn {
    /// Its name.
    pub name: String,
    /// Which it is.
    pub column: ItemColumn,
    /// Its type.
    pub ty: SqlType,
}

/// What binding has found out.
#[derive(Debug, Default)]
pub struct Notes {
    types: HashMap<usize, SqlType>,
    names: HashMap<usize, Reference>,
    items: HashMap<usize, ItemNote>,
    /// The columns of each item, by its number.
    rows: HashMap<u32, Vec<(String, u16)>>,
    joins: HashMap<usize, Vec<UsingColumn>>,
    stars: HashMap<usize, Vec<StarColumn>>,
    places: HashMap<usize, usize>,
    /// WINDOW clauses: the definitions as they were bound.
    pub windows: HashMap<usize, crate::bind::expr::window::SharedWindow>,
}

fn address<T>(syntax: &T) -> usize {
    std::ptr::from_ref(syntax).addr()
}

impl Notes {
    /// The type of an expression.
    pub fn ty(&self, ast: &Ast) -> Option<&SqlType> {
        self.types.get(&address(ast))
    }

    /// What a name means.
    pub fn name(&self, ast: &Ast) -> Option<Reference> {
        self.names.get(&address(ast)).copied()
    }

    /// An item of FROM.
    pub fn item(&self, factor: &TableFactor) -> Option<&ItemNote> {
        self.items.get(&address(factor))
    }

    /// A column of an item by its name.
    pub fn field(&self, label: u32, name: &str) -> Option<ItemColumn> {
        let (_, number) = self.rows.get(&label)?.iter().find(|(known, _)| known == name)?;
        Some((label, *number))
    }

    /// The columns that USING or NATURAL merges.
    pub fn join(&self, join: &Join) -> Option<&[UsingColumn]> {
        self.joins.get(&address(join)).map(Vec::as_slice)
    }

    /// The columns that `*` stands for.
    pub fn star(&self, item: &SelectItem) -> Option<&[StarColumn]> {
        self.stars.get(&address(item)).map(Vec::as_slice)
    }

    /// The item of the select list that a key of ORDER BY, GROUP BY or DISTINCT ON stands for.
    pub fn place(&self, key: &Ast) -> Option<usize> {
        self.places.get(&address(key)).copied()
    }

    /// The window of a WINDOW clause as it was bound.
    pub fn window(
        &self,
        definition: &NamedWindowDefinition,
    ) -> Option<&crate::bind::expr::window::SharedWindow> {
        self.windows.get(&address(definition))
    }
}

impl Binder<'_> {
    /// A binder that notes what it finds out, with the privileges of a view's owner.
    pub fn noting(mut self, owner: Option<Id>) -> Self {
        self.view_owner = owner;
        self.notes = Some(Box::default());
        self
    }

    /// What was noted.
    pub fn take_notes(&mut self) -> Notes {
        self.notes.take().map(|notes| *notes).unwrap_or_default()
    }

    pub(crate) fn note_type(&mut self, ast: &Ast, ty: impl FnOnce() -> SqlType) {
        if let Some(notes) = &mut self.notes {
            notes.types.insert(address(ast), ty());
        }
    }

    pub(crate) fn note_name(&mut self, ast: &Ast, reference: Reference) {
        if let Some(notes) = &mut self.notes {
            notes.names.insert(address(ast), reference);
        }
    }

    pub(crate) fn note_place(&mut self, key: &Ast, place: usize) {
        if let Some(notes) = &mut self.notes {
            notes.places.insert(address(key), place);
        }
    }

    pub(crate) fn note_join(&mut self, join: &Join, columns: Vec<UsingColumn>) {
        if let Some(notes) = &mut self.notes {
            notes.joins.insert(address(join), columns);
        }
    }

    pub(crate) fn note_star<'s>(
        &mut self,
        item: &SelectItem,
        columns: impl Iterator<Item = &'s ScopeColumn>,
    ) {
        let Some(notes) = &mut self.notes else { return };
        let star =
            |c: &ScopeColumn| StarColumn { name: c.name.clone(), column: c.item, ty: c.ty.clone() };
        notes.stars.insert(address(item), columns.map(star).collect());
    }

    pub(crate) fn note_window(
        &mut self,
        definition: &NamedWindowDefinition,
        window: &crate::bind::expr::window::SharedWindow,
    ) {
        if let Some(notes) = &mut self.notes {
            notes.windows.insert(address(definition), window.clone());
        }
    }

    /// Numbers an item of FROM and its columns. In a stored query the number is written.
    pub(crate) fn label_item(
        &mut self,
        factor: &TableFactor,
        scope: &mut Scope,
        relation: Option<NamedItem>,
    ) {
        let label = match (&self.notes, self.is_stored) {
            (None, false) => return,
            (_, true) => stored_label(factor).unwrap_or_default(),
            (Some(_), false) => self.label(),
        };
        let listed = catalog_columns(factor, &relation, self.is_stored);
        let mut note = ItemNote { label, ..ItemNote::default() };
        for (place, column) in scope.columns.iter_mut().enumerate() {
            let by_place = u16::try_from(place + 1).unwrap_or(u16::MAX);
            let number = match (&relation, &listed) {
                (Some(NamedItem::Stored(_)), _) if column.origin.1 > 0 => column.origin.1,
                (_, Some(names)) => names
                    .iter()
                    .position(|name| *name == column.name)
                    .and_then(|place| u16::try_from(place + 1).ok())
                    .unwrap_or(0),
                _ => by_place,
            };
            column.item = (label, number);
            note.columns.push((column.name.clone(), number));
        }
        match relation {
            Some(NamedItem::Stored(id)) => note.relation = Some(id),
            Some(NamedItem::Catalog(schema, name)) => note.catalog_view = Some((schema, name)),
            None => {}
        }
        if let Some(notes) = &mut self.notes {
            notes.rows.insert(label, note.columns.clone());
            notes.items.insert(address(factor), note);
        }
    }

    /// A new number for an item of FROM.
    pub(crate) fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }
}

/// What a name in FROM has been found to be.
#[derive(Clone, Copy)]
pub enum NamedItem {
    /// A table, view or sequence.
    Stored(Id),
    /// A catalog view: its schema and name.
    Catalog(&'static str, &'static str),
}

/// The number of an item in a stored query.
fn stored_label(factor: &TableFactor) -> Option<u32> {
    let alias = match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.as_ref()?,
        _ => return None,
    };
    braid_sql::split_label(&alias.name.value).map(|(label, _)| label)
}

/// The columns that a catalog view had when the query was stored: it may have others by now.
fn catalog_columns(
    factor: &TableFactor,
    relation: &Option<NamedItem>,
    is_stored: bool,
) -> Option<Vec<String>> {
    let (Some(NamedItem::Catalog(..)), true, TableFactor::Table { alias: Some(alias), .. }) =
        (relation, is_stored, factor)
    else {
        return None;
    };
    Some(braid_sql::listed_columns(alias))
}
