//! The cluster, gateways over it, and both clients of them.

use std::env;
use std::error::Error;

use tikv_client::{
    BoundRange, CheckLevel, Config, RawClient, Snapshot, TransactionClient, TransactionOptions,
};
use tokio_postgres::{Client, NoTls};

use crate::process::Process;

/// Whatever stops a check.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The prefix of the database. Keys of other programs are before and after it.
pub const PREFIX: &str = "braid/";
/// More keys than any check writes.
const KEYS_MAX: u32 = 10_000;
/// The latency of a store, so that a commit can be met while it is under way.
const LATENCY_MS: &str = "20";

/// A cluster of TiKV, and how to reach it.
pub struct Cluster {
    /// Host and port of a PD member.
    pd: String,
    /// Reads and writes with versions.
    pub tikv: TransactionClient,
    /// Reads and writes without versions.
    pub raw: RawClient,
    /// The stand-in, if it is not a real cluster.
    _standin: Option<Process>,
}

/// One `braid` process and a connection to it.
pub struct Gateway {
    pub process: Process,
    pub sql: Client,
    url: String,
}

impl Cluster {
    /// Starts the stand-in, or uses the cluster of `TIKV_PD`.
    pub async fn start() -> Result<Cluster> {
        let (standin, pd) = match env::var("TIKV_PD") {
            Ok(pd) => (None, pd),
            Err(_) => {
                let program = variable("TIKV_STANDIN", "debug/tikv-standin");
                let args = ["--latency-ms", LATENCY_MS];
                let (process, pd) = Process::start(&program, &args, "tikv://").await?;
                (Some(process), pd)
            }
        };
        let tikv = TransactionClient::new_with_config(vec![pd.clone()], Config::default()).await?;
        let raw = RawClient::new(vec![pd.clone()]).await?;
        Ok(Cluster { pd, tikv, raw, _standin: standin })
    }

    /// Starts a gateway, and connects to it.
    pub async fn gateway(&self) -> Result<Gateway> {
        let store = format!("tikv://{}?prefix={PREFIX}&gc_life_time=1s", self.pd);
        let args = [
            "start",
            "--store",
            &store,
            "--listen",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--log",
            "error",
        ];
        let program = variable("BRAID_BINARY", "release/braid");
        let (process, url) = Process::start(&program, &args, "sql:").await?;
        let sql = connect(&url).await?;
        Ok(Gateway { process, sql, url })
    }

    /// Splits the keys of the database into regions with as many keys each.
    pub async fn split(&self, parts: usize) -> Result<()> {
        let program = variable("TIKV_SPLIT", "debug/tikv-split");
        let prefix: String = PREFIX.bytes().map(|byte| format!("{byte:02x}")).collect();
        let mut command = tokio::process::Command::new(program);
        let output = command.args([&self.pd, &prefix, &parts.to_string()]).output().await?;
        if output.status.success() { Ok(()) } else { Err("the keys could not be split".into()) }
    }

    /// What the database looks like now.
    pub async fn now(&self) -> Result<Snapshot> {
        let timestamp = self.tikv.current_timestamp().await?;
        let options = TransactionOptions::new_optimistic().drop_check(CheckLevel::None);
        Ok(self.tikv.snapshot(timestamp, options))
    }

    /// Keys and values with a text in the value, in key order.
    pub async fn find(&self, text: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        find_in(&mut self.now().await?, text).await
    }

    /// The number of locks on these keys, of transactions that have begun to commit. Gateways
    /// renew their leases all the time, so other keys may have a lock at any moment.
    pub async fn prewritten(&self, keys: &[Vec<u8>]) -> Result<usize> {
        let now = self.tikv.current_timestamp().await?;
        let locks = self.tikv.scan_locks(&now, database(), KEYS_MAX).await?;
        // A lock of kind 5 is pessimistic: it has no value, and readers pass over it.
        let locks = locks.iter().filter(|lock| lock.lock_type != 5);
        Ok(locks.filter(|lock| keys.contains(&lock.key)).count())
    }
}

impl Gateway {
    /// Another connection.
    pub async fn connect(&self) -> Result<Client> {
        connect(&self.url).await
    }

    /// A counter of `/metrics`, read by SQL.
    pub async fn number(&self, query: &str) -> Result<i64> {
        Ok(self.sql.query_one(query, &[]).await?.get(0))
    }
}

/// Keys and values of a snapshot with a text in the value, in key order.
pub async fn find_in(snapshot: &mut Snapshot, text: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let text = text.as_bytes();
    let pairs = snapshot.scan(database(), KEYS_MAX).await?;
    let has = |value: &[u8]| value.windows(text.len()).any(|window| window == text);
    let pairs = pairs.map(|pair| (Vec::from(pair.0), pair.1));
    Ok(pairs.filter(|(_, value)| has(value)).collect())
}

/// All keys of the database.
fn database() -> BoundRange {
    (PREFIX.as_bytes().to_vec()..=[PREFIX.as_bytes(), &[255; 8]].concat()).into()
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // The connection ends with its gateway, which some checks kill.
    tokio::spawn(connection);
    Ok(client)
}

/// A variable of the environment, or a program in the target folder.
fn variable(name: &str, default: &str) -> String {
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../target/");
    env::var(name).unwrap_or_else(|_| format!("{top}{default}"))
}
