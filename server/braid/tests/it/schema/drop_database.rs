//! DROP DATABASE beside sessions of other clients in that database.

use std::time::{Duration, Instant};

use braid_testkit::target::{Target, connect};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// A database with a client in it, and a client elsewhere.
async fn database(target: &Target) -> (Client, Client, String) {
    let database = target.create_database("dropped").await;
    let inside = database.connect().await;
    let admin = connect(target.url(), None).await;
    let name = inside.query_one("SELECT current_database()", &[]).await.expect("a row").get(0);
    (inside, admin, name)
}

#[test]
fn drop_database_waits_for_a_session_that_leaves() {
    run(async {
        for target in Target::all() {
            let (inside, admin, name) = database(&target).await;
            let sql = format!("DROP DATABASE {name}");
            let leaves = async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                drop(inside);
            };
            let (dropped, ()) = tokio::join!(admin.batch_execute(&sql), leaves);
            dropped.expect("the session has left");
        }
    });
}

#[test]
fn drop_database_fails_beside_a_session_that_stays_and_ends_it_by_force() {
    run(async {
        for target in Target::all() {
            let (inside, admin, name) = database(&target).await;
            let start = Instant::now();
            let refused = admin.batch_execute(&format!("DROP DATABASE {name}")).await;
            let refused = refused.expect_err("somebody is inside");
            assert_eq!(refused.code(), Some(&SqlState::OBJECT_IN_USE));
            assert!(start.elapsed() > Duration::from_secs(4), "it waits for those who leave");
            inside.batch_execute("SELECT 1").await.expect("the session goes on");
            let forced = format!("DROP DATABASE {name} WITH (FORCE)");
            admin.batch_execute(&forced).await.expect("the session is ended");
            inside.batch_execute("SELECT 1").await.expect_err("the session has ended");
        }
    });
}
