//! A transaction's private catalog: what its DDL has made of the stored one.
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
use crate::store::{Descriptor, FORMAT_VERSION, Meta, to_json};
use crate::system_keys::{descriptor_key, version_key};
use crate::{
    Catalog, CatalogCache, Database, Id, PendingChange, Role, Schema, Sequence, Table, View,
};

/// Versions of private catalogs; stored ones never get as far.
static PRIVATE_VERSION: AtomicU64 = AtomicU64::new(1 << 63);

/// A transaction's private catalog.
#[derive(Clone)]
pub struct Draft {
    base: Arc<Catalog>,
    current: Arc<Catalog>,
    changed: BTreeSet<Id>,
    emptied: BTreeSet<Id>,
}

impl Draft {
    /// A draft without changes over a stored catalog whose version key is locked
    /// ([`CatalogCache::draft`]).
    pub fn new(base: Arc<Catalog>) -> Self {
        Draft { current: base.clone(), base, changed: BTreeSet::new(), emptied: BTreeSet::new() }
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
        catalog.version = PRIVATE_VERSION.fetch_add(1, Ordering::Relaxed);
        catalog
    }

    /// A new id.
    pub fn allocate_id(&mut self) -> Id {
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
        self.edit(schema.id).insert_schema(Arc::new(schema));
    }

    /// Adds or replaces a database.
    pub fn put_database(&mut self, database: Database) {
        self.edit(database.id).insert_database(Arc::new(database));
    }

    /// Adds or replaces a role.
    pub fn put_role(&mut self, role: Role) {
        self.edit(role.id).insert_role(Arc::new(role));
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
        if !self.is_changed() {
            return Ok(None);
        }
        let catalog = &self.current;
        for id in &self.changed {
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
        let changes = followed_by(&self.base.changes, version, &self.changed);
        let meta = Meta { format: FORMAT_VERSION, version, next_id: catalog.next_id, changes };
        txn.put(seq, version_key(), to_json(&meta)?)?;
        for table in &self.emptied {
            cache.statistics().start_empty(*table);
        }
        let passing = |id: &Id| {
            let table = catalog.tables.get(id);
            table.is_some_and(|table| !table.primary.passing.is_empty() || table.vacated)
        };
        let leaves_keys = self.changed.iter().any(passing);
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
    }
}
