//! Clusters that cannot be used, and those that can although something is wrong with them: TLS,
//! versions, lists of PD members, clocks that jump; and what is counted of it.
#![allow(clippy::unwrap_used)]

use crate::common::hasty;
use braid_kv::{
    CommitOutcome, Database, DatabaseOptions, Error, Isolation, LockRequest, StoreValue,
    Transaction, TxnOptions,
};
use braid_kv_tikv::{OpenError, TikvAddress, TikvStore, TlsFiles};
use braid_testkit::tikv::{Authority, Config, Fault, Identity, Rpc, Rule, TikvStandIn, Tls};
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;

async fn open(address: &TikvAddress) -> Result<Database, OpenError> {
    let store = TikvStore::open(address, hasty()).await?;
    Ok(Database::new(Arc::new(store), DatabaseOptions::default()))
}

async fn refusal(address: &TikvAddress) -> String {
    match open(address).await {
        Ok(_) => panic!("{address:?} was opened"),
        Err(error) => error.to_string(),
    }
}

fn address(cluster: &TikvStandIn) -> TikvAddress {
    TikvAddress::parse(&cluster.store_url()).unwrap()
}

async fn put(db: &Database, key: &str, value: &str) {
    let t = db.begin(TxnOptions::default());
    t.put(t.next_statement(), key.as_bytes(), value.as_bytes().to_vec()).unwrap();
    t.commit_or_error().await.unwrap();
}

async fn get(db: &Database, key: &str) -> Option<String> {
    let t = db.begin(TxnOptions::default());
    let found = t.get(t.next_statement(), key.as_bytes()).await.unwrap();
    t.rollback().await;
    found.map(|value| String::from_utf8_lossy(&value).into_owned())
}

/// A folder of files for TLS.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(TempDir::new().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn identity(&self, name: &str, identity: &Identity) -> Option<(PathBuf, PathBuf)> {
        let cert = self.write(&format!("{name}.pem"), &identity.cert);
        Some((cert, self.write(&format!("{name}.key"), &identity.key)))
    }
}

fn with_tls(client_ca: Option<&Authority>, identity: Identity) -> TikvStandIn {
    let client_ca = client_ca.map(|ca| ca.pem().to_owned());
    TikvStandIn::start(Config { tls: Some(Tls { identity, client_ca }), ..Config::default() })
}

#[tokio::test]
async fn a_cluster_speaks_tls() {
    let (ca, other) = (Authority::new(), Authority::new());
    let files = Files::new();
    let cluster = with_tls(None, ca.issue());
    let plain = address(&cluster);
    let tls =
        |ca: PathBuf| TikvAddress { tls: Some(TlsFiles { ca, identity: None }), ..plain.clone() };
    let db = open(&tls(files.write("ca.pem", ca.pem()))).await.unwrap();
    put(&db, "a", "1").await;
    assert_eq!(get(&db, "a").await.as_deref(), Some("1"));

    let wrong = refusal(&tls(files.write("other.pem", other.pem()))).await;
    assert!(wrong.contains("UnknownIssuer"), "{wrong}");
    let wrong = refusal(&plain).await;
    assert!(wrong.contains("does the cluster want TLS (ca=FILE)?"), "{wrong}");

    let elsewhere = with_tls(None, ca.issue_for(&["pd.example"]));
    let ca_file = files.write("ca.pem", ca.pem());
    let of_another = TikvAddress { tls: tls(ca_file).tls, ..address(&elsewhere) };
    let wrong = refusal(&of_another).await;
    assert!(wrong.contains("certificate not valid for name"), "{wrong}");
}

#[tokio::test]
async fn a_cluster_asks_for_a_certificate() {
    let (ca, other) = (Authority::new(), Authority::new());
    let files = Files::new();
    let ca_file = files.write("ca.pem", ca.pem());
    let cluster = with_tls(Some(&ca), ca.issue());
    let tls = |identity| TikvAddress {
        tls: Some(TlsFiles { ca: ca_file.clone(), identity }),
        ..address(&cluster)
    };
    let db = open(&tls(files.identity("ours", &ca.issue()))).await.unwrap();
    put(&db, "a", "1").await;
    let wrong = refusal(&tls(None)).await;
    assert!(wrong.contains("take our certificate?"), "{wrong}");
    let wrong = refusal(&tls(files.identity("other", &other.issue()))).await;
    assert!(wrong.contains("ertificate") || wrong.contains("UnknownCA"), "{wrong}");
}

#[tokio::test]
async fn tls_to_a_cluster_without_it_says_so() {
    let files = Files::new();
    let cluster = TikvStandIn::start(Config::default());
    let ca = files.write("ca.pem", Authority::new().pem());
    let tls = Some(TlsFiles { ca, identity: None });
    let wrong = refusal(&TikvAddress { tls, ..address(&cluster) }).await;
    assert!(wrong.contains("does the cluster speak TLS"), "{wrong}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let ca = Authority::new();
    let files = Files::new();
    let good = files.write("ca.pem", ca.pem());
    let check = async |ca: PathBuf, identity, says: [&str; 2]| {
        let nobody = TikvAddress::parse("tikv://127.0.0.1:1").unwrap();
        let tls = Some(TlsFiles { ca, identity });
        let wrong = refusal(&TikvAddress { tls, ..nobody }).await;
        for say in says {
            assert!(wrong.starts_with("could not load \"") && wrong.contains(say), "{wrong}");
        }
    };
    let missing = files.0.path().join("none.pem");
    check(missing, None, ["none.pem", "No such file"]).await;
    check(files.write("empty.pem", "nothing\n"), None, ["empty.pem", "no certificate"]).await;
    let (one, two) = (ca.issue(), ca.issue());
    let mixed = Identity { cert: one.cert.clone(), key: two.key };
    check(good.clone(), files.identity("mixed", &mixed), ["mixed.key", "ey"]).await;
    let swapped = Identity { cert: one.key, key: one.cert };
    check(good, files.identity("swapped", &swapped), ["swapped.pem", "no certificate"]).await;
}

#[tokio::test]
async fn what_is_too_old_is_refused() {
    let version = "v6.5.9".to_owned();
    let cluster = TikvStandIn::start(Config { version, ..Config::default() });
    let wrong = refusal(&address(&cluster)).await;
    let expected = "of the cluster has version v6.5.9, and 7.5.0 is the oldest that can be used";
    assert!(wrong.starts_with("store 1 at 127.0.0.1:") && wrong.ends_with(expected), "{wrong}");
}

#[tokio::test]
async fn one_member_that_answers_is_enough_and_names_the_others() {
    let pd_ports = vec![0, 0, 0];
    let cluster = TikvStandIn::start(Config { pd_ports, ..Config::default() });
    let all = cluster.pd_addresses();
    let only = |pd: Vec<String>| TikvAddress { pd, ..address(&cluster) };
    // The second is nobody's.
    let db = open(&only(vec![all[0].clone(), "127.0.0.1:1".to_owned()])).await.unwrap();
    put(&db, "a", "1").await;
    cluster.pd().stop(0);
    put(&db, "a", "2").await;
    assert_eq!(get(&db, "a").await.as_deref(), Some("2"));
    let gone = open(&only(vec![all[0].clone()])).await;
    assert!(matches!(gone, Err(OpenError::Cluster(Error::Unreachable(_)))), "{:?}", gone.err());
}

#[tokio::test]
async fn members_of_different_clusters_are_refused() {
    let one = TikvStandIn::start(Config::default());
    let other = TikvStandIn::start(Config { cluster_id: 7, ..Config::default() });
    let pd = [one.pd_addresses(), other.pd_addresses()].concat();
    let wrong = refusal(&TikvAddress { pd, ..address(&one) }).await;
    assert!(wrong.ends_with("are of different clusters"), "{wrong}");
}

fn begin(db: &Database) -> Arc<Transaction> {
    db.begin(TxnOptions { isolation: Isolation::Serializable, ..TxnOptions::default() })
}

async fn lock(t: &Transaction, key: &str) {
    let request = LockRequest::keys(vec![key.as_bytes().to_vec()]);
    t.lock(t.next_statement(), request).await.unwrap();
}

#[tokio::test]
async fn a_clock_that_jumps_loses_no_update() {
    let cluster = TikvStandIn::start(Config::default());
    let db = open(&address(&cluster)).await.unwrap();
    put(&db, "n", "0").await;
    for jump in [60_000, -120_000, 3_600_000, -3_600_000] {
        let before: u64 = get(&db, "n").await.unwrap().parse().unwrap();
        let t = begin(&db);
        lock(&t, "n").await;
        // To others the lock is old now, or from the future.
        cluster.pd().jump_clock(jump);
        let other = db.clone();
        let other = tokio::spawn(async move {
            loop {
                let t = begin(&other);
                let n = t.get(t.next_statement(), b"n").await.unwrap().unwrap();
                let n: u64 = String::from_utf8_lossy(&n).parse().unwrap();
                t.put(t.next_statement(), b"n", (n + 1).to_string()).unwrap();
                if t.commit_or_error().await.is_ok() {
                    return;
                }
            }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let n = t.get(t.next_statement(), b"n").await.unwrap().unwrap();
        let n: u64 = String::from_utf8_lossy(&n).parse().unwrap();
        t.put(t.next_statement(), b"n", (n + 1).to_string()).unwrap();
        let ours = match t.commit().await {
            Ok(CommitOutcome::Committed(_)) => 1,
            Ok(CommitOutcome::Retry(_)) => 0,
            outcome => panic!("{outcome:?}"),
        };
        other.await.unwrap();
        let after: u64 = get(&db, "n").await.unwrap().parse().unwrap();
        assert_eq!(after, before + 1 + ours, "a jump of {jump} ms");
    }
}

/// A counter of the store's own.
fn counter(db: &Database, name: &str, label: &str) -> u64 {
    let all = db.store().own_metrics();
    let found = all.iter().find(|m| m.name == name && m.label.is_some_and(|l| l.1 == label));
    match found.map(|metric| &metric.value) {
        Some(StoreValue::Counter(value)) => *value,
        None => 0,
        other => panic!("{name} {label}: {other:?}"),
    }
}

#[tokio::test]
async fn requests_and_retries_are_counted_by_kind() {
    let cluster = TikvStandIn::start(Config::default());
    let db = open(&address(&cluster)).await.unwrap();
    let retries = |reason: &str| counter(&db, "braid_tikv_retries_total", reason);
    let commits = |kind: &str| counter(&db, "braid_tikv_commits_total", kind);
    put(&db, "a", "1").await;
    assert_eq!(commits("one_phase"), 1);
    cluster.split(b"braid/dm");
    put(&db, "a", "2").await;
    assert!(retries("epoch") <= 1, "the border may be behind the key");
    let both = begin(&db);
    both.put(both.next_statement(), b"a", "3").unwrap();
    both.put(both.next_statement(), b"z", "3").unwrap();
    both.commit_or_error().await.unwrap();
    assert_eq!(commits("async"), 1);
    let skewed = begin(&db);
    skewed.get(skewed.next_statement(), b"a").await.unwrap();
    skewed.put(skewed.next_statement(), b"z", "4").unwrap();
    skewed.commit_or_error().await.unwrap();
    assert_eq!(commits("two_phase"), 1);
    for (fault, reason) in [
        (Fault::Busy, "busy"),
        (Fault::NotLeader, "not_leader"),
        (Fault::LoseRequest, "transport"),
        (Fault::Split, "epoch"),
    ] {
        let before = retries(reason);
        cluster.add(Rule::next(Rpc::Get, fault));
        get(&db, "abc").await;
        // Who leads now is found out in more than one step.
        assert!(retries(reason) > before, "{reason}");
    }
    let mut sent = counter(&db, "braid_tikv_requests_total", "kv_get");
    let mut came = cluster.count(Rpc::Get);
    get(&db, "a").await;
    sent = counter(&db, "braid_tikv_requests_total", "kv_get") - sent;
    came = cluster.count(Rpc::Get) - came;
    assert_eq!((sent, came), (1, 1));
}
