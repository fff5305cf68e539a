//! Binary COPY by the writers and readers of a stock driver, in many pieces and batches.

use braid_testkit::server::{Config, Server};
use braid_testkit::target::connect;
use futures_util::{TryStreamExt, pin_mut};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
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
