//! What the stand-in does beyond TiKV's rules: faults, crashes, moves, and what a test sees of it.

use std::time::{Duration, Instant};

use braid_testkit::tikv::{Config, Fault, Gate, Plan, Rpc, Rule, TikvStandIn};
use braid_tikv_proto::kvrpcpb::{self as rpc, Action, Op};
use braid_tikv_proto::pdpb;
use tonic::Code;

use crate::client::{self, Client, merged};

async fn start(config: Config) -> (TikvStandIn, Client) {
    let cluster = TikvStandIn::start(config);
    let client = Client::connect(&cluster.pd_addresses()[0], String::new()).await;
    (cluster, client)
}

/// Sends a prewrite once, whatever comes back.
async fn prewrite_once(
    client: &mut Client,
    request: rpc::PrewriteRequest,
) -> Result<rpc::PrewriteResponse, tonic::Status> {
    let (context, mut store) = client.place(&request.mutations[0].key).await;
    let context = Some(merged(request.context.clone(), context));
    let answer = store.kv_prewrite(rpc::PrewriteRequest { context, ..request }).await?;
    Ok(answer.into_inner())
}

async fn commit_once(
    client: &mut Client,
    name: &str,
    start_version: u64,
    commit_version: u64,
) -> Result<rpc::CommitResponse, tonic::Status> {
    let key = client.key(name);
    let (context, mut store) = client.place(&key).await;
    let keys = vec![key];
    let context = Some(context);
    let request =
        rpc::CommitRequest { context, start_version, keys, commit_version, ..Default::default() };
    Ok(store.kv_commit(request).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_request_does_nothing_and_a_lost_answer_hides_what_was_done() {
    let (cluster, mut client) = start(Config::default()).await;
    let first = client.ts().await;
    cluster.add(Rule::next(Rpc::Prewrite, Fault::LoseRequest).key(b"k"));
    let request = client.prewrite_of(Op::Put, "k", first);
    let lost = prewrite_once(&mut client, request.clone()).await.expect_err("it is lost");
    assert_eq!((lost.code(), cluster.lock_count()), (Code::Unavailable, 0));
    prewrite_once(&mut client, request).await.expect("an answer");
    assert_eq!(cluster.lock_count(), 1);
    let commit = client.ts().await;
    cluster.add(Rule::next(Rpc::Commit, Fault::LoseAnswer));
    commit_once(&mut client, "k", first, commit).await.expect_err("its answer is lost");
    assert_eq!(client.value("k", commit).await, Some(format!("k@{first}")));
    assert_eq!((cluster.count(Rpc::Prewrite), cluster.count(Rpc::Commit)), (2, 1));
    cluster.add(Rule::next(Rpc::Tso, Fault::LoseRequest));
    let header = client.header.clone();
    let request = pdpb::TsoRequest { header, count: 1, ..Default::default() };
    let stream = client.pd.tso(futures_util::stream::iter([request])).await.expect("a stream");
    stream.into_inner().message().await.expect_err("the stream breaks");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_arrives_after_the_commit_and_does_nothing() {
    let (cluster, mut client) = start(Config::default()).await;
    let late = Duration::from_millis(100);
    cluster.add(Rule::next(Rpc::Prewrite, Fault::Duplicate(late)));
    let first = client.ts().await;
    let mut request = client.prewrite_of(Op::Put, "k", first);
    request.for_update_ts = first;
    request.pessimistic_actions = vec![0];
    assert_eq!(client.prewrite(request).await.errors, []);
    let commit = client.ts().await;
    assert_eq!(client.commit("k", first, commit).await.error, None);
    tokio::time::sleep(2 * late).await;
    assert_eq!(cluster.lock_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_hold_requests_and_answers() {
    let (cluster, mut client) = start(Config::default()).await;
    let first = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", first);
    let (before, after) = (Gate::new(), Gate::new());
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldRequest(before.clone())));
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldAnswer(after.clone())));
    for (gate, locked) in [(before, 0), (after, 1)] {
        let mut other = Client::connect(&cluster.pd_addresses()[0], String::new()).await;
        let request = request.clone();
        let held = tokio::spawn(async move { prewrite_once(&mut other, request).await });
        gate.wait_for(1).await;
        assert_eq!(cluster.lock_count(), locked);
        assert!(!held.is_finished());
        gate.open();
        assert_eq!(held.await.expect("a task").expect("an answer").errors, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_on_when_its_client_hangs_up() {
    let (cluster, mut client) = start(Config::default()).await;
    let gate = Gate::new();
    cluster.add(Rule::next(Rpc::Prewrite, Fault::HoldRequest(gate.clone())));
    let first = client.ts().await;
    let request = client.prewrite_of(Op::Put, "k", first);
    let patience = Duration::from_millis(200);
    tokio::time::timeout(patience, client.prewrite(request)).await.expect_err("it is held");
    // The store hears of it.
    tokio::time::sleep(patience).await;
    gate.open();
    until("the lock", || cluster.lock_count() == 1).await;
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_leader_computes_commit_timestamps_only_above_what_the_old_one_has_read() {
    let mut config = Config::default();
    config.delays.sync_delay = Duration::from_millis(500);
    let (cluster, mut client) = start(config).await;
    let first = client.ts().await;
    let reader = client.ts().await;
    assert_eq!(client.value("k", reader).await, None);
    cluster.move_leader(b"k");
    let request = client.prewrite_of(Op::Put, "k", first);
    let request = rpc::PrewriteRequest { use_async_commit: true, ..request };
    let refused = prewrite_once(&mut client, request.clone()).await.expect("an answer");
    assert!(refused.region_error.expect("an error").max_timestamp_not_synced.is_some());
    assert_eq!(cluster.lock_count(), 0);
    let answer = client.prewrite(request).await;
    assert!(answer.min_commit_ts > reader, "{} and {reader}", answer.min_commit_ts);
    // Two phases need not wait for it.
    cluster.move_leader(b"k");
    let second = client.ts().await;
    let request = client.prewrite_of(Op::Put, "l", second);
    let answer = prewrite_once(&mut client, request).await.expect("an answer");
    assert_eq!((answer.region_error, answer.errors), (None, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_of_a_leader_loses_pessimistic_locks_and_nothing_else() {
    let (cluster, mut client) = start(Config::default()).await;
    let first = client.ts().await;
    assert_eq!(client.lock(client.lock_of("a", first, first)).await.errors, []);
    assert_eq!(client.prewrite(client.prewrite_of(Op::Put, "b", first)).await.errors, []);
    cluster.move_leader(b"a");
    assert_eq!(cluster.lock_count(), 2, "a move loses nothing");
    cluster.crash_leader(b"a");
    assert_eq!(cluster.lock_count(), 1);
    let second = client.ts().await;
    assert_eq!(client.lock(client.lock_of("a", second, second)).await.errors, []);
    let now = client.ts().await;
    assert!(client.get("b", now).await.error.is_some(), "its lock is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_stores_take_over_from_one_that_stops() {
    let splits = vec![b"g".to_vec(), b"p".to_vec()];
    let mut config = Config { splits, ..Config::default() };
    config.delays.election = Duration::from_secs(1);
    let (cluster, mut client) = start(config).await;
    assert_eq!(cluster.regions(), 3);
    let leaders: Vec<_> = [b"a", b"h", b"q"].map(|key| cluster.leader_of(key)).into();
    assert!(leaders[0] != leaders[1] && leaders[1] != leaders[2], "{leaders:?}");
    for name in ["a", "h", "q"] {
        client.write(Op::Put, name).await;
    }
    let gone = leaders[1].expect("a leader");
    cluster.stop_store(gone);
    assert_eq!(cluster.leader_of(b"h"), None, "nobody was elected yet");
    let mut store = client.store(gone).await;
    let refused = store.kv_get(rpc::GetRequest::default()).await.expect_err("it is down");
    assert_eq!(refused.code(), Code::Unavailable);
    let now = client.ts().await;
    for name in ["a", "h", "q"] {
        assert!(client.value(name, now).await.is_some(), "{name}");
    }
    assert!(cluster.leader_of(b"h").is_some_and(|leader| leader != gone));
    cluster.start_store(gone);
    let answer = store.kv_get(rpc::GetRequest::default()).await.expect("it is up").into_inner();
    assert!(answer.region_error.expect("no region was named").region_not_found.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_lets_locks_grow_old() {
    let (cluster, mut client) = start(Config::default()).await;
    let first = client.ts().await;
    assert_eq!(client.prewrite(client.prewrite_of(Op::Put, "k", first)).await.errors, []);
    let now = client.ts().await;
    let alive = client.status(client.status_of("k", first, now)).await;
    assert!(alive.lock_ttl > 0);
    cluster.pd().jump_clock(2 * client::LONG_MS as i64);
    let now = client.ts().await;
    let expired = client.status(client.status_of("k", first, now)).await;
    assert_eq!(expired.action, Action::TtlExpireRollback as i32);
    cluster.pd().jump_clock(-3_600_000);
    assert!(client.ts().await > now, "it does not go back");
    assert_eq!(cluster.lock_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_leader_of_pd_answers() {
    let pd_ports = vec![0, 0, 0];
    let (cluster, mut client) = start(Config { pd_ports, ..Config::default() }).await;
    assert_eq!(cluster.store_url().matches(',').count(), 2);
    let before = client.ts().await;
    cluster.pd().move_leader();
    let header = client.header.clone();
    let request = pdpb::GetAllStoresRequest { header, ..Default::default() };
    let refused = client.pd.get_all_stores(request.clone()).await.expect_err("not the leader");
    assert_eq!(refused.code(), Code::Unavailable);
    // The members are told by any of them.
    let mut client = Client::connect(&cluster.pd_addresses()[2], String::new()).await;
    assert!(client.ts().await > before);
    cluster.pd().set_down(true);
    client.pd.get_all_stores(request.clone()).await.expect_err("it is down");
    cluster.pd().set_down(false);
    assert_eq!(client.all_stores().await.len(), 3);
    let header = Some(pdpb::RequestHeader { cluster_id: 1, ..Default::default() });
    let request = pdpb::GetAllStoresRequest { header, ..request };
    let refused = client.pd.get_all_stores(request).await.expect_err("another cluster's client");
    assert_eq!(refused.code(), Code::FailedPrecondition);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_take_the_latency_that_was_asked_for() {
    let (cluster, mut client) = start(Config::default()).await;
    client.write(Op::Put, "k").await;
    let now = client.ts().await;
    cluster.set_latency(Duration::from_millis(100), Duration::ZERO);
    let before = Instant::now();
    assert!(client.value("k", now).await.is_some());
    assert!(before.elapsed() >= Duration::from_millis(100));
}

#[tokio::test(flavor = "multi_thread")]
async fn pd_hears_of_a_new_leader_later() {
    let plan = Plan { pd_lag: Duration::from_secs(1), ..Plan::default() };
    let (cluster, mut client) = start(Config { plan, ..Config::default() }).await;
    let now = client.ts().await;
    cluster.move_leader(b"k");
    let (context, mut store) = client.place(b"k").await;
    let (context, key) = (Some(context), client.key("k"));
    let request = rpc::GetRequest { context, key, version: now, ..Default::default() };
    let error = store.kv_get(request).await.expect("an answer").into_inner().region_error;
    let leader = error.and_then(|error| error.not_leader).expect("moved").leader.expect("known");
    assert_eq!(Some(leader.store_id), cluster.leader_of(b"k"));
    assert_eq!(client.value("k", now).await, None, "PD knows it in the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_may_not_know_what_became_of_a_request() {
    let (cluster, mut client) = start(Config::default()).await;
    let first = client.ts().await;
    cluster.add(Rule::next(Rpc::Prewrite, Fault::Undetermined));
    let request = client.prewrite_of(Op::Put, "k", first);
    let answer = prewrite_once(&mut client, request).await.expect("an answer");
    assert!(answer.region_error.expect("an error").undetermined_result.is_some());
    assert_eq!(cluster.lock_count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_in_memory_is_the_answer_as_a_whole() {
    let (_cluster, mut client) = start(Config::default()).await;
    client.write(Op::Put, "a").await;
    let first = client.ts().await;
    let request = client.prewrite_of(Op::Put, "b", first);
    let request = rpc::PrewriteRequest { use_async_commit: true, ..request };
    assert_eq!(client.prewrite(request).await.errors, []);
    let version = client.ts().await;
    let scan =
        rpc::ScanRequest { limit: 9, version, end_key: client.key("z"), ..Default::default() };
    let mut seen = [0, 0];
    for _ in 0..40 {
        let pairs = client.scan(scan.clone(), "a").await;
        assert!(pairs.last().is_some_and(|pair| pair.error.is_some()));
        seen[usize::from(pairs.len() == 2)] += 1;
    }
    assert!(seen[0] > 5 && seen[1] > 5, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_below_the_safe_point_are_counted() {
    let (cluster, mut client) = start(Config::default()).await;
    let (_, old) = client.write(Op::Put, "k").await;
    let (_, new) = client.write(Op::Put, "k").await;
    let header = client.header.clone();
    let request = pdpb::UpdateServiceGcSafePointRequest {
        header: header.clone(),
        service_id: "gc_worker".into(),
        ttl: i64::MAX,
        safe_point: new,
    };
    client.pd.update_service_gc_safe_point(request).await.expect("an answer");
    let request = pdpb::UpdateGcSafePointRequest { header, safe_point: new };
    client.pd.update_gc_safe_point(request).await.expect("an answer");
    assert_eq!(cluster.size(), (1, 1));
    assert!(client.value("k", new).await.is_some());
    assert_eq!(cluster.pd().reads_below_safe_point(), 0);
    assert_eq!(client.value("k", old).await, None, "wrong, as in a real store");
    assert_eq!(cluster.pd().reads_below_safe_point(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn daily_life_disturbs_and_loses_nothing() {
    const KEYS: usize = 300;
    let plan = Plan { split: 200, move_leader: 300, busy: 300, not_leader: 300, ..Plan::daily() };
    let (cluster, mut client) = start(Config { plan, seed: 7, ..Config::default() }).await;
    let mut written = Vec::new();
    for at in 0..KEYS {
        let name = format!("key-{at}");
        let (start, _) = client.write(Op::Put, &name).await;
        written.push((name, start));
    }
    assert!(cluster.regions() > 1);
    // More than was asked for: some were refused and came again.
    assert!(cluster.count(Rpc::Prewrite) > KEYS as u64);
    let now = client.ts().await;
    for (name, start) in &written {
        assert_eq!(client.value(name, now).await, Some(format!("{name}@{start}")));
    }
    assert_eq!((cluster.lock_count(), cluster.waiter_count()), (0, 0));
    assert_eq!(cluster.size(), (KEYS, KEYS));
}
