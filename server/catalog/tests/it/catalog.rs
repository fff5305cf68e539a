//! Catalogs in a real store: bootstrap, drafts, versions, sequences, and every catalog view.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_builtins::{Environment, Lookup};
use braid_catalog::*;
use braid_kv::{Database as Kv, DatabaseOptions, Span, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use braid_types::{Datum, FormatSettings, SqlState, SqlType};

fn open(path: &Path) -> Kv {
    let store = EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap();
    Kv::new(Arc::new(store), DatabaseOptions::default())
}

fn path_of(schemas: &[&str]) -> SearchPath {
    let mut path = SearchPath::new(DEFAULT_DATABASE, "defaultdb", "root");
    path.schemas = schemas.iter().map(|schema| (*schema).to_owned()).collect();
    path
}

fn column(id: ColumnId, name: &str, ty: SqlType) -> Column {
    Column {
        id,
        name: name.to_owned(),
        ty,
        modifier: None,
        more_dimensions: 0,
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
        comment: Some("a column".to_owned()),
    }
}

fn index(id: Id, number: IndexNumber, name: &str, column: ColumnId) -> Index {
    Index {
        id,
        number,
        name: name.to_owned(),
        unique: number == 1,
        constraint: (number == 1).then_some(id + 1),
        keys: vec![IndexKey { column, descending: number == 2, nulls_opposed: false }],
        storing: if number == 2 { vec![1] } else { vec![] },
        predicate: (number == 2).then(|| StoredExpr::Written("b > 0".to_owned())),
        state: IndexState::Public,
        builder: None,
        replaces: None,
        interleaving: None,
        below: Vec::new(),
        passing: Vec::new(),
        comment: None,
    }
}

fn table(draft: &mut Draft, name: &str) -> Table {
    let schema = draft.catalog().schema_by_name(DEFAULT_DATABASE, "public").unwrap().id;
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
        on_commit: OnCommit::Preserve,
        columns: vec![column(1, "a", SqlType::Int8), column(2, "b", SqlType::Varchar(Some(5)))],
        next_column: 3,
        primary: index(primary, 1, &format!("{name}_pkey"), 1),
        indexes: vec![index(second, 2, &format!("{name}_b_idx"), 2)],
        next_index: 3,
        families: vec![Family { id: 0, name: "primary".to_owned() }],
        next_family: 1,
        checks: vec![Check {
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
        grants: vec![Grant {
            role: PUBLIC,
            privileges: vec!["SELECT".to_owned()],
            grant_option: false,
        }],
        comment: Some("a table".to_owned()),
    }
}

fn sequence(draft: &mut Draft, name: &str) -> Sequence {
    let schema = draft.catalog().schema_by_name(DEFAULT_DATABASE, "public").unwrap().id;
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
        grants: Vec::new(),
        comment: None,
    }
}

/// Runs `change` on a draft and commits it.
async fn change(kv: &Kv, cache: &Arc<CatalogCache>, change: impl FnOnce(&mut Draft)) {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.unwrap();
    change(&mut draft);
    let pending = draft.flush(cache, &txn, txn.next_statement()).await.unwrap();
    txn.commit_or_error().await.unwrap();
    drop(pending);
}

async fn current(kv: &Kv, cache: &Arc<CatalogCache>) -> Arc<Catalog> {
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let catalog = cache.at(&txn, seq).await.unwrap();
    txn.rollback().await;
    catalog
}

#[tokio::test]
async fn an_empty_store_gets_a_catalog_once() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    assert!(bootstrap(&kv).await.unwrap());
    assert!(!bootstrap(&kv).await.unwrap());
    let catalog = current(&kv, &CatalogCache::new()).await;
    assert!(catalog.role_by_name("root").unwrap().superuser);
    assert_eq!(catalog.database_by_name("defaultdb").unwrap().id, DEFAULT_DATABASE);
    assert!(catalog.schema_by_name(DEFAULT_DATABASE, "public").is_some());
}

/// A change is read as it is, whatever else there is; what is made of it is what is stored.
#[tokio::test]
async fn a_change_costs_the_same_in_a_large_catalog() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    current(&kv, &cache).await;
    let mut costs = BTreeSet::new();
    for i in 0..300 {
        let before = cache.descriptors_read();
        change(&kv, &cache, |draft| {
            let table = table(draft, &format!("t{i}"));
            draft.put_table(table);
        })
        .await;
        current(&kv, &cache).await;
        costs.insert(cache.descriptors_read() - before);
    }
    assert_eq!(costs, BTreeSet::from([1]));
    change(&kv, &cache, |draft| {
        let public = draft.catalog().schema_by_name(DEFAULT_DATABASE, "public").unwrap().id;
        let id_of = |draft: &Draft, name: &str| match draft.catalog().named(public, name) {
            Some(Named::Table(id)) => id,
            other => panic!("{name} is {other:?}"),
        };
        let (gone, one, two) = (id_of(draft, "t7"), id_of(draft, "t8"), id_of(draft, "t9"));
        draft.drop_table(gone);
        // Two tables change their names with each other.
        for (id, name) in [(one, "t9"), (two, "t8")] {
            let mut table = Table::clone(draft.catalog().table(id).unwrap());
            table.name = name.to_owned();
            draft.put_table(table);
        }
        let sequence = sequence(draft, "t7");
        draft.put_sequence(sequence);
    })
    .await;
    let followed = current(&kv, &cache).await;
    let loaded = current(&kv, &CatalogCache::new()).await;
    let public = loaded.schema_by_name(DEFAULT_DATABASE, "public").unwrap().id;
    let names = |catalog: &Catalog| -> Vec<(String, Named)> {
        catalog.names_of(public).map(|(name, named)| (name.to_owned(), named)).collect()
    };
    assert_eq!(names(&followed), names(&loaded));
    assert_eq!(followed.version(), loaded.version());
    let tables = |catalog: &Catalog| -> Vec<String> {
        catalog.tables().map(|table| format!("{table:?}")).collect()
    };
    assert_eq!(tables(&followed), tables(&loaded));
    assert_eq!(followed.sequences().count(), 1);
}

#[tokio::test]
async fn what_is_noted_of_a_backfill_goes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    let mut id = 0;
    change(&kv, &cache, |draft| {
        let mut table = table(draft, "t");
        table.indexes[0].state = IndexState::Building;
        id = table.id;
        draft.put_table(table);
    })
    .await;
    let whole = table_span(id);
    let backfill = Backfill { table: id, index: 2 };
    let rest = async || {
        let txn = kv.begin(TxnOptions::default());
        let rest = backfill.rest(&txn, txn.next_statement(), &whole).await.unwrap();
        txn.rollback().await;
        rest.map(|rest| rest.start)
    };
    let note = async |start: &Vec<u8>| {
        let txn = kv.begin(TxnOptions::default());
        let left = Span::new(start.clone(), whole.end.clone());
        backfill.note(&txn, txn.next_statement(), &left).unwrap();
        txn.commit_or_error().await.unwrap();
    };
    let edit = async |state: IndexState, comment: &str| {
        change(&kv, &cache, |draft| {
            let mut table = Table::clone(draft.catalog().table(id).unwrap());
            (table.comment, table.indexes[0].state) = (Some(comment.to_owned()), state);
            draft.put_table(table);
        })
        .await;
    };
    assert_eq!(rest().await, None);
    let half = [whole.start.as_slice(), b"half"].concat();
    note(&half).await;
    edit(IndexState::Building, "another change").await;
    assert_eq!(rest().await, Some(half.clone()));
    edit(IndexState::Public, "done").await;
    assert_eq!(rest().await, None);
    note(&half).await;
    edit(IndexState::Building, "begun anew").await;
    assert_eq!(rest().await, None);
    // The rows were written anew elsewhere.
    note(&table_span(id + 1).start).await;
    assert_eq!(rest().await, None);
}

#[tokio::test]
async fn changes_show_after_the_commit_and_old_snapshots_keep_theirs() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    let before = current(&kv, &cache).await;
    let old = kv.begin(TxnOptions::default());
    let old_seq = old.next_statement();
    assert_eq!(cache.at(&old, old_seq).await.unwrap().version(), before.version());

    change(&kv, &cache, |draft| {
        let new = table(draft, "t");
        draft.put_table(new);
        assert!(draft.catalog().version() > u64::MAX / 2);
    })
    .await;
    let after = current(&kv, &cache).await;
    assert_eq!(after.version(), before.version() + 1);
    assert_eq!(cache.at(&old, old_seq).await.unwrap().version(), before.version());
    let path = path_of(&["$user", "public"]);
    let name = |name: &str| after.resolve(&path, &[name.to_owned()]).unwrap();
    assert!(matches!(name("t"), Some(Relation::Table(_))));
    assert!(matches!(name("t_b_idx"), Some(Relation::Index(_, 2))));
    assert!(matches!(name("pg_class"), Some(Relation::Virtual(_))));
    assert!(name("nothing").is_none());
    // Asked again, the answer comes without a read of the store.
    let txn = kv.begin(TxnOptions::default());
    cache.at(&txn, txn.next_statement()).await.unwrap();
    cache.at(&txn, txn.next_statement()).await.unwrap();
    let fresh = kv.begin(TxnOptions::default());
    cache.at(&fresh, fresh.next_statement()).await.unwrap();
    assert_eq!(fresh.round_trips(), 0);
}

#[tokio::test]
async fn a_rolled_back_draft_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    let txn = kv.begin(TxnOptions::default());
    let seq = txn.next_statement();
    let mut draft = cache.draft(&txn, seq).await.unwrap();
    let saved = draft.clone();
    let new = table(&mut draft, "t");
    draft.put_table(new);
    assert!(draft.is_changed());
    assert!(!saved.is_changed());
    txn.rollback().await;
    assert_eq!(current(&kv, &cache).await.tables().count(), 0);
}

#[tokio::test]
async fn names_with_databases_and_too_many_parts() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let catalog = current(&kv, &CatalogCache::new()).await;
    let path = path_of(&["public"]);
    let parts = |name: &str| name.split('.').map(str::to_owned).collect::<Vec<_>>();
    let foreign = catalog.resolve(&path, &parts("other.public.t")).err().unwrap();
    assert_eq!(foreign.state(), SqlState::FeatureNotSupported);
    let long = catalog.resolve(&path, &parts("a.b.c.d")).err().unwrap();
    assert_eq!(long.state(), SqlState::SyntaxError);
    assert!(catalog.resolve(&path, &parts("defaultdb.pg_catalog.pg_type")).unwrap().is_some());
}

#[tokio::test]
async fn privileges_of_owners_public_and_members() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    let (mut user, mut group) = (0, 0);
    change(&kv, &cache, |draft| {
        group = draft.allocate_id(0);
        draft.put_role(Role::new(group, "g"));
        user = draft.allocate_id(0);
        let mut role = Role::new(user, "u");
        role.member_of = vec![group];
        draft.put_role(role);
        let mut new = table(draft, "t");
        new.grants.push(Grant {
            role: group,
            privileges: vec!["INSERT".to_owned()],
            grant_option: false,
        });
        draft.put_table(new);
    })
    .await;
    let catalog = current(&kv, &cache).await;
    let table = catalog.tables().next().unwrap();
    let object = Object::Table(table);
    assert!(catalog.check(user, object, "SELECT").is_ok());
    assert!(catalog.check(user, object, "INSERT").is_ok());
    let denied = catalog.check(user, object, "DELETE").unwrap_err();
    assert_eq!(denied.message(), "permission denied for table t");
    assert!(catalog.check(ROOT, object, "DELETE").is_ok());
    assert!(catalog.check_owner(user, object).is_err());
    let acl = catalog.acl(object).unwrap();
    assert_eq!(acl, ["root=arwdDxt/root", "=r/root", "g=a/root"]);
}

#[tokio::test]
async fn a_failed_sync_of_a_sequence_is_no_unknown_commit() {
    let dir = tempfile::tempdir().unwrap();
    let fails = Arc::new(AtomicBool::new(false));
    let options = EmbeddedOptions { fail_syncs: Some(fails.clone()), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(dir.path(), options).unwrap();
    let kv = Kv::new(Arc::new(store), DatabaseOptions::default());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    let txn = kv.begin(TxnOptions::default());
    let mut draft = cache.draft(&txn, txn.next_statement()).await.unwrap();
    let sequence = sequence(&mut draft, "s");
    fails.store(true, Ordering::Relaxed);
    let refused = Sequences::new(kv.clone()).nextval(&sequence).await;
    let stopped = matches!(&refused, Err(SequenceError::Kv(braid_kv::Error::Stopped(_))));
    assert!(stopped, "{refused:?}");
}

#[tokio::test]
async fn sequences_never_give_a_value_twice() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    change(&kv, &cache, |draft| {
        let new = sequence(draft, "s");
        draft.put_sequence(new);
    })
    .await;
    let sequence = current(&kv, &cache).await.sequences().next().unwrap().clone();
    // Two processes over one store, and a third after a restart.
    let (one, two) = (Sequences::new(kv.clone()), Sequences::new(kv.clone()));
    let mut seen = BTreeSet::new();
    assert_eq!(one.nextval(&sequence).await.unwrap(), 1);
    seen.insert(1);
    for _ in 0..100 {
        assert!(seen.insert(one.nextval(&sequence).await.unwrap()));
        assert!(seen.insert(two.nextval(&sequence).await.unwrap()));
    }
    kv.close().await.unwrap();
    drop((one, two, kv, cache));
    let kv = open(dir.path());
    let three = Sequences::new(kv.clone());
    for _ in 0..100 {
        assert!(seen.insert(three.nextval(&sequence).await.unwrap()));
    }
    three.setval(&sequence, 7, true).await.unwrap();
    assert_eq!(three.nextval(&sequence).await.unwrap(), 8);
    three.setval(&sequence, 7, false).await.unwrap();
    assert_eq!(three.nextval(&sequence).await.unwrap(), 7);
    three.setval(&sequence, 100_000, true).await.unwrap();
    let error = three.nextval(&sequence).await.unwrap_err();
    let SequenceError::Sql(error) = error else { panic!("not the sequence's end") };
    assert_eq!(error.message(), "nextval: reached maximum value of sequence \"s\" (100000)");
    assert_eq!(error.state().code(), "2200H");
    let mut cycling = Sequence::clone(&sequence);
    (cycling.cycle, cycling.counter) = (true, fresh_counter());
    (cycling.max, cycling.first) = (3, 1);
    let mut values = Vec::new();
    for _ in 0..7 {
        values.push(three.nextval(&cycling).await.unwrap());
    }
    assert_eq!(values, [1, 2, 3, 1, 2, 3, 1]);
    let mut backwards = Sequence::clone(&sequence);
    (backwards.increment, backwards.counter) = (-2, fresh_counter());
    (backwards.min, backwards.max, backwards.first) = (-5, -1, -1);
    assert_eq!(three.nextval(&backwards).await.unwrap(), -1);
    assert_eq!(three.nextval(&backwards).await.unwrap(), -3);
    assert_eq!(three.nextval(&backwards).await.unwrap(), -5);
    assert!(three.nextval(&backwards).await.is_err());
}

#[test]
fn currval_wants_a_value_of_this_session() {
    let values = SequenceValues::default();
    let error = values.lastval().unwrap_err();
    assert_eq!(error.message(), "lastval is not yet defined in this session");
}

struct Session {
    settings: FormatSettings,
    lookup: CatalogLookup,
}

impl Environment for Session {
    fn settings(&self) -> &FormatSettings {
        &self.settings
    }
    fn transaction_micros(&self) -> i64 {
        0
    }
    fn statement_micros(&self) -> i64 {
        0
    }
    fn current_user(&self) -> &str {
        "root"
    }
    fn session_user(&self) -> &str {
        "root"
    }
    fn database(&self) -> &str {
        "defaultdb"
    }
    fn search_path(&self, _implicit: bool) -> Vec<String> {
        vec!["public".to_owned()]
    }
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    fn backend_pid(&self) -> i32 {
        1
    }
    fn client_addr(&self) -> Option<String> {
        None
    }
    fn lookup(&self) -> &dyn Lookup {
        &self.lookup
    }
}

struct Running;

impl RuntimeInfo for Running {
    fn sessions(&self) -> Vec<SessionInfo> {
        vec![SessionInfo { pid: 1, user: "root".to_owned(), ..SessionInfo::default() }]
    }
    fn locks(&self) -> Vec<LockEntry> {
        Vec::new()
    }
    fn metrics(&self) -> Vec<MetricEntry> {
        vec![MetricEntry {
            name: "m".to_owned(),
            labels: Vec::new(),
            kind: "gauge".to_owned(),
            value: 1.0,
            help: String::new(),
        }]
    }
    fn settings(&self) -> Vec<SettingInfo> {
        vec![SettingInfo { name: "s".to_owned(), ..SettingInfo::default() }]
    }
    fn prepared_statements(&self) -> Vec<PreparedInfo> {
        Vec::new()
    }
    fn cursors(&self) -> Vec<CursorInfo> {
        Vec::new()
    }
    fn gateways(&self) -> Vec<GatewayInfo> {
        vec![GatewayInfo {
            id: 1,
            address: "localhost:1".to_owned(),
            version: "1".to_owned(),
            started: 0,
            expires: Some(1),
            mode: "fast",
            is_self: true,
        }]
    }
}

fn fits(datum: &Datum, ty: &SqlType) -> bool {
    match (datum, ty) {
        (Datum::Null, _) => true,
        (Datum::Bool(_), SqlType::Bool) => true,
        (Datum::Int(_), ty) => ty.is_integer() || ty.is_oid() || *ty == SqlType::Xid,
        (Datum::Float(_), ty) => ty.is_float(),
        (Datum::Text(_), ty) => {
            ty.is_string() || matches!(ty, SqlType::InternalChar | SqlType::Aclitem)
        }
        (Datum::Timestamptz(_), SqlType::Timestamptz) => true,
        (Datum::Interval(_), SqlType::Interval) => true,
        (Datum::Array(array), SqlType::Array(element)) => {
            array.element.oid() == element.oid()
                && array.items.iter().all(|item| fits(item, element))
        }
        (Datum::Array(array), ty) if ty.is_vector() => {
            array.lower == 0 && Some(&array.element) == ty.element()
        }
        _ => false,
    }
}

#[tokio::test]
async fn every_catalog_view_gives_rows_of_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    change(&kv, &cache, |draft| {
        let parent = table(draft, "p");
        let mut child = table(draft, "c");
        let id = draft.allocate_id(0);
        child.foreign_keys.push(ForeignKey {
            id,
            name: "c_b_fkey".to_owned(),
            columns: vec![1],
            parent: parent.id,
            parent_columns: vec![1],
            parent_index: 1,
            match_full: false,
            on_delete: ForeignKeyAction::NoAction,
            on_update: ForeignKeyAction::Restrict,
            delete_columns: Vec::new(),
            deferrable: false,
            initially_deferred: false,
            validated: true,
            unfinished: false,
            adder: None,
            comment: None,
        });
        let mut owned = sequence(draft, "s");
        owned.owned_by = Some((child.id, 1));
        child.columns[0].identity = Some(Identity::Always);
        child.columns[0].owned_sequence = Some(owned.id);
        draft.put_sequence(owned);
        let view = View {
            id: draft.allocate_id(0),
            database: DEFAULT_DATABASE,
            schema: parent.schema,
            name: "v".to_owned(),
            owner: ROOT,
            columns: vec![("a".to_owned(), SqlType::Int8)],
            query: "SELECT a FROM p".to_owned(),
            search_path: vec!["public".to_owned()],
            stored: None,
            depends_on: vec![parent.id],
            grants: Vec::new(),
            comment: Some("a view".to_owned()),
        };
        draft.put_table(parent);
        draft.put_table(child);
        draft.put_view(view);
    })
    .await;
    let catalog = current(&kv, &cache).await;
    let path = path_of(&["public"]);
    let lookup = CatalogLookup::new(catalog.clone(), path.clone());
    let env = Session { settings: FormatSettings::default(), lookup: lookup.clone() };
    let cx = VirtualContext {
        catalog: &catalog,
        path: &path,
        lookup: &lookup,
        env: &env,
        runtime: &Running,
        last_values: &HashMap::new(),
    };
    let mut oids = BTreeSet::new();
    let mut filled = 0;
    for table in virtual_tables() {
        assert!(oids.insert(table.oid), "{table:?} shares its oid");
        let rows = (table.rows)(&cx).unwrap();
        filled += usize::from(!rows.is_empty());
        for row in rows {
            assert_eq!(row.len(), table.columns.len(), "{table:?}");
            for (datum, (name, ty)) in row.iter().zip(&table.columns) {
                assert!(fits(datum, ty), "{table:?}.{name}: {datum:?} is no {ty}");
            }
        }
    }
    assert!(filled > 60, "only {filled} catalog views have rows");

    let child = catalog.tables().find(|table| table.name == "c").unwrap();
    assert_eq!(
        lookup.index_definition(child.indexes[0].id, 0, false).unwrap(),
        "CREATE INDEX c_b_idx ON public.c USING btree (b DESC) INCLUDE (a) WHERE (b > 0)"
    );
    assert_eq!(
        lookup.constraint_definition(child.foreign_keys[0].id, false).unwrap(),
        "FOREIGN KEY (a) REFERENCES p(a) ON UPDATE RESTRICT"
    );
    assert_eq!(lookup.constraint_definition(child.checks[0].id, false).unwrap(), "CHECK ((a > 0))");
    assert_eq!(lookup.serial_sequence("c", "a").unwrap().unwrap(), "public.s");
    assert_eq!(lookup.relation_name(child.id).unwrap(), "c");
    let names = CatalogKeyNames(catalog.clone());
    assert_eq!(braid_codec::key::print(&table_span(child.data_id).start, &names), "/c");
    assert_eq!(
        braid_codec::key::print(&descriptor_key(child.id), &names),
        format!("/system.descriptor/primary/{}", child.id)
    );
}
