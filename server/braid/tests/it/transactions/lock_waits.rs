//! Locks as others see them: clients that vanish, deadlocks, the views of the lock table.

#![allow(clippy::print_stdout, reason = "a test says what it left out")]

use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::target::connect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.expect("a row").get(0)
}

/// Waits until a count is what it should be; how long that took.
async fn until(client: &Client, sql: &str, wanted: i64) -> Duration {
    let start = Instant::now();
    while number(client, sql).await != wanted {
        assert!(start.elapsed() < Duration::from_secs(20), "{sql} is never {wanted}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    start.elapsed()
}

const WAITING: &str = "SELECT count(*) FROM braid_internal.locks WHERE NOT granted";
const LOCKS: &str = "SELECT count(*) FROM braid_internal.locks WHERE key LIKE '/account/%'";

/// A client without a driver, so that its socket can be dropped at any moment.
struct Raw(TcpStream);

impl Raw {
    async fn connect(url: &str) -> Raw {
        let address = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
        let address = address.expect("an address in the URL");
        let mut socket = TcpStream::connect(address).await.expect("connects");
        let mut packet = vec![0, 3, 0, 0];
        packet.extend(b"user\0root\0database\0defaultdb\0\0");
        let length = u32::try_from(packet.len() + 4).expect("is short").to_be_bytes();
        socket.write_all(&length).await.expect("is sent");
        socket.write_all(&packet).await.expect("is sent");
        let mut raw = Raw(socket);
        raw.ready().await;
        raw
    }

    async fn send(&mut self, sql: &str) {
        let length = u32::try_from(sql.len() + 5).expect("is short").to_be_bytes();
        let message = [b"Q", &length[..], sql.as_bytes(), b"\0"].concat();
        self.0.write_all(&message).await.expect("is sent");
    }

    /// Reads up to ReadyForQuery.
    async fn ready(&mut self) {
        loop {
            let mut header = [0; 5];
            self.0.read_exact(&mut header).await.expect("a message");
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).await.expect("its body");
            if header[0] == b'Z' {
                return;
            }
        }
    }
}

async fn accounts(server: &Server) -> Client {
    let client = connect(server.sql_url(), None).await;
    let sql = "CREATE TABLE account (id int PRIMARY KEY, v int); \
               INSERT INTO account SELECT i, 0 FROM generate_series(1, 9) AS i";
    client.batch_execute(sql).await.expect("is created");
    client
}

/// A generous bound for "within a second" on a busy machine: what counts is that neither the lock
/// nor the place in the queue stays until somebody else gives up.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_client_that_vanishes_in_a_lock_queue_frees_its_locks_and_its_place() {
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let holder = connect(server.sql_url(), None).await;
        holder.batch_execute("BEGIN; SELECT * FROM account WHERE id = 1 FOR UPDATE").await.unwrap();
        let mut lost = Raw::connect(server.sql_url()).await;
        lost.send("BEGIN; SELECT * FROM account WHERE id = 2 FOR UPDATE").await;
        lost.ready().await;
        lost.send("SELECT * FROM account WHERE id = 1 FOR UPDATE").await;
        until(&watcher, WAITING, 1).await;
        assert_eq!(number(&watcher, LOCKS).await, 3);
        drop(lost);
        // The holder goes on holding; the one that has gone is seen to have gone all the same.
        assert!(until(&watcher, WAITING, 0).await < SOON);
        assert!(until(&watcher, LOCKS, 1).await < SOON);
        let sql = "SELECT * FROM account WHERE id = 2 FOR UPDATE NOWAIT";
        watcher.batch_execute(sql).await.expect("is free");
        holder.batch_execute("COMMIT").await.expect("commits");
    });
}

#[test]
fn a_client_that_vanishes_while_it_computes_frees_its_locks() {
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        // One that has sent nothing more, and one that has sent the next query ahead.
        for ahead in [false, true] {
            let mut lost = Raw::connect(server.sql_url()).await;
            lost.send("BEGIN; SELECT * FROM account WHERE id = 2 FOR UPDATE").await;
            lost.ready().await;
            lost.send("SELECT count(*) FROM generate_series(1, 100000000000)").await;
            if ahead {
                lost.send("SELECT 1").await;
            }
            let computing = "SELECT count(*) FROM pg_stat_activity \
                             WHERE state = 'active' AND query LIKE '%100000000000)'";
            until(&watcher, computing, 1).await;
            drop(lost);
            assert!(until(&watcher, computing, 0).await < SOON);
            assert!(until(&watcher, LOCKS, 0).await < SOON);
        }
    });
}

#[test]
fn a_client_that_vanishes_idle_in_a_transaction_frees_its_locks() {
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let mut lost = Raw::connect(server.sql_url()).await;
        lost.send("BEGIN; UPDATE account SET v = 1 WHERE id < 4").await;
        lost.ready().await;
        assert_eq!(number(&watcher, LOCKS).await, 3);
        drop(lost);
        assert!(until(&watcher, LOCKS, 0).await < SOON);
        assert_eq!(number(&watcher, "SELECT sum(v) FROM account").await, 0);
    });
}

#[test]
fn a_deadlock_names_its_sessions_and_keys() {
    if braid_testkit::store::is_tikv() {
        println!("skipped: on TiKV the victim of a deadlock is who closes the circle");
        return;
    }
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let (old, young) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        let pid = "SELECT pg_backend_pid()::int8";
        let (old_pid, young_pid) = (number(&old, pid).await, number(&young, pid).await);
        old.batch_execute("BEGIN; SELECT * FROM account WHERE id = 1 FOR UPDATE").await.unwrap();
        young.batch_execute("BEGIN; SELECT * FROM account WHERE id = 2 FOR UPDATE").await.unwrap();
        let waits = young.batch_execute("SELECT * FROM account WHERE id = 1 FOR UPDATE");
        let closes = async {
            until(&watcher, WAITING, 1).await;
            // The wait that closes the cycle is the older one's: the younger fails all the same.
            old.batch_execute("SELECT * FROM account WHERE id = 2 FOR UPDATE").await
        };
        let (young_result, old_result) = tokio::join!(waits, closes);
        old_result.expect("the older one goes on once the younger has failed");
        let error = young_result.expect_err("the younger is the victim");
        let error = error.as_db_error().expect("an error of the server");
        assert_eq!(*error.code(), SqlState::T_R_DEADLOCK_DETECTED);
        assert_eq!(error.message(), "deadlock detected");
        let expected = format!(
            "Process {young_pid} waits for ExclusiveLock on /account/primary/1; \
             blocked by process {old_pid}.\n\
             Process {old_pid} waits for ExclusiveLock on /account/primary/2; \
             blocked by process {young_pid}."
        );
        assert_eq!(error.detail(), Some(expected.as_str()));
    });
}

#[test]
fn the_views_show_who_waits_for_whom() {
    if braid_testkit::store::is_tikv() {
        println!("skipped: on TiKV shared locks are taken as exclusive ones");
        return;
    }
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let (holder, waiter) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        let pid = "SELECT pg_backend_pid()::int8";
        let (holder_pid, waiter_pid) = (number(&holder, pid).await, number(&waiter, pid).await);
        holder.batch_execute("BEGIN; SELECT * FROM account WHERE id = 7 FOR SHARE").await.unwrap();
        let waits = waiter.batch_execute("UPDATE account SET v = 1 WHERE id = 7");
        let looks = async {
            until(&watcher, WAITING, 1).await;
            let sql = "SELECT key, strength, granted, pid::int8 FROM braid_internal.locks \
                       ORDER BY granted DESC";
            let rows = watcher.query(sql, &[]).await.expect("rows");
            let shown: Vec<(String, String, bool, i64)> =
                rows.iter().map(|r| (r.get(0), r.get(1), r.get(2), r.get(3))).collect();
            let key = || "/account/primary/7".to_owned();
            assert_eq!(
                shown,
                [
                    (key(), "shared".to_owned(), true, holder_pid),
                    (key(), "exclusive".to_owned(), false, waiter_pid),
                ]
            );
            let sql = format!("SELECT pg_blocking_pids({waiter_pid})::text");
            let blocking: String = watcher.query_one(&sql, &[]).await.expect("a row").get(0);
            assert_eq!(blocking, format!("{{{holder_pid}}}"));
            // What monitoring tools ask.
            let sql = "SELECT a.pid::int8, l.relation::regclass::text, l.mode, \
                       l.waitstart IS NOT NULL FROM pg_locks l \
                       JOIN pg_stat_activity a ON a.pid = l.pid WHERE NOT l.granted";
            let row = watcher.query_one(sql, &[]).await.expect("a row");
            assert_eq!(row.get::<_, i64>(0), waiter_pid);
            assert_eq!(row.get::<_, String>(1), "account");
            assert_eq!(row.get::<_, String>(2), "ExclusiveLock");
            assert!(row.get::<_, bool>(3));
            holder.batch_execute("COMMIT").await.expect("commits");
        };
        let (result, ()) = tokio::join!(waits, looks);
        result.expect("goes on");
        assert_eq!(number(&watcher, LOCKS).await, 0);
    });
}

/// Rows, tables and advisory locks: what is held, what waits for it, and which session is in the
/// way. On every store.
#[test]
fn the_views_show_each_kind_of_lock() {
    let cases = [
        ("tuple", "SELECT * FROM account WHERE id = 7 FOR UPDATE", "ExclusiveLock"),
        ("advisory", "SELECT pg_advisory_xact_lock(7)", "ExclusiveLock"),
        (
            "relation",
            "LOCK TABLE account IN SHARE UPDATE EXCLUSIVE MODE",
            "ShareUpdateExclusiveLock",
        ),
    ];
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let (holder, waiter) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        let pid = "SELECT pg_backend_pid()::int8";
        let (holder_pid, waiter_pid) = (number(&holder, pid).await, number(&waiter, pid).await);
        let event = format!(
            "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity \
             WHERE pid = {waiter_pid}"
        );
        let text = async |sql: &str| -> String {
            watcher.query_one(sql, &[]).await.expect("a row").get(0)
        };
        for (kind, takes, mode) in cases {
            holder.batch_execute(&format!("BEGIN; {takes}")).await.expect("is free");
            assert_eq!(text(&event).await, "Client ClientRead");
            let waits = waiter.batch_execute(takes);
            let looks = async {
                until(&watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted", 1).await;
                let sql = format!(
                    "SELECT pid::int8, granted, mode, coalesce(relation::regclass::text, '') \
                     FROM pg_locks WHERE locktype = '{kind}' ORDER BY granted DESC"
                );
                let rows = watcher.query(&sql, &[]).await.expect("rows");
                let shown: Vec<(i64, bool, String, String)> =
                    rows.iter().map(|r| (r.get(0), r.get(1), r.get(2), r.get(3))).collect();
                let table = if kind == "advisory" { "" } else { "account" };
                let entry = |pid, granted| (pid, granted, mode.to_owned(), table.to_owned());
                assert_eq!(shown, [entry(holder_pid, true), entry(waiter_pid, false)]);
                let blocking = format!("SELECT pg_blocking_pids({waiter_pid})::text");
                assert_eq!(text(&blocking).await, format!("{{{holder_pid}}}"), "{kind}");
                assert_eq!(text(&event).await, format!("Lock {kind}"));
                holder.batch_execute("COMMIT").await.expect("commits");
            };
            // LOCK TABLE needs a block; for the others it changes nothing.
            let block = async {
                waiter.batch_execute("BEGIN").await.expect("begins");
                let result = waits.await;
                waiter.batch_execute("COMMIT").await.expect("commits");
                result
            };
            let (result, ()) = tokio::join!(block, looks);
            result.expect("goes on");
        }
    });
}

/// An UPDATE locks the families that it reads or writes: writers of different families of one row
/// meet neither at the lock nor at the commit. FOR UPDATE and DELETE lock all of them.
#[test]
fn writers_of_different_families_are_independent() {
    run(async {
        let server = Server::start(Config::new());
        let (a, b) = (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        let sql = "CREATE TABLE wide (id int PRIMARY KEY, x int, y int, \
                   FAMILY f0 (id), FAMILY f1 (x), FAMILY f2 (y)); \
                   INSERT INTO wide VALUES (1, 0, 0), (2, NULL, NULL)";
        a.batch_execute(sql).await.expect("is created");
        for client in [&a, &b] {
            client.batch_execute("SET lock_timeout = '200ms'").await.expect("is set");
        }
        for level in ["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"] {
            let begin = format!("BEGIN ISOLATION LEVEL {level}");
            a.batch_execute(&begin).await.expect("begins");
            b.batch_execute(&begin).await.expect("begins");
            a.batch_execute("UPDATE wide SET x = coalesce(x, 0) + 1 WHERE id < 3 AND id = 1")
                .await
                .expect("is updated");
            b.batch_execute("UPDATE wide SET y = coalesce(y, 0) + 1 WHERE id = 1")
                .await
                .expect("the other family is free");
            let error = b.batch_execute("UPDATE wide SET x = 5 WHERE id = 1").await;
            let error = error.expect_err("this family is not");
            assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE), "{level}");
            b.batch_execute("ROLLBACK").await.expect("rolls back");
            b.batch_execute(&begin).await.expect("begins");
            b.batch_execute("UPDATE wide SET y = coalesce(y, 0) + 1 WHERE id = 1")
                .await
                .expect("is updated");
            a.batch_execute("COMMIT").await.expect("commits");
            b.batch_execute("COMMIT").await.expect("commits beside the other");
            // A row is deleted or locked as a whole.
            a.batch_execute(&begin).await.expect("begins");
            a.batch_execute("UPDATE wide SET y = 7 WHERE id = 2").await.expect("is updated");
            for whole in
                ["DELETE FROM wide WHERE id = 2", "SELECT * FROM wide WHERE id = 2 FOR UPDATE"]
            {
                let error = b.batch_execute(whole).await.expect_err("waits for all families");
                assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE), "{level}");
            }
            a.batch_execute("ROLLBACK").await.expect("rolls back");
            // An UPDATE notices that the row has gone, though its own family had nothing.
            a.batch_execute(&begin).await.expect("begins");
            a.batch_execute("DELETE FROM wide WHERE id = 2").await.expect("is deleted");
            b.batch_execute("SET lock_timeout = 0").await.expect("is set");
            let updates = b.execute("UPDATE wide SET y = 7 WHERE id = 2", &[]);
            let commits = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                a.batch_execute("COMMIT").await.expect("commits");
            };
            let (updated, ()) = tokio::join!(updates, commits);
            if let Ok(count) = updated {
                assert_eq!(count, 0, "{level}");
            }
            a.batch_execute("INSERT INTO wide VALUES (2, NULL, NULL)").await.expect("is back");
            b.batch_execute("SET lock_timeout = '200ms'").await.expect("is set");
        }
        assert_eq!(number(&a, "SELECT (x * 10 + y)::int8 FROM wide WHERE id = 1").await, 33);
        assert_eq!(number(&a, "SELECT count(*) FROM wide").await, 2);
    });
}

#[test]
fn the_lock_table_has_a_limit() {
    if braid_testkit::store::is_tikv() {
        println!("skipped: on TiKV locks lie in its stores, which have limits of their own");
        return;
    }
    run(async {
        let server = Server::start(Config::new().arg("--locks-max").arg("1000"));
        let client = accounts(&server).await;
        for from in [10, 700, 1400] {
            let rows = format!("generate_series({from}, {from} + 689)");
            let sql = format!("INSERT INTO account SELECT i, 0 FROM {rows} AS i");
            client.batch_execute(&sql).await.expect("is inserted");
        }
        let error = client.batch_execute("SELECT * FROM account FOR UPDATE").await;
        let error = error.expect_err("is too much");
        let error = error.as_db_error().expect("an error of the server");
        assert_eq!(*error.code(), SqlState::OUT_OF_MEMORY);
        assert_eq!(error.message(), "too many row locks");
        assert_eq!(number(&client, LOCKS).await, 0);
        let sql = "SELECT * FROM account WHERE id <= 900 FOR UPDATE";
        client.batch_execute(sql).await.expect("is within the limit");
    });
}

const ADVISORY: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";

#[test]
fn advisory_locks_end_with_their_session() {
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let holder = connect(server.sql_url(), None).await;
        holder.batch_execute("SELECT pg_advisory_lock(1)").await.expect("is free");
        let takes = "SELECT pg_advisory_lock(2), pg_advisory_lock_shared(3)";
        // Idle, idle in a transaction, waiting for a lock, computing.
        let cases = [
            (takes.to_owned(), None, 3),
            (format!("BEGIN; {takes}, pg_advisory_xact_lock(4)"), None, 4),
            (takes.to_owned(), Some("SELECT pg_advisory_lock(1)"), 4),
            (takes.to_owned(), Some("SELECT count(*) FROM generate_series(1, 100000000000)"), 3),
        ];
        for (first, then, locks) in cases {
            let mut lost = Raw::connect(server.sql_url()).await;
            lost.send(&first).await;
            lost.ready().await;
            if let Some(then) = then {
                lost.send(then).await;
            }
            until(&watcher, ADVISORY, locks).await;
            drop(lost);
            assert!(until(&watcher, ADVISORY, 1).await < SOON, "{first}; {then:?}");
        }
        // One that is ended by another session hands its locks to who waits.
        let ended = connect(server.sql_url(), None).await;
        ended.batch_execute(takes).await.expect("is free");
        let pid = number(&ended, "SELECT pg_backend_pid()::int8").await;
        let waits = holder.batch_execute("SELECT pg_advisory_lock(3)");
        let ends = async {
            until(&watcher, WAITING, 1).await;
            let sql = format!("SELECT pg_terminate_backend({pid}::int4)");
            watcher.batch_execute(&sql).await.expect("is ended");
        };
        let (waited, ()) = tokio::join!(waits, ends);
        waited.expect("goes on");
        until(&watcher, ADVISORY, 2).await;
    });
}

/// A counter that is read and written by different statements loses nothing, because an advisory
/// lock keeps the others out.
#[test]
fn an_advisory_lock_keeps_others_out() {
    const CLIENTS: i64 = 6;
    const ROUNDS: i64 = 20;
    run(async {
        let server = Server::start(Config::new());
        let watcher = accounts(&server).await;
        let forms = [
            ("SELECT pg_advisory_lock(7)", "BEGIN", "COMMIT", "SELECT pg_advisory_unlock(7)"),
            ("BEGIN", "SELECT pg_advisory_xact_lock(7)", "SELECT 1", "COMMIT"),
        ];
        let url = server.sql_url().to_owned();
        let clients = (0..CLIENTS).map(|_| {
            let url = url.clone();
            tokio::spawn(async move {
                let client = connect(&url, None).await;
                let level = "SET default_transaction_isolation = 'read committed'";
                client.batch_execute(level).await.expect("is set");
                for round in 0..ROUNDS {
                    let (first, second, third, last) = forms[round as usize % forms.len()];
                    client.batch_execute(first).await.expect("begins");
                    client.batch_execute(second).await.expect("begins");
                    let v = number(&client, "SELECT v::int8 FROM account WHERE id = 1").await;
                    let sql = format!("UPDATE account SET v = {} WHERE id = 1", v + 1);
                    client.batch_execute(&sql).await.expect("is written");
                    client.batch_execute(third).await.expect("ends");
                    client.batch_execute(last).await.expect("ends");
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.expect("does its work");
        }
        let sum = number(&watcher, "SELECT v::int8 FROM account WHERE id = 1").await;
        assert_eq!(sum, CLIENTS * ROUNDS);
        assert_eq!(number(&watcher, ADVISORY).await, 0);
    });
}
