//! A transaction's private catalog: what its DDL has made of the stored one.
//!
//! One over temporary objects only needs no lock: it is not stored ([`crate::TemporaryObjects`]).
//!
//! Rules: nobody else sees it before the commit; its version is one that no stored catalog has,
//! so that plans made with it are never found by others; cloning it is cheap, which is how
//! savepoints keep it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_kv::{Result as KvResult, Seq, Transaction};

use crate::backfill::begun_or_ended;
use crate::changes::followed_by;
use crate::enums::uses_enum;
use crate::store::{Descriptor, FORMAT_VERSION, Meta, corrupt, to_json};
use crate::system_keys::{descriptor_key, version_key};
use crate::temporary::allocate_temporary;
use crate::{
    Catalog, CatalogCache, Database, Enum, FIRST_TEMPORARY, Id, PendingChange, Role, Schema,
    Sequence, Table, TemporaryObjects, View, is_temporary,
};

/// Versions of private catalogs; stored ones never get as far.
static PRIVATE_VERSION: AtomicU64 = AtomicU64::new(1 << 63);

/// A version that no other catalog has.
pub(crate) fn private_version() -> u64 {
    PRIVATE_VERSION.fetch_add(1, Ordering::Relaxed)
}

/// A transaction's private catalog.
#[derive(Clone)]
pub struct Draft {
    base: Arc<Catalog>,
    current: Arc<Catalog>,
    changed: BTreeSet<Id>,
    emptied: BTreeSet<Id>,
    /// Whether the stored catalog is locked, so that its objects may be changed.
    locked: bool,
    /// Whether it knows the session's temporary objects.
    temporary: bool,
}

impl Draft {
    /// A draft without changes over a stored catalog whose version key is locked
    /// ([`CatalogCache::draft`]).
    pub fn new(base: Arc<Catalog>) -> Self {
        let (changed, emptied) = (BTreeSet::new(), BTreeSet::new());
        Draft { current: base.clone(), base, changed, emptied, locked: true, temporary: false }
    }

    /// A draft in which only temporary objects may be changed. Nothing is locked for it.
    pub fn of_temporary(catalog: Arc<Catalog>) -> Self {
        Draft { locked: false, temporary: true, ..Draft::new(catalog) }
    }

    /// Whether every object may be changed.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Lays the temporary objects of `known` over this draft, which has no changes yet.
    pub fn with_temporary_of(mut self, known: &Catalog) -> Self {
        self.current = self.current.with_temporary(&known.temporary_objects());
        self.temporary = true;
        self
    }

    /// Whether it knows the session's temporary objects. One that is opened for a change in a
    /// transaction beside the session's does not.
    pub fn has_temporary(&self) -> bool {
        self.temporary
    }

    /// Takes the rows of emptied tables over from a draft of temporary objects.
    pub fn with_emptied_of(mut self, before: &Draft) -> Self {
        self.emptied.extend(&before.emptied);
        self
    }

    /// Moves a draft of temporary objects to another version of the stored catalog.
    pub fn rebase(&mut self, base: &Arc<Catalog>) {
        if !self.locked && !Arc::ptr_eq(&self.base, base) {
            self.current = base.with_temporary(&self.current.temporary_objects());
            self.base = base.clone();
        }
    }

    /// The temporary schema, made now if the session has none yet.
    pub fn temporary_schema(&mut self, database: Id, session: i32) -> Arc<Schema> {
        if let Some(schema) = self.current.temporary_schema() {
            return schema.clone();
        }
        let schema = Arc::new(Schema::temporary(database, session));
        self.edit(schema.id).insert_schema(schema.clone());
        schema
    }

    /// Removes every temporary object.
    pub fn drop_temporary(&mut self) -> TemporaryObjects {
        let objects = self.current.temporary_objects();
        objects.views().iter().for_each(|view| self.drop_view(view.id));
        objects.tables().iter().for_each(|table| self.drop_table(table.id));
        objects.sequences().iter().for_each(|sequence| self.drop_sequence(sequence.id));
        objects
    }

    /// The stored catalog that the changes are made to.
    pub fn base(&self) -> &Arc<Catalog> {
        &self.base
    }

    /// The catalog with the changes so far.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.current
    }

    /// Whether anything was changed.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    fn edit(&mut self, id: Id) -> &mut Catalog {
        self.changed.insert(id);
        let catalog = Arc::make_mut(&mut self.current);
        catalog.version = private_version();
        catalog
    }

    /// A new id for something that is part of `owner`: a table of that schema, an index of that
    /// table. 0 for what is part of nothing.
    pub fn allocate_id(&mut self, owner: Id) -> Id {
        if is_temporary(owner) {
            return allocate_temporary();
        }
        let catalog = Arc::make_mut(&mut self.current);
        let id = catalog.next_id;
        catalog.next_id += 1;
        id
    }

    /// Adds or replaces a table.
    pub fn put_table(&mut self, mut table: Table) {
        table.forget_key_exprs();
        if self.current.table(table.id).is_none() {
            self.emptied.insert(table.id);
        }
        self.edit(table.id).insert_table(Arc::new(table));
    }

    /// Whether a table was made or emptied in this draft.
    pub fn is_emptied(&self, table: Id) -> bool {
        self.emptied.contains(&table)
    }

    /// Says that a table has no rows now (TRUNCATE), for its estimates.
    pub fn note_emptied(&mut self, table: Id) {
        self.emptied.insert(table);
    }

    /// Adds or replaces a view.
    pub fn put_view(&mut self, view: View) {
        self.edit(view.id).insert_view(Arc::new(view));
    }

    /// Adds or replaces a sequence.
    pub fn put_sequence(&mut self, sequence: Sequence) {
        self.edit(sequence.id).insert_sequence(Arc::new(sequence));
    }

    /// Adds or replaces a schema.
    pub fn put_schema(&mut self, schema: Schema) {
        let catalog = self.edit(schema.id);
        catalog.insert_schema(Arc::new(schema));
        catalog.settle_enums();
    }

    /// Adds or replaces a database.
    pub fn put_database(&mut self, database: Database) {
        self.edit(database.id).insert_database(Arc::new(database));
    }

    /// Adds or replaces a role.
    pub fn put_role(&mut self, role: Role) {
        self.edit(role.id).insert_role(Arc::new(role));
    }

    /// Adds or replaces an enum. The tables that use it are stored again: what was planned with
    /// the old one cannot commit.
    pub fn put_enum(&mut self, found: Enum) {
        let id = found.id;
        let users = self.current.tables().filter(|table| uses_enum(table, id));
        let users: Vec<Id> = users.map(|table| table.id).collect();
        self.changed.extend(users);
        let catalog = self.edit(id);
        catalog.insert_enum(Arc::new(found));
        catalog.settle_enums();
    }

    /// Whether an enum was made in this draft.
    pub fn is_new_enum(&self, id: Id) -> bool {
        self.base.enum_by_id(id).is_none()
    }

    /// Removes an enum; its columns are the caller's business.
    pub fn drop_enum(&mut self, id: Id) {
        self.edit(id).remove_enum(id);
    }

    /// Removes a table's descriptor; its rows and dependents are the caller's business.
    pub fn drop_table(&mut self, id: Id) {
        self.edit(id).remove_table(id);
    }

    /// Removes a view.
    pub fn drop_view(&mut self, id: Id) {
        self.edit(id).remove_view(id);
    }

    /// Removes a sequence.
    pub fn drop_sequence(&mut self, id: Id) {
        self.edit(id).remove_sequence(id);
    }

    /// Removes a schema.
    pub fn drop_schema(&mut self, id: Id) {
        self.edit(id).remove_schema(id);
    }

    /// Removes a database.
    pub fn drop_database(&mut self, id: Id) {
        self.edit(id).remove_database(id);
    }

    /// Removes a role.
    pub fn drop_role(&mut self, id: Id) {
        self.edit(id).remove_role(id);
    }

    /// [`Draft::flush`], and the commit of a transaction that has nothing else to do.
    pub async fn commit(
        &self,
        cache: &Arc<CatalogCache>,
        txn: &Arc<Transaction>,
        seq: Seq,
    ) -> KvResult<()> {
        let _pending = self.flush(cache, txn, seq).await?;
        txn.commit_or_error().await.map(drop)
    }

    /// Writes every changed descriptor and the next version into the transaction, which is about
    /// to commit. Waits until every gateway minds the change. Keep the result until the outcome is
    /// known; `None` if nothing was changed.
    pub async fn flush(
        &self,
        cache: &Arc<CatalogCache>,
        txn: &Arc<Transaction>,
        seq: Seq,
    ) -> KvResult<Option<PendingChange>> {
        for table in self.emptied.iter().filter(|id| self.current.tables.get(id).is_some()) {
            cache.statistics().start_empty(*table);
        }
        let changed: BTreeSet<Id> =
            self.changed.iter().copied().filter(|id| !is_temporary(*id)).collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let catalog = &self.current;
        if !self.locked || catalog.next_id >= FIRST_TEMPORARY {
            return Err(corrupt("the catalog was changed without its lock, or has no ids left"));
        }
        for id in &changed {
            match self.descriptor(*id) {
                Some(descriptor) => txn.put(seq, descriptor_key(*id), to_json(&descriptor)?)?,
                None => txn.delete(seq, descriptor_key(*id))?,
            }
            let (before, after) = (self.base.table(*id), catalog.table(*id));
            for backfill in begun_or_ended(before.map(|t| &**t), after.map(|t| &**t)) {
                backfill.forget(txn, seq)?;
            }
        }
        let version = self.next_version();
        let changes = followed_by(&self.base.changes, version, &changed);
        let meta = Meta { format: FORMAT_VERSION, version, next_id: catalog.next_id, changes };
        txn.put(seq, version_key(), to_json(&meta)?)?;
        let passing = |id: &Id| {
            let table = catalog.tables.get(id);
            table.is_some_and(|table| !table.primary.passing.is_empty() || table.vacated)
        };
        let leaves_keys = changed.iter().any(passing);
        let pending = cache.announce().await?.leaves_keys(leaves_keys);
        if let Some(fence) = pending.fence() {
            txn.set_fence(fence);
        }
        Ok(Some(pending))
    }

    /// The version that the commit makes.
    fn next_version(&self) -> u64 {
        self.base.version + 1
    }

    fn descriptor(&self, id: Id) -> Option<Descriptor> {
        let catalog = &self.current;
        let table = catalog.tables.get(&id).map(|table| {
            let version = self.next_version();
            Descriptor::Table(Arc::new(Table { version, ..Table::clone(table) }))
        });
        table
            .or_else(|| catalog.views.get(&id).cloned().map(Descriptor::View))
            .or_else(|| catalog.sequences.get(&id).cloned().map(Descriptor::Sequence))
            .or_else(|| catalog.schemas.get(&id).cloned().map(Descriptor::Schema))
            .or_else(|| catalog.databases.get(&id).cloned().map(Descriptor::Database))
            .or_else(|| catalog.roles.get(&id).cloned().map(Descriptor::Role))
            .or_else(|| catalog.enums.get(&id).cloned().map(Descriptor::Enum))
    }
}
