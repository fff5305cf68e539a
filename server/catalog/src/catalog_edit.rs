//! Changes of a catalog that nobody else can see yet.
//!
//! Each change keeps all maps of a [`Catalog`] in step: objects, names, owners of indexes and
//! constraints, users of enums. It costs what the changed object costs, however many others there
//! are.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_types::SqlType;

use crate::names::Named;
use crate::{Catalog, Descriptor, Id, Schema, Sequence, Table, View};

/// An editor of a catalog. Its end is [`CatalogEdit::settle`].
#[must_use = "columns know the labels of changed enums only after `settle`"]
pub(crate) struct CatalogEdit<'c> {
    catalog: &'c mut Catalog,
    /// Enums whose labels or display names may have changed.
    unsettled: BTreeSet<Id>,
}

impl<'c> CatalogEdit<'c> {
    /// An editor of `catalog`.
    pub(crate) fn new(catalog: &'c mut Catalog) -> Self {
        CatalogEdit { catalog, unsettled: BTreeSet::new() }
    }

    /// Adds or replaces an object.
    pub(crate) fn put(&mut self, descriptor: Descriptor) {
        match descriptor {
            Descriptor::Table(table) => self.put_table(table),
            Descriptor::View(view) => self.put_view(view),
            Descriptor::Sequence(sequence) => self.put_sequence(sequence),
            Descriptor::Schema(schema) => self.put_schema(schema),
            Descriptor::Database(database) => self.catalog.databases.insert(database),
            Descriptor::Role(role) => self.catalog.roles.insert(role),
            Descriptor::Enum(found) => {
                self.unsettled.insert(found.id);
                self.catalog.enums.insert(found);
            }
            Descriptor::Domain(found) => self.catalog.domains.insert(found),
            Descriptor::Routine(found) => self.catalog.routines.insert(found),
        }
    }

    /// Removes the object of that id, of any kind.
    pub(crate) fn remove(&mut self, id: Id) {
        self.remove_table(id);
        self.remove_view(id);
        self.remove_sequence(id);
        if self.catalog.schemas.remove(id).is_some() {
            let names = self.catalog.names().in_schema(id);
            let names: Vec<Arc<str>> = names.map(|(name, _)| Arc::from(name)).collect();
            for name in names {
                self.catalog.names.remove(&(id, name));
            }
        }
        self.catalog.databases.remove(id);
        self.catalog.roles.remove(id);
        self.catalog.domains.remove(id);
        self.catalog.routines.remove(id);
        if self.catalog.enums.remove(id).is_some() {
            self.catalog.enum_types.remove(&id);
            self.unsettled.remove(&id);
        }
    }

    /// Gives every column of a changed enum's type the labels that the enum has now.
    pub(crate) fn settle(mut self) {
        let enums = std::mem::take(&mut self.unsettled);
        for id in &enums {
            let Some(found) = self.catalog.enums.get(*id) else { continue };
            let ty = found.with_labels(&self.catalog.schema_name(found.schema));
            self.catalog.enum_types.insert(*id, Arc::new(ty));
        }
        for id in enums {
            let users: Vec<Id> = self.catalog.enums().users(id).collect();
            for user in users {
                if let Some(table) = self.catalog.tables.get(user) {
                    let table = self.with_labels(table.clone());
                    self.catalog.tables.insert(table);
                } else if let Some(view) = self.catalog.views.get(user) {
                    let view = self.view_with_labels(view.clone());
                    self.catalog.views.insert(view);
                }
            }
        }
    }

    fn put_table(&mut self, table: Arc<Table>) {
        self.remove_table(table.id);
        let table = self.with_labels(table);
        for (name, named) in names_of(&table) {
            self.learn_name(table.schema, name, named);
        }
        for oid in parts_of(&table) {
            self.catalog.owners.insert(oid, table.id);
        }
        self.learn_enums(table.id, table.columns.iter().map(|column| &column.ty));
        self.catalog.tables.insert(table);
    }

    fn remove_table(&mut self, id: Id) {
        let Some(old) = self.catalog.tables.remove(id) else { return };
        for (name, named) in names_of(&old) {
            self.forget_name(old.schema, name, named);
        }
        for oid in parts_of(&old) {
            if self.catalog.owners.get(&oid) == Some(&id) {
                self.catalog.owners.remove(&oid);
            }
        }
        self.forget_enums(id, old.columns.iter().map(|column| &column.ty));
    }

    fn put_view(&mut self, view: Arc<View>) {
        self.remove_view(view.id);
        let view = self.view_with_labels(view);
        self.learn_name(view.schema, &view.name, Named::View(view.id));
        self.learn_enums(view.id, view.columns.iter().map(|(_, ty)| ty));
        self.catalog.views.insert(view);
    }

    fn remove_view(&mut self, id: Id) {
        if let Some(old) = self.catalog.views.remove(id) {
            self.forget_name(old.schema, &old.name, Named::View(id));
            self.forget_enums(id, old.columns.iter().map(|(_, ty)| ty));
        }
    }

    fn put_sequence(&mut self, sequence: Arc<Sequence>) {
        self.remove_sequence(sequence.id);
        self.learn_name(sequence.schema, &sequence.name, Named::Sequence(sequence.id));
        self.catalog.sequences.insert(sequence);
    }

    fn remove_sequence(&mut self, id: Id) {
        if let Some(old) = self.catalog.sequences.remove(id) {
            self.forget_name(old.schema, &old.name, Named::Sequence(id));
        }
    }

    fn put_schema(&mut self, schema: Arc<Schema>) {
        let before = self.catalog.schemas.get(schema.id);
        if before.is_none_or(|before| before.name != schema.name) {
            // The display name of an enum has its schema's name.
            let inside = self.catalog.enums.iter().filter(|found| found.schema == schema.id);
            self.unsettled.extend(inside.map(|found| found.id));
        }
        self.catalog.schemas.insert(schema);
    }

    fn learn_name(&mut self, schema: Id, name: &str, named: Named) {
        self.catalog.names.insert((schema, Arc::from(name)), named);
    }

    /// Takes a name back, unless another object has it by now.
    fn forget_name(&mut self, schema: Id, name: &str, named: Named) {
        if self.catalog.names().find(schema, name) == Some(named) {
            self.catalog.names.remove(&(schema, Arc::from(name)));
        }
    }

    fn learn_enums<'t>(&mut self, user: Id, types: impl Iterator<Item = &'t SqlType>) {
        for found in types.filter_map(SqlType::inner_enum) {
            self.catalog.enum_users.insert((found.oid, user), ());
        }
    }

    fn forget_enums<'t>(&mut self, user: Id, types: impl Iterator<Item = &'t SqlType>) {
        for found in types.filter_map(SqlType::inner_enum) {
            self.catalog.enum_users.remove(&(found.oid, user));
        }
    }

    /// A table whose columns know the labels of their enums.
    fn with_labels(&self, mut table: Arc<Table>) -> Arc<Table> {
        if table.columns.iter().any(|column| column.ty.inner_enum().is_some()) {
            for column in &mut Arc::make_mut(&mut table).columns {
                self.catalog.enums().refresh(&mut column.ty);
            }
        }
        table
    }

    /// A view whose columns know the labels of their enums.
    fn view_with_labels(&self, mut view: Arc<View>) -> Arc<View> {
        if view.columns.iter().any(|(_, ty)| ty.inner_enum().is_some()) {
            for (_, ty) in &mut Arc::make_mut(&mut view).columns {
                self.catalog.enums().refresh(ty);
            }
        }
        view
    }
}

/// The names that a table has taken in its schema.
fn names_of(table: &Table) -> impl Iterator<Item = (&str, Named)> {
    let indexes = table.all_indexes().filter(|index| !table.is_hidden_key(index));
    let indexes = indexes.map(|index| (&*index.name, Named::Index(table.id, index.number)));
    std::iter::once((&*table.name, Named::Table(table.id))).chain(indexes)
}

/// The oids of a table's indexes, constraints, triggers and policies.
fn parts_of(table: &Table) -> impl Iterator<Item = Id> {
    let indexes = table.all_indexes().flat_map(|index| [Some(index.id), index.constraint]);
    let checks = table.checks.iter().map(|check| check.id);
    let foreign_keys = table.foreign_keys.iter().map(|key| key.id);
    let triggers = table.triggers.iter().flat_map(|trigger| {
        [Some(trigger.id), trigger.constraint.as_ref().map(|constraint| constraint.id)]
    });
    let policies = table.security.policies.iter().map(|policy| policy.id);
    indexes.flatten().chain(checks).chain(foreign_keys).chain(triggers.flatten()).chain(policies)
}
