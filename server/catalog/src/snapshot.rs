//! An immutable picture of every object, found by id and by name.
//!
//! Here: the maps and how a private copy is changed. Not here: search paths ([`crate::resolve`]),
//! where descriptors are stored ([`crate::store`]).
//!
//! Rules: a snapshot that others can see never changes; a copy shares all that is not changed in
//! it, so that both cost the same with ten tables and ten thousand ([`crate::shared_map`]); tables,
//! views, sequences and indexes of one schema share one space of names, as in PostgreSQL.

use std::sync::Arc;

use braid_types::EnumType;

use crate::changes::Change;
use crate::shared_map::SharedMap;
use crate::statistics::Statistics;
use crate::store::Descriptor;
use crate::{
    DATABASE_OWNER, Database, Enum, Id, Index, IndexNumber, PG_TEMP, Role, Schema, Sequence, Table,
    TableStatistics, View,
};

/// What a name in a schema stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A table.
    Table(Id),
    /// A view.
    View(Id),
    /// A sequence.
    Sequence(Id),
    /// An index of a table.
    Index(Id, IndexNumber),
}

type Map<T> = SharedMap<Id, Arc<T>>;

/// Every object at one version.
#[derive(Clone, Debug)]
pub struct Catalog {
    pub(crate) version: u64,
    pub(crate) next_id: Id,
    pub(crate) tables: Map<Table>,
    pub(crate) views: Map<View>,
    pub(crate) sequences: Map<Sequence>,
    pub(crate) schemas: Map<Schema>,
    pub(crate) databases: Map<Database>,
    pub(crate) roles: Map<Role>,
    pub(crate) enums: Map<Enum>,
    /// The enums with their labels, as columns have them.
    pub(crate) enum_types: SharedMap<Id, Arc<EnumType>>,
    /// The changes that have led to this version.
    pub(crate) changes: Arc<[Change]>,
    names: SharedMap<(Id, Arc<str>), Named>,
    statistics: Arc<Statistics>,
}

impl Catalog {
    /// A catalog without objects.
    pub(crate) fn empty(version: u64, next_id: Id, statistics: Arc<Statistics>) -> Self {
        // It is in every catalog and never stored.
        let mut roles = Map::default();
        let owner = Role::new(DATABASE_OWNER, "pg_database_owner");
        roles.insert(DATABASE_OWNER, Arc::new(owner));
        Catalog {
            version,
            next_id,
            tables: Map::default(),
            views: Map::default(),
            sequences: Map::default(),
            schemas: Map::default(),
            databases: Map::default(),
            roles,
            enums: Map::default(),
            enum_types: SharedMap::default(),
            changes: Arc::default(),
            names: SharedMap::default(),
            statistics,
        }
    }

    /// The version; a transaction's private catalog has one that no stored catalog ever has.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A table by id.
    pub fn table(&self, id: Id) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    /// A view by id.
    pub fn view(&self, id: Id) -> Option<&Arc<View>> {
        self.views.get(&id)
    }

    /// A sequence by id.
    pub fn sequence(&self, id: Id) -> Option<&Arc<Sequence>> {
        self.sequences.get(&id)
    }

    /// A schema by id.
    pub fn schema(&self, id: Id) -> Option<&Arc<Schema>> {
        self.schemas.get(&id)
    }

    /// A database by id.
    pub fn database(&self, id: Id) -> Option<&Arc<Database>> {
        self.databases.get(&id)
    }

    /// A role by id.
    pub fn role(&self, id: Id) -> Option<&Arc<Role>> {
        self.roles.get(&id)
    }

    /// A schema of a database by name. The virtual ones (`pg_catalog` …) are not descriptors:
    /// see [`crate::virtual_schema`].
    /// `pg_temp` is the session's own temporary schema, which may not be there yet.
    pub fn schema_by_name(&self, database: Id, name: &str) -> Option<&Arc<Schema>> {
        if name == PG_TEMP {
            return self.temporary_schema();
        }
        self.schemas.values().find(|schema| schema.database == database && schema.name == name)
    }

    /// A database by name.
    pub fn database_by_name(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.values().find(|database| database.name == name)
    }

    /// A role by name.
    pub fn role_by_name(&self, name: &str) -> Option<&Arc<Role>> {
        self.roles.values().find(|role| role.name == name)
    }

    /// The name of a role, or its number if it is gone.
    pub fn role_name(&self, id: Id) -> String {
        self.role(id).map_or_else(|| id.to_string(), |role| role.name.clone())
    }

    /// The name of a schema, or its number if it is gone.
    pub fn schema_name(&self, id: Id) -> String {
        self.schema(id).map_or_else(|| id.to_string(), |schema| schema.name.clone())
    }

    /// Every table, by id.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// Every view, by id.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.views.values()
    }

    /// Every sequence, by id.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        self.sequences.values()
    }

    /// The tables of a database, by id.
    pub fn tables_of(&self, database: Id) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values().filter(move |table| table.database == database)
    }

    /// The views of a database, by id.
    pub fn views_of(&self, database: Id) -> impl Iterator<Item = &Arc<View>> {
        self.views.values().filter(move |view| view.database == database)
    }

    /// The sequences of a database, by id.
    pub fn sequences_of(&self, database: Id) -> impl Iterator<Item = &Arc<Sequence>> {
        self.sequences.values().filter(move |sequence| sequence.database == database)
    }

    /// The schemas of a database, by id.
    pub fn schemas_of(&self, database: Id) -> impl Iterator<Item = &Arc<Schema>> {
        self.schemas.values().filter(move |schema| schema.database == database)
    }

    /// Every database, by id.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<Database>> {
        self.databases.values()
    }

    /// Every role, by id.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.roles.values()
    }

    /// What a name stands for in a schema.
    pub fn named(&self, schema: Id, name: &str) -> Option<Named> {
        self.names.get_by(|(of, known)| (*of, &**known).cmp(&(schema, name))).copied()
    }

    /// Every name of a schema in order, with what it stands for.
    pub fn names_of(&self, schema: Id) -> impl Iterator<Item = (&str, Named)> {
        let from = self.names.iter_from(move |(of, known)| (*of, &**known).cmp(&(schema, "")));
        let names = from.take_while(move |((of, _), _)| *of == schema);
        names.map(|((_, name), named)| (&**name, *named))
    }

    /// The table and index with that index oid.
    pub fn index(&self, oid: Id) -> Option<(&Arc<Table>, &Index)> {
        self.tables.values().find_map(|table| {
            let index = table.all_indexes().find(|index| index.id == oid)?;
            Some((table, index))
        })
    }

    /// Estimates for a table; defaults where nothing is known.
    pub fn statistics(&self, table: Id) -> TableStatistics {
        self.statistics.of(table)
    }

    /// The shared estimates, for those who update them.
    pub fn statistics_shared(&self) -> &Arc<Statistics> {
        &self.statistics
    }

    /// Takes a name back, unless somebody else has it by now.
    fn forget_name(&mut self, schema: Id, name: &str, named: Named) {
        if self.named(schema, name) == Some(named) {
            self.names.remove(&(schema, Arc::from(name)));
        }
    }

    fn learn_name(&mut self, schema: Id, name: &str, named: Named) {
        self.names.insert((schema, Arc::from(name)), named);
    }

    /// Puts or, without one, removes the descriptor of an id.
    pub(crate) fn put(&mut self, id: Id, descriptor: Option<Descriptor>) {
        match descriptor {
            Some(Descriptor::Table(table)) => self.insert_table(table),
            Some(Descriptor::View(view)) => self.insert_view(view),
            Some(Descriptor::Sequence(sequence)) => self.insert_sequence(sequence),
            Some(Descriptor::Schema(schema)) => self.insert_schema(schema),
            Some(Descriptor::Database(database)) => self.insert_database(database),
            Some(Descriptor::Role(role)) => self.insert_role(role),
            Some(Descriptor::Enum(found)) => self.insert_enum(found),
            None => {
                self.remove_table(id);
                self.remove_view(id);
                self.remove_sequence(id);
                self.remove_schema(id);
                self.remove_database(id);
                self.remove_role(id);
                self.remove_enum(id);
            }
        }
    }

    pub(crate) fn insert_table(&mut self, table: Arc<Table>) {
        self.remove_table(table.id);
        let table = self.with_labels(table);
        for (name, named) in names_of_table(&table) {
            self.learn_name(table.schema, name, named);
        }
        self.tables.insert(table.id, table);
    }

    pub(crate) fn remove_table(&mut self, id: Id) {
        if let Some(old) = self.tables.remove(&id) {
            for (name, named) in names_of_table(&old) {
                self.forget_name(old.schema, name, named);
            }
        }
    }

    pub(crate) fn insert_view(&mut self, view: Arc<View>) {
        self.remove_view(view.id);
        let view = self.view_with_labels(view);
        self.learn_name(view.schema, &view.name, Named::View(view.id));
        self.views.insert(view.id, view);
    }

    pub(crate) fn remove_view(&mut self, id: Id) {
        if let Some(old) = self.views.remove(&id) {
            self.forget_name(old.schema, &old.name, Named::View(id));
        }
    }

    pub(crate) fn insert_sequence(&mut self, sequence: Arc<Sequence>) {
        self.remove_sequence(sequence.id);
        self.learn_name(sequence.schema, &sequence.name, Named::Sequence(sequence.id));
        self.sequences.insert(sequence.id, sequence);
    }

    pub(crate) fn remove_sequence(&mut self, id: Id) {
        if let Some(old) = self.sequences.remove(&id) {
            self.forget_name(old.schema, &old.name, Named::Sequence(id));
        }
    }

    pub(crate) fn insert_schema(&mut self, schema: Arc<Schema>) {
        self.schemas.insert(schema.id, schema);
    }

    pub(crate) fn remove_schema(&mut self, id: Id) {
        if self.schemas.remove(&id).is_some() {
            let names: Vec<Arc<str>> = self.names_of(id).map(|(name, _)| Arc::from(name)).collect();
            for name in names {
                self.names.remove(&(id, name));
            }
        }
    }

    pub(crate) fn insert_database(&mut self, database: Arc<Database>) {
        self.databases.insert(database.id, database);
    }

    pub(crate) fn remove_database(&mut self, id: Id) {
        self.databases.remove(&id);
    }

    pub(crate) fn insert_role(&mut self, role: Arc<Role>) {
        self.roles.insert(role.id, role);
    }

    pub(crate) fn remove_role(&mut self, id: Id) {
        self.roles.remove(&id);
    }
}

/// The names that a table has taken in its schema.
fn names_of_table(table: &Table) -> impl Iterator<Item = (&str, Named)> {
    let indexes = table.all_indexes().filter(|index| !table.is_hidden_key(index));
    let indexes = indexes.map(|index| (&*index.name, Named::Index(table.id, index.number)));
    std::iter::once((&*table.name, Named::Table(table.id))).chain(indexes)
}

impl Table {
    /// Whether this is the primary key over the hidden `rowid`, which no user sees.
    pub fn is_hidden_key(&self, index: &Index) -> bool {
        index.number == self.primary.number
            && index.keys.iter().all(|key| self.column(key.column).is_some_and(|c| c.hidden))
    }

    /// The index of that number.
    pub fn index(&self, number: IndexNumber) -> Option<&Index> {
        self.all_indexes().find(|index| index.number == number)
    }

    /// The columns that users see.
    pub fn visible_columns(&self) -> impl Iterator<Item = &crate::Column> {
        self.columns.iter().filter(|column| !column.hidden)
    }
}
