//! Removal of what a moved table has left, which the table overtakes: it comes back to the place
//! while a batch of the removal is on its way, and perhaps goes again.
//!
//! Always on a stand-in of its own, which holds that batch.

use std::time::{Duration, Instant};

use braid_catalog::{CatalogCache, PendingChange};
use braid_cluster::Gateways;
use braid_codec::key;
use braid_kv::{Database, DatabaseOptions};
use braid_kv_tikv::{TikvAddress, TikvOptions, TikvStore};
use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column};
use braid_testkit::tikv::{Config as Cluster, Fault, Gate, Rpc, Rule, TikvStandIn};
use braid_types::{Datum, SqlType};
use tokio_postgres::Client;

const PARENTS: i64 = 300;
const CHILDREN: i64 = 10;
const ROWS: i64 = PARENTS * CHILDREN;
/// The children of this parent are the last of what a batch of a move copies first, and below
/// their parents they are the first of what the second batch of a removal meets.
const MIDDLE: i64 = 190;
const PATIENCE: Duration = Duration::from_secs(60);
const INTO: &str = "ALTER TABLE c INTERLEAVE IN PARENT p (a)";
const OUT: &str = "ALTER TABLE c UNINTERLEAVE";

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// Another gateway with a change of the catalog on its way. As long as it lives no commit goes
/// without a proof of the schema, and so no change waits for one that is held.
async fn change_on_its_way(cluster: &TikvStandIn) -> PendingChange {
    let address = TikvAddress::parse(&cluster.store_url()).expect("an address");
    let store = TikvStore::open(&address, TikvOptions::default()).await.expect("the store");
    let kv = Database::new(std::sync::Arc::new(store), DatabaseOptions::default());
    let gateways = Gateways::open(&kv, 1, "test", 0).await.expect("a gateway");
    CatalogCache::of_gateway(&gateways).announce().await.expect("nobody is in the way")
}

async fn data_id(client: &Client, table: &str) -> u32 {
    let sql = format!("SELECT data_id FROM braid_internal.tables WHERE table_name = '{table}'");
    first_column(client, &sql).await[0].parse().expect("a number")
}

/// The key of a parent's first child: below the parent, or in the range of its own.
async fn first_child(client: &Client, parent: i64, below: bool) -> Vec<u8> {
    let int = |out: &mut Vec<u8>, n| key::encode(out, &Datum::Int(n), &SqlType::Int8, false);
    let (p, c) = (data_id(client, "p").await, data_id(client, "c").await);
    let mut out = key::index_prefix(if below { p } else { c }, 1);
    int(&mut out, parent);
    if below {
        key::encode_interleave(&mut out, c, 1);
    }
    int(&mut out, 1);
    key::encode_family(&mut out, 0);
    [b"braid/d".as_slice(), &out].concat()
}

/// Nothing is damaged, and the table has that number of rows.
async fn assert_sound(client: &Client, rows: i64, what: &str) {
    for table in ["p", "c"] {
        let found = first_column(client, &format!("CHECK TABLE {table}")).await;
        assert!(found.is_empty(), "{what}: CHECK TABLE {table}: {} findings", found.len());
    }
    let found = first_column(client, "SELECT count(*) FROM c").await;
    assert_eq!(found, [rows.to_string()], "{what}");
}

async fn wait_for_removal(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    let sql = "SELECT sum(left_over) FROM braid_internal.tables";
    while first_column(client, sql).await != ["0"] {
        assert!(Instant::now() < deadline, "what is left over was never removed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A server over a stand-in, with filled tables, the children where they are told to be.
async fn start(into: bool) -> (TikvStandIn, Server, Client) {
    let cluster = TikvStandIn::start(Cluster::default());
    let server = Server::start(Config::new().store(cluster.store_url()));
    let client = connect(server.sql_url(), None).await;
    let fill = format!(
        "CREATE TABLE p (a INT8 PRIMARY KEY, n INT8);
         CREATE TABLE c (a INT8, b INT8, v INT8, PRIMARY KEY (a, b));
         INSERT INTO p SELECT i, 0 FROM generate_series(1, {PARENTS}) AS i;
         INSERT INTO c SELECT a, b, 1 FROM p, generate_series(1, {CHILDREN}) AS b"
    );
    client.batch_execute(&fill).await.expect("filled tables");
    if into {
        client.batch_execute(INTO).await.expect("is moved");
        wait_for_removal(&client).await;
    }
    (cluster, server, client)
}

/// Holds the next prewrite of a key after the first `skip`.
fn hold(cluster: &TikvStandIn, key: &[u8], skip: u32) -> Gate {
    let gate = Gate::new();
    let fault = Fault::HoldRequest(gate.clone());
    cluster.add(Rule::next(Rpc::Prewrite, fault).key(key).skip(skip));
    gate
}

async fn wait_for(gate: &Gate, what: &str) {
    tokio::time::timeout(PATIENCE, gate.wait_for(1)).await.expect(what);
}

/// While the table is on its way back its parent looks as it did before: with keys that pass.
#[test]
fn a_removal_takes_nothing_of_a_table_that_comes_back() {
    run(async {
        let (cluster, _server, client) = start(true).await;
        let _change = change_on_its_way(&cluster).await;
        let removal = hold(&cluster, &first_child(&client, MIDDLE, true).await, 0);
        client.batch_execute(OUT).await.expect("leaves");
        wait_for(&removal, "the removal comes to its second batch").await;
        // Before the move its statement removes what the held batch was to remove.
        let copy = hold(&cluster, &first_child(&client, PARENTS, true).await, 1);
        let moving = tokio::spawn(async move {
            client.batch_execute(INTO).await.expect("comes back");
            client
        });
        wait_for(&copy, "the move comes to its second batch").await;
        removal.open();
        // For the removal to find out. If it takes longer, less is tested.
        tokio::time::sleep(Duration::from_millis(500)).await;
        copy.open();
        let client = moving.await.expect("no panic");
        wait_for_removal(&client).await;
        assert_sound(&client, ROWS, "back").await;
    });
}

#[test]
fn a_removal_begins_again_after_a_table_has_come_and_gone() {
    run(async {
        for into in [true, false] {
            let (cluster, _server, client) = start(into).await;
            let (leave, come_back) = if into { (OUT, INTO) } else { (INTO, OUT) };
            let _change = change_on_its_way(&cluster).await;
            // The move writes the other place, so that only the removal is held.
            let removal = hold(&cluster, &first_child(&client, PARENTS, into).await, 0);
            client.batch_execute(leave).await.expect("leaves");
            wait_for(&removal, "the removal comes to its second batch").await;
            client.batch_execute(come_back).await.expect("comes back");
            client.batch_execute(leave).await.expect("leaves again");
            assert_sound(&client, ROWS, leave).await;
            removal.open();
            wait_for_removal(&client).await;
            assert_sound(&client, ROWS, &format!("{leave}, removed")).await;
            // What has stayed in a range of its own shows when the table is back there.
            client.batch_execute("DELETE FROM c WHERE a = 1").await.expect("are deleted");
            client.batch_execute(come_back).await.expect("comes back once more");
            assert_sound(&client, ROWS - CHILDREN, "back").await;
        }
    });
}
