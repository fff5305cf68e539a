//! Conflicts that a client never sees: one statement, or everything between two Syncs, runs again
//! as long as nothing of its result has left.

use braid_testkit::server::{Config, Server};

#[allow(dead_code, reason = "the wire scripts use the rest of it")]
use crate::protocol::connection::Connection;

const THREADS: usize = 4;
const ROUNDS: usize = 20;

fn open(url: &str) -> Connection {
    let mut connection = Connection::open(url).expect("connects");
    connection.start(url).expect("starts");
    connection
}

fn query(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).expect("is sent");
    connection.until("ReadyForQuery").expect("an answer")
}

fn contend(url: &str, work: impl Fn(&mut Connection, usize) -> String + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                let mut connection = open(url);
                for _ in 0..ROUNDS {
                    let answer = work(&mut connection, thread);
                    assert!(!answer.contains("ErrorResponse"), "{answer}");
                }
            });
        }
    });
}

#[test]
fn a_contended_update_is_never_refused() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE hot (id int PRIMARY KEY, n int); INSERT INTO hot VALUES (1, 0)");
    contend(server.sql_url(), |connection, _| {
        query(connection, "UPDATE hot SET n = n + 1 WHERE id = 1")
    });
    let sum = query(&mut root, "SELECT n FROM hot");
    assert!(sum.contains(&format!("DataRow \"{}\"", THREADS * ROUNDS)), "{sum}");
}

#[test]
fn a_batch_between_two_syncs_runs_again_as_a_whole() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE pair (id int PRIMARY KEY, n int)");
    query(&mut root, "INSERT INTO pair VALUES (1, 0), (2, 0)");
    // Each reads both rows, then changes them in an order that makes deadlocks.
    contend(server.sql_url(), |connection, thread| {
        let order = if thread % 2 == 0 { [1, 2] } else { [2, 1] };
        let mut texts = vec!["SELECT count(n) FROM pair".to_owned()];
        texts.extend(order.map(|id| format!("UPDATE pair SET n = n + 1 WHERE id = {id}")));
        for text in &texts {
            connection.parse("", text, "").expect("is sent");
            connection.bind("", "", "", &[], "").expect("is sent");
            connection.execute("", 0).expect("is sent");
        }
        connection.message(b'S', &[]).expect("is sent");
        let answer = connection.until("ReadyForQuery").expect("an answer");
        let kinds: Vec<&str> = answer.lines().filter_map(|line| line.split(' ').next()).collect();
        let step = ["ParseComplete", "BindComplete", "CommandComplete"];
        let mut wanted = vec!["ParseComplete", "BindComplete", "DataRow", "CommandComplete"];
        wanted.extend(step.iter().chain(&step).copied());
        wanted.push("ReadyForQuery");
        assert_eq!(kinds, wanted);
        answer
    });
    let rows = query(&mut root, "SELECT n FROM pair");
    let count = THREADS * ROUNDS;
    assert!(rows.matches(&format!("DataRow \"{count}\"")).count() == 2, "{rows}");
}

/// Sends statements one after the other, with a flush behind the one of that number.
fn send(connection: &mut Connection, texts: &[&str], flush: Option<usize>) {
    for (number, text) in texts.iter().enumerate() {
        connection.parse("", text, "").expect("is sent");
        connection.bind("", "", "", &[], "").expect("is sent");
        connection.execute("", 0).expect("is sent");
        if flush == Some(number) {
            connection.message(b'H', &[]).expect("is sent");
        }
    }
    connection.message(b'S', &[]).expect("is sent");
}

fn retries(root: &mut Connection) -> u64 {
    let sql = "SELECT sum(value)::int FROM braid_internal.metrics \
               WHERE name = 'sql_txn_server_retries_total'";
    let answer = query(root, sql);
    answer.split('"').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Waits until a statement like this runs in another session.
fn until_running(root: &mut Connection, like: &str) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '{like}' \
         AND state = 'active' AND pid <> pg_backend_pid()"
    );
    let mut tries = 0;
    while !query(root, &sql).contains("DataRow \"1\"") {
        tries += 1;
        assert!(tries < 2000, "{like} never runs");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Two rows that a transaction reads and a third that it writes; while it sleeps in between,
/// somebody else changes one of the two. What it answers, and how many reruns that took.
fn meet(
    server: &Server,
    setup: &[&str],
    texts: &[&str],
    flush: Option<usize>,
) -> (String, String, u64) {
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE IF NOT EXISTS t (id int PRIMARY KEY, n int)");
    query(&mut root, "UPSERT INTO t VALUES (1, 0), (2, 0), (3, 0)");
    let mut reader = open(server.sql_url());
    for sql in setup {
        query(&mut reader, sql);
    }
    let before = retries(&mut root);
    send(&mut reader, texts, flush);
    until_running(&mut root, "%pg_sleep%");
    query(&mut root, "UPDATE t SET n = n + 1 WHERE id = 1");
    let answer = reader.until("ReadyForQuery").expect("an answer");
    query(&mut reader, "ROLLBACK");
    let rows = query(&mut root, "SELECT id, n FROM t ORDER BY id");
    (answer, rows, retries(&mut root) - before)
}

const SUM: &str = "SELECT sum(n) FROM t WHERE id < 3";
const SLEEP: &str = "SELECT pg_sleep(0.5)";
/// Takes what was read, so that a stale answer would be seen.
const WRITE: &str = "UPDATE t SET n = 10 + (SELECT sum(n)::int FROM t WHERE id < 3) WHERE id = 3";

#[test]
fn a_pipelined_transaction_block_runs_again() {
    let server = Server::start(Config::new());
    for (texts, wanted) in [
        (vec!["BEGIN", SUM, SLEEP, WRITE, "COMMIT"], "C"),
        (vec!["BEGIN ISOLATION LEVEL SERIALIZABLE", SUM, SLEEP, WRITE, SUM, "COMMIT"], "C"),
        (vec!["BEGIN", "SET LOCAL lock_timeout = 1000", SUM, SLEEP, WRITE, "COMMIT"], "C"),
        (
            vec![
                "BEGIN",
                "SAVEPOINT cockroach_restart",
                SUM,
                SLEEP,
                WRITE,
                "RELEASE SAVEPOINT cockroach_restart",
                "COMMIT",
            ],
            "C",
        ),
        // Acknowledged at once and run beside the rest.
        (vec!["BEGIN", SUM, SLEEP, &format!("{WRITE} RETURNING NOTHING"), "COMMIT"], "C"),
        // A statement outside becomes part of the block, as in PostgreSQL.
        (vec![SUM, "BEGIN", SLEEP, WRITE, "COMMIT"], "C"),
    ] {
        let (answer, rows, reruns) = meet(&server, &[], &texts, None);
        assert!(!answer.contains("ErrorResponse"), "{texts:?}: {answer}");
        let complete: Vec<&str> =
            answer.lines().filter(|line| line.starts_with("CommandComplete")).collect();
        assert_eq!(complete.len(), texts.len(), "{answer}");
        assert!(answer.contains("CommandComplete \"COMMIT\"\nReadyForQuery I"), "{answer}");
        assert!(answer.contains("DataRow \"1\""), "a sum from before the conflict: {answer}");
        assert!(rows.contains("DataRow \"3\" \"11\""), "{texts:?}: {rows}");
        assert!(reruns >= 1, "{wanted}: {texts:?}");
    }
}

#[test]
fn what_a_client_has_seen_is_not_run_again() {
    // The sum has left; the block began before; a savepoint stands in the middle; asked for.
    let block: &[&str] = &["BEGIN", SUM, SLEEP, WRITE, "COMMIT"];
    let inject = "SET inject_retry_errors_enabled = on";
    let server = Server::start(Config::new());
    for (setup, texts, flush, state) in [
        (&[][..], block, Some(1), "I"),
        (&[], &["BEGIN", SUM, SLEEP, "UPDATE t SET n = n + 1 WHERE id = 1"], Some(1), "E"),
        (&["BEGIN"][..], &block[1..], None, "I"),
        (&[], &["BEGIN", SUM, "SAVEPOINT s", SLEEP, WRITE, "COMMIT"][..], None, "I"),
    ] {
        let (answer, rows, _) = meet(&server, setup, texts, flush);
        assert!(answer.contains("ErrorResponse ERROR 40001"), "{texts:?}: {answer}");
        assert!(answer.contains(&format!("ReadyForQuery {state}")), "{texts:?}: {answer}");
        assert!(rows.contains("DataRow \"3\" \"0\""), "{texts:?}: {rows}");
    }
    let mut root = open(server.sql_url());
    query(&mut root, inject);
    let before = retries(&mut root);
    send(&mut root, &["BEGIN", SUM, "COMMIT"], None);
    let answer = root.until("ReadyForQuery").expect("an answer");
    assert!(answer.contains("ErrorResponse ERROR 40001"), "{answer}");
    assert!(answer.contains("ReadyForQuery E"), "{answer}");
    query(&mut root, "ROLLBACK");
    query(&mut root, "RESET inject_retry_errors_enabled");
    assert_eq!(retries(&mut root), before, "an error for the client to see");
}

#[test]
fn a_rerun_that_fails_leaves_the_block_failed() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 10))");
    query(&mut root, "INSERT INTO t VALUES (1, 0), (2, 0)");
    let release = "RELEASE SAVEPOINT cockroach_restart";
    for (restart, write, last) in
        [(false, WRITE_TWO, "COMMIT"), (true, WRITE_TWO, release), (false, WRITE_ONE, "SELECT 1")]
    {
        query(&mut root, "UPDATE t SET n = 0");
        let mut other = open(server.sql_url());
        let mut texts = vec!["BEGIN"];
        if restart {
            texts.push("SAVEPOINT cockroach_restart");
        }
        // It reads 0 and doubles it; the next time that is too much.
        texts.extend(["SELECT n FROM t WHERE id = 1", SLEEP, write, last]);
        send(&mut other, &texts, None);
        std::thread::sleep(std::time::Duration::from_millis(100));
        query(&mut root, "UPDATE t SET n = 9 WHERE id = 1");
        let answer = other.until("ReadyForQuery").expect("an answer");
        assert!(answer.contains("ErrorResponse ERROR 23514"), "{answer}");
        let ready = if last == "COMMIT" { "ReadyForQuery I" } else { "ReadyForQuery E" };
        assert!(answer.contains(ready), "{last}: {answer}");
        if restart {
            let answer = query(&mut other, "ROLLBACK TO SAVEPOINT cockroach_restart");
            assert!(answer.contains("ReadyForQuery T"), "{answer}");
            let answer = query(&mut other, "SELECT n FROM t WHERE id = 1");
            assert!(answer.contains("DataRow \"9\""), "{answer}");
        }
        query(&mut other, "ROLLBACK");
    }
}

const WRITE_ONE: &str = "UPDATE t SET n = 2 * n WHERE id = 1";
const WRITE_TWO: &str = "UPDATE t SET n = 2 * (SELECT n FROM t WHERE id = 1) WHERE id = 2";

/// The first rerun of a batch meets a deadlock; the second must not begin in what the first one
/// has left open.
#[test]
fn a_rerun_that_fails_midway_leaves_nothing_to_the_next() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(
        &mut root,
        "CREATE TABLE seen (id int PRIMARY KEY, n int); INSERT INTO seen VALUES (1, 0)",
    );
    query(&mut root, "CREATE TABLE t (id int PRIMARY KEY, n int)");
    query(&mut root, "INSERT INTO t VALUES (1, 0), (2, 0)");
    let (mut batch, mut other) = (open(server.sql_url()), open(server.sql_url()));
    let texts = [
        "UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n",
        "SELECT sum(n) FROM seen",
        "SELECT pg_sleep(0.31)",
        "UPDATE t SET n = n + 1 WHERE id = 2",
        "SELECT pg_sleep(0.32)",
    ];
    send(&mut batch, &texts, None);
    until_running(&mut root, "%pg_sleep(0.31)%");
    // The commit of the batch will find that it has read something old.
    query(&mut root, "UPDATE seen SET n = 1");
    until_running(&mut root, "%pg_sleep(0.32)%");
    query(&mut other, "SET statement_timeout = '3s'; BEGIN");
    // Waits for the batch and gets the row when the batch is rerun. The rerun then meets this lock.
    query(&mut other, "UPDATE t SET n = n + 100 WHERE id = 2");
    // Meanwhile the rerun locks its first row again, and then sleeps for longer than this.
    query(&mut other, "SELECT pg_sleep(0.1)");
    query(&mut other, "UPDATE t SET n = n + 100 WHERE id = 1");
    query(&mut other, "ROLLBACK");
    let answer = batch.until("ReadyForQuery").expect("an answer");
    assert!(!answer.contains("ErrorResponse"), "{answer}");
    let rows = query(&mut root, "SELECT id, n FROM t ORDER BY id");
    assert!(rows.contains("DataRow \"1\" \"1\"\nDataRow \"2\" \"1\""), "applied once: {rows}");
    let deadlocks = query(
        &mut root,
        "SELECT sum(value)::int FROM braid_internal.metrics \
         WHERE name = 'sql_txn_server_retries_total' \
         AND labels->>'reason' = 'deadlock'",
    );
    assert!(!deadlocks.contains("DataRow \"0\""), "no rerun met a deadlock: {deadlocks}");
}

/// What can never be committed, because others change what it reads, ends in time.
#[test]
fn statement_timeout_counts_over_all_reruns() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(
        &mut root,
        "CREATE TABLE seen (id int PRIMARY KEY, n int); INSERT INTO seen VALUES (1, 0)",
    );
    query(&mut root, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = open(server.sql_url());
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                query(&mut writer, "UPDATE seen SET n = n + 1");
            }
        });
        let one = "UPDATE t SET n = (SELECT sum(n) FROM seen) + (SELECT count(pg_sleep(0.3)))";
        let mut client = open(server.sql_url());
        query(&mut client, "SET statement_timeout = '900ms'");
        let mut answers = vec![query(&mut client, one)];
        answers.push(query(&mut client, &format!("SELECT 1; {one}")));
        for texts in [&[one][..], &["SELECT n FROM t", "SELECT sum(n) FROM seen", SLEEP, one]] {
            send(&mut client, texts, None);
            answers.push(client.until("ReadyForQuery").expect("an answer"));
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        for answer in answers {
            assert!(answer.contains("ErrorResponse ERROR 57014"), "{answer}");
        }
    });
    let rows = query(&mut root, "SELECT n FROM t");
    assert!(rows.contains("DataRow \"0\""), "{rows}");
}

/// An INSERT on its own waits at its commit for the lock on its key.
#[test]
fn statement_timeout_ends_the_wait_of_a_commit() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    query(&mut root, "BEGIN; DELETE FROM t WHERE id = 1");
    let mut client = open(server.sql_url());
    let insert = "INSERT INTO t VALUES (1, 1)";
    for (setting, state) in [("statement_timeout", "57014"), ("lock_timeout", "55P03")] {
        query(&mut client, &format!("RESET ALL; SET {setting} = '200ms'"));
        let answer = query(&mut client, insert);
        assert!(answer.contains(&format!("ErrorResponse ERROR {state}")), "{setting}: {answer}");
        send(&mut client, &[insert], None);
        let answer = client.until("ReadyForQuery").expect("an answer");
        assert!(answer.contains(&format!("ErrorResponse ERROR {state}")), "{setting}: {answer}");
    }
}

/// The commit of an implicit transaction does what was deferred to it, as long as it may.
#[test]
fn what_is_deferred_to_a_commit_can_be_cancelled_and_has_a_time_limit() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(
        &mut root,
        "CREATE TABLE t (id int);
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let (shared, alone) = ("INSERT INTO t VALUES (1)", "INSERT INTO t SELECT 1");
    let list = "SELECT 1; INSERT INTO t VALUES (1)";
    let run = |client: &mut Connection, text: &str| match text {
        "extended" => {
            send(client, &[shared], None);
            client.until("ReadyForQuery").expect("an answer")
        }
        text => query(client, text),
    };
    for text in [shared, alone, list, "extended"] {
        let mut client = open(server.sql_url());
        query(&mut client, "SET statement_timeout = '200ms'");
        let answer = run(&mut client, text);
        assert!(answer.contains("57014"), "{text}: {answer}");
        assert!(answer.contains("statement timeout"), "{text}: {answer}");
        query(&mut client, "SET statement_timeout = 0; SET application_name = 'cancelled'");
        let answer = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| run(&mut client, text));
            let cancel = "SELECT pg_cancel_backend(pid), pg_sleep(0.02) FROM pg_stat_activity \
                          WHERE application_name = 'cancelled'";
            while !waiting.is_finished() {
                query(&mut root, cancel);
            }
            waiting.join().expect("an answer")
        });
        assert!(answer.contains("due to user request"), "{text}: {answer}");
        assert!(query(&mut client, "SELECT count(*) FROM t").contains("DataRow \"0\""), "{text}");
    }
}

/// PREPARE cannot be done twice, so a list of statements with it is not run again.
#[test]
fn a_list_with_prepare_is_not_run_again() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    query(
        &mut root,
        "CREATE TABLE mark (id int PRIMARY KEY, n int); INSERT INTO mark VALUES (1, 0)",
    );
    let mut client = open(server.sql_url());
    let list = "PREPARE p AS SELECT 1; SELECT n FROM t; UPDATE mark SET n = 1 WHERE id = 1; \
                SELECT pg_sleep(0.5); UPDATE t SET n = n + 1";
    client.query(list).expect("is sent");
    // The lock of the third statement says that the second has read.
    let locks = "SELECT count(*) > 0 FROM braid_internal.locks WHERE key LIKE '/mark/%'";
    let mut tries = 0;
    while !query(&mut root, locks).contains("DataRow \"t\"") {
        tries += 1;
        assert!(tries < 2000, "the list does not get to its lock");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    query(&mut root, "UPDATE t SET n = 7");
    let answer = client.until("ReadyForQuery").expect("an answer");
    assert!(answer.contains("ErrorResponse ERROR 40001"), "{answer}");
}
