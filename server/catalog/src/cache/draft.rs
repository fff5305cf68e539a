//! A transaction's private catalog: what its DDL has made of the stored one.
//!
//! One over temporary objects only needs no lock: it is not stored ([`crate::TemporaryObjects`]).
//!
//! Rules: nobody else sees it before the commit; its version is one that no stored catalog has,
//! so that plans made with it are never found by others; cloning it is cheap, which is how
//! savepoints keep it.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_kv::{LockRequest, Record, Result as KvResult, Seq, Transaction};

use super::changes::followed_by;
use super::shared_map::SharedMap;
use crate::catalog::private_version;
use crate::edit::CatalogEdit;
use crate::storage::begun_or_ended;
use crate::storage::stored::{FORMAT_VERSION, Meta, read_meta};
use crate::storage::system_keys::{descriptor_key, statistics_key, version_key};
use crate::temporary::allocate_temporary;
use crate::{
    Catalog, CatalogCache, Changes, Descriptor, FIRST_TEMPORARY, Id, Index, PendingChange, Schema,
    Table, TemporaryObjects, is_temporary,
};
use braid_cluster::records::{corrupt, to_json};
use braid_types::sql_type::row_type_oid;

/// A transaction's private catalog.
#[derive(Clone)]
pub struct Draft {
    base: Arc<Catalog>,
    current: Arc<Catalog>,
    changed: SharedMap<Id, ()>,
    emptied: SharedMap<Id, Changes>,
    /// Whether the stored catalog is locked, so that its objects may be changed.
    locked: bool,
    /// Whether it knows the session's temporary objects.
    temporary: bool,
}

impl Draft {
    /// A draft without changes over a stored catalog whose version key is locked
    /// ([`CatalogCache::draft`]).
    pub fn new(base: Arc<Catalog>) -> Self {
        let (changed, emptied) = (SharedMap::default(), SharedMap::default());
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
        before.emptied.iter().for_each(|(table, counted)| {
            self.emptied.insert(*table, *counted);
        });
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
        let mut edit = self.edit(schema.id);
        edit.put(Descriptor::Schema(schema.clone()));
        edit.settle();
        schema
    }

    /// Removes every temporary object.
    pub fn drop_temporary(&mut self) -> TemporaryObjects {
        let objects = self.current.temporary_objects();
        objects.views().iter().for_each(|view| self.remove(view.id));
        objects.tables().iter().for_each(|table| self.remove(table.id));
        objects.sequences().iter().for_each(|sequence| self.remove(sequence.id));
        objects.routines().iter().for_each(|routine| self.remove(routine.id));
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
        self.changed.iter().next().is_some()
    }

    /// The private catalog, for a change of the object with that id.
    fn edit(&mut self, id: Id) -> CatalogEdit<'_> {
        self.changed.insert(id, ());
        let catalog = Arc::make_mut(&mut self.current);
        catalog.version = private_version();
        CatalogEdit::new(catalog)
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

    /// Adds or replaces an object. The tables that use a changed enum, domain or row type are
    /// stored again: what was planned with the old one cannot commit.
    pub fn put(&mut self, object: impl Into<Descriptor>) {
        let mut descriptor = object.into();
        match &mut descriptor {
            Descriptor::Table(table) => {
                Arc::make_mut(table).forget_key_exprs();
                if self.current.table(table.id).is_none() {
                    self.emptied.insert(table.id, Changes::default());
                }
                let users = self.current.names().row_types().users(row_type_oid(table.id));
                users.into_iter().for_each(|table| _ = self.changed.insert(table, ()));
            }
            Descriptor::Enum(found) => {
                let current = self.current.clone();
                let tables = current.names().row_types().users(found.id);
                tables.into_iter().for_each(|table| _ = self.changed.insert(table, ()));
            }
            Descriptor::Composite(found) => {
                let tables = self.current.names().row_types().users(row_type_oid(found.id));
                tables.into_iter().for_each(|table| _ = self.changed.insert(table, ()));
            }
            Descriptor::Domain(found) => {
                let current = self.current.clone();
                let tables = current.domains().users(found.id);
                tables.for_each(|table| _ = self.changed.insert(table.id, ()));
            }
            _ => {}
        }
        let mut edit = self.edit(descriptor.id());
        edit.put(descriptor);
        edit.settle();
    }

    /// Removes the descriptor of an object. A table's rows and dependents, and the columns of an
    /// enum, are the caller's business.
    pub fn remove(&mut self, id: Id) {
        let mut edit = self.edit(id);
        edit.remove(id);
        edit.settle();
    }

    /// Whether a table was made or emptied in this draft.
    pub fn is_emptied(&self, table: Id) -> bool {
        self.emptied.get(&table).is_some()
    }

    /// Says that a table has no rows now (TRUNCATE), for its estimates.
    pub fn note_emptied(&mut self, table: Id) {
        let counted = self.current.statistics.counted(table);
        self.emptied.insert(table, counted);
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
    /// to commit. Waits until every gateway heeds the change. Keep the result until the outcome is
    /// known; `None` if nothing was changed.
    pub async fn flush(
        &self,
        cache: &Arc<CatalogCache>,
        txn: &Arc<Transaction>,
        seq: Seq,
    ) -> KvResult<Option<PendingChange>> {
        for (table, counted) in self.emptied.iter() {
            if self.current.table(*table).is_some() {
                cache.statistics().start_empty(*table, *counted);
            }
        }
        let changed: BTreeSet<Id> =
            self.changed.iter().map(|(id, ())| *id).filter(|id| !is_temporary(*id)).collect();
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
                None => {
                    txn.delete(seq, descriptor_key(*id))?;
                    if self.base.table(*id).is_some() {
                        txn.delete(seq, statistics_key(*id))?;
                    }
                }
            }
            let (before, after) = (self.base.table(*id), catalog.table(*id));
            for backfill in begun_or_ended(before.map(|t| &**t), after.map(|t| &**t)) {
                backfill.forget(txn, seq)?;
            }
        }
        let version = self.next_version();
        let changes = followed_by(&self.base.changes, version, &changed);
        let mut tables = changed.iter().filter_map(|id| catalog.table(*id));
        let is_new = tables.any(|table| table.indexes.iter().any(Index::is_inverted));
        let format = if is_new { FORMAT_VERSION } else { catalog.format };
        let meta = Meta { format, version, next_id: catalog.next_id, changes };
        txn.put(seq, version_key(), to_json(&meta)?)?;
        let passing = |id: &Id| {
            let table = catalog.table(*id);
            table.is_some_and(|table| !table.primary.passing.is_empty() || table.vacated)
        };
        let leaves_keys = changed.iter().any(passing);
        let pending = cache.announce().await?.leaves_keys(leaves_keys);
        if let Some(fence) = pending.fence() {
            txn.commit_terms().set_fence(fence);
        }
        Ok(Some(pending))
    }

    /// The version that the commit makes.
    fn next_version(&self) -> u64 {
        self.base.version + 1
    }

    fn descriptor(&self, id: Id) -> Option<Descriptor> {
        let catalog = &self.current;
        let table = catalog.tables.get(id).map(|table| {
            let version = self.next_version();
            Descriptor::Table(Arc::new(Table { version, ..Table::clone(table) }))
        });
        table
            .or_else(|| catalog.views.get(id).cloned().map(Descriptor::View))
            .or_else(|| catalog.sequences.get(id).cloned().map(Descriptor::Sequence))
            .or_else(|| catalog.schemas.get(id).cloned().map(Descriptor::Schema))
            .or_else(|| catalog.databases.get(id).cloned().map(Descriptor::Database))
            .or_else(|| catalog.roles.get(id).cloned().map(Descriptor::Role))
            .or_else(|| catalog.enums.get(id).cloned().map(Descriptor::Enum))
            .or_else(|| catalog.domains.get(id).cloned().map(Descriptor::Domain))
            .or_else(|| catalog.routines.get(id).cloned().map(Descriptor::Routine))
            .or_else(|| catalog.composites.get(id).cloned().map(Descriptor::Composite))
    }
}

impl CatalogCache {
    /// Locks the catalog's version, so that changes of it queue, and opens a private catalog over
    /// what then stands.
    pub async fn draft(&self, txn: &Arc<Transaction>, seq: Seq) -> KvResult<Draft> {
        let request = LockRequest::keys(vec![version_key()]);
        txn.lock(seq, request).await?;
        let value = txn.reads().get_recorded(seq, &version_key(), Record::Never).await?;
        let base = self.locked_version(txn, read_meta(value)?).await?;
        Ok(Draft::new(base))
    }
}
