//! Exported snapshots: what others commit meanwhile is not seen by those that import one.

use braid_testkit::target::{Target, connect};
use tokio_postgres::Client;

async fn text(client: &Client, sql: &str) -> String {
    let rows = client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows[0].get(0)
}

async fn state(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err(sql);
    error.code().expect("a SQLSTATE").code().to_owned()
}

#[test]
fn importers_read_what_the_exporter_reads() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for target in Target::all() {
            check(&target).await;
        }
    });
}

async fn check(target: &Target) {
    let database = target.create_database("dump_snapshots").await;
    let [exporter, importer, writer] =
        [database.connect().await, database.connect().await, database.connect().await];
    writer.batch_execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await.expect("made");
    exporter.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begins");
    let id = text(&exporter, "SELECT pg_export_snapshot()").await;
    let import = format!("SET TRANSACTION SNAPSHOT '{id}'");
    writer
        .batch_execute("INSERT INTO t VALUES (2); ALTER TABLE t ADD COLUMN b int DEFAULT 5")
        .await
        .expect("is written");
    for modes in ["REPEATABLE READ", "REPEATABLE READ, READ ONLY"] {
        importer.batch_execute(&format!("BEGIN ISOLATION LEVEL {modes}")).await.expect("begins");
        importer.batch_execute(&import).await.expect("is imported");
        assert_eq!(text(&importer, "SELECT count(*)::text FROM t").await, "1");
        assert_eq!(state(&importer, &import).await, "25001", "a query was run before");
        importer.batch_execute("ROLLBACK").await.expect("ends");
    }
    importer.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").await.expect("begins");
    assert_eq!(state(&importer, &import).await, "0A000", "the exporter is not serializable");
    importer.batch_execute("ROLLBACK").await.expect("ends");
    // What has changed since cannot be written over.
    importer.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begins");
    importer.batch_execute(&import).await.expect("is imported");
    writer.batch_execute("UPDATE t SET a = 3 WHERE a = 1").await.expect("is written");
    assert_eq!(state(&importer, "UPDATE t SET a = 4").await, "40001");
    importer.batch_execute("ROLLBACK").await.expect("ends");
    exporter.batch_execute("COMMIT").await.expect("ends");
    importer.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begins");
    assert_eq!(state(&importer, &import).await, "22023", "the exporter has ended");
    importer.batch_execute("ROLLBACK").await.expect("ends");
    drop((exporter, importer, writer));
    database.drop().await;
}

#[test]
fn a_lost_connection_takes_its_snapshots_along() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let target = Target::from_env();
        let database = target.create_database("dump_lost").await;
        let exporter = connect(&database.url(), None).await;
        exporter.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begins");
        let id = text(&exporter, "SELECT pg_export_snapshot()").await;
        drop(exporter);
        let importer = database.connect().await;
        let import = format!("SET TRANSACTION SNAPSHOT '{id}'");
        for _ in 0..200 {
            importer.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begins");
            let found = importer.batch_execute(&import).await;
            importer.batch_execute("ROLLBACK").await.expect("ends");
            if found.is_err() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the snapshot outlasts its session");
    });
}
