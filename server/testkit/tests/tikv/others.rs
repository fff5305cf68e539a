//! Locks that others left, regions, ranges and safe points.

use braid_tikv_proto::kvrpcpb::{self as rpc, Op};
use braid_tikv_proto::pdpb;
use bytes::Bytes;

use crate::client::{Client, encode, merged, send};

pub(crate) async fn locks_are_resolved_by_key_and_by_region(client: &mut Client) {
    let (one, two) = (client.ts().await, client.ts().await);
    for (name, start) in [("a", one), ("b", one), ("c", two), ("d", two)] {
        assert_eq!(client.prewrite(client.prewrite_of(Op::Put, name, start)).await.errors, []);
    }
    let key = client.key("a");
    let commit = client.ts().await;
    let request = rpc::ResolveLockRequest {
        start_version: one,
        commit_version: commit,
        keys: vec![key.clone()],
        ..Default::default()
    };
    assert_eq!(send!(client, key, kv_resolve_lock, request).error, None);
    let found = rpc::ScanLockRequest {
        max_version: commit,
        start_key: client.key("a"),
        end_key: client.key("z"),
        limit: 10,
        ..Default::default()
    };
    let locks = send!(client, key, kv_scan_lock, found).locks;
    let left: Vec<_> = locks.iter().map(|lock| lock.lock_version).collect();
    assert_eq!(left, [one, two, two]);
    // One is committed, the other rolled back, wherever their locks are in the region.
    let infos = [(one, commit), (two, 0)];
    let infos = infos.map(|(txn, status)| rpc::TxnInfo { txn, status }).to_vec();
    let request = rpc::ResolveLockRequest { txn_infos: infos, ..Default::default() };
    assert_eq!(send!(client, key, kv_resolve_lock, request).error, None);
    assert_eq!(send!(client, key, kv_scan_lock, found).locks, []);
    let now = client.ts().await;
    assert_eq!(client.value("b", now).await, Some(format!("b@{one}")));
    assert_eq!(client.value("c", now).await, None);
}

async fn split(client: &mut Client, name: &str) {
    let key = client.key(name);
    let split_keys = vec![key.clone()];
    let request = rpc::SplitRegionRequest { split_keys, ..Default::default() };
    let answer = send!(client, key, split_region, request);
    let border = encode(&key);
    assert!(answer.regions.iter().any(|region| region.start_key == border));
    assert!(answer.regions.iter().any(|region| region.end_key == border));
}

pub(crate) async fn a_region_that_was_split_reports_its_parts(client: &mut Client) {
    let (context, mut store) = client.place(&client.key("z")).await;
    let version = client.ts().await;
    split(client, "m").await;
    let request = rpc::GetRequest {
        context: Some(context.clone()),
        key: client.key("z"),
        version,
        ..Default::default()
    };
    let answer = store.kv_get(request).await.expect("an answer").into_inner();
    let error = answer.region_error.expect("an error");
    let current = error.epoch_not_match.expect("the epoch").current_regions;
    let border = encode(&client.key("m"));
    let right = current.iter().find(|region| region.start_key == border).expect("the right part");
    assert_eq!(right.id, context.region_id, "the right part keeps the number");
    let old = context.region_epoch.expect("an epoch").version;
    assert!(right.region_epoch.expect("an epoch").version > old);
    let header = client.header.clone();
    let start_key = Bytes::from(border.clone());
    let request = pdpb::ScanRegionsRequest { header, start_key, limit: 1, ..Default::default() };
    // PD hears of a split a moment later.
    for _ in 0..100 {
        let found = client.pd.scan_regions(request.clone()).await.expect("regions").into_inner();
        let region = found.regions[0].region.clone().expect("a region");
        if region.start_key == border {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("PD does not know the border");
}

/// The refusal is one about the key, with no more than a message; not one about the region.
pub(crate) async fn a_key_of_another_region_is_refused(client: &mut Client) {
    split(client, "m").await;
    let version = client.ts().await;
    let key = client.key("a");
    for _ in 0..100 {
        let (context, mut store) = client.place(&client.key("z")).await;
        let context = Some(merged(None, context));
        let get = rpc::GetRequest { context, key: key.clone(), version, ..Default::default() };
        let got = store.kv_get(get.clone()).await.expect("an answer").into_inner();
        // Found, or another epoch: PD has not heard of the border yet.
        let Some(error) = got.error else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let context = get.context;
        let prewrite = client.prewrite_of(Op::Put, "a", version);
        let prewrite = rpc::PrewriteRequest { context: context.clone(), ..prewrite };
        let prewrite = store.kv_prewrite(prewrite).await.expect("an answer").into_inner();
        let lock = client.lock_of("a", version, version);
        let lock = rpc::PessimisticLockRequest { context, ..lock };
        let lock = store.kv_pessimistic_lock(lock).await.expect("an answer").into_inner();
        assert_eq!((prewrite.region_error, lock.region_error), (None, None));
        assert_eq!((prewrite.errors.len(), lock.errors.len()), (1, 1));
        for error in [&error, &prewrite.errors[0], &lock.errors[0]] {
            let abort = error.abort.clone();
            assert!(!abort.is_empty());
            assert_eq!(*error, rpc::KeyError { abort, ..Default::default() });
        }
        return;
    }
    panic!("it was never refused for its key");
}

pub(crate) async fn a_destroyed_range_is_empty(client: &mut Client) {
    for name in ["a", "b", "c"] {
        client.write(Op::Put, name).await;
    }
    for store in client.all_stores().await {
        let mut store = client.store(store.id).await;
        let (start_key, end_key) = (client.key("b"), client.key("c"));
        let request = rpc::UnsafeDestroyRangeRequest { start_key, end_key, ..Default::default() };
        let answer = store.unsafe_destroy_range(request).await.expect("an answer").into_inner();
        assert_eq!((answer.region_error, answer.error.as_str()), (None, ""));
    }
    let now = client.ts().await;
    assert!(client.value("a", now).await.is_some());
    assert_eq!(client.value("b", now).await, None);
    assert!(client.value("c", now).await.is_some());
}

/// An earlier run may have moved both further than an hour back.
pub(crate) async fn the_safe_point_follows_that_of_gc_worker(client: &mut Client) {
    let hour = (3_600_000_u64) << 18;
    let now = client.ts().await;
    let header = client.header.clone();
    let request = pdpb::GetGcSafePointRequest { header: header.clone() };
    let before = client.pd.get_gc_safe_point(request.clone()).await.expect("an answer");
    let at = before.into_inner().safe_point.max(now - hour);
    let collect =
        |safe_point| pdpb::UpdateGcSafePointRequest { header: header.clone(), safe_point };
    let refused = client.pd.update_gc_safe_point(collect(now + hour)).await;
    let is_refused = match refused {
        Err(_) => true,
        Ok(answer) => answer.into_inner().header.is_some_and(|header| header.error.is_some()),
    };
    assert!(is_refused, "gc_worker comes first");
    let service = pdpb::UpdateServiceGcSafePointRequest {
        header: header.clone(),
        service_id: Bytes::from_static(b"gc_worker"),
        ttl: i64::MAX,
        safe_point: at,
    };
    let moved = client.pd.update_service_gc_safe_point(service).await.expect("an answer");
    assert_eq!(moved.into_inner().min_safe_point, at);
    let answer = client.pd.update_gc_safe_point(collect(at)).await.expect("an answer").into_inner();
    assert_eq!(answer.new_safe_point, at);
    let found = client.pd.get_gc_safe_point(request).await.expect("an answer").into_inner();
    assert_eq!(found.safe_point, at);
}
