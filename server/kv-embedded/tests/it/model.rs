//! Random work on the embedded store, compared with a simple model in memory: reads, writes,
//! range deletes, savepoints, snapshots that stay open, restarts, scans of one kind of keys.
//!
//! `BRAID_TEST_SIZE` is `small` (default), `medium` or `full`.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{Database, Isolation, KeyShape, SavepointId, ScanRequest, Seq, Span, Transaction};
use braid_kv_embedded::EmbeddedOptions;
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    PutNew(u8, u8),
    Delete(u8),
    DeleteSpan(u8, u8),
    Get(u8),
    /// Many keys at once: those from one on with a distance between them, in some order.
    GetMany {
        from: u8,
        every: usize,
        order: u8,
    },
    Scan {
        from: u8,
        to: u8,
        reverse: bool,
        limit: usize,
    },
    /// A scan of one of the [`KINDS`].
    ScanKind {
        kind: u8,
        from: u8,
        to: u8,
        reverse: bool,
        limit: usize,
    },
    Savepoint,
    RollbackTo(u8),
    Commit,
    Rollback,
    OpenSnapshot,
    CheckSnapshots,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (any::<u8>(), any::<u8>()).prop_map(|(k, v)| Step::Put(k % 40, v)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(k, v)| Step::PutNew(k % 40, v)),
        4 => any::<u8>().prop_map(|k| Step::Delete(k % 40)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(a, n)| Step::DeleteSpan(a % 40, n % 12)),
        4 => any::<u8>().prop_map(|k| Step::Get(k % 40)),
        4 => (any::<u8>(), 1..5usize, 0..3u8)
            .prop_map(|(from, every, order)| Step::GetMany { from: from % 30, every, order }),
        4 => (any::<u8>(), any::<u8>(), any::<bool>(), 0..9usize)
            .prop_map(|(a, n, reverse, limit)| {
                Step::Scan { from: a % 40, to: (a % 40).saturating_add(n % 41), reverse, limit }
            }),
        6 => (0..3u8, any::<u8>(), any::<u8>(), any::<bool>(), 0..9usize)
            .prop_map(|(kind, a, n, reverse, limit)| {
                let to = (a % 40).saturating_add(n % 41);
                Step::ScanKind { kind, from: a % 40, to, reverse, limit }
            }),
        3 => Just(Step::Savepoint),
        2 => any::<u8>().prop_map(Step::RollbackTo),
        5 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        1 => Just(Step::OpenSnapshot),
        2 => Just(Step::CheckSnapshots),
        1 => Just(Step::Restart),
    ]
}

fn key(k: u8) -> Vec<u8> {
    vec![b'k', k]
}

/// Keys that leave a remainder below `to` and from `from` on when their number is divided by
/// eight: the kinds lie mixed, each in runs of its own length.
#[derive(Debug)]
struct Runs {
    name: &'static [u8],
    from: u8,
    to: u8,
    gap_keys: Option<usize>,
}

const KINDS: [Runs; 3] = [
    Runs { name: b"parent", from: 0, to: 1, gap_keys: Some(100) },
    Runs { name: b"child", from: 1, to: 6, gap_keys: None },
    Runs { name: b"other", from: 6, to: 8, gap_keys: Some(2) },
];

impl KeyShape for Runs {
    fn gap(&self, found: &[u8]) -> Option<Span> {
        let (group, place) = (found[1] & !7, found[1] & 7);
        if place < self.from {
            return Some(Span::new(key(group), key(group + self.from)));
        }
        (place >= self.to).then(|| Span::new(key(group + self.to), key(group + 8)))
    }
    fn has_all_of(&self, _: &Span) -> bool {
        false
    }
    fn name(&self) -> &[u8] {
        self.name
    }
    fn gap_keys(&self) -> Option<usize> {
        self.gap_keys
    }
}

fn shape(kind: u8) -> Arc<dyn KeyShape> {
    let Runs { name, from, to, gap_keys } = KINDS[usize::from(kind)];
    Arc::new(Runs { name, from, to, gap_keys })
}

struct Run {
    /// Every commit becomes tables at once.
    ingests: bool,
    dir: tempfile::TempDir,
    db: Option<Database>,
    committed: Model,
    txn: Option<Arc<Transaction>>,
    own: Model,
    /// Whether a put-new of an existing key was made: the commit must fail.
    doomed: Vec<Vec<u8>>,
    savepoints: Vec<(SavepointId, Model, Vec<Vec<u8>>)>,
    snapshots: Vec<(Arc<Transaction>, Model)>,
}

impl Run {
    fn db(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    fn txn(&mut self) -> (Arc<Transaction>, Seq) {
        if self.txn.is_none() {
            self.txn = Some(serializable(self.db()));
            self.own = self.committed.clone();
            self.doomed.clear();
            self.savepoints.clear();
        }
        let txn = self.txn.clone().unwrap();
        let seq = txn.next_statement();
        (txn, seq)
    }

    async fn scan(
        txn: &Arc<Transaction>,
        seq: Seq,
        span: Span,
        reverse: bool,
        limit: usize,
        shape: Option<&Arc<dyn KeyShape>>,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let request = ScanRequest::new(span).reverse(reverse).limit_rows(limit).shape(shape);
        let mut scanner = txn.scanner(seq, request);
        let mut found = Vec::new();
        while let Some(batch) = scanner.next_batch().await.unwrap() {
            assert!(limit == 0 || batch.len() <= limit);
            found.extend(batch.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
        }
        found
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Put(k, v) => {
                let (txn, seq) = self.txn();
                txn.put(seq, key(k), vec![v; 3]).unwrap();
                self.own.insert(key(k), vec![v; 3]);
            }
            Step::PutNew(k, v) => {
                let (txn, seq) = self.txn();
                let there = txn.get(seq, &key(k)).await.unwrap().is_some();
                assert_eq!(there, self.own.contains_key(&key(k)));
                let touched = txn.reads().has_own_writes(seq, &Span::key(key(k)));
                match txn.put_new(seq, key(k), vec![v; 3]) {
                    Ok(()) => {
                        assert!(!(there && touched));
                        if there {
                            self.doomed.push(key(k));
                        }
                        self.own.insert(key(k), vec![v; 3]);
                    }
                    Err(error) => assert!(there && touched, "{error}"),
                }
            }
            Step::Delete(k) => {
                let (txn, seq) = self.txn();
                txn.delete(seq, key(k)).unwrap();
                self.own.remove(&key(k));
            }
            Step::DeleteSpan(from, n) => {
                let (txn, seq) = self.txn();
                txn.writes().delete_span(seq, Span::new(key(from), key(from + n))).unwrap();
                self.own.retain(|k, _| k[1] < from || k[1] >= from + n);
            }
            Step::Get(k) => {
                let (txn, seq) = self.txn();
                let found = txn.get(seq, &key(k)).await.unwrap();
                assert_eq!(found.as_deref(), self.own.get(&key(k)).map(Vec::as_slice));
            }
            Step::GetMany { from, every, order } => {
                let (txn, seq) = self.txn();
                let mut keys: Vec<Vec<u8>> =
                    (from..=u8::MAX).step_by(every).take(80).map(key).collect();
                match order {
                    0 => {}
                    1 => keys.reverse(),
                    // A key twice, and one out of order.
                    _ => keys.extend([key(from), key(from), key(from + 1)]),
                }
                let found = txn.reads().multi_get(seq, &keys).await.unwrap();
                let right: Vec<_> = keys.iter().map(|key| self.own.get(key).cloned()).collect();
                let found: Vec<_> =
                    found.iter().map(|value| value.as_ref().map(|v| v.to_vec())).collect();
                assert_eq!(found, right);
            }
            Step::Scan { from, to, reverse, limit } => {
                let (txn, seq) = self.txn();
                let span = Span::new(key(from), key(to));
                let mut found = Run::scan(&txn, seq, span, reverse, limit, None).await;
                if reverse {
                    found.reverse();
                }
                let expected: Vec<_> = self
                    .own
                    .range(key(from)..key(to))
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect();
                assert_eq!(found, expected);
            }
            Step::ScanKind { kind, from, to, reverse, limit } => {
                let (txn, seq) = self.txn();
                let span = Span::new(key(from), key(to));
                let shape = shape(kind);
                let mut found = Run::scan(&txn, seq, span, reverse, limit, Some(&shape)).await;
                if reverse {
                    found.reverse();
                }
                let mut expected = self.own.clone();
                expected.retain(|k, _| from <= k[1] && k[1] < to && shape.gap(k).is_none());
                assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
            }
            Step::Savepoint => {
                let (txn, _) = self.txn();
                let saved = (txn.savepoint(), self.own.clone(), self.doomed.clone());
                self.savepoints.push(saved);
            }
            Step::RollbackTo(which) => {
                if self.txn.is_none() || self.savepoints.is_empty() {
                    return;
                }
                let (txn, _) = self.txn();
                self.savepoints.truncate(usize::from(which) % self.savepoints.len() + 1);
                let (savepoint, own, doomed) = self.savepoints.last().cloned().unwrap();
                txn.rollback_to(savepoint);
                (self.own, self.doomed) = (own, doomed);
            }
            Step::Commit => {
                let Some(txn) = self.txn.take() else { return };
                let result = txn.commit_or_error().await;
                if self.doomed.is_empty() {
                    result.unwrap();
                    self.committed = std::mem::take(&mut self.own);
                } else {
                    assert!(matches!(result, Err(braid_kv::Error::Duplicate { .. })));
                }
            }
            Step::Rollback => {
                if let Some(txn) = self.txn.take() {
                    txn.rollback().await;
                }
            }
            Step::OpenSnapshot => {
                let txn = begin(self.db(), Isolation::RepeatableRead);
                txn.snapshots().current().await.unwrap();
                self.snapshots.push((txn, self.committed.clone()));
            }
            Step::CheckSnapshots => {
                for (txn, model) in &self.snapshots {
                    let seq = txn.next_statement();
                    let span = Span::new(key(0), key(255));
                    let found = Run::scan(txn, seq, span.clone(), false, 0, None).await;
                    assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
                    for kind in 0..3 {
                        let (shape, span) = (shape(kind), span.clone());
                        let found = Run::scan(txn, seq, span, false, 0, Some(&shape)).await;
                        let mut expected = model.clone();
                        expected.retain(|k, _| shape.gap(k).is_none());
                        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
                    }
                }
            }
            Step::Restart => {
                (self.txn, self.snapshots) = (None, Vec::new());
                let db = self.db.take().unwrap();
                db.close().await.unwrap();
                drop(db);
                self.db = Some(open_small(self.dir.path(), self.ingests));
            }
        }
    }
}

/// Everything small, so that limits are met; no syncs, since nothing is killed here.
fn open_small(path: &std::path::Path, ingests: bool) -> Database {
    open_with(
        path,
        EmbeddedOptions {
            range_cache_bytes: 2_000,
            range_cache_scan_bytes_min: 0,
            empty_span_deletes_min: 1,
            recent_bytes_max: 2_000,
            cache_bytes: 1 << 20,
            sync: false,
            ingest_writes_min: if ingests { 1 } else { usize::MAX },
            ..EmbeddedOptions::default()
        },
    )
}

fn cases() -> u32 {
    match std::env::var("BRAID_TEST_SIZE").as_deref() {
        Ok("full") => 2_000,
        Ok("medium") => 200,
        _ => 24,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn embedded_store_acts_like_a_map(
        steps in prop::collection::vec(step(), 1..150),
        ingests in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let db = Some(open_small(dir.path(), ingests));
            let mut run = Run {
                ingests,
                dir,
                db,
                committed: Model::new(),
                txn: None,
                own: Model::new(),
                doomed: Vec::new(),
                savepoints: Vec::new(),
                snapshots: Vec::new(),
            };
            for step in steps {
                run.step(step).await;
            }
            run.step(Step::Commit).await;
            run.step(Step::CheckSnapshots).await;
            run.step(Step::Restart).await;
            run.step(Step::Scan { from: 0, to: 255, reverse: false, limit: 0 }).await;
        });
    }
}
