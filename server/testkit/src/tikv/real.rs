//! A real PD and real stores for one test, which kills and starts them, and moves leaders.
//!
//! The environment variable `TIKV_BIN` names a folder with `pd-server` and `tikv-server`. All of it
//! runs on loopback ports, with its data in a temporary folder; everything ends when the cluster is
//! dropped. What the programs need (libraries) comes from the environment of the test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::admin::Admin;
use crate::random::Random;

/// A cluster that takes longer to be ready is none.
const PATIENCE: Duration = Duration::from_secs(180);

/// Small, and quick to elect; safe on a machine with few open files.
const STORE_CONFIG: &str = r#"
[log]
level = "warn"
[server]
grpc-concurrency = 2
[storage]
reserve-space = "0MB"
reserve-raft-space = "0MB"
scheduler-worker-pool-size = 2
[storage.block-cache]
capacity = "128MB"
[readpool.unified]
min-thread-count = 1
max-thread-count = 2
[raftstore]
capacity = "8GB"
store-pool-size = 1
apply-pool-size = 1
raft-base-tick-interval = "300ms"
raft-store-max-leader-lease = "2500ms"
[raft-engine]
enable = true
purge-threshold = "256MB"
prefill-for-recycle = false
[rocksdb]
max-background-jobs = 2
max-open-files = 1000
[raftdb]
max-open-files = 1000
"#;

const PD_CONFIG: &str = r#"
[log]
level = "warn"
[replication]
max-replicas = 3
"#;

/// A cluster of one PD and some stores, all of them processes of this test.
#[derive(Debug)]
pub struct RealCluster {
    folder: TempDir,
    bin: PathBuf,
    pd_port: u16,
    pd: Child,
    stores: Vec<RealStore>,
}

#[derive(Debug)]
struct RealStore {
    port: u16,
    status_port: u16,
    /// `None` while it is dead.
    process: Option<Child>,
}

impl RealCluster {
    /// Starts one of three stores, if `TIKV_BIN` is set.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn from_env() -> Option<Self> {
        let bin = std::env::var_os("TIKV_BIN")?;
        Some(Self::start(Path::new(&bin), 3))
    }

    fn start(bin: &Path, stores: usize) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a configuration");
        };
        write("pd.toml", PD_CONFIG);
        write("tikv.toml", STORE_CONFIG);
        let mut ports = free_ports(2 + 2 * stores).into_iter();
        let mut port = || ports.next().expect("there are enough");
        let (pd_port, peer_port) = (port(), port());
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        let pd = spawn(
            bin,
            "pd-server",
            &folder,
            &[
                ("--name", "pd".to_owned()),
                ("--data-dir", path(&folder, "pd")),
                ("--client-urls", at(pd_port)),
                ("--peer-urls", at(peer_port)),
                ("--config", path(&folder, "pd.toml")),
                ("--log-file", path(&folder, "pd.log")),
            ],
        );
        let stores = 0..stores;
        let stores = stores.map(|_| RealStore { port: port(), status_port: port(), process: None });
        let stores: Vec<_> = stores.collect();
        let mut cluster = RealCluster { bin: bin.to_owned(), pd_port, pd, stores, folder };
        wait_for("PD", || cluster.http("GET", "/pd/api/v1/health", "").is_some());
        for number in 0..cluster.stores.len() {
            cluster.start_store(number);
        }
        cluster.wait_until_complete();
        cluster
    }

    /// Waits until every store is up and every region has a replica on each.
    fn wait_until_complete(&self) {
        let stores = self.stores.len();
        let admin = self.admin();
        wait_for("stores", || {
            let answer = self.http("GET", "/pd/api/v1/stores", "").unwrap_or_default();
            answer.matches("\"state_name\": \"Up\"").count() == stores
        });
        wait_for("replicas", || {
            let regions = admin.regions(b"");
            !regions.is_empty() && regions.iter().all(|region| region.stores.len() == stores)
        });
    }

    /// Of its PD: `host:port`.
    pub fn pd_address(&self) -> String {
        format!("127.0.0.1:{}", self.pd_port)
    }

    /// What `braid start --store` takes.
    pub fn store_url(&self) -> String {
        format!("tikv://{}", self.pd_address())
    }

    /// A look from outside.
    pub fn admin(&self) -> Admin {
        Admin::connect(&self.pd_address())
    }

    /// How many stores there are, dead or alive.
    pub fn store_count(&self) -> usize {
        self.stores.len()
    }

    /// `kill -9`.
    pub fn kill_store(&mut self, number: usize) {
        if let Some(mut process) = self.stores[number].process.take() {
            end(&mut process);
        }
    }

    /// Starts a store on its data.
    ///
    /// # Panics
    /// If it does not listen soon.
    pub fn start_store(&mut self, number: usize) {
        let store = &self.stores[number];
        let (port, status_port) = (store.port, store.status_port);
        let process = spawn(
            &self.bin,
            "tikv-server",
            &self.folder,
            &[
                ("--pd-endpoints", self.pd_address()),
                ("--addr", format!("127.0.0.1:{port}")),
                ("--status-addr", format!("127.0.0.1:{status_port}")),
                ("--data-dir", path(&self.folder, &format!("store-{number}"))),
                ("--config", path(&self.folder, "tikv.toml")),
                ("--log-file", path(&self.folder, &format!("store-{number}.log"))),
            ],
        );
        self.stores[number].process = Some(process);
        wait_for("a store", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
    }

    /// Asks PD to move the leader of a region with that prefix; false if there was nothing to move.
    pub fn move_leader(&self, prefix: &[u8], random: &mut Random) -> bool {
        let regions = self.admin().regions(prefix);
        let region = random.pick(&regions);
        let others: Vec<u64> =
            region.stores.iter().copied().filter(|store| *store != region.leader).collect();
        if others.is_empty() {
            return false;
        }
        let body = format!(
            r#"{{"name":"transfer-leader","region_id":{},"to_store_id":{}}}"#,
            region.id,
            random.pick(&others)
        );
        self.http("POST", "/pd/api/v1/operators", &body).is_some()
    }

    /// The body of PD's answer; `None` if it is not a good one.
    fn http(&self, method: &str, path: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.pd_port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: pd\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
    }
}

impl Drop for RealCluster {
    fn drop(&mut self) {
        for number in 0..self.stores.len() {
            self.kill_store(number);
        }
        end(&mut self.pd);
    }
}

fn end(process: &mut Child) {
    // It may have ended by itself.
    let _ = process.kill();
    let _ = process.wait();
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Starts one of the programs with as many open files as the system allows.
fn spawn(bin: &Path, program: &str, folder: &TempDir, args: &[(&str, String)]) -> Child {
    let output = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join(format!("{program}.out")))
        .expect("a file for its output");
    Command::new("sh")
        .args(["-c", r#"ulimit -n "$(ulimit -Hn)"; exec "$0" "$@""#])
        .arg(bin.join(program))
        .args(args.iter().map(|(name, value)| format!("{name}={value}")))
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a file"))
        .stderr(output)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {program}: {error}"))
}

/// Ports that were free a moment ago: the programs take no others than those they are told.
fn free_ports(count: usize) -> Vec<u16> {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
    let listeners: Vec<_> = (0..count).map(bind).collect();
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    listeners.iter().map(port).collect()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not there after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
