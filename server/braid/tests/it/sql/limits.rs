//! Limits of statements and of the process: what is too much fails with its SQLSTATE, and the
//! server goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// The SQLSTATE of a statement that fails.
async fn state(client: &Client, sql: &str) -> Option<SqlState> {
    client.simple_query(sql).await.err().and_then(|error| error.code().cloned())
}

fn repeated(first: &str, rest: &str, times: usize) -> String {
    format!("{first}{}", rest.repeat(times))
}

#[test]
fn deep_statements_run_or_are_refused() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await.expect("t");
        for branches in [800, 1_500] {
            let unions = repeated("SELECT a FROM t", " UNION ALL SELECT a FROM t", branches - 1);
            let sql = format!("SELECT count(*) FROM ({unions}) AS all_of_them");
            match client.query_one(&sql, &[]).await {
                Ok(row) => assert_eq!(row.get::<_, i64>(0), branches as i64),
                Err(error) => {
                    assert_eq!(error.code(), Some(&SqlState::STATEMENT_TOO_COMPLEX), "{branches}");
                }
            }
            let prepared = client.prepare(&unions).await;
            prepared.map_or_else(
                |error| assert_eq!(error.code(), Some(&SqlState::STATEMENT_TOO_COMPLEX)),
                |_| {},
            );
        }
        let many = repeated("SELECT 1", " UNION SELECT 1", 20_000);
        assert_eq!(state(&client, &many).await, Some(SqlState::STATEMENT_TOO_COMPLEX));
        let sums = repeated("SELECT 1", " + 1", 200);
        assert!(first_column(&client, &sums).await == ["201"], "200 additions");
        let sums = repeated("SELECT 1", " + 1", 50_000);
        assert_eq!(state(&client, &sums).await, Some(SqlState::STATEMENT_TOO_COMPLEX));
    });
}

#[test]
fn the_memory_of_the_process_is_bounded() {
    run(async {
        let server = Server::start(Config::new().arg("--memory-limit").arg("256MB"));
        let greedy = connect(server.sql_url(), None).await;
        let modest = connect(server.sql_url(), None).await;
        greedy.batch_execute("SET statement_memory_limit = '4GB'").await.expect("a setting");
        let sql = "SELECT cardinality(ARRAY(SELECT repeat('x', 1000) || g
                   FROM generate_series(1, 1000000) AS g))";
        let (failed, served) = tokio::join!(state(&greedy, sql), async {
            let mut served = 0;
            for _ in 0..20 {
                let sql = "SELECT count(*) FROM (SELECT g FROM generate_series(1, 1000) AS g
                           ORDER BY -g OFFSET 1) AS sorted";
                assert_eq!(first_column(&modest, sql).await, ["999"]);
                served += 1;
            }
            served
        });
        assert_eq!((failed, served), (Some(SqlState::OUT_OF_MEMORY), 20));
        // What can go to disk does so before it takes the memory of others.
        let sql = "SELECT count(*) FROM (SELECT repeat('x', 1000) || g AS v
                   FROM generate_series(1, 300000) AS g ORDER BY v OFFSET 1) AS sorted";
        assert_eq!(first_column(&greedy, sql).await, ["299999"]);
    });
}

/// Every file below a folder that others than its owner may read.
fn open_files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            open_files(&path, found);
        } else if fs::metadata(&path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn data_files_are_their_owners_and_an_open_folder_is_reported() {
    run(async {
        let mut server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute("CREATE TABLE t AS SELECT 1 AS a").await.expect("t");
        let mut open = Vec::new();
        open_files(server.folder(), &mut open);
        assert!(open.is_empty(), "others may read {open:?}");
        assert!(!server.output().contains("others can read"), "{}", server.output());
        drop(client);
        fs::set_permissions(server.folder(), fs::Permissions::from_mode(0o755)).expect("a mode");
        server.terminate();
        server.restart();
        assert!(server.output().contains("others can read"), "{}", server.output());
    });
}
