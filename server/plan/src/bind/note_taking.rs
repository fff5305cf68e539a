//! The binder takes notes of what it finds out about the syntax ([`Notes`]).

use braid_catalog::Id;
use braid_sql::UsingColumn;
use braid_sql::ast::{
    Expr as Ast, Join, NamedWindowDefinition, ObjectName, SelectItem, TableFactor,
};
use braid_types::SqlType;

use super::Binder;
use super::scope::columns::{Scope, ScopeColumn};
use super::scope::notes::{
    ItemNote, NamedItem, Notes, Reference, RoutineNote, StarColumn, address,
};
use super::scope::windows::SharedWindow;

impl Binder<'_> {
    /// A binder that notes what it finds out, with the privileges of a view's owner.
    pub(crate) fn noting(mut self, owner: Option<Id>) -> Self {
        self.view_owner = owner;
        self.is_definition = true;
        self.notes = Some(Box::default());
        self
    }

    /// What was noted.
    pub(crate) fn take_notes(&mut self) -> Notes {
        let mut notes = self.notes.take().map(|notes| *notes).unwrap_or_default();
        notes.star_names = std::mem::take(&mut self.star_names);
        notes
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

    pub(crate) fn note_star(
        &mut self,
        item: &SelectItem,
        columns: impl Iterator<Item = StarColumn>,
    ) {
        if let Some(notes) = &mut self.notes {
            notes.stars.insert(address(item), columns.collect());
        }
    }

    pub(crate) fn note_window(
        &mut self,
        definition: &NamedWindowDefinition,
        window: &SharedWindow,
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
        scope.sources.iter_mut().for_each(|source| source.item = label);
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

/// Notes which routine a call means.
pub(crate) fn note_routine(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    note: impl FnOnce() -> RoutineNote,
) {
    if let Some(notes) = &mut binder.notes {
        notes.routines.insert(address(name), note());
    }
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

/// Notes the columns that `t.*` stands for in a row constructor.
pub(crate) fn note_row_star(binder: &mut Binder<'_>, item: &Ast, columns: &[&ScopeColumn]) {
    if let Some(notes) = &mut binder.notes {
        let columns = columns.iter().map(|column| StarColumn::of_column(column)).collect();
        notes.stars.insert(address(item), columns);
    }
}
