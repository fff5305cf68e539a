//! The catalog of an empty store: its first databases, schemas and role.

use std::sync::Arc;

use braid_kv::{Database as Kv, Result as KvResult, TxnOptions};

use crate::storage::stored::{Descriptor, FIRST_FORMAT, FIRST_ID, Meta, read_meta};
use crate::storage::system_keys::{descriptor_key, version_key};
use crate::{DEFAULT_DATABASE, Database, Id, ROOT, Role, Schema, TEMPLATE_DATABASE};
use braid_cluster::records::to_json;

/// Makes the catalog of an empty store; checks the format of one that is not.
/// True if the store was empty.
pub async fn bootstrap(kv: &Kv) -> KvResult<bool> {
    loop {
        match try_bootstrap(kv).await {
            // Another gateway does the same.
            Err(error) if error.is_retryable() => {}
            other => return other,
        }
    }
}

async fn try_bootstrap(kv: &Kv) -> KvResult<bool> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    if let Some(value) = txn.get(seq, &version_key()).await? {
        txn.rollback().await;
        return read_meta(Some(value)).map(|_| false);
    }
    for (id, descriptor) in first_descriptors() {
        txn.put(seq, descriptor_key(id), to_json(&descriptor)?)?;
    }
    let changes = Vec::new();
    let meta = Meta { format: FIRST_FORMAT, version: 1, next_id: FIRST_ID, changes };
    txn.put(seq, version_key(), to_json(&meta)?)?;
    txn.commit_or_error().await?;
    Ok(true)
}

/// `pg_database` numbers that PostgreSQL gives as well.
const POSTGRES_DATABASE: Id = 5;
const PUBLIC_SCHEMA: Id = 2200;
const POSTGRES_PUBLIC_SCHEMA: Id = 2201;
const TEMPLATE_PUBLIC_SCHEMA: Id = 2202;

fn first_descriptors() -> Vec<(Id, Descriptor)> {
    let mut root = Role::new(ROOT, "root");
    (root.superuser, root.login, root.create_db, root.create_role) = (true, true, true, true);
    let mut all = vec![(ROOT, Descriptor::Role(Arc::new(root)))];
    let databases = [
        (DEFAULT_DATABASE, "defaultdb", PUBLIC_SCHEMA),
        (POSTGRES_DATABASE, "postgres", POSTGRES_PUBLIC_SCHEMA),
        (TEMPLATE_DATABASE, "template1", TEMPLATE_PUBLIC_SCHEMA),
    ];
    for (id, name, public) in databases {
        let database = Database {
            id,
            name: name.to_owned(),
            owner: ROOT,
            grants: Database::first_grants(),
            settings: Vec::new(),
            default_privileges: Vec::new(),
            extensions: Vec::new(),
            connection_limit: None,
            refuses_connections: false,
            is_template: false,
            comment: None,
        };
        all.push((id, Descriptor::Database(Arc::new(database))));
        all.push((public, Descriptor::Schema(Arc::new(Schema::public(public, id)))));
    }
    all
}
