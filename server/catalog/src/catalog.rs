//! An immutable picture of every object at one version.
//!
//! ```text
//!   catalog.table(id)                 by id: a Collection for each kind of object
//!   catalog.names().resolve(path, …)  by name: Names
//!   catalog.enums().type_of(oid)      the types of enums, with today's labels: Enums
//!   catalog.names().composites()      the composite types: Collection
//!   catalog.domains().get(id)         the domains, with their base types: Domains
//!   catalog.names().routines()        functions and procedures of users: Routines
//!   catalog.names().triggers()        triggers of tables and views: Triggers
//!   catalog.privileges().check(…)     who may do what: Privileges
//!   catalog.interleaving()            what is below the rows of a table: InterleavedTables
//! ```
//!
//! What it does not do: know where descriptors are stored ([`crate::CatalogCache`]), change itself
//! for others ([`crate::Draft`]).
//!
//! Rules: a catalog that others can see never changes. A copy shares all that is not changed in it,
//! so that a copy and a change cost the same with ten tables and with ten thousand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_types::EnumType;

use crate::cache::{Change, SharedMap};
use crate::collection::Collection;
use crate::names::{NameKind, Named, ObjectNames};
use crate::storage::stored::FIRST_FORMAT;
use crate::{
    Composite, Database, Domain, Enum, Id, Index, PREDEFINED, Role, Routine, Schema, Sequence,
    Statistics, Table, TableStatistics, View,
};

/// Versions of private catalogs; stored ones never get as far.
static PRIVATE_VERSION: AtomicU64 = AtomicU64::new(1 << 63);

/// A version that no other catalog has.
pub(crate) fn private_version() -> u64 {
    PRIVATE_VERSION.fetch_add(1, Ordering::Relaxed)
}

/// Every object at one version.
#[derive(Clone, Debug)]
pub struct Catalog {
    pub(crate) version: u64,
    /// The number of the stored format.
    pub(crate) format: u32,
    pub(crate) next_id: Id,
    pub(crate) tables: Collection<Table>,
    pub(crate) views: Collection<View>,
    pub(crate) sequences: Collection<Sequence>,
    pub(crate) schemas: Collection<Schema>,
    pub(crate) databases: Collection<Database>,
    pub(crate) roles: Collection<Role>,
    pub(crate) enums: Collection<Enum>,
    pub(crate) domains: Collection<Domain>,
    pub(crate) routines: Collection<Routine>,
    pub(crate) composites: Collection<Composite>,
    /// The enums with their labels, as columns have them.
    pub(crate) enum_types: SharedMap<Id, Arc<EnumType>>,
    /// The tables, views and composite types with a column of an enum or of a row type with a name:
    /// the type's number and their ids.
    pub(crate) type_users: SharedMap<(u32, Id), ()>,
    /// What mentions what: the number of an object, and the id of one whose descriptor has it. See
    /// [`crate::Mentioning`].
    pub(crate) mentions: SharedMap<(Id, Id), ()>,
    /// The names of roles, databases, schemas, types and routines.
    pub(crate) object_names: ObjectNames,
    /// What the names in schemas stand for.
    pub(crate) names: SharedMap<(Id, Arc<str>), Named>,
    /// The tables of indexes and constraints, by the oids of these.
    pub(crate) owners: SharedMap<Id, Id>,
    /// The changes that have led to this version.
    pub(crate) changes: Arc<[Change]>,
    /// The shared estimates, for those who update them.
    pub statistics: Arc<Statistics>,
}

impl Catalog {
    /// A catalog without objects.
    pub(crate) fn empty(version: u64, next_id: Id, statistics: Arc<Statistics>) -> Self {
        // They are in every catalog and never stored.
        let (mut roles, mut object_names) = (Collection::default(), ObjectNames::default());
        for (id, name, member_of) in PREDEFINED {
            let member_of = member_of.to_vec();
            let role = Role { member_of, ..Role::new(*id, name) };
            roles.insert(Arc::new(role));
            object_names.learn((NameKind::Role, 0), name, *id);
        }
        Catalog {
            version,
            format: FIRST_FORMAT,
            next_id,
            tables: Collection::default(),
            views: Collection::default(),
            sequences: Collection::default(),
            schemas: Collection::default(),
            databases: Collection::default(),
            roles,
            enums: Collection::default(),
            domains: Collection::default(),
            routines: Collection::default(),
            composites: Collection::default(),
            enum_types: SharedMap::default(),
            type_users: SharedMap::default(),
            mentions: SharedMap::default(),
            object_names,
            names: SharedMap::default(),
            owners: SharedMap::default(),
            changes: Arc::default(),
            statistics,
        }
    }

    /// The version; a transaction's private catalog has one that no stored catalog ever has.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A table by id.
    pub fn table(&self, id: Id) -> Option<&Arc<Table>> {
        self.tables.get(id)
    }

    /// A database by id.
    pub fn database(&self, id: Id) -> Option<&Arc<Database>> {
        self.databases.get(id)
    }

    /// A role by id.
    pub fn role(&self, id: Id) -> Option<&Arc<Role>> {
        self.roles.get(id)
    }

    /// The tables.
    pub fn tables(&self) -> &Collection<Table> {
        &self.tables
    }

    /// The views.
    pub fn views(&self) -> &Collection<View> {
        &self.views
    }

    /// The sequences.
    pub fn sequences(&self) -> &Collection<Sequence> {
        &self.sequences
    }

    /// The schemas. The virtual ones (`pg_catalog` …) are not among them: see
    /// [`crate::virtual_schema`].
    pub fn schemas(&self) -> &Collection<Schema> {
        &self.schemas
    }

    /// The databases.
    pub fn databases(&self) -> &Collection<Database> {
        &self.databases
    }

    /// The roles.
    pub fn roles(&self) -> &Collection<Role> {
        &self.roles
    }

    /// The name of a role, or its number if it is gone.
    pub fn role_name(&self, id: Id) -> String {
        self.role(id).map_or_else(|| id.to_string(), |role| role.name.clone())
    }

    /// The name of a schema, or its number if it is gone.
    pub fn schema_name(&self, id: Id) -> String {
        self.schemas.get(id).map_or_else(|| id.to_string(), |schema| schema.name.clone())
    }

    /// The table of the index, constraint or other part with that oid.
    pub fn owner(&self, oid: Id) -> Option<&Arc<Table>> {
        self.tables.get(*self.owners.get(&oid)?)
    }

    /// The table and index with that index oid.
    pub fn index(&self, oid: Id) -> Option<(&Arc<Table>, &Index)> {
        let table = self.owner(oid)?;
        Some((table, table.all_indexes().find(|index| index.id == oid)?))
    }

    /// Estimates for a table as of now; defaults where nothing is known.
    pub fn statistics(&self, table: Id) -> TableStatistics {
        self.statistics.expected(table)
    }
}
