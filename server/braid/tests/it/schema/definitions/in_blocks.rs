//! Transaction blocks that begin with a definition, beside definitions of other sessions: what
//! `pg_restore -j` does with TRUNCATE and COPY while another connection adds foreign keys.

use braid_testkit::target::Target;
use tokio_postgres::Client;

const BLOCKS: i32 = 20;

const TABLES: &str = "
    CREATE TABLE parent (id INT PRIMARY KEY);
    INSERT INTO parent SELECT generate_series(1, 10);
    CREATE TABLE whole (a INT, parent INT) PARTITION BY RANGE (a);
    CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (1000);
    CREATE TABLE high PARTITION OF whole FOR VALUES FROM (1000) TO (2000);
    INSERT INTO whole SELECT i, i % 10 + 1 FROM generate_series(1, 500) AS i";

/// Adds and drops a foreign key of the whole table: both change the partition as well.
async fn define(client: Client) {
    for _ in 0..BLOCKS {
        let add =
            "ALTER TABLE whole ADD CONSTRAINT whole_parent FOREIGN KEY (parent) REFERENCES parent";
        client.batch_execute(add).await.expect("the key is added");
        let drop = "ALTER TABLE whole DROP CONSTRAINT whole_parent";
        client.batch_execute(drop).await.expect("the key is dropped");
    }
}

/// Statements are sent one by one: after the first answer the server cannot begin the block again.
async fn load(client: Client) {
    for block in 0..BLOCKS {
        let insert = format!(
            "INSERT INTO high SELECT i, {block} % 10 + 1 FROM generate_series(1000, 1099) AS i"
        );
        for sql in ["BEGIN", "TRUNCATE ONLY high", &insert, "COMMIT"] {
            let answer = client.batch_execute(sql).await;
            answer.unwrap_or_else(|error| panic!("{sql} of block {block}: {error}"));
        }
    }
}

/// PostgreSQL is not asked: there the two sessions lock the tables in different orders, which is
/// a deadlock now and then.
#[test]
fn a_block_that_begins_with_truncate_commits_beside_definitions() {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        for target in Target::all().filter(|target| !target.is_postgres()) {
            let database = target.create_database("blocks").await;
            let client = database.connect().await;
            client.batch_execute(TABLES).await.expect("the tables");
            let loading = load(database.connect().await);
            tokio::join!(define(database.connect().await), loading);
            let rows = client.query_one("SELECT count(*) FROM high", &[]).await.expect("a row");
            assert_eq!(rows.get::<_, i64>(0), 100);
        }
    });
}
