//! Readers.

use braid_tikv_proto::kvrpcpb::{self as rpc, Op};

use crate::client::{Client, send};

pub(crate) async fn committed_versions_are_seen_at_their_timestamps(client: &mut Client) {
    let before = client.ts().await;
    let (start, commit) = client.write(Op::Put, "k").await;
    client.write(Op::Lock, "k").await;
    let (_, deleted) = client.write(Op::Del, "k").await;
    let value = Some(format!("k@{start}"));
    for (ts, expected) in [
        (before, &None),
        (commit - 1, &None),
        (commit, &value),
        (deleted - 1, &value),
        (deleted, &None),
    ] {
        assert_eq!(client.value("k", ts).await, *expected);
    }
}

pub(crate) async fn locks_are_in_the_way_unless_named_or_later(client: &mut Client) {
    client.write(Op::Put, "k").await;
    let start = client.ts().await;
    let min_commit_ts = start + 1_000;
    let request = client.prewrite_of(Op::Put, "k", start);
    let request = rpc::PrewriteRequest { min_commit_ts, ..request };
    assert_eq!(client.prewrite(request).await.errors, []);
    assert!(client.value("k", start - 1).await.is_some(), "it started later");
    assert!(client.value("k", start + 999).await.is_some(), "it can only commit later");
    // Wait until the present is above the lower limit.
    let now = loop {
        let now = client.ts().await;
        if now > min_commit_ts {
            break now;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let locked = client.get("k", now).await.error.and_then(|error| error.locked).expect("a lock");
    assert_eq!(locked.lock_version, start);
    assert_eq!(
        (locked.key.clone(), locked.primary_lock.clone()),
        (client.key("k"), client.key("k"))
    );
    assert_eq!(locked.lock_type, Op::Put as i32);
    assert_eq!(locked.min_commit_ts, min_commit_ts);
    let named = rpc::Context { resolved_locks: vec![start], ..Default::default() };
    let passed = client.get_with("k", now, named).await;
    assert!(passed.error.is_none() && !passed.not_found);
    assert_ne!(passed.value, format!("k@{start}"));
    let named = rpc::Context { committed_locks: vec![start], ..Default::default() };
    let committed = client.get_with("k", now, named).await;
    assert!(committed.error.is_none());
    assert_eq!(committed.value, format!("k@{start}"));
    let mut context = rpc::Context::default();
    context.set_isolation_level(rpc::IsolationLevel::Rc);
    assert!(client.get_with("k", now, context).await.error.is_none());
    assert!(client.rollback("k", start).await.error.is_none());
    // Locks without a value are passed over.
    let start = client.ts().await;
    assert_eq!(client.lock(client.lock_of("k", start, start)).await.errors, []);
    let now = client.ts().await;
    assert!(client.value("k", now).await.is_some());
    client.unlock("k", start, start).await;
}

pub(crate) async fn scans_have_borders_limits_and_directions(client: &mut Client) {
    for name in ["a", "b", "c", "d"] {
        client.write(Op::Put, name).await;
    }
    let version = client.ts().await;
    let start = client.ts().await;
    for (from, to, limit, reverse, expected) in [
        ("a", "e", 10, false, "a b c d"),
        ("b", "d", 10, false, "b c"),
        ("a", "e", 3, false, "a b c"),
        ("e", "a", 3, true, "d c b"),
        ("d", "b", 10, true, "c b"),
        ("c", "c", 10, false, ""),
    ] {
        let request = rpc::ScanRequest {
            start_key: client.key(from),
            end_key: client.key(to),
            limit,
            version,
            reverse,
            key_only: true,
            ..Default::default()
        };
        let pairs = client.scan(request, "a").await;
        assert!(pairs.iter().all(|pair| pair.value.is_empty()));
        let prefix = client.key("").len();
        let names = pairs.iter().map(|pair| String::from_utf8_lossy(&pair.key[prefix..]));
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "{from} to {to}");
    }
    // A lock takes the place of its pair, and the scan goes on behind it.
    assert_eq!(client.prewrite(client.prewrite_of(Op::Put, "b", start)).await.errors, []);
    let version = client.ts().await;
    let (start_key, end_key) = (client.key("a"), client.key("e"));
    let request = rpc::ScanRequest { start_key, end_key, limit: 3, version, ..Default::default() };
    let pairs = client.scan(request, "a").await;
    let locked = |pair: &rpc::KvPair| pair.error.as_ref().is_some_and(|e| e.locked.is_some());
    assert_eq!(pairs.iter().map(locked).collect::<Vec<_>>(), [false, true, false]);
    assert!(client.rollback("b", start).await.error.is_none());
}

pub(crate) async fn a_batch_leaves_out_what_is_not_there(client: &mut Client) {
    for name in ["a", "c"] {
        client.write(Op::Put, name).await;
    }
    let version = client.ts().await;
    let keys = ["c", "b", "a"].map(|name| client.key(name)).to_vec();
    let request = rpc::BatchGetRequest { keys: keys.clone(), version, ..Default::default() };
    let answer = send!(client, keys[0], kv_batch_get, request);
    let found: Vec<_> = answer.pairs.iter().map(|pair| pair.key.clone()).collect();
    assert_eq!(found, [keys[0].clone(), keys[2].clone()]);
}
