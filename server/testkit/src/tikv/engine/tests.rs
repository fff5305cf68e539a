//! The rules, one by one. `k` and so on are keys, small numbers are timestamps.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::tikv::engine::*;

/// An engine with one store.
#[derive(Default)]
struct Box1 {
    engine: Engine,
    max_ts: Ts,
}

fn mutation(op: Op, key: &str) -> Mutation {
    Mutation {
        op,
        key: key.into(),
        value: Bytes::from(format!("{key}!")),
        action: Action::Skip,
        expected_for_update_ts: None,
    }
}

/// A time to live that no small timestamp reaches the end of.
const LONG_MS: u64 = 1_000_000;

impl Box1 {
    fn prewrite(&mut self, request: Prewrite) -> Result<Prewritten, KeyError> {
        self.engine.prewrite(&mut self.max_ts, &request)
    }

    fn put(&self, key: &str, start_ts: Ts) -> Prewrite {
        Prewrite {
            mutations: vec![mutation(Op::Put, key)],
            primary: key.into(),
            start_ts,
            ttl: LONG_MS,
            ..Prewrite::default()
        }
    }

    fn pessimistic(&self, op: Op, action: Action, key: &str, start_ts: Ts, at: Ts) -> Prewrite {
        let mut request = self.put(key, start_ts);
        request.mutations = vec![Mutation { action, ..mutation(op, key) }];
        request.for_update_ts = at;
        request
    }

    /// Writes, from start to commit.
    fn write(&mut self, op: Op, key: &str, start_ts: Ts, commit_ts: Ts) {
        let mut request = self.put(key, start_ts);
        request.mutations = vec![mutation(op, key)];
        assert_eq!(self.prewrite(request), Ok(Prewritten::default()), "{key} @ {start_ts}");
        self.commit(key, start_ts, commit_ts).expect("a commit");
    }

    fn commit(&mut self, key: &str, start_ts: Ts, commit_ts: Ts) -> Result<(), KeyError> {
        self.engine.commit(start_ts, commit_ts, &[key.into()])
    }

    fn rollback(&mut self, key: &str, start_ts: Ts) -> Result<(), KeyError> {
        self.engine.rollback(start_ts, &[key.into()])
    }

    fn get(&mut self, key: &str, ts: Ts) -> Result<Option<String>, KeyError> {
        self.see(key, View { ts, ..View::default() })
    }

    fn see(&mut self, key: &str, view: View) -> Result<Option<String>, KeyError> {
        let found = self.engine.get(&mut self.max_ts, &view, key.as_bytes())?;
        Ok(found.map(|(value, _)| String::from_utf8_lossy(&value).into_owned()))
    }

    fn lock(&mut self, key: &str, start_ts: Ts, at: Ts) -> Result<Acquired, KeyError> {
        self.acquire(Acquire { keys: vec![(key.into(), false)], ..self.locking(key, start_ts, at) })
    }

    fn locking(&self, key: &str, start_ts: Ts, at: Ts) -> Acquire {
        Acquire {
            keys: vec![(key.into(), false)],
            primary: key.into(),
            start_ts,
            ttl: LONG_MS,
            for_update_ts: at,
            returns_values: true,
            ..Acquire::default()
        }
    }

    fn acquire(&mut self, request: Acquire) -> Result<Acquired, KeyError> {
        self.engine.acquire(&mut self.max_ts, &request).map(|mut results| results.remove(0))
    }

    fn status(&mut self, query: StatusQuery) -> Result<Status, KeyError> {
        self.engine.check_status(&mut self.max_ts, &query)
    }
}

fn query(key: &str, lock_ts: Ts, caller_ts: Ts) -> StatusQuery {
    let primary = key.into();
    StatusQuery { primary, lock_ts, caller_ts, rolls_back_missing: true, ..StatusQuery::default() }
}

fn name<T: std::fmt::Debug>(result: &Result<T, KeyError>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(KeyError::WriteConflict { reason, .. }) => format!("{reason:?}"),
        Err(KeyError::Abort(abort)) => first_word(&format!("{abort:?}")),
        Err(error) => first_word(&format!("{error:?}")),
    }
}

fn first_word(text: &str) -> String {
    text.split([' ', '(']).next().unwrap_or_default().to_owned()
}

#[test]
fn readers_see_what_was_committed_at_their_timestamp() {
    let mut store = Box1::default();
    store.write(Op::Put, "k", 10, 20);
    store.write(Op::Lock, "k", 30, 40);
    store.write(Op::Delete, "k", 50, 60);
    store.rollback("k", 70).expect("a rollback");
    for (ts, value) in [(19, None), (20, Some("k!")), (45, Some("k!")), (60, None), (80, None)] {
        assert_eq!(store.get("k", ts), Ok(value.map(str::to_owned)), "@ {ts}");
    }
    assert_eq!(store.max_ts, 80);
}

#[test]
fn locks_are_in_the_way_of_readers_that_might_miss_a_commit() {
    let mut store = Box1::default();
    store.write(Op::Put, "k", 10, 20);
    store.prewrite(Prewrite { min_commit_ts: 40, ..store.put("k", 30) }).expect("a prewrite");
    assert!(store.get("k", 29).is_ok(), "started later");
    assert!(store.get("k", 39).is_ok(), "can only commit later");
    assert_eq!(name(&store.get("k", 40)), "Locked");
    let view = |view| View { ts: 50, ..view };
    let passed = view(View { passed: vec![30], ..View::default() });
    assert_eq!(store.see("k", passed), Ok(Some("k!".to_owned())));
    assert!(store.see("k", view(View { ignores_locks: true, ..View::default() })).is_ok());
    let newest = View { ts: Ts::MAX, ..View::default() };
    assert!(store.see("k", newest.clone()).is_ok(), "the newest of a primary key");
    let checked = View { refuses_locks: true, ..newest };
    assert_eq!(name(&store.see("k", checked.clone())), "RcCheckTs", "with a check");
    let passed = View { passed: vec![30], ..checked };
    assert_eq!(store.see("k", passed.clone()), Ok(Some("k!".to_owned())));
    let older = View { ts: 15, ..passed };
    assert_eq!(name(&store.see("k", older)), "RcCheckTs", "a newer version");
    // The value of a lock that counts as committed.
    let mut request = store.put("n", 30);
    request.mutations[0].value = Bytes::from("new");
    store.prewrite(request).expect("a prewrite");
    let committed = view(View { committed: vec![30], ..View::default() });
    assert_eq!(store.see("n", committed), Ok(Some("new".to_owned())));
    // Locks without a value.
    store.lock("p", 30, 30).expect("a lock");
    let mut request = store.put("l", 30);
    request.mutations = vec![mutation(Op::Lock, "l")];
    store.prewrite(request).expect("a prewrite");
    assert!(store.get("p", 50).is_ok() && store.get("l", 50).is_ok());
}

#[test]
fn scans_go_both_ways_and_past_a_lock() {
    let mut store = Box1::default();
    for key in ["a", "b", "c", "d"] {
        store.write(Op::Put, key, 10, 20);
    }
    store.prewrite(store.put("b", 30)).expect("a prewrite");
    let mut scan = |start: &str, end: &str, limit, is_reverse| {
        let view = View { ts: 40, ..View::default() };
        let (start, end) = (start.as_bytes(), end.as_bytes());
        let scan = Scan { start, end, limit, keys_only: true, is_reverse };
        let pairs = store.engine.scan(&mut store.max_ts, &view, &scan);
        let keys = pairs.into_iter().map(|pair| match pair {
            Ok((key, _)) => String::from_utf8_lossy(&key).into_owned(),
            Err(error) => name::<()>(&Err(error)),
        });
        keys.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(scan("", "", 10, false), "a Locked c d");
    assert_eq!(scan("a", "d", 2, false), "a Locked");
    assert_eq!(scan("b", "", 2, true), "d c");
    assert_eq!(scan("d", "a", 2, false), "");
    assert_eq!(scan("a", "c", 0, false), "");
}

#[test]
fn an_optimistic_prewrite_conflicts_with_whatever_came_after_its_start() {
    for (op, expected) in [(Op::Put, "Optimistic"), (Op::Lock, "Optimistic")] {
        let mut store = Box1::default();
        store.write(op, "k", 20, 30);
        assert_eq!(name(&store.prewrite(store.put("k", 25))), expected);
        assert_eq!(name(&store.prewrite(store.put("k", 30))), "ok");
    }
    let mut store = Box1::default();
    store.rollback("k", 30).expect("a rollback");
    assert_eq!(name(&store.prewrite(store.put("k", 25))), "Optimistic");
    assert_eq!(name(&store.prewrite(store.put("k", 30))), "SelfRolledBack");
    assert_eq!(name(&store.prewrite(store.put("k", 31))), "ok");
    let locked = store.prewrite(store.put("k", 40)).expect("an answer");
    assert_eq!(locked.locks.len(), 1);
    assert_eq!(locked.locks[0].lock.ttl, LONG_MS);
}

#[test]
fn must_not_exist_needs_the_constraint_action_in_a_pessimistic_transaction() {
    let mut store = Box1::default();
    store.write(Op::Put, "k", 10, 20);
    let mut insert = store.put("k", 30);
    insert.mutations = vec![mutation(Op::Insert, "k")];
    assert_eq!(name(&store.prewrite(insert)), "AlreadyExist");
    let try_with = |store: &mut Box1, action, start_ts| {
        let request = store.pessimistic(Op::Insert, action, "k", start_ts, start_ts);
        let result = name(&store.prewrite(request));
        let _ = store.rollback("k", start_ts);
        result
    };
    assert_eq!(try_with(&mut store, Action::Skip, 30), "ok", "skipped in silence");
    assert_eq!(try_with(&mut store, Action::Constraint, 40), "AlreadyExist");
    assert_eq!(try_with(&mut store, Action::Constraint, 15), "LazyUniquenessCheck");
    store.write(Op::Delete, "k", 50, 60);
    assert_eq!(try_with(&mut store, Action::Constraint, 70), "ok");
    let request = store.pessimistic(Op::CheckNotExists, Action::Skip, "k", 80, 80);
    assert_eq!(name(&store.prewrite(request)), "Other");
}

#[test]
fn a_pessimistic_prewrite_needs_its_lock_or_an_unchanged_key() {
    let mut store = Box1::default();
    store.write(Op::Put, "k", 10, 20);
    let own = |store: &Box1, start_ts| {
        store.pessimistic(Op::Put, Action::Pessimistic, "k", start_ts, start_ts)
    };
    // Lost, and nothing written since: as if it had been there.
    assert_eq!(name(&store.prewrite(own(&store, 30))), "ok");
    store.rollback("k", 30).expect("a rollback");
    assert_eq!(name(&store.prewrite(own(&store, 30))), "PessimisticLockNotFound");
    // Another's lock.
    store.lock("k", 40, 40).expect("a lock");
    assert_eq!(name(&store.prewrite(own(&store, 41))), "PessimisticLockNotFound");
    let skip = store.pessimistic(Op::Put, Action::Skip, "k", 41, 41);
    let locked = store.prewrite(skip).expect("an answer").locks.remove(0);
    assert_eq!(locked.lock.ttl, 0, "the time to live is not told");
    // Its own, with the wrong and the right timestamp.
    let mut request = own(&store, 40);
    request.mutations[0].expected_for_update_ts = Some(39);
    assert_eq!(name(&store.prewrite(request.clone())), "PessimisticLockNotFound");
    request.mutations[0].expected_for_update_ts = Some(40);
    assert_eq!(name(&store.prewrite(request.clone())), "ok");
    assert_eq!(name(&store.prewrite(request)), "ok", "sent twice");
    assert_eq!(name(&store.prewrite(store.put("k", 40))), "ok", "sent twice");
    assert_eq!(name(&store.commit("k", 40, 50)), "ok");
    assert_eq!(store.engine.table.lock_count(), 0);
}

#[test]
fn async_and_one_phase_commits_are_above_every_read_or_fall_back() {
    let mut store = Box1::default();
    let asynchronous = |store: &Box1, start_ts, max_commit_ts| Prewrite {
        secondaries: Some(vec![b"s".to_vec()]),
        max_commit_ts,
        ..store.put("k", start_ts)
    };
    store.get("x", 50).expect("a read");
    let result = store.prewrite(asynchronous(&store, 30, 0)).expect("a prewrite");
    assert_eq!(result.min_commit_ts, 51);
    let lock = store.engine.table.holder(b"k").expect("a lock").clone();
    assert!(lock.async_commit && lock.secondaries == [b"s".to_vec()]);
    // Repeated: the same answer, although there was a read since.
    store.get("x", 60).expect("a read");
    let again = store.prewrite(asynchronous(&store, 30, 0)).expect("a prewrite");
    assert_eq!(again.min_commit_ts, 51);
    assert_eq!(name(&store.commit("k", 30, 50)), "CommitTsExpired");
    assert_eq!(name(&store.commit("k", 30, 51)), "ok");
    // A repetition after the commit returns the commit's timestamp.
    let late = store.prewrite(asynchronous(&store, 30, 0)).expect("an answer");
    assert_eq!((late.min_commit_ts, late.locks.len()), (51, 0));
    assert_eq!(store.engine.table.lock_count(), 0);
    // Above the limit: two phases.
    let result = store.prewrite(asynchronous(&store, 70, 65)).expect("a prewrite");
    assert_eq!(result.min_commit_ts, 0);
    assert!(!store.engine.table.holder(b"k").expect("a lock").async_commit);
    store.rollback("k", 70).expect("a rollback");

    let one_pc = |store: &Box1, start_ts, max_commit_ts| Prewrite {
        one_pc: true,
        max_commit_ts,
        ..store.put("o", start_ts)
    };
    store.get("x", 90).expect("a read");
    let result = store.prewrite(one_pc(&store, 80, 0)).expect("a prewrite");
    assert_eq!(result.one_pc_commit_ts, 91);
    assert_eq!(store.get("o", 91), Ok(Some("o!".to_owned())));
    let again = store.prewrite(one_pc(&store, 80, 0)).expect("an answer");
    assert_eq!(again.one_pc_commit_ts, 91);
    let result = store.prewrite(one_pc(&store, 92, 91)).expect("a prewrite");
    assert_eq!(result.one_pc_commit_ts, 0);
    assert_eq!(store.engine.table.lock_count(), 1, "a lock for two phases");
}

#[test]
fn a_foreign_lock_leaves_the_whole_prewrite_undone() {
    let mut store = Box1::default();
    store.prewrite(store.put("b", 10)).expect("a prewrite");
    let mut request = store.put("a", 20);
    request.mutations = ["a", "b", "c"].map(|key| mutation(Op::Put, key)).to_vec();
    let result = store.prewrite(request).expect("an answer");
    assert_eq!(result.locks.len(), 1);
    assert_eq!(store.engine.table.lock_count(), 1);
}

#[test]
fn a_late_prewrite_of_a_committed_transaction_does_nothing() {
    let mut store = Box1::default();
    let mut request = store.pessimistic(Op::Put, Action::Skip, "k", 10, 10);
    store.prewrite(request.clone()).expect("a prewrite");
    store.commit("k", 10, 20).expect("a commit");
    // The retry flag makes it look; without it, memory does.
    for is_retry in [true, false] {
        request.is_retry = is_retry;
        assert_eq!(name(&store.prewrite(request.clone())), "ok");
        assert_eq!(store.engine.table.lock_count(), 0);
    }
}

#[test]
fn lock_requests_meet_locks_newer_versions_and_rollbacks() {
    let mut store = Box1::default();
    store.write(Op::Put, "k", 10, 20);
    let value = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
    assert_eq!(store.lock("k", 30, 30), Ok(Acquired::Value(value("k!"))));
    assert_eq!(name(&store.lock("k", 31, 31)), "Locked");
    assert_eq!(store.lock("k", 30, 35), Ok(Acquired::Value(value("k!"))), "again, later");
    assert_eq!(store.engine.table.holder(b"k").expect("a lock").for_update_ts, 35);
    store.engine.release(30, 34, &[b"k".to_vec()]);
    assert_eq!(store.engine.table.lock_count(), 1, "its timestamp is above");
    store.engine.release(30, 35, &[b"k".to_vec()]);
    assert_eq!(store.engine.table.take_released().last().map(|gone| gone.commit_ts), Some(0));
    // A newer version, of whatever kind.
    store.write(Op::Lock, "k", 40, 50);
    assert_eq!(name(&store.lock("k", 45, 45)), "PessimisticRetry");
    let forced = Acquire { allows_conflict: true, ..store.locking("k", 45, 45) };
    let result = store.acquire(forced.clone());
    assert_eq!(result, Ok(Acquired::WithConflict { value: value("k!"), ts: 50 }));
    assert_eq!(store.engine.table.holder(b"k").expect("a lock").for_update_ts, 50);
    assert_eq!(store.acquire(forced.clone()), result, "sent twice");
    let mut two = forced;
    two.keys.push((b"l".to_vec(), false));
    assert_eq!(name(&store.acquire(two)), "Other");
    // Rolled back before.
    store.rollback("k", 45).expect("a rollback");
    assert_eq!(name(&store.lock("k", 45, 60)), "PessimisticLockRolledBack");
    // Must not exist; only if it exists.
    let mut absent = store.locking("k", 70, 70);
    absent.keys[0].1 = true;
    assert_eq!(name(&store.acquire(absent.clone())), "AlreadyExist");
    absent.keys[0].0 = b"none".to_vec();
    assert_eq!(store.acquire(absent), Ok(Acquired::Value(None)));
    let only = Acquire { only_if_exists: true, ..store.locking("empty", 70, 70) };
    assert_eq!(store.acquire(only.clone()), Ok(Acquired::Value(None)));
    assert!(store.engine.table.holder(b"empty").is_none());
    let blind = Acquire { returns_values: false, ..only };
    assert_eq!(name(&store.acquire(blind)), "LockIfExistsFailed");
}

#[test]
fn several_keys_are_locked_together_or_not_at_all() {
    let mut store = Box1::default();
    store.lock("b", 10, 10).expect("a lock");
    let mut request = store.locking("a", 20, 20);
    request.keys.push((b"b".to_vec(), false));
    assert_eq!(name(&store.acquire(request)), "Locked");
    assert_eq!(store.engine.table.lock_count(), 1);
}

#[test]
fn commits_and_rollbacks_come_twice_and_too_late() {
    let mut store = Box1::default();
    store.write(Op::Put, "k", 10, 20);
    assert_eq!(name(&store.commit("k", 10, 20)), "ok", "twice");
    assert_eq!(name(&store.rollback("k", 10)), "Committed");
    assert_eq!(name(&store.commit("k", 30, 40)), "LockNotFound");
    assert_eq!(name(&store.commit("k", 30, 30)), "InvalidTxnTso");
    store.rollback("k", 30).expect("a rollback");
    assert_eq!(name(&store.rollback("k", 30)), "ok", "twice");
    assert_eq!(name(&store.commit("k", 30, 40)), "LockNotFound");
    // A pessimistic lock is removed by a commit, not committed.
    store.lock("p", 50, 50).expect("a lock");
    assert_eq!(name(&store.commit("p", 50, 60)), "ok");
    assert_eq!(store.get("p", 100), Ok(None));
}

#[test]
fn only_the_newest_plain_rollback_is_kept() {
    let mut store = Box1::default();
    // Without a lock nobody knows which key is the primary: plain ones.
    for start_ts in [10, 20] {
        store.rollback("k", start_ts).expect("a rollback");
    }
    assert_eq!(store.engine.table.size(), (1, 1));
    // With the primary's lock: protected.
    store.prewrite(store.put("k", 30)).expect("a prewrite");
    store.rollback("k", 30).expect("a rollback");
    store.rollback("k", 40).expect("a rollback");
    assert_eq!(store.engine.table.size(), (1, 2));
    assert_eq!(name(&store.lock("k", 30, 50)), "PessimisticLockRolledBack");
    assert_eq!(name(&store.lock("k", 20, 50)), "ok", "forgotten");
}

#[test]
fn the_status_of_a_live_transaction_pushes_it() {
    let mut store = Box1::default();
    store.prewrite(Prewrite { min_commit_ts: 11, ..store.put("k", 10) }).expect("a prewrite");
    let status = store.status(query("k", 10, 50)).expect("a status");
    assert!(matches!(status, Status::Alive { lock, is_pushed: true } if lock.min_commit_ts == 51));
    assert_eq!(name(&store.commit("k", 10, 50)), "CommitTsExpired");
    assert!(store.get("k", 50).is_ok(), "passed over");
    assert_eq!(name(&store.commit("k", 10, 51)), "ok");
    assert_eq!(store.status(query("k", 10, 60)), Ok(Status::Committed(51)));
    // A lock without a lower limit cannot be pushed.
    store.prewrite(store.put("n", 10)).expect("a prewrite");
    let status = store.status(query("n", 10, 50));
    assert!(matches!(status, Ok(Status::Alive { is_pushed: false, .. })));
}

#[test]
fn the_status_of_an_expired_transaction_rolls_it_back() {
    let later = 5_000 << LOGICAL_BITS;
    let mut store = Box1::default();
    let expired = |key| StatusQuery { current_ts: later, ..query(key, 10, 0) };
    store.prewrite(Prewrite { ttl: 3_000, ..store.put("k", 10) }).expect("a prewrite");
    assert_eq!(store.engine.heart_beat(10, b"k", 4_000), Ok(4_000));
    assert_eq!(store.engine.heart_beat(10, b"k", 1), Ok(4_000));
    let early = StatusQuery { current_ts: 4_000 << LOGICAL_BITS, ..query("k", 10, 0) };
    assert!(matches!(store.status(early), Ok(Status::Alive { .. })));
    assert_eq!(store.status(expired("k")), Ok(Status::Expired));
    assert_eq!(store.status(expired("k")), Ok(Status::RolledBack));
    assert_eq!(name(&store.engine.heart_beat(10, b"k", 1)), "TxnNotFound");
    assert_eq!(name(&store.prewrite(store.put("k", 10))), "SelfRolledBack");
    // A pessimistic one, met by a lock request: no record, it may go on.
    store.acquire(Acquire { ttl: 3_000, ..store.locking("p", 10, 10) }).expect("a lock");
    let query = StatusQuery { for_pessimistic: true, ..expired("p") };
    assert_eq!(store.status(query.clone()), Ok(Status::ExpiredPessimistic));
    assert_eq!(store.status(query), Ok(Status::MissingUntouched));
    assert_eq!(name(&store.lock("p", 10, 20)), "ok");
}

#[test]
fn the_status_of_what_is_not_there() {
    let mut store = Box1::default();
    let asking = StatusQuery { rolls_back_missing: false, ..query("k", 10, 0) };
    assert_eq!(name(&store.status(asking)), "TxnNotFound");
    assert_eq!(store.status(query("k", 10, 0)), Ok(Status::Missing));
    assert_eq!(name(&store.prewrite(store.put("k", 10))), "SelfRolledBack");
    // The lock says that another key decides.
    let mut request = store.put("s", 20);
    request.primary = b"p".to_vec();
    store.prewrite(request).expect("a prewrite");
    let verify = StatusQuery { verifies_primary: true, ..query("s", 20, 0) };
    assert_eq!(name(&store.status(verify)), "PrimaryMismatch");
}

#[test]
fn async_commits_are_decided_by_their_secondaries() {
    let later = 5_000_000 << LOGICAL_BITS;
    let mut store = Box1::default();
    let keys = [b"s".to_vec(), b"t".to_vec()];
    let prewrite = |store: &mut Box1, key: &str| {
        let primary = b"k".to_vec();
        let secondaries = Some(keys.to_vec());
        let request = Prewrite { primary, secondaries, ..store.put(key, 10) };
        store.prewrite(request).expect("a prewrite").min_commit_ts
    };
    prewrite(&mut store, "k");
    // Neither pushed nor rolled back, however old.
    let old = StatusQuery { current_ts: later, ..query("k", 10, 50) };
    assert!(matches!(
        store.status(old.clone()),
        Ok(Status::Alive { lock, is_pushed: false }) if lock.secondaries == keys
    ));
    assert_eq!(prewrite(&mut store, "s"), store.max_ts + 1);
    // One is missing: it never comes.
    let status = store.engine.check_secondaries(&mut store.max_ts, 10, &keys);
    assert_eq!(status, SecondaryStatus::RolledBack);
    let late = Prewrite { primary: b"k".to_vec(), ..store.put("t", 10) };
    assert_eq!(name(&store.prewrite(late)), "SelfRolledBack");
    // Unless the asker forces it to be a normal one.
    let forced = StatusQuery { forces_sync: true, ..old };
    assert_eq!(store.status(forced), Ok(Status::Expired));

    // All there, then one committed.
    let mut store = Box1::default();
    for key in ["k", "s", "t"] {
        prewrite(&mut store, key);
    }
    let status = store.engine.check_secondaries(&mut store.max_ts, 10, &keys);
    assert!(matches!(status, SecondaryStatus::Locked(locks) if locks.len() == 2));
    store.commit("s", 10, 20).expect("a commit");
    let status = store.engine.check_secondaries(&mut store.max_ts, 10, &keys);
    assert_eq!(status, SecondaryStatus::Committed(20));
}

#[test]
fn a_protected_rollback_outlives_an_async_commit_at_its_timestamp() {
    let mut store = Box1::default();
    let request = Prewrite { secondaries: Some(Vec::new()), ..store.put("k", 10) };
    let min_commit_ts = store.prewrite(request).expect("a prewrite").min_commit_ts;
    assert_eq!(min_commit_ts, 11);
    let status = store.engine.check_secondaries(&mut store.max_ts, 20, &[b"k".to_vec()]);
    assert_eq!(status, SecondaryStatus::RolledBack);
    store.commit("k", 10, 20).expect("a commit");
    assert_eq!(store.get("k", 30), Ok(Some("k!".to_owned())));
    assert_eq!(name(&store.prewrite(store.put("k", 20))), "SelfRolledBack");
}

#[test]
fn locks_left_behind_are_found_and_resolved() {
    let mut store = Box1::default();
    for (key, start_ts) in [("a", 10), ("b", 10), ("c", 20), ("d", 30)] {
        store.prewrite(store.put(key, start_ts)).expect("a prewrite");
    }
    store.lock("e", 10, 10).expect("a lock");
    let mut found =
        |until, limit| store.engine.scan_locks(&mut store.max_ts, until, b"", b"", limit).len();
    assert_eq!((found(10, 0), found(20, 0), found(30, 2)), (3, 4, 2));
    let outcomes = BTreeMap::from([(10, 40), (20, 0)]);
    store.engine.resolve_range(&outcomes, b"b", b"").expect("resolved");
    assert_eq!(store.engine.table.lock_count(), 2, "a is outside, d is another's");
    assert_eq!(store.get("b", 50), Ok(Some("b!".to_owned())));
    assert_eq!(store.get("c", 50), Ok(None));
    let keys = [b"a".to_vec()];
    store.engine.resolve_keys(10, 40, &keys).expect("resolved");
    assert_eq!(name(&store.engine.resolve_keys(10, 0, &keys)), "Committed");
    assert_eq!(store.get("a", 40), Ok(Some("a!".to_owned())));
}

#[test]
fn garbage_is_what_nobody_above_the_safe_point_sees() {
    let mut store = Box1::default();
    for (op, start_ts) in [
        (Op::Put, 10),
        (Op::Put, 20),
        (Op::Lock, 30),
        (Op::Delete, 40),
        (Op::Put, 50),
        (Op::Put, 60),
    ] {
        store.write(op, "k", start_ts, start_ts + 5);
    }
    for (safe_point, removed) in [(9, 0), (26, 1), (36, 1), (46, 2), (56, 0), (100, 1)] {
        let before = [safe_point, 100].map(|ts| store.get("k", ts));
        assert_eq!(store.engine.table.collect_garbage(safe_point), removed, "at {safe_point}");
        assert_eq!([safe_point, 100].map(|ts| store.get("k", ts)), before, "at {safe_point}");
    }
    store.write(Op::Delete, "k", 110, 120);
    assert_eq!(store.engine.table.collect_garbage(120), 2);
    assert_eq!(store.engine.table.size(), (0, 0));
}

#[test]
fn a_destroyed_range_is_gone_with_its_locks() {
    let mut store = Box1::default();
    for key in ["a", "b", "c"] {
        store.write(Op::Put, key, 10, 20);
    }
    store.prewrite(store.put("b", 30)).expect("a prewrite");
    store.engine.table.destroy_range(b"b", b"c");
    assert_eq!((store.engine.table.size().0, store.engine.table.lock_count()), (2, 0));
}

#[test]
fn a_crash_of_a_leader_loses_pessimistic_locks_only() {
    let mut store = Box1::default();
    store.lock("a", 10, 10).expect("a lock");
    store.lock("x", 10, 10).expect("a lock");
    store.prewrite(store.put("b", 10)).expect("a prewrite");
    store.engine.table.lose_pessimistic_locks(b"a", b"m");
    assert_eq!(store.engine.table.lock_count(), 2);
}
