//! Binary COPY by the writers and readers of a stock driver, in many pieces and batches; COPY with
//! files of the server.

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column};
use futures_util::{TryStreamExt, pin_mut};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

const TYPES: [Type; 4] = [Type::INT4, Type::TEXT, Type::FLOAT8, Type::BYTEA];
/// Several batches of rows.
const ROWS: i32 = 2_500;

#[test]
fn a_driver_writes_and_reads_binary_copies() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        let table = "CREATE TABLE t (id int PRIMARY KEY, name text, part float8, data bytea)";
        client.batch_execute(table).await.expect("is created");
        let sink = client.copy_in("COPY t FROM STDIN (FORMAT binary)").await.expect("begins");
        let writer = BinaryCopyInWriter::new(sink, &TYPES);
        pin_mut!(writer);
        for id in 0..ROWS {
            let name = (id % 3 != 0).then(|| format!("row {id} é"));
            let data = vec![id as u8; (id % 50) as usize];
            let row: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&id, &name, &(f64::from(id) / 7.0), &data];
            writer.as_mut().write(&row).await.expect("is written");
        }
        assert_eq!(writer.finish().await.expect("ends"), ROWS as u64);
        let stream = client.copy_out("COPY t TO STDOUT (FORMAT binary)").await.expect("begins");
        let rows: Vec<_> = BinaryCopyOutStream::new(stream, &TYPES)
            .try_collect()
            .await
            .expect("is read to its end");
        assert_eq!(rows.len(), ROWS as usize);
        for row in rows {
            let id: i32 = row.get(0);
            let name: Option<&str> = row.get(1);
            assert_eq!(name.map(str::to_owned), (id % 3 != 0).then(|| format!("row {id} é")));
            assert_eq!(row.get::<f64>(2), f64::from(id) / 7.0);
            assert_eq!(row.get::<&[u8]>(3), vec![id as u8; (id % 50) as usize]);
        }
    });
}

#[test]
fn files_of_the_server_are_written_and_read() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name).display().to_string();
        client
            .batch_execute(
                "CREATE TABLE t (id int PRIMARY KEY, name text);
                 INSERT INTO t SELECT g, repeat('a,\"é' || g, 40) FROM generate_series(1, 20000) g;
                 CREATE TABLE u (LIKE t)",
            )
            .await
            .expect("the tables");
        for format in ["text", "csv", "binary"] {
            let name = file(format);
            // What the file had before is gone.
            std::fs::write(&name, "x".repeat(20_000_000)).expect("an old file");
            let written = format!("COPY t TO '{name}' (FORMAT {format})");
            assert_eq!(client.execute(&written, &[]).await.expect("is written"), 20_000);
            let read = format!("COPY u FROM '{name}' (FORMAT {format})");
            assert_eq!(client.execute(&read, &[]).await.expect("is read"), 20_000);
            let other = "SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM u) AS d";
            assert_eq!(first_column(&client, other).await, ["0"], "{format}");
            client.batch_execute("TRUNCATE u").await.expect("is emptied");
        }
        // Nothing of a file with a wrong line is kept.
        std::fs::write(file("wrong"), "1\tone\nx\ttwo\n").expect("a file");
        let wrong = format!("COPY u FROM '{}'", file("wrong"));
        let error = client.simple_query(&wrong).await.expect_err("is no number");
        let error = error.as_db_error().expect("an error of the server");
        assert_eq!(error.code().code(), "22P02");
        assert_eq!(error.where_(), Some("COPY u, line 2, column id: \"x\""));
        assert_eq!(first_column(&client, "SELECT count(*) FROM u").await, ["0"]);
        // A pipe could wait for ever.
        let pipe = file("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let error = client.simple_query(&format!("COPY u FROM '{pipe}'")).await;
        let error = error.expect_err("is refused");
        assert_eq!(error.code().map(SqlState::code), Some("0A000"));
    });
}
