//! What runs again by itself runs as a whole, and nothing that is committed runs again.

use std::time::Duration;

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column};
use braid_testkit::tikv::{Config as Cluster, Fault, Rpc, Rule, TikvStandIn};
use braid_types::{Datum, SqlType};
use tokio_postgres::{Client, NoTls};

const TABLES: &str = "CREATE TABLE hot (id int PRIMARY KEY, v int);
     INSERT INTO hot VALUES (1, 1);
     CREATE TABLE log (id int PRIMARY KEY);
     CREATE TABLE u (id int PRIMARY KEY);
     CREATE TABLE x (v int);
     INSERT INTO x VALUES (0)";

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn clients(server: &Server) -> (Client, Client) {
    let (one, two) = (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
    one.batch_execute(TABLES).await.expect("tables");
    (one, two)
}

/// A list of statements whose transaction meets a conflict: somebody changes what it has read.
async fn beside_a_change(one: &Client, two: &Client, list: &str) {
    let change = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        two.batch_execute("UPDATE hot SET v = v + 1").await.expect("a change");
    };
    let (result, ()) = tokio::join!(one.batch_execute(list), change);
    // A retry error is an answer as well; the tests look at what is left.
    if let Err(error) = result {
        assert_eq!(error.code().map(|code| code.code()), Some("40001"), "{error:?}");
        one.batch_execute("ROLLBACK").await.expect("a rollback");
    }
}

async fn count(client: &Client, table: &str) -> String {
    first_column(client, &format!("SELECT count(*) FROM {table}")).await.join(",")
}

/// BEGIN goes on with the implicit transaction of the statements before it. Switched off (the
/// group forgets them), the row of `log` is lost although it was acknowledged.
#[test]
fn what_came_before_begin_is_not_left_out() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        let (one, two) = clients(&server).await;
        let list = "SELECT v FROM hot WHERE id = 1; INSERT INTO log VALUES (1); \
                    SELECT pg_sleep(0.8); BEGIN; INSERT INTO u VALUES (1) RETURNING NOTHING; COMMIT";
        beside_a_change(&one, &two, list).await;
        assert_eq!(count(&one, "log").await, count(&one, "u").await);
    });
}

/// A block that follows by AND CHAIN is another transaction than the one before. Switched off, the
/// list runs again from its beginning, and changes `x` twice.
#[test]
fn a_chained_block_does_not_run_the_committed_one_again() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        let (one, two) = clients(&server).await;
        let list = "BEGIN; UPDATE x SET v = v + 1; COMMIT AND CHAIN; SELECT v FROM hot; \
                    SELECT pg_sleep(0.8); INSERT INTO log VALUES (2); COMMIT";
        beside_a_change(&one, &two, list).await;
        assert_eq!(first_column(&one, "SELECT v FROM x").await, ["1"]);
    });
}

/// A queued statement has its plan before it runs. Meanwhile an index comes, and the snapshot of
/// its transaction moves beyond that. Switched off (the guard begins at the run), the row has no
/// entry in the index.
#[test]
fn a_queued_statement_does_not_run_by_an_old_plan() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        for (begin, insert) in [
            ("BEGIN", "INSERT INTO t SELECT 1, v FROM hot WHERE id = 1 RETURNING NOTHING"),
            (
                "BEGIN ISOLATION LEVEL READ COMMITTED",
                "INSERT INTO t SELECT 1, v FROM hot WHERE id = 1 RETURNING NOTHING",
            ),
        ] {
            let (one, two) = clients(&server).await;
            let three = connect(server.sql_url(), None).await;
            one.batch_execute("CREATE TABLE t (id int PRIMARY KEY, a int)").await.expect("a table");
            three.batch_execute("BEGIN; UPDATE hot SET v = v + 1").await.expect("a lock");
            one.batch_execute(begin).await.expect("begins");
            let update = "UPDATE hot SET v = v + 10 WHERE id = 1 RETURNING NOTHING";
            one.batch_execute(update).await.expect("is queued");
            one.batch_execute(insert).await.expect("is queued");
            two.batch_execute("CREATE INDEX t_a ON t (a)").await.expect("an index");
            three.batch_execute("COMMIT").await.expect("commits");
            if let Err(error) = one.batch_execute("COMMIT").await {
                assert_eq!(error.code().map(|code| code.code()), Some("40001"), "{error:?}");
            }
            let found = first_column(&two, "CHECK TABLE t").await;
            assert!(found.is_empty(), "{begin}: {found:?}");
            two.batch_execute("DROP TABLE t, hot, log, u, x").await.expect("dropped");
        }
    });
}

/// Procedures whose second part meets a conflict: by a statement, by COMMIT, and by their end.
const PARTS: &str = "
    CREATE PROCEDURE by_statement() LANGUAGE plpgsql AS $$ BEGIN
      UPDATE x SET v = v + 1; COMMIT;
      PERFORM v FROM hot; PERFORM pg_sleep(0.8); UPDATE hot SET v = v + 10;
    END $$;
    CREATE PROCEDURE by_commit() LANGUAGE plpgsql AS $$ BEGIN
      UPDATE x SET v = v + 1; COMMIT;
      PERFORM v FROM hot; PERFORM pg_sleep(0.8); INSERT INTO log VALUES (1); COMMIT;
    END $$;
    CREATE PROCEDURE by_end() LANGUAGE plpgsql AS $$ BEGIN
      UPDATE x SET v = v + 1; COMMIT;
      PERFORM v FROM hot; PERFORM pg_sleep(0.8); INSERT INTO log VALUES (1);
    END $$;
    CREATE PROCEDURE by_inner() LANGUAGE plpgsql AS $$ BEGIN
      UPDATE x SET v = v + 1; CALL by_end(); UPDATE x SET v = v - 1;
    END $$";

/// The part of a body that COMMIT has ended is there once, whatever the next part meets.
#[test]
fn a_part_that_a_body_has_committed_does_not_run_again() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        let (one, two) = clients(&server).await;
        one.batch_execute(PARTS).await.expect("procedures");
        for (name, changes) in
            [("by_statement", 1), ("by_commit", 1), ("by_end", 1), ("by_inner", 2)]
        {
            for is_simple in [true, false] {
                one.batch_execute("UPDATE x SET v = 0").await.expect("a start");
                let call = format!("CALL {name}()");
                let call = async {
                    match is_simple {
                        true => one.batch_execute(&call).await,
                        false => one.execute(&call, &[]).await.map(drop),
                    }
                };
                let change = async {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    two.batch_execute("UPDATE hot SET v = v + 1").await.expect("a change");
                };
                let (result, ()) = tokio::join!(call, change);
                let error = result.expect_err("its second part has met a change");
                let error = error.as_db_error().expect("an answer of the server");
                assert_eq!(error.code().code(), "40001", "{name}: {error:?}");
                let hint = "What the routine has committed before this error stays.";
                assert_eq!(error.hint(), Some(hint), "{name}");
                let found = first_column(&two, "SELECT v FROM x").await;
                assert_eq!(found, [changes.to_string()], "{name}, simple: {is_simple}");
                assert_eq!(count(&two, "log").await, "0", "{name}");
            }
        }
    });
}

/// As long as nothing of a body has committed, it runs again as before, also if COMMIT itself has
/// met the conflict.
#[test]
fn a_body_runs_again_until_its_first_commit() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        let (one, two) = clients(&server).await;
        let create = "CREATE PROCEDURE first_part() LANGUAGE plpgsql AS $$ BEGIN
              PERFORM v FROM hot; PERFORM pg_sleep(0.8); UPDATE x SET v = v + 1; COMMIT;
              INSERT INTO log VALUES (1);
            END $$";
        one.batch_execute(create).await.expect("a procedure");
        beside_a_change(&one, &two, "CALL first_part()").await;
        assert_eq!(first_column(&one, "SELECT v FROM x").await, ["1"]);
        assert_eq!(count(&one, "log").await, "1");
    });
}

/// What a body has committed is durable at once, although its statement goes on.
#[test]
fn a_committed_part_survives_a_kill() {
    run(async {
        let mut server = Server::start(Config::new());
        let (one, two) = clients(&server).await;
        let call = "DO $$ BEGIN UPDATE x SET v = v + 1; COMMIT; UPDATE x SET v = v + 10; \
                    PERFORM pg_sleep(600); END $$";
        let running = tokio::spawn(async move { one.batch_execute(call).await });
        while first_column(&two, "SELECT v FROM x").await != ["1"] {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.kill();
        running.await.expect("a task").expect_err("the server is gone");
        server.restart();
        let client = connect(server.sql_url(), None).await;
        assert_eq!(first_column(&client, "SELECT v FROM x").await, ["1"]);
    });
}

/// A commit token belongs to the transaction that sets it, inside of a body as well.
#[test]
fn a_body_has_a_commit_token_for_each_of_its_transactions() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        let (one, two) = clients(&server).await;
        let token = |number: u32| format!("6ba7b810-9dad-41d1-80b4-{number:012x}");
        let call = format!(
            "DO $$ BEGIN SET LOCAL commit_token = '{}'; UPDATE x SET v = 1; COMMIT; \
             UPDATE x SET v = 2; COMMIT; \
             SET LOCAL commit_token = '{}'; UPDATE x SET v = 3; PERFORM 1 / 0; END $$",
            token(1),
            token(2)
        );
        one.batch_execute(&call).await.expect_err("it divides by zero");
        let status = |number| format!("SELECT braid_commit_status('{}')", token(number));
        assert_eq!(first_column(&two, &status(1)).await, ["committed"]);
        assert_eq!(first_column(&two, &status(2)).await, ["aborted"]);
        assert_eq!(first_column(&two, "SELECT v FROM x").await, ["2"]);
    });
}

/// A body that is stopped between two of its parts keeps what it has committed, and no more. The
/// session goes on, and no lock is left.
#[test]
fn a_body_that_is_stopped_keeps_what_it_has_committed() {
    run(async {
        let server = Server::start(Config::new().without_sync());
        let (one, two) = clients(&server).await;
        for second_part in ["PERFORM pg_sleep(600)", "LOOP n := n + 1; END LOOP"] {
            let body = format!(
                "DECLARE n int8 := 0; BEGIN \
                   UPDATE x SET v = v + 1; COMMIT; UPDATE x SET v = v + 10; {second_part}; \
                 END"
            );
            let create = format!("CREATE PROCEDURE parts() LANGUAGE plpgsql AS $${body}$$");
            one.batch_execute(&create).await.expect("a procedure");
            for statement in [format!("DO $${body}$$"), "CALL parts()".to_owned()] {
                for has_timeout in [true, false] {
                    two.batch_execute("UPDATE x SET v = 0").await.expect("no lock is left");
                    let timeout = if has_timeout { "1s" } else { "0" };
                    let set = format!("SET statement_timeout = '{timeout}'");
                    one.batch_execute(&set).await.expect("is set");
                    let stop = async {
                        while first_column(&two, "SELECT v FROM x").await != ["1"] {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        if !has_timeout {
                            one.cancel_token().cancel_query(NoTls).await.expect("is asked");
                        }
                    };
                    let (result, ()) = tokio::join!(one.batch_execute(&statement), stop);
                    let error = result.expect_err("is stopped");
                    assert_eq!(error.code().map(|code| code.code()), Some("57014"), "{error:?}");
                    let found = first_column(&one, "SELECT v FROM x").await;
                    assert_eq!(found, ["1"], "{statement}, timeout: {timeout}");
                }
            }
            one.batch_execute("RESET statement_timeout; DROP PROCEDURE parts").await.expect("end");
        }
    });
}

/// The outcome of a COMMIT inside of a body may stay unknown. That is 40003 for the client, and no
/// part of the body runs again. Always on a stand-in of its own.
#[test]
fn a_body_whose_commit_is_unknown_does_not_run_again() {
    run(async {
        let cluster = TikvStandIn::start(Cluster::default());
        let server = Server::start(Config::new().store(cluster.store_url()));
        let (one, two) = clients(&server).await;
        let sql = "SELECT data_id FROM braid_internal.tables WHERE table_name = 'hot'";
        let table: u32 = first_column(&one, sql).await[0].parse().expect("a number");
        let mut key = braid_codec::key::index_prefix(table, 1);
        braid_codec::key::encode(&mut key, &Datum::Int(1), &SqlType::Int4, false);
        braid_codec::key::encode_family(&mut key, 0);
        let key = [b"braid/d".as_slice(), &key].concat();
        cluster.add(Rule::next(Rpc::Commit, Fault::LoseAnswer).key(&key).times(10_000));
        for rpc in [Rpc::CheckTxnStatus, Rpc::CheckSecondaryLocks, Rpc::BatchRollback] {
            cluster.add(Rule::next(rpc, Fault::LoseRequest).key(&key).times(10_000));
        }
        // What has been read is proved, so the commit has a phase of its own.
        let body = "DO $$ BEGIN PERFORM count(*) FROM log; \
                    UPDATE hot SET v = v + 1 WHERE id = 1; COMMIT; \
                    INSERT INTO log VALUES (1); END $$";
        let error = one.batch_execute(body).await.expect_err("nobody answers the commit");
        assert_eq!(error.code().map(|code| code.code()), Some("40003"), "{error:?}");
        cluster.clear_rules();
        let found = first_column(&two, "SELECT v FROM hot").await;
        assert!(found == ["1"] || found == ["2"], "{found:?}");
        assert_eq!(count(&two, "log").await, "0");
        one.batch_execute("INSERT INTO log VALUES (2)").await.expect("the session goes on");
    });
}
