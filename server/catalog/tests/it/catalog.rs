//! Catalogs in a real store: bootstrap, drafts, versions and sequences.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_catalog::*;
use braid_kv::{Database as Kv, DatabaseOptions, Span, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use braid_types::{SqlState, SqlType};

use crate::support::*;

#[tokio::test]
async fn an_empty_store_gets_a_catalog_once() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    assert!(bootstrap(&kv).await.unwrap());
    assert!(!bootstrap(&kv).await.unwrap());
    let catalog = current(&kv, &CatalogCache::new()).await;
    assert!(catalog.names().role("root").unwrap().superuser);
    assert_eq!(catalog.names().database("defaultdb").unwrap().id, DEFAULT_DATABASE);
    assert!(catalog.names().schema(DEFAULT_DATABASE, "public").is_some());
}

/// Statistics of a table go with it, and none are stored of one that is gone.
#[tokio::test]
async fn statistics_go_with_their_table() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    change(&kv, &cache, |draft| {
        let table = table(draft, "t");
        draft.put(table);
    })
    .await;
    let id = current(&kv, &cache).await.tables().iter().next().unwrap().id;
    let statistics = || TableStatistics { rows: 7, ..TableStatistics::default() };
    cache.save_statistics(&kv, id, statistics(), Changes::default()).await.unwrap();
    let stored = async || {
        let other = CatalogCache::new();
        other.load_statistics(&kv).await.unwrap();
        other.statistics().is_known(id).then(|| other.statistics().of(id).rows)
    };
    assert_eq!(stored().await, Some(7));
    change(&kv, &cache, |draft| draft.remove(id)).await;
    assert_eq!(stored().await, None);
    cache.save_statistics(&kv, id, statistics(), Changes::default()).await.unwrap();
    assert_eq!(stored().await, None, "the table is gone");
    assert!(cache.statistics().is_known(id));
    cache.forget_dropped(&*current(&kv, &cache).await);
    assert!(!cache.statistics().is_known(id));
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
            draft.put(table);
        })
        .await;
        current(&kv, &cache).await;
        costs.insert(cache.descriptors_read() - before);
    }
    assert_eq!(costs, BTreeSet::from([1]));
    change(&kv, &cache, |draft| {
        let public = draft.catalog().names().schema(DEFAULT_DATABASE, "public").unwrap().id;
        let id_of = |draft: &Draft, name: &str| match draft.catalog().names().find(public, name) {
            Some(Named::Table(id)) => id,
            other => panic!("{name} is {other:?}"),
        };
        let (gone, one, two) = (id_of(draft, "t7"), id_of(draft, "t8"), id_of(draft, "t9"));
        draft.remove(gone);
        // Two tables change their names with each other.
        for (id, name) in [(one, "t9"), (two, "t8")] {
            let mut table = Table::clone(draft.catalog().table(id).unwrap());
            table.name = name.to_owned();
            draft.put(table);
        }
        let sequence = sequence(draft, "t7");
        draft.put(sequence);
    })
    .await;
    let followed = current(&kv, &cache).await;
    let loaded = current(&kv, &CatalogCache::new()).await;
    let public = loaded.names().schema(DEFAULT_DATABASE, "public").unwrap().id;
    let names = |catalog: &Catalog| -> Vec<(String, Named)> {
        catalog.names().in_schema(public).map(|(name, named)| (name.to_owned(), named)).collect()
    };
    assert_eq!(names(&followed), names(&loaded));
    assert_eq!(followed.version(), loaded.version());
    let tables = |catalog: &Catalog| -> Vec<String> {
        catalog.tables().iter().map(|table| format!("{table:?}")).collect()
    };
    assert_eq!(tables(&followed), tables(&loaded));
    assert_eq!(followed.sequences().iter().count(), 1);
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
        draft.put(table);
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
            draft.put(table);
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
    // The rows were written again elsewhere.
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
        draft.put(new);
        assert!(draft.catalog().version() > u64::MAX / 2);
    })
    .await;
    let after = current(&kv, &cache).await;
    assert_eq!(after.version(), before.version() + 1);
    assert_eq!(cache.at(&old, old_seq).await.unwrap().version(), before.version());
    let path = path_of(&["$user", "public"]);
    let name = |name: &str| after.names().resolve(&path, &[name.to_owned()]).unwrap();
    assert!(matches!(name("t"), Some(Relation::Table(_))));
    assert!(matches!(name("t_b_idx"), Some(Relation::Index(_, index)) if index.number == 2));
    assert!(matches!(name("pg_class"), Some(Relation::Virtual(_))));
    assert!(name("nothing").is_none());
    // Asked again, the answer comes without a read of the store.
    let txn = kv.begin(TxnOptions::default());
    cache.at(&txn, txn.next_statement()).await.unwrap();
    cache.at(&txn, txn.next_statement()).await.unwrap();
    let fresh = kv.begin(TxnOptions::default());
    cache.at(&fresh, fresh.next_statement()).await.unwrap();
    assert_eq!(fresh.round_trips().count(), 0);
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
    draft.put(new);
    assert!(draft.is_changed());
    assert!(!saved.is_changed());
    txn.rollback().await;
    assert_eq!(current(&kv, &cache).await.tables().iter().count(), 0);
}

#[tokio::test]
async fn names_with_databases_and_too_many_parts() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let catalog = current(&kv, &CatalogCache::new()).await;
    let path = path_of(&["public"]);
    let parts = |name: &str| name.split('.').map(str::to_owned).collect::<Vec<_>>();
    let foreign = catalog.names().resolve(&path, &parts("other.public.t")).err().unwrap();
    assert_eq!(foreign.state(), SqlState::FeatureNotSupported);
    let long = catalog.names().resolve(&path, &parts("a.b.c.d")).err().unwrap();
    assert_eq!(long.state(), SqlState::SyntaxError);
    assert!(
        catalog.names().resolve(&path, &parts("defaultdb.pg_catalog.pg_type")).unwrap().is_some()
    );
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
        draft.put(Role::new(group, "g"));
        user = draft.allocate_id(0);
        let mut role = Role::new(user, "u");
        role.member_of = vec![group];
        draft.put(role);
        let mut new = table(draft, "t");
        new.grants.push(Grant {
            role: group,
            privileges: vec!["INSERT".to_owned()],
            grant_option: false,
            grantor: None,
        });
        draft.put(new);
    })
    .await;
    let catalog = current(&kv, &cache).await;
    let table = catalog.tables().iter().next().unwrap();
    let object = Object::Table(table);
    assert!(catalog.privileges().check(user, object, "SELECT").is_ok());
    assert!(catalog.privileges().check(user, object, "INSERT").is_ok());
    let denied = catalog.privileges().check(user, object, "DELETE").unwrap_err();
    assert_eq!(denied.message(), "permission denied for table t");
    assert!(catalog.privileges().check(ROOT, object, "DELETE").is_ok());
    assert!(catalog.privileges().check_owner(user, object).is_err());
    let acl = catalog.privileges().acl(object).unwrap();
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
        draft.put(new);
    })
    .await;
    let sequence = current(&kv, &cache).await.sequences().iter().next().unwrap().clone();
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
    let error = values.lastval(|_| true).unwrap_err();
    assert_eq!(error.message(), "lastval is not yet defined in this session");
}

fn domain(draft: &mut Draft, name: &str, parent: Option<Id>) -> Domain {
    let schema = draft.catalog().names().schema(DEFAULT_DATABASE, "public").unwrap().id;
    Domain {
        id: draft.allocate_id(0),
        array: draft.allocate_id(0),
        element: None,
        database: DEFAULT_DATABASE,
        schema,
        name: name.to_owned(),
        owner: ROOT,
        base: SqlType::Int4,
        modifier: None,
        more_dimensions: 0,
        parent,
        collation: None,
        not_null: false,
        default: None,
        checks: Vec::new(),
        grants: Vec::new(),
        comment: None,
    }
}

/// A DROP looks at what mentions the object. That is not more in a large catalog.
#[tokio::test]
async fn what_mentions_an_object_is_known_without_a_search() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    let (mut lower, mut upper) = (0, 0);
    change(&kv, &cache, |draft| {
        let below = domain(draft, "lower", None);
        let above = domain(draft, "upper", Some(below.id));
        (lower, upper) = (below.id, above.id);
        draft.put(below);
        draft.put(above);
        for i in 0..200 {
            let mut table = table(draft, &format!("t{i}"));
            match i {
                7 => table.columns[1].domain = Some(upper),
                8 => {
                    table.checks[0].expr = StoredExpr::Written(format!("a::\"#\".\"{lower}\" > 0"))
                }
                9 => table.checks[0].expr = StoredExpr::Written(format!("'\"#\".\"{lower}\"' > a")),
                _ => {}
            }
            draft.put(table);
            let other = domain(draft, &format!("d{i}"), None);
            draft.put(other);
        }
    })
    .await;
    let names = |catalog: &Catalog, id: Id| -> Vec<String> {
        Mentioning::of(catalog, id).tables().map(|table| table.name.clone()).collect()
    };
    let users = |catalog: &Catalog| -> Vec<String> {
        catalog.domains().users(lower).map(|table| table.name.clone()).collect()
    };
    let followed = current(&kv, &cache).await;
    let loaded = current(&kv, &CatalogCache::new()).await;
    for catalog in [&followed, &loaded] {
        assert_eq!(
            (names(catalog, lower), names(catalog, upper)),
            (vec!["t8".into()], vec!["t7".into()])
        );
        assert_eq!(Mentioning::of(catalog, lower).count(), 2);
        assert_eq!(users(catalog), ["t7", "t8"]);
        let public = catalog.names().schema(DEFAULT_DATABASE, "public").unwrap().id;
        assert_eq!(catalog.domains().find(public, "d150").unwrap().name, "d150");
    }
    change(&kv, &cache, |draft| {
        let public = draft.catalog().names().schema(DEFAULT_DATABASE, "public").unwrap().id;
        let table = draft.catalog().domains().users(lower).nth(1).unwrap().clone();
        let mut table = Table::clone(&table);
        table.checks.clear();
        draft.put(table);
        draft.remove(upper);
        let mut renamed = Domain::clone(draft.catalog().domains().find(public, "d3").unwrap());
        renamed.name = "d3 again".to_owned();
        draft.put(renamed);
    })
    .await;
    let followed = current(&kv, &cache).await;
    let loaded = current(&kv, &CatalogCache::new()).await;
    for catalog in [&followed, &loaded] {
        assert_eq!(Mentioning::of(catalog, lower).count(), 0);
        let public = catalog.names().schema(DEFAULT_DATABASE, "public").unwrap().id;
        let find = |name: &str| catalog.domains().find(public, name).is_some();
        assert_eq!([find("d3"), find("d3 again"), find("upper")], [false, true, false]);
    }
}
