//! Changes of a catalog that nobody else can see yet.
//!
//! Each change keeps all maps of a [`Catalog`] in step: objects, names, owners of indexes and
//! constraints, users of types, mentions. It costs what the changed object costs, however many
//! others there are. Of an object that is replaced, only what differs is changed in the maps.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_types::sql_type::{row_type_oid, user_types};

use super::mentioned;
use crate::names::{NameKind, Named, Place};
use crate::{
    Catalog, Composite, Database, Descriptor, Domain, Enum, Id, Role, Routine, Schema, Sequence,
    Table, View,
};

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
            Descriptor::Database(database) => self.put_database(database),
            Descriptor::Role(role) => self.put_role(role),
            Descriptor::Enum(found) => self.put_enum(found),
            Descriptor::Domain(found) => self.put_domain(found),
            Descriptor::Routine(found) => self.put_routine(found),
            Descriptor::Composite(found) => self.put_composite(found),
        }
    }

    /// Removes the object of that id, of any kind.
    pub(crate) fn remove(&mut self, id: Id) {
        self.remove_table(id);
        self.remove_view(id);
        self.remove_sequence(id);
        self.remove_composite(id);
        if let Some(old) = self.catalog.schemas.remove(id) {
            self.rename(id, [schema_name(&old)], []);
            let names = self.catalog.names().in_schema(id);
            let names: Vec<Arc<str>> = names.map(|(name, _)| Arc::from(name)).collect();
            for name in names {
                self.catalog.names.remove(&(id, name));
            }
        }
        if let Some(old) = self.catalog.databases.remove(id) {
            self.rename(id, [database_name(&old)], []);
        }
        if let Some(old) = self.catalog.roles.remove(id) {
            self.rename(id, [role_name(&old)], []);
        }
        if let Some(old) = self.catalog.domains.remove(id) {
            self.catalog.domains.remove(old.array);
            self.rename(id, [domain_name(&old)], []);
            self.mention(id, &mentioned::by_domain(&old), &BTreeSet::new());
        }
        if let Some(old) = self.catalog.routines.remove(id) {
            self.rename(id, [routine_name(&old)], []);
            self.mention(id, &mentioned::by_routine(&old), &BTreeSet::new());
        }
        if let Some(old) = self.catalog.enums.remove(id) {
            self.rename(id, enum_names(&old), []);
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
            let table = with_labels(self.catalog, table.clone());
            self.catalog.tables.insert(table);
        } else if let Some(view) = self.catalog.views.get(user) {
            let view = view_with_labels(self.catalog, view.clone());
            self.catalog.views.insert(view);
        } else if let Some(found) = self.catalog.composites.get(user) {
            let found = composite_with_labels(self.catalog, found.clone());
            self.catalog.composites.insert(found);
        }
    }

    fn put_table(&mut self, table: Arc<Table>) {
        let table = with_labels(self.catalog, table);
        let old = self.catalog.tables.get(table.id).cloned();
        self.change_table(old.as_deref(), Some(&table), table.id);
        self.changed_rows.insert(table.id);
        self.catalog.tables.insert(table);
    }

    fn remove_table(&mut self, id: Id) {
        if let Some(old) = self.catalog.tables.remove(id) {
            self.change_table(Some(&old), None, id);
        }
    }

    /// What the maps know of a table.
    fn change_table(&mut self, old: Option<&Table>, new: Option<&Table>, id: Id) {
        let names = (old.map(names_of).unwrap_or_default(), new.map(names_of).unwrap_or_default());
        let (before, after) = names;
        let (gone, come) = differing(&before, &after);
        gone.iter().for_each(|(schema, name, named)| self.forget_name(*schema, name, *named));
        come.iter().for_each(|(schema, name, named)| self.learn_name(*schema, name, *named));

        let parts = |table: Option<&Table>| table.into_iter().flat_map(parts_of).collect();
        let (before, after): (Vec<Id>, Vec<Id>) = (parts(old), parts(new));
        let (gone, come) = differing(&before, &after);
        for oid in gone {
            if self.catalog.owners.get(oid) == Some(&id) {
                self.catalog.owners.remove(oid);
            }
        }
        come.iter().for_each(|oid| _ = self.catalog.owners.insert(*oid, id));

        let types = |table: Option<&Table>| -> BTreeSet<u32> {
            let columns = table.into_iter().flat_map(|table| &table.columns);
            columns.flat_map(|column| user_types(&column.ty)).collect()
        };
        self.use_types(id, &types(old), &types(new));
        let mentioned = |table: Option<&Table>| table.map(mentioned::by_table).unwrap_or_default();
        self.mention(id, &mentioned(old), &mentioned(new));
    }

    fn put_view(&mut self, view: Arc<View>) {
        self.remove_view(view.id);
        let view = view_with_labels(self.catalog, view);
        self.learn_name(view.schema, &view.name, Named::View(view.id));
        self.use_types(view.id, &BTreeSet::new(), &types_of_view(&view));
        self.mention(view.id, &BTreeSet::new(), &mentioned::by_view(&view));
        self.changed_rows.insert(view.id);
        self.catalog.views.insert(view);
    }

    fn remove_view(&mut self, id: Id) {
        if let Some(old) = self.catalog.views.remove(id) {
            self.forget_name(old.schema, &old.name, Named::View(id));
            self.use_types(id, &types_of_view(&old), &BTreeSet::new());
            self.mention(id, &mentioned::by_view(&old), &BTreeSet::new());
        }
    }

    fn put_sequence(&mut self, sequence: Arc<Sequence>) {
        self.remove_sequence(sequence.id);
        self.learn_name(sequence.schema, &sequence.name, Named::Sequence(sequence.id));
        self.mention(sequence.id, &BTreeSet::new(), &mentioned::by_sequence(&sequence));
        self.catalog.sequences.insert(sequence);
    }

    fn remove_sequence(&mut self, id: Id) {
        if let Some(old) = self.catalog.sequences.remove(id) {
            self.forget_name(old.schema, &old.name, Named::Sequence(id));
            self.mention(id, &mentioned::by_sequence(&old), &BTreeSet::new());
        }
    }

    fn put_composite(&mut self, found: Arc<Composite>) {
        self.remove_composite(found.id);
        let found = composite_with_labels(self.catalog, found);
        self.learn_name(found.schema, &found.name, Named::Composite(found.id));
        self.use_types(found.id, &BTreeSet::new(), &types_of_composite(&found));
        self.mention(found.id, &BTreeSet::new(), &mentioned::by_composite(&found));
        self.changed_rows.insert(found.id);
        self.catalog.composites.insert(found);
    }

    fn remove_composite(&mut self, id: Id) {
        if let Some(old) = self.catalog.composites.remove(id) {
            self.forget_name(old.schema, &old.name, Named::Composite(id));
            self.use_types(id, &types_of_composite(&old), &BTreeSet::new());
            self.mention(id, &mentioned::by_composite(&old), &BTreeSet::new());
        }
    }

    fn put_database(&mut self, database: Arc<Database>) {
        let old = self.catalog.databases.get(database.id).cloned();
        self.rename(database.id, old.as_deref().map(database_name), [database_name(&database)]);
        self.catalog.databases.insert(database);
    }

    fn put_role(&mut self, role: Arc<Role>) {
        let old = self.catalog.roles.get(role.id).cloned();
        self.rename(role.id, old.as_deref().map(role_name), [role_name(&role)]);
        self.catalog.roles.insert(role);
    }

    fn put_enum(&mut self, found: Arc<Enum>) {
        let old = self.catalog.enums.get(found.id).cloned();
        let before = old.as_deref().into_iter().flat_map(enum_names);
        self.rename(found.id, before, enum_names(&found));
        self.unsettled.insert(found.id);
        self.catalog.enums.insert(found);
    }

    fn put_domain(&mut self, found: Arc<Domain>) {
        let old = self.catalog.domains.get(found.id).cloned();
        self.rename(found.id, old.as_deref().map(domain_name), [domain_name(&found)]);
        let before = old.as_deref().map(mentioned::by_domain).unwrap_or_default();
        self.mention(found.id, &before, &mentioned::by_domain(&found));
        let arrays = found.of_arrays().map(Arc::new);
        arrays.into_iter().for_each(|arrays| self.catalog.domains.insert(arrays));
        self.catalog.domains.insert(found);
    }

    fn put_routine(&mut self, found: Arc<Routine>) {
        let old = self.catalog.routines.get(found.id).cloned();
        self.rename(found.id, old.as_deref().map(routine_name), [routine_name(&found)]);
        let before = old.as_deref().map(mentioned::by_routine).unwrap_or_default();
        self.mention(found.id, &before, &mentioned::by_routine(&found));
        self.catalog.routines.insert(found);
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
        let old = self.catalog.schemas.get(schema.id).cloned();
        self.rename(schema.id, old.as_deref().map(schema_name), [schema_name(&schema)]);
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

    /// Replaces the names of an object that is no relation.
    fn rename<'n>(
        &mut self,
        id: Id,
        before: impl IntoIterator<Item = (Place, &'n str)>,
        after: impl IntoIterator<Item = (Place, &'n str)>,
    ) {
        let names = &mut self.catalog.object_names;
        before.into_iter().for_each(|(place, name)| names.forget(place, name, id));
        after.into_iter().for_each(|(place, name)| names.learn(place, name, id));
    }

    /// Replaces the types of users that the columns of a relation have.
    fn use_types(&mut self, user: Id, before: &BTreeSet<u32>, after: &BTreeSet<u32>) {
        let users = &mut self.catalog.type_users;
        before.difference(after).for_each(|oid| _ = users.remove(&(*oid, user)));
        after.difference(before).for_each(|oid| _ = users.insert((*oid, user), ()));
    }

    /// Replaces what an object mentions.
    fn mention(&mut self, by: Id, before: &BTreeSet<Id>, after: &BTreeSet<Id>) {
        let mentions = &mut self.catalog.mentions;
        before.difference(after).for_each(|id| _ = mentions.remove(&(*id, by)));
        after.difference(before).for_each(|id| _ = mentions.insert((*id, by), ()));
    }
}

/// A table whose columns know the types of users as they are now.
fn with_labels(catalog: &Catalog, mut table: Arc<Table>) -> Arc<Table> {
    if table.columns.iter().any(|column| !user_types(&column.ty).is_empty()) {
        for column in &mut Arc::make_mut(&mut table).columns {
            catalog.enums().refresh(&mut column.ty);
        }
    }
    table
}

/// A composite type whose attributes know the types of users as they are now.
fn composite_with_labels(catalog: &Catalog, mut found: Arc<Composite>) -> Arc<Composite> {
    if found.columns.iter().any(|column| !user_types(&column.ty).is_empty()) {
        for column in &mut Arc::make_mut(&mut found).columns {
            catalog.enums().refresh(&mut column.ty);
        }
    }
    found
}

/// A view whose columns know the types of users as they are now.
fn view_with_labels(catalog: &Catalog, mut view: Arc<View>) -> Arc<View> {
    if view.columns.iter().any(|(_, ty)| !user_types(ty).is_empty()) {
        for (_, ty) in &mut Arc::make_mut(&mut view).columns {
            catalog.enums().refresh(ty);
        }
    }
    view
}

/// What two lists have between their common beginning and their common end.
fn differing<'t, T: PartialEq>(before: &'t [T], after: &'t [T]) -> (&'t [T], &'t [T]) {
    let first = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let pairs = before.iter().rev().zip(after.iter().rev());
    let last = pairs.take_while(|(one, other)| one == other).count();
    (&before[..before.len() - last], &after[..after.len() - last])
}

fn types_of_view(view: &View) -> BTreeSet<u32> {
    view.columns.iter().flat_map(|(_, ty)| user_types(ty)).collect()
}

fn types_of_composite(found: &Composite) -> BTreeSet<u32> {
    found.columns.iter().flat_map(|column| user_types(&column.ty)).collect()
}

fn role_name(role: &Role) -> (Place, &str) {
    ((NameKind::Role, 0), &role.name)
}

fn database_name(database: &Database) -> (Place, &str) {
    ((NameKind::Database, 0), &database.name)
}

fn schema_name(schema: &Schema) -> (Place, &str) {
    ((NameKind::Schema, schema.database), &schema.name)
}

fn domain_name(found: &Domain) -> (Place, &str) {
    ((NameKind::Domain, found.schema), &found.name)
}

fn routine_name(found: &Routine) -> (Place, &str) {
    ((NameKind::Routine, found.schema), &found.name)
}

fn enum_names(found: &Enum) -> [(Place, &str); 2] {
    [
        ((NameKind::Enum, found.schema), &found.name),
        ((NameKind::EnumArray, found.schema), &found.array_name),
    ]
}

/// The names that a table has taken in its schema.
fn names_of(table: &Table) -> Vec<(Id, &str, Named)> {
    let indexes = table.all_indexes().filter(|index| !table.is_hidden_key(index));
    let indexes = indexes.map(|index| (&*index.name, Named::Index(table.id, index.number)));
    let names = std::iter::once((&*table.name, Named::Table(table.id))).chain(indexes);
    names.map(|(name, named)| (table.schema, name, named)).collect()
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
