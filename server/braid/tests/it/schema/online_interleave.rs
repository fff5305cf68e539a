//! ALTER TABLE … INTERLEAVE and … UNINTERLEAVE on a filled table: beside writers, cancelled,
//! and cut short by kill -9; ALTER INDEX too.
//!
//! Afterwards the table is in one of the two places, has all of its rows, and what is left of
//! the other place goes.
//!
//! `BRAID_TEST_SIZE` says how many kills, and how long writers write.

#![allow(clippy::print_stdout, reason = "a test says how much it has done")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::store;
use braid_testkit::target::{connect, first_column};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const PARENTS: i64 = 400;
const CHILDREN: i64 = 20;
/// Parents whose children come with one statement.
const FILLED_AT_ONCE: usize = 50;
const PATIENCE: Duration = Duration::from_secs(120);
const INTO: [&str; 2] = [
    "ALTER TABLE c INTERLEAVE IN PARENT p (a)",
    "ALTER TABLE c INTERLEAVE IN PARENT p (a) ON DELETE CASCADE",
];
const OUT: &str = "ALTER TABLE c UNINTERLEAVE";
const INDEX: &str = "CREATE INDEX ON c (note)";
const WORKERS: i64 = 4;

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn fill(client: &Client) {
    let mut statements = vec![
        "CREATE TABLE p (a INT8 PRIMARY KEY, n INT8);
         CREATE TABLE c (a INT8 REFERENCES p ON DELETE CASCADE, b INT8, v INT8, note TEXT,
             PRIMARY KEY (a, b DESC), INDEX c_v (v), FAMILY f (a, b, v), FAMILY g (note));
         CREATE TABLE s (a INT8, x INT8, PRIMARY KEY (a, x)) INTERLEAVE IN PARENT p (a)
             ON DELETE CASCADE"
            .to_owned(),
        format!("INSERT INTO p SELECT i, 0 FROM generate_series(1, {PARENTS}) AS i"),
        "INSERT INTO s SELECT a, a FROM p".to_owned(),
    ];
    // A store of a test takes its time over many keys at once.
    statements.extend((1..=PARENTS).step_by(FILLED_AT_ONCE).map(|a| {
        format!(
            "INSERT INTO c SELECT a, b * {WORKERS}, 1, 'first' FROM p,
             generate_series(1, {CHILDREN}) AS b WHERE a >= {a} AND a < {a} + {FILLED_AT_ONCE}"
        )
    }));
    for sql in statements {
        client.batch_execute(&sql).await.expect("filled tables");
    }
}

/// The indexes that are being moved or built.
async fn unfinished(client: &Client) -> Vec<String> {
    let sql = "SELECT index_name FROM braid_internal.indexes WHERE state <> 'public'";
    first_column(client, sql).await
}

async fn wait_for_moving(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    while unfinished(client).await.is_empty() {
        assert!(Instant::now() < deadline, "the move never began");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Small indexes are built in a moment: nobody may see it.
async fn wait_for_moving_or_end<T>(client: &Client, moving: &tokio::task::JoinHandle<T>) {
    while unfinished(client).await.is_empty() && !moving.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until nobody works on any index. Over TiKV a killed server's lease has to end first, then
/// the next one finishes what it was doing.
async fn wait_for_end(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    while !unfinished(client).await.is_empty() {
        assert!(Instant::now() < deadline, "an unfinished move stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn is_index_interleaved(client: &Client, index: &str) -> bool {
    let sql = format!(
        "SELECT parent FROM braid_internal.indexes WHERE index_name = '{index}' \
         AND parent IS NOT NULL"
    );
    !first_column(client, &sql).await.is_empty()
}

async fn is_interleaved(client: &Client) -> bool {
    is_index_interleaved(client, "c_pkey").await
}

/// Every row of the children, as text.
async fn rows(client: &Client) -> Vec<String> {
    let sql = "SELECT a || ':' || b || ':' || v || ':' || coalesce(note, '-') FROM c ORDER BY a, b";
    first_column(client, sql).await
}

async fn assert_sound(client: &Client, what: &str) {
    for table in ["p", "c", "s"] {
        let found = first_column(client, &format!("CHECK TABLE {table}")).await;
        assert!(found.is_empty(), "{what}: CHECK TABLE {table}: {} findings", found.len());
    }
    let by_index = first_column(client, "SELECT count(*) FROM c WHERE v >= -1").await;
    let by_table = first_column(client, "SELECT count(*) FROM c WHERE v + 0 >= -1").await;
    assert_eq!(by_index, by_table, "{what}");
}

/// Waits until nothing is left over.
async fn wait_for_removal(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    let sql = "SELECT left_over FROM braid_internal.tables WHERE table_name = 'p'";
    while first_column(client, sql).await != ["0"] {
        assert!(Instant::now() < deadline, "what is left over was never removed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_move_cut_short_by_a_kill_is_done_or_taken_back() {
    kill_moves("c_pkey", &INTO, OUT);
}

#[test]
fn a_move_of_an_index_cut_short_by_a_kill_is_done_or_taken_back() {
    let into = ["ALTER INDEX c_a_v INTERLEAVE IN PARENT p (a)"];
    kill_moves("c_a_v", &into, "ALTER INDEX c_a_v UNINTERLEAVE");
}

/// Moves an index there and back, with a kill in the middle of each.
fn kill_moves(index: &str, into: &[&'static str], out: &'static str) {
    run(async {
        let mut server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        client.batch_execute("CREATE INDEX c_a_v ON c (a, v)").await.expect("another index");
        let mut random = Random::new(seed());
        let (mut before, mut done, mut taken_back) = (rows(&client).await, 0, 0);
        // A round takes twice as long as a lease over TiKV.
        let (small, medium) = if store::is_tikv() { (2, 2) } else { (4, 8) };
        drop(client);
        for round in 0..Size::from_env().pick(small, medium, 50) {
            let mover = connect(server.sql_url(), None).await;
            let watcher = connect(server.sql_url(), None).await;
            let was = is_index_interleaved(&watcher, index).await;
            let sql = if was { out } else { *random.pick(into) };
            let moving = tokio::spawn(async move { mover.batch_execute(sql).await });
            wait_for_moving_or_end(&watcher, &moving).await;
            let wait_max = if round % 2 == 0 { 30 } else { 600 };
            tokio::time::sleep(Duration::from_millis(random.below(wait_max))).await;
            server.kill();
            let finished = moving.await.expect("no panic").is_ok();
            for _ in 0..random.below(2) {
                server.restart_and_kill(Duration::from_millis(random.below(40)));
            }
            server.restart();
            let client = connect(server.sql_url(), None).await;
            wait_for_end(&client).await;
            let is = is_index_interleaved(&client, index).await;
            assert!(is != was || !finished, "round {round}: {sql} was told to be done");
            assert!(rows(&client).await == before, "round {round}: {sql}: rows differ");
            assert_sound(&client, &format!("round {round}: {sql}")).await;
            (done, taken_back) = (done + i32::from(is != was), taken_back + i32::from(is == was));
            wait_for_removal(&client).await;
            assert_sound(&client, &format!("round {round}: {sql}, removed")).await;
            // What changes in between must not come back from the other place.
            let (a, b) = (1 + random.below(PARENTS as u64), 1 + random.below(8) * 4);
            let changes = format!(
                "UPDATE c SET note = NULL, v = v + 1 WHERE a = {a};
                 DELETE FROM c WHERE b = {b} AND a % 7 = {}",
                a % 7
            );
            client.batch_execute(&changes).await.expect("changes");
            before = rows(&client).await;
        }
        // An index is built faster than a table is moved, and another gateway finishes a move.
        let enough = taken_back > 0 || index != "c_pkey" || store::is_tikv();
        assert!(enough, "every move was done before its kill: use more rows");
        assert!(taken_back == 0 || !store::is_tikv(), "{taken_back} moves were not finished");
        println!("{done} moves done, {taken_back} taken back");
    });
}

#[test]
fn a_cancelled_move_is_taken_back() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let watcher = connect(server.sql_url(), None).await;
        let before = rows(&watcher).await;
        for sql in [INTO[1], INTO[0], OUT] {
            let was = is_interleaved(&watcher).await;
            let token = client.cancel_token();
            let (outcome, ()) = tokio::join!(client.batch_execute(sql), async {
                wait_for_moving(&watcher).await;
                token.cancel_query(tokio_postgres::NoTls).await.expect("a cancel request");
            });
            let error = outcome.expect_err("is cancelled");
            assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{sql}");
            assert!(unfinished(&watcher).await.is_empty(), "{sql}");
            assert_eq!(is_interleaved(&watcher).await, was, "{sql}");
            assert!(rows(&watcher).await == before, "{sql}: rows differ");
            assert_sound(&watcher, sql).await;
            client.batch_execute(sql).await.expect("is moved");
            assert_ne!(is_interleaved(&watcher).await, was, "{sql}");
            assert!(rows(&watcher).await == before, "{sql}: rows differ");
            assert_sound(&watcher, sql).await;
            if sql != OUT {
                client.batch_execute(OUT).await.expect("is moved back");
            }
            if sql == INTO[0] {
                client.batch_execute(INTO[0]).await.expect("is moved again");
            }
        }
        wait_for_removal(&watcher).await;
        assert_sound(&watcher, "at the end").await;
    });
}

#[test]
fn what_depends_on_the_place_waits_for_the_move() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let watcher = connect(server.sql_url(), None).await;
        let moving = tokio::spawn(async move { client.batch_execute(INTO[1]).await });
        wait_for_moving(&watcher).await;
        let refused = [
            "DROP TABLE p CASCADE",
            "TRUNCATE p CASCADE",
            "TRUNCATE c",
            "DROP TABLE c",
            OUT,
            INDEX,
            "ALTER TABLE c ALTER COLUMN b TYPE int4",
            "ALTER TABLE p ALTER COLUMN a TYPE int4",
        ];
        let mut met = 0;
        for sql in refused {
            let result = match sql {
                OUT | INDEX => watcher.batch_execute(sql).await,
                _ => watcher.batch_execute(&format!("BEGIN; {sql}; ROLLBACK")).await,
            };
            watcher.batch_execute("ROLLBACK").await.expect("rolls back");
            let ended = unfinished(&watcher).await.is_empty();
            if ended {
                break;
            }
            let code = result.expect_err(sql).code().cloned();
            let known = [SqlState::OBJECT_IN_USE, SqlState::FEATURE_NOT_SUPPORTED];
            assert!(code.is_some_and(|code| known.contains(&code)), "{sql}");
            met += 1;
        }
        moving.await.expect("no panic").expect("is moved");
        assert!(met > 0, "the move was over before anything met it: use more rows");
        assert_sound(&watcher, "at the end").await;
    });
}

/// What one worker knows of its rows.
#[derive(Default)]
struct Model {
    rows: BTreeMap<(i64, i64), (i64, Option<String>)>,
    parents: BTreeMap<i64, ()>,
}

impl Model {
    /// A statement and what it makes of the rows if it gets through.
    fn step(&self, worker: i64, random: &mut Random) -> (String, Change) {
        let a = 1 + random.below(PARENTS as u64) as i64;
        let b = random.below(40) as i64 * WORKERS + worker;
        let v = random.below(100) as i64;
        let own = 10_000 + worker * 100 + random.below(5) as i64;
        match random.below(8) {
            0 | 1 => (
                format!("INSERT INTO c VALUES ({a}, {b}, {v}, 'new') ON CONFLICT DO NOTHING"),
                Change::Add(a, b, v),
            ),
            2 => (format!("UPSERT INTO c VALUES ({a}, {b}, {v}, 'put')"), Change::Put(a, b, v)),
            3 => (
                format!("UPDATE c SET v = {v} WHERE a = {a} AND b % {WORKERS} = {worker}"),
                Change::SetValue(a, v),
            ),
            4 => (
                format!("UPDATE c SET note = NULL WHERE a = {a} AND b = {b}"),
                Change::ClearNote(a, b),
            ),
            5 => (format!("DELETE FROM c WHERE a = {a} AND b = {b}"), Change::Remove(a, b)),
            6 if self.parents.contains_key(&own) => {
                (format!("DELETE FROM p WHERE a = {own}"), Change::RemoveParent(own))
            }
            6 => (format!("INSERT INTO p VALUES ({own}, 0)"), Change::AddParent(own)),
            _ => match self.parents.keys().next() {
                Some(own) => (
                    format!("INSERT INTO c VALUES ({own}, {b}, {v}, 'new') ON CONFLICT DO NOTHING"),
                    Change::Add(*own, b, v),
                ),
                None => (format!("UPDATE p SET n = n + 1 WHERE a = {a}"), Change::Nothing),
            },
        }
    }

    fn apply(&mut self, worker: i64, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Add(a, b, v) => {
                self.rows.entry((a, b)).or_insert((v, Some("new".to_owned())));
            }
            Change::Put(a, b, v) => {
                self.rows.insert((a, b), (v, Some("put".to_owned())));
            }
            Change::SetValue(a, v) => {
                let own = self
                    .rows
                    .iter_mut()
                    .filter(|((of, b), _)| *of == a && b % WORKERS == worker % WORKERS);
                own.for_each(|(_, row)| row.0 = v);
            }
            Change::ClearNote(a, b) => {
                if let Some(row) = self.rows.get_mut(&(a, b)) {
                    row.1 = None;
                }
            }
            Change::Remove(a, b) => {
                self.rows.remove(&(a, b));
            }
            Change::AddParent(a) => {
                self.parents.insert(a, ());
            }
            Change::RemoveParent(a) => {
                self.parents.remove(&a);
                self.rows.retain(|(of, _), _| *of != a);
            }
        }
    }
}

enum Change {
    Nothing,
    Add(i64, i64, i64),
    Put(i64, i64, i64),
    SetValue(i64, i64),
    ClearNote(i64, i64),
    Remove(i64, i64),
    AddParent(i64),
    RemoveParent(i64),
}

/// Writes rows of its own until told to stop; what should be there then.
async fn write(
    client: Client,
    worker: i64,
    mut model: Model,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
) -> Model {
    let mut random = Random::new(seed() + worker as u64);
    while !stop.load(Ordering::Acquire) {
        let (sql, change) = model.step(worker, &mut random);
        match client.batch_execute(&sql).await {
            Ok(()) => {
                model.apply(worker, change);
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                let retry = Some(&SqlState::T_R_SERIALIZATION_FAILURE);
                assert_eq!(error.code(), retry, "{sql}: {error:?}");
            }
        }
    }
    model
}

#[test]
fn writers_beside_the_move_lose_nothing() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        // The rows of the first filling are the first worker's.
        for worker in 0..WORKERS {
            let mut model = Model::default();
            if worker == 0 {
                for (a, b) in (1..=PARENTS).flat_map(|a| (1..=CHILDREN).map(move |b| (a, b))) {
                    model.rows.insert((a, b * WORKERS), (1, Some("first".to_owned())));
                }
            }
            let own = connect(server.sql_url(), None).await;
            let (stop, done) = (stop.clone(), done.clone());
            writers.push(tokio::spawn(write(own, worker, model, stop, done)));
        }
        for round in 0..Size::from_env().pick(2, 4, 20) {
            for sql in [INTO[round % 2], OUT] {
                let before = done.load(Ordering::Relaxed);
                client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
                let during = done.load(Ordering::Relaxed) - before;
                assert!(during > 0, "no writer got through while the table was moved");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        client.batch_execute(INTO[1]).await.expect("is moved once more");
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.store(true, Ordering::Release);
        let mut expected = Vec::new();
        for writer in writers {
            let model = writer.await.expect("a writer without surprises");
            expected.extend(model.rows);
        }
        expected.sort();
        let expected: Vec<String> = expected
            .into_iter()
            .map(|((a, b), (v, note))| format!("{a}:{b}:{v}:{}", note.as_deref().unwrap_or("-")))
            .collect();
        let found = rows(&client).await;
        let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
        assert!(found == expected, "{} of {}: {differs:?}", found.len(), expected.len());
        wait_for_removal(&client).await;
        assert_sound(&client, "at the end").await;
        println!("{} statements beside the moves", done.load(Ordering::Relaxed));
    });
}
