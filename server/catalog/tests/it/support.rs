//! A catalog in an embedded store, and objects for it. The crate `system-views` uses it as well.

#![allow(clippy::unwrap_used, dead_code)]

use std::path::Path;
use std::sync::Arc;

use braid_catalog::*;
use braid_kv::{Database as Kv, DatabaseOptions, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use braid_types::SqlType;

pub(crate) fn open(path: &Path) -> Kv {
    let store = EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap();
    Kv::new(Arc::new(store), DatabaseOptions::default())
}

pub(crate) fn path_of(schemas: &[&str]) -> SearchPath {
    let mut path = SearchPath::new(DEFAULT_DATABASE, "defaultdb", "root");
    path.schemas = schemas.iter().map(|schema| (*schema).to_owned()).collect();
    path
}

pub(crate) fn column(id: ColumnId, name: &str, ty: SqlType) -> Column {
    Column {
        id,
        name: name.to_owned(),
        ty,
        modifier: None,
        more_dimensions: 0,
        domain: None,
        collation: None,
        nullable: id != 1,
        default: None,
        generated: None,
        identity: None,
        owned_sequence: None,
        family: 0,
        is_key_expr: false,
        hidden: false,
        missing: None,
        statistics_target: None,
        storage: None,
        grants: Vec::new(),
        comment: Some("a column".to_owned()),
    }
}

pub(crate) fn index(id: Id, number: IndexNumber, name: &str, column: ColumnId) -> Index {
    Index {
        id,
        number,
        unique: number == 1,
        deferrable: false,
        initially_deferred: false,
        nulls_not_distinct: number == 2,
        constraint: (number == 1).then_some(id + 1),
        keys: vec![IndexKey { descending: number == 2, ..IndexKey::plain(column) }],
        storing: if number == 2 { vec![1] } else { vec![] },
        predicate: (number == 2).then(|| StoredExpr::Written("b > 0".to_owned())),
        ..Index::plain(number, name)
    }
}

pub(crate) fn table(draft: &mut Draft, name: &str) -> Table {
    let schema = draft.catalog().names().schema(DEFAULT_DATABASE, "public").unwrap().id;
    let id = draft.allocate_id(0);
    let (primary, second) = (draft.allocate_id(0), draft.allocate_id(0) + 1);
    draft.allocate_id(0);
    let check = draft.allocate_id(0);
    Table {
        id,
        data_id: id,
        version: 0,
        database: DEFAULT_DATABASE,
        schema,
        name: name.to_owned(),
        owner: ROOT,
        unlogged: false,
        replica_identity: ReplicaIdentity::Default,
        clustered_on: None,
        on_commit: OnCommit::Preserve,
        columns: vec![column(1, "a", SqlType::Int8), column(2, "b", SqlType::Varchar(Some(5)))],
        next_column: 3,
        primary: index(primary, 1, &format!("{name}_pkey"), 1),
        indexes: vec![index(second, 2, &format!("{name}_b_idx"), 2)],
        next_index: 3,
        families: vec![Family { id: 0, name: "primary".to_owned() }],
        next_family: 1,
        checks: vec![Check {
            no_inherit: false,
            validated: true,
            id: check,
            name: format!("{name}_a_check"),
            expr: StoredExpr::Written("a > 0".to_owned()),
            columns: vec![1],
            comment: None,
        }],
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        moving: None,
        vacated: false,
        closed_by: None,
        materialized: None,
        partitioning: None,
        partition_of: None,
        triggers: Vec::new(),
        key_triggers: braid_catalog::TriggerState::Origin,
        security: Default::default(),
        options: Vec::new(),
        statistics: Vec::new(),
        grants: vec![Grant {
            role: PUBLIC,
            privileges: vec!["SELECT".to_owned()],
            grant_option: false,
            grantor: None,
        }],
        comment: Some("a table".to_owned()),
    }
}

pub(crate) fn sequence(draft: &mut Draft, name: &str) -> Sequence {
    let schema = draft.catalog().names().schema(DEFAULT_DATABASE, "public").unwrap().id;
    Sequence {
        id: draft.allocate_id(0),
        database: DEFAULT_DATABASE,
        schema,
        name: name.to_owned(),
        owner: ROOT,
        ty: SqlType::Int8,
        start: 1,
        increment: 1,
        min: 1,
        max: 100_000,
        cache: 1,
        cycle: false,
        counter: fresh_counter(),
        first: 1,
        owned_by: None,
        unlogged: false,
        grants: Vec::new(),
        comment: None,
    }
}

/// Runs `change` on a draft and commits it.
pub(crate) async fn change(kv: &Kv, cache: &Arc<CatalogCache>, change: impl FnOnce(&mut Draft)) {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.unwrap();
    change(&mut draft);
    let pending = draft.flush(cache, &txn, txn.next_statement()).await.unwrap();
    txn.commit_or_error().await.unwrap();
    drop(pending);
}

pub(crate) async fn current(kv: &Kv, cache: &Arc<CatalogCache>) -> Arc<Catalog> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let catalog = cache.at(&txn, seq).await.unwrap();
    txn.rollback().await;
    catalog
}
