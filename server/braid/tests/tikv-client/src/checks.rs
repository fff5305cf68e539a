//! The checks. Each makes its own table, and stops its gateways.

use std::time::{Duration, Instant};

use tikv_client::transaction::HeartbeatOption;
use tikv_client::{CheckLevel, TransactionOptions};

use crate::cluster::{Cluster, Gateway, PREFIX, Result, find_in};

/// All checks, in the order in which they run. The first one needs a safe point that moves, and a
/// killed gateway holds it for a minute.
pub const ALL: [&str; 6] = [
    "keys outside the prefix are not touched",
    "commits of every kind are seen from their timestamp on",
    "a commit of a dead gateway is resolved, all or nothing",
    "row locks of a dead gateway are resolved by a writer",
    "a dead commit of the other client is resolved by BraidDB",
    "a row lock of the other client makes BraidDB wait, and ends",
];

/// A dead gateway's commit is met within this number of attempts, each with another kill.
const KILLS_MAX: usize = 20;
/// Locks of a dead client end after some seconds.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the check of a name.
pub async fn run(name: &str, cluster: &mut Cluster) -> Result<()> {
    match ALL.iter().position(|known| *known == name) {
        Some(0) => keys_outside(cluster).await,
        Some(1) => commits_of_every_kind(cluster).await,
        Some(2) => dead_commit_of_a_gateway(cluster).await,
        Some(3) => dead_row_locks_of_a_gateway(cluster).await,
        Some(4) => dead_commit_of_the_other(cluster).await,
        Some(5) => row_lock_of_the_other(cluster).await,
        _ => Err("no such check".into()),
    }
}

/// One region and nothing to prove is one phase, several regions are asynchronous, and a read
/// that has to be proved makes two phases.
async fn commits_of_every_kind(cluster: &mut Cluster) -> Result<()> {
    let gateway = cluster.gateway().await?;
    let sql = &gateway.sql;
    sql.batch_execute(
        "CREATE TABLE kinds (id INT8 PRIMARY KEY, note TEXT);
         INSERT INTO kinds SELECT i, 'filler-' || i FROM generate_series(10, 59) AS s(i)",
    )
    .await?;
    cluster.split(8).await?;
    let statements = [
        ("one_phase", "first", "INSERT INTO kinds VALUES (1, 'first')", 1),
        ("async", "second", "INSERT INTO kinds VALUES (2, 'second'), (90, 'second')", 2),
        (
            "two_phase",
            "third",
            "BEGIN; SELECT count(*) FROM kinds WHERE id > 10; \
             INSERT INTO kinds VALUES (3, 'third'), (91, 'third'); COMMIT",
            2,
        ),
    ];
    for (kind, text, statement, rows) in statements {
        let mut before = cluster.now().await?;
        sql.batch_execute(statement).await?;
        let mut after = cluster.now().await?;
        equal(kind, find_in(&mut before, text).await?.len(), 0)?;
        equal(kind, find_in(&mut after, text).await?.len(), rows)?;
        // The old snapshot does not change afterwards.
        equal(kind, find_in(&mut before, text).await?.len(), 0)?;
    }
    sql.batch_execute("DELETE FROM kinds WHERE id < 5").await?;
    equal("deleted", cluster.find("first").await?.len(), 0)
}

/// The gateway is killed while keys of its commit are prewritten.
async fn dead_commit_of_a_gateway(cluster: &mut Cluster) -> Result<()> {
    let witness = cluster.gateway().await?;
    witness
        .sql
        .batch_execute(
            "CREATE TABLE pairs (id INT8 PRIMARY KEY, note TEXT);
             INSERT INTO pairs SELECT i, 'pair-none' FROM generate_series(1, 40) AS s(i)",
        )
        .await?;
    cluster.split(4).await?;
    let keys = keys_of(&cluster.find("pair-none").await?);
    for attempt in 0..KILLS_MAX {
        let mut gateway = cluster.gateway().await?;
        let client = gateway.connect().await?;
        let statement = format!(
            "BEGIN; SELECT count(*) FROM pairs; \
             UPDATE pairs SET note = 'pair-{attempt}' WHERE id IN (1, 40); COMMIT"
        );
        let commit = tokio::spawn(async move { client.batch_execute(&statement).await.is_ok() });
        let is_met = wait_for_locks(cluster, &keys, &commit).await?;
        gateway.process.kill().await?;
        let is_acknowledged = commit.await?;
        if !is_met {
            continue;
        }
        let text = format!("pair-{attempt}");
        // This scan meets the locks and has to decide the transaction, once the locks are dead.
        let seen = find_at_last(cluster, &text).await?;
        let rows = witness.sql.query("SELECT id FROM pairs WHERE note = $1", &[&text]).await?;
        equal("rows that BraidDB sees", rows.len(), seen)?;
        if seen != 0 && seen != 2 {
            return Err(format!("{seen} of two rows are there").into());
        }
        if is_acknowledged {
            equal("rows of an acknowledged commit", seen, 2)?;
        }
        return equal("locks that stay", cluster.prewritten(&keys).await?, 0);
    }
    Err("no commit was met while it was under way".into())
}

/// The number of values with a text. The other client waits for a lock for about four seconds, and
/// BraidDB's locks live for five.
async fn find_at_last(cluster: &Cluster, text: &str) -> Result<usize> {
    let started = Instant::now();
    loop {
        match cluster.find(text).await {
            Ok(pairs) => return Ok(pairs.len()),
            Err(error) if started.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// True if keys were prewritten before the commit was over.
async fn wait_for_locks(
    cluster: &Cluster,
    keys: &[Vec<u8>],
    commit: &tokio::task::JoinHandle<bool>,
) -> Result<bool> {
    while !commit.is_finished() {
        if cluster.prewritten(keys).await? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The gateway is killed while it holds row locks.
async fn dead_row_locks_of_a_gateway(cluster: &mut Cluster) -> Result<()> {
    let witness = cluster.gateway().await?;
    witness.sql.batch_execute("CREATE TABLE held (id INT8 PRIMARY KEY, note TEXT)").await?;
    witness.sql.batch_execute("INSERT INTO held VALUES (1, 'held-one'), (2, 'held-two')").await?;
    let pairs = cluster.find("held-").await?;
    equal("rows", pairs.len(), 2)?;
    let mut gateway = cluster.gateway().await?;
    gateway.sql.batch_execute("BEGIN; SELECT * FROM held WHERE id = 1 FOR UPDATE").await?;
    gateway.process.kill().await?;
    // The value of the second row becomes that of the first: keys hold what differs.
    let started = Instant::now();
    loop {
        let mut writer = cluster.tikv.begin_with_options(pessimistic()).await?;
        match writer.put(pairs[0].0.clone(), pairs[1].1.clone()).await {
            Ok(()) => {
                writer.commit().await?;
                break;
            }
            Err(error) if started.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => {
                let _ = writer.rollback().await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    let query = "SELECT count(*) FROM held WHERE note = 'held-two'";
    equal("rows that BraidDB sees", witness.number(query).await?, 2)
}

/// The other client gives up after its prewrites, in two phases and with an asynchronous commit.
async fn dead_commit_of_the_other(cluster: &mut Cluster) -> Result<()> {
    let gateway = cluster.gateway().await?;
    gateway.sql.batch_execute("CREATE TABLE met (id INT8 PRIMARY KEY, note TEXT)").await?;
    gateway.sql.batch_execute("INSERT INTO met VALUES (1, 'met-one'), (2, 'met-two')").await?;
    let pairs = cluster.find("met-").await?;
    equal("rows", pairs.len(), 2)?;
    let keys = keys_of(&pairs);
    // The prewrites of an asynchronous commit are the commit, so its value has to be seen.
    for (options, rows) in [(optimistic(), 1), (optimistic().use_async_commit(), 2)] {
        let mut writer = cluster.tikv.begin_with_options(options).await?;
        writer.put(pairs[0].0.clone(), pairs[1].1.clone()).await?;
        fail::cfg("after-prewrite", "return")?;
        let outcome = writer.commit().await;
        fail::cfg("after-prewrite", "off")?;
        if outcome.is_ok() || cluster.prewritten(&keys).await? == 0 {
            return Err("the other client has left no lock".into());
        }
        let query = "SELECT count(*) FROM met WHERE note = 'met-two'";
        equal("rows that BraidDB sees", gateway.number(query).await?, rows)?;
        gateway.sql.batch_execute("UPDATE met SET note = note").await?;
        equal("locks that stay", cluster.prewritten(&keys).await?, 0)?;
    }
    Ok(())
}

/// A living lock makes an UPDATE wait; NOWAIT is refused; a dead one ends.
async fn row_lock_of_the_other(cluster: &mut Cluster) -> Result<()> {
    let gateway = cluster.gateway().await?;
    gateway.sql.batch_execute("CREATE TABLE asked (id INT8 PRIMARY KEY, note TEXT)").await?;
    gateway.sql.batch_execute("INSERT INTO asked VALUES (1, 'asked-one')").await?;
    let pairs = cluster.find("asked-").await?;
    let mut holder = cluster.tikv.begin_with_options(pessimistic()).await?;
    holder.lock_keys([pairs[0].0.clone()]).await?;
    let refused = gateway.sql.query("SELECT * FROM asked FOR UPDATE NOWAIT", &[]).await;
    let code = refused.err().and_then(|error| error.code().map(|code| code.code().to_owned()));
    equal("NOWAIT", code.as_deref(), Some("55P03"))?;
    let other = gateway.connect().await?;
    let update = tokio::spawn(async move {
        other.batch_execute("UPDATE asked SET note = 'asked-two'").await.map_err(|e| e.to_string())
    });
    tokio::time::sleep(PAUSE * 6).await;
    if update.is_finished() {
        return Err("an UPDATE did not wait for a row lock".into());
    }
    // Nobody keeps the lock alive from here on.
    drop(holder);
    tokio::time::timeout(PATIENCE, update).await???;
    equal("rows", cluster.find("asked-two").await?.len(), 1)
}

/// Tables are dropped and emptied, and their ranges destroyed.
async fn keys_outside(cluster: &mut Cluster) -> Result<()> {
    // `0` is the byte after `/`, so these are next to the prefix on both sides.
    let names = ["a", "braid", "braid.", "braid0", "z"];
    let mut writer = cluster.tikv.begin_with_options(optimistic()).await?;
    for name in names {
        writer.put(format!("{name}-versioned"), "kept").await?;
    }
    writer.commit().await?;
    for name in names {
        cluster.raw.put(format!("{name}-raw"), "kept").await?;
    }
    let gateway = cluster.gateway().await?;
    destroy_a_table(cluster, &gateway).await?;
    let mut snapshot = cluster.now().await?;
    for name in names {
        let value = snapshot.get(format!("{name}-versioned")).await?;
        equal(name, value.as_deref(), Some(&b"kept"[..]))?;
        let value = cluster.raw.get(format!("{name}-raw")).await?;
        equal(name, value.as_deref(), Some(&b"kept"[..]))?;
    }
    Ok(())
}

async fn destroy_a_table(cluster: &Cluster, gateway: &Gateway) -> Result<()> {
    gateway.sql.batch_execute("CREATE TABLE gone (id INT8 PRIMARY KEY, note TEXT)").await?;
    gateway.sql.batch_execute("INSERT INTO gone VALUES (1, 'gone-row')").await?;
    let mut old = cluster.now().await?;
    gateway.sql.batch_execute("DROP TABLE gone").await?;
    // The range is destroyed unread, so even an old snapshot loses the row.
    let started = Instant::now();
    while find_in(&mut old, "gone-row").await.is_ok_and(|pairs| !pairs.is_empty()) {
        if started.elapsed() > PATIENCE {
            return Err(format!("the range of a table below {PREFIX} was not destroyed").into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

fn keys_of(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<Vec<u8>> {
    pairs.iter().map(|(key, _)| key.clone()).collect()
}

fn optimistic() -> TransactionOptions {
    quiet(TransactionOptions::new_optimistic())
}

fn pessimistic() -> TransactionOptions {
    quiet(TransactionOptions::new_pessimistic())
}

/// Without heartbeats, so that the locks of a dropped transaction end.
fn quiet(options: TransactionOptions) -> TransactionOptions {
    options.drop_check(CheckLevel::None).heartbeat_option(HeartbeatOption::NoHeartbeat)
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, expected {expected:?}").into())
}
