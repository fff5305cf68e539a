//! An immutable picture of every object, found by id and by name.
//!
//! Here: the maps and how a private copy is changed. Not here: search paths ([`crate::resolve`]),
//! where descriptors are stored ([`crate::store`]).
//!
//! Rules: a snapshot that others can see never changes; cloning one copies six pointers; tables,
//! views, sequences and indexes of one schema share one space of names, as in PostgreSQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::statistics::Statistics;
use crate::{
    Database, Id, Index, IndexNumber, Role, Schema, Sequence, Table, TableStatistics, View,
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

type Map<T> = Arc<BTreeMap<Id, Arc<T>>>;

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
    names: Arc<BTreeMap<Id, BTreeMap<String, Named>>>,
    statistics: Arc<Statistics>,
}

impl Catalog {
    /// A catalog without objects.
    pub(crate) fn empty(version: u64, next_id: Id, statistics: Arc<Statistics>) -> Self {
        Catalog {
            version,
            next_id,
            tables: Arc::default(),
            views: Arc::default(),
            sequences: Arc::default(),
            schemas: Arc::default(),
            databases: Arc::default(),
            roles: Arc::default(),
            names: Arc::default(),
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
    pub fn schema_by_name(&self, database: Id, name: &str) -> Option<&Arc<Schema>> {
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
        self.names.get(&schema)?.get(name).copied()
    }

    /// Every name of a schema in order, with what it stands for.
    pub fn names_of(&self, schema: Id) -> impl Iterator<Item = (&str, Named)> {
        let names = self.names.get(&schema).into_iter().flatten();
        names.map(|(name, named)| (name.as_str(), *named))
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

    fn forget_names(&mut self, schema: Id, belongs: impl Fn(Named) -> bool) {
        if let Some(names) = Arc::make_mut(&mut self.names).get_mut(&schema) {
            names.retain(|_, named| !belongs(*named));
        }
    }

    fn learn_name(&mut self, schema: Id, name: &str, named: Named) {
        let names = Arc::make_mut(&mut self.names).entry(schema).or_default();
        names.insert(name.to_owned(), named);
    }

    pub(crate) fn insert_table(&mut self, table: Arc<Table>) {
        self.remove_table(table.id);
        self.learn_name(table.schema, &table.name, Named::Table(table.id));
        for index in table.all_indexes().filter(|index| !table.is_hidden_key(index)) {
            self.learn_name(table.schema, &index.name, Named::Index(table.id, index.number));
        }
        Arc::make_mut(&mut self.tables).insert(table.id, table);
    }

    pub(crate) fn remove_table(&mut self, id: Id) {
        if let Some(old) = Arc::make_mut(&mut self.tables).remove(&id) {
            self.forget_names(old.schema, |named| match named {
                Named::Table(table) | Named::Index(table, _) => table == id,
                _ => false,
            });
        }
    }

    pub(crate) fn insert_view(&mut self, view: Arc<View>) {
        self.remove_view(view.id);
        self.learn_name(view.schema, &view.name, Named::View(view.id));
        Arc::make_mut(&mut self.views).insert(view.id, view);
    }

    pub(crate) fn remove_view(&mut self, id: Id) {
        if let Some(old) = Arc::make_mut(&mut self.views).remove(&id) {
            self.forget_names(old.schema, |named| named == Named::View(id));
        }
    }

    pub(crate) fn insert_sequence(&mut self, sequence: Arc<Sequence>) {
        self.remove_sequence(sequence.id);
        self.learn_name(sequence.schema, &sequence.name, Named::Sequence(sequence.id));
        Arc::make_mut(&mut self.sequences).insert(sequence.id, sequence);
    }

    pub(crate) fn remove_sequence(&mut self, id: Id) {
        if let Some(old) = Arc::make_mut(&mut self.sequences).remove(&id) {
            self.forget_names(old.schema, |named| named == Named::Sequence(id));
        }
    }

    pub(crate) fn insert_schema(&mut self, schema: Arc<Schema>) {
        Arc::make_mut(&mut self.schemas).insert(schema.id, schema);
    }

    pub(crate) fn remove_schema(&mut self, id: Id) {
        Arc::make_mut(&mut self.schemas).remove(&id);
        Arc::make_mut(&mut self.names).remove(&id);
    }

    pub(crate) fn insert_database(&mut self, database: Arc<Database>) {
        Arc::make_mut(&mut self.databases).insert(database.id, database);
    }

    pub(crate) fn remove_database(&mut self, id: Id) {
        Arc::make_mut(&mut self.databases).remove(&id);
    }

    pub(crate) fn insert_role(&mut self, role: Arc<Role>) {
        Arc::make_mut(&mut self.roles).insert(role.id, role);
    }

    pub(crate) fn remove_role(&mut self, id: Id) {
        Arc::make_mut(&mut self.roles).remove(&id);
    }
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
