//! Changes of a catalog that nobody else can see yet.
//!
//! Each change keeps all maps of a [`Catalog`] in step: objects, names, owners of indexes and
//! constraints, users of types. It costs what the changed object costs, however many others there
//! are.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_types::SqlType;
use braid_types::sql_type::{row_type_oid, user_types};

use crate::names::Named;
use crate::{Catalog, Composite, Descriptor, Id, Schema, Sequence, Table, View};

/// An editor of a catalog. Its end is [`CatalogEdit::settle`].
#[must_use = "columns know the changed types of users only after `settle`"]
pub(crate) struct CatalogEdit<'c> {
    catalog: &'c mut Catalog,
    /// Enums whose labels or display names may have changed.
    unsettled: BTreeSet<Id>,
    /// Relations whose row types may have changed.
    changed_rows: BTreeSet<Id>,
}

impl<'c> CatalogEdit<'c> {
    /// An editor of `catalog`.
    pub(crate) fn new(catalog: &'c mut Catalog) -> Self {
        CatalogEdit { catalog, unsettled: BTreeSet::new(), changed_rows: BTreeSet::new() }
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
            Descriptor::Domain(found) => {
                let arrays = found.of_arrays().map(Arc::new);
                arrays.into_iter().for_each(|arrays| self.catalog.domains.insert(arrays));
                self.catalog.domains.insert(found);
            }
            Descriptor::Routine(found) => self.catalog.routines.insert(found),
            Descriptor::Composite(found) => self.put_composite(found),
        }
    }

    /// Removes the object of that id, of any kind.
    pub(crate) fn remove(&mut self, id: Id) {
        self.remove_table(id);
        self.remove_view(id);
        self.remove_sequence(id);
        self.remove_composite(id);
        if self.catalog.schemas.remove(id).is_some() {
            let names = self.catalog.names().in_schema(id);
            let names: Vec<Arc<str>> = names.map(|(name, _)| Arc::from(name)).collect();
            for name in names {
                self.catalog.names.remove(&(id, name));
            }
        }
        self.catalog.databases.remove(id);
        self.catalog.roles.remove(id);
        if let Some(old) = self.catalog.domains.remove(id) {
            self.catalog.domains.remove(old.array);
        }
        self.catalog.routines.remove(id);
        if self.catalog.enums.remove(id).is_some() {
            self.catalog.enum_types.remove(&id);
            self.unsettled.remove(&id);
        }
    }

    /// Gives every column the labels that its enum has now, and the columns that its row type has.
    pub(crate) fn settle(mut self) {
        let enums = std::mem::take(&mut self.unsettled);
        for id in &enums {
            let Some(found) = self.catalog.enums.get(*id) else { continue };
            let ty = found.with_labels(&self.catalog.schema_name(found.schema));
            self.catalog.enum_types.insert(*id, Arc::new(ty));
        }
        let rows = std::mem::take(&mut self.changed_rows);
        let mut waiting: BTreeSet<u32> = enums;
        waiting.extend(rows.into_iter().map(row_type_oid));
        while let Some(ty) = waiting.pop_first() {
            let users: Vec<Id> = self.catalog.names().type_users(ty).collect();
            for user in users {
                self.refresh(user);
                waiting.insert(row_type_oid(user));
            }
        }
    }

    /// Gives the columns of a relation the types that the catalog knows now.
    fn refresh(&mut self, user: Id) {
        if let Some(table) = self.catalog.tables.get(user) {
            let table = self.with_labels(table.clone());
            self.catalog.tables.insert(table);
        } else if let Some(view) = self.catalog.views.get(user) {
            let view = self.view_with_labels(view.clone());
            self.catalog.views.insert(view);
        } else if let Some(found) = self.catalog.composites.get(user) {
            let found = self.composite_with_labels(found.clone());
            self.catalog.composites.insert(found);
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
        self.learn_types(table.id, table.columns.iter().map(|column| &column.ty));
        self.changed_rows.insert(table.id);
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
        self.forget_types(id, old.columns.iter().map(|column| &column.ty));
    }

    fn put_view(&mut self, view: Arc<View>) {
        self.remove_view(view.id);
        let view = self.view_with_labels(view);
        self.learn_name(view.schema, &view.name, Named::View(view.id));
        self.learn_types(view.id, view.columns.iter().map(|(_, ty)| ty));
        self.changed_rows.insert(view.id);
        self.catalog.views.insert(view);
    }

    fn remove_view(&mut self, id: Id) {
        if let Some(old) = self.catalog.views.remove(id) {
            self.forget_name(old.schema, &old.name, Named::View(id));
            self.forget_types(id, old.columns.iter().map(|(_, ty)| ty));
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

    fn put_composite(&mut self, found: Arc<Composite>) {
        self.remove_composite(found.id);
        let found = self.composite_with_labels(found);
        self.learn_name(found.schema, &found.name, Named::Composite(found.id));
        self.learn_types(found.id, found.columns.iter().map(|column| &column.ty));
        self.changed_rows.insert(found.id);
        self.catalog.composites.insert(found);
    }

    fn remove_composite(&mut self, id: Id) {
        if let Some(old) = self.catalog.composites.remove(id) {
            self.forget_name(old.schema, &old.name, Named::Composite(id));
            self.forget_types(id, old.columns.iter().map(|column| &column.ty));
        }
    }

    fn put_schema(&mut self, schema: Arc<Schema>) {
        let before = self.catalog.schemas.get(schema.id);
        if before.is_none_or(|before| before.name != schema.name) {
            // The display name of a type has its schema's name.
            let inside = self.catalog.enums.iter().filter(|found| found.schema == schema.id);
            self.unsettled.extend(inside.map(|found| found.id));
            let inside = self.catalog.names().in_schema(schema.id);
            self.changed_rows.extend(inside.filter_map(|(_, named)| match named {
                Named::Table(id) | Named::View(id) | Named::Composite(id) => Some(id),
                Named::Sequence(_) | Named::Index(..) => None,
            }));
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

    fn learn_types<'t>(&mut self, user: Id, types: impl Iterator<Item = &'t SqlType>) {
        for oid in types.flat_map(user_types) {
            self.catalog.type_users.insert((oid, user), ());
        }
    }

    fn forget_types<'t>(&mut self, user: Id, types: impl Iterator<Item = &'t SqlType>) {
        for oid in types.flat_map(user_types) {
            self.catalog.type_users.remove(&(oid, user));
        }
    }

    /// A table whose columns know the types of users as they are now.
    fn with_labels(&self, mut table: Arc<Table>) -> Arc<Table> {
        if table.columns.iter().any(|column| !user_types(&column.ty).is_empty()) {
            for column in &mut Arc::make_mut(&mut table).columns {
                self.catalog.enums().refresh(&mut column.ty);
            }
        }
        table
    }

    /// A composite type whose attributes know the types of users as they are now.
    fn composite_with_labels(&self, mut found: Arc<Composite>) -> Arc<Composite> {
        if found.columns.iter().any(|column| !user_types(&column.ty).is_empty()) {
            for column in &mut Arc::make_mut(&mut found).columns {
                self.catalog.enums().refresh(&mut column.ty);
            }
        }
        found
    }

    /// A view whose columns know the types of users as they are now.
    fn view_with_labels(&self, mut view: Arc<View>) -> Arc<View> {
        if view.columns.iter().any(|(_, ty)| !user_types(ty).is_empty()) {
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

/// The oids of a table's indexes, constraints, triggers, policies and statistics objects.
fn parts_of(table: &Table) -> impl Iterator<Item = Id> {
    let indexes = table.all_indexes().flat_map(|index| [Some(index.id), index.constraint]);
    let checks = table.checks.iter().map(|check| check.id);
    let foreign_keys = table.foreign_keys.iter().map(|key| key.id);
    let triggers = table.triggers.iter().flat_map(|trigger| {
        [Some(trigger.id), trigger.constraint.as_ref().map(|constraint| constraint.id)]
    });
    let policies = table.security.policies.iter().map(|policy| policy.id);
    let statistics = table.statistics.iter().map(|object| object.id);
    let keys = indexes.flatten().chain(checks).chain(foreign_keys);
    keys.chain(triggers.flatten()).chain(policies).chain(statistics)
}
