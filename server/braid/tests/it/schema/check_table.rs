//! CHECK TABLE finds each kind of damage, made through the kv layer, and nothing where there is
//! none.

use std::sync::Arc;

use braid_catalog::{Catalog, CatalogCache, Table};
use braid_codec::key::encode_family;
use braid_kv::{Database, DatabaseOptions, Key, Seq, Store as KvStore, Transaction, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use braid_kv_tikv::{TikvAddress, TikvOptions, TikvStore};
use braid_rows::{IndexRows, TableRows};
use braid_testkit::server::{Config, Server, binary};
use braid_testkit::store::url as store_url;
use braid_testkit::target::connect;
use braid_types::{Datum, Error, Row, SqlState};
use tokio_postgres::{Client, SimpleQueryMessage};

const TABLES: &str = "
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE TABLE t (id int PRIMARY KEY, a int, b int, s text, p int REFERENCES p,
        FAMILY first (id, a, s, p), FAMILY second (b));
    CREATE INDEX t_a ON t (a) STORING (s);
    CREATE UNIQUE INDEX t_b ON t (b DESC);
    CREATE INDEX t_part ON t (s) WHERE a > 4;
    INSERT INTO p SELECT g FROM generate_series(1, 9) g;
    INSERT INTO t SELECT g, g, g, 's' || g, g FROM generate_series(1, 9) g";

async fn findings(client: &Client, table: &str) -> Vec<String> {
    let messages = client.simple_query(&format!("CHECK TABLE {table}")).await.expect("checks");
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let cells: Vec<&str> = (0..4).map(|i| row.get(i).unwrap_or("-")).collect();
            Some(cells.join(" | "))
        }
        _ => None,
    };
    let mut found: Vec<String> = messages.iter().filter_map(row).collect();
    found.sort();
    found
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

/// What the store of a stopped server holds.
struct Store {
    txn: Arc<Transaction>,
    seq: Seq,
    table: Arc<Table>,
    parent: Arc<Table>,
}

impl Store {
    async fn open(server: &Server) -> Self {
        let store: Arc<dyn KvStore> = match store_url(server.folder()) {
            None => Arc::new(
                EmbeddedStore::open(server.folder(), EmbeddedOptions::default()).expect("opens"),
            ),
            Some(url) => {
                let address = TikvAddress::parse(&url).expect("an address");
                let store = TikvStore::open(&address, TikvOptions::default()).await;
                Arc::new(store.expect("opens"))
            }
        };
        let kv = Database::new(store, DatabaseOptions::default());
        let txn = kv.begin(TxnOptions::default());
        let seq = txn.next_statement();
        let cache = CatalogCache::new();
        let catalog: Arc<Catalog> = cache.at(&txn, seq).await.expect("has a catalog");
        let named = |name: &str| {
            catalog
                .tables()
                .iter()
                .find(|table| table.name == name)
                .expect("the table is there")
                .clone()
        };
        Store { table: named("t"), parent: named("p"), txn, seq }
    }

    /// Row n as the script has made it.
    fn row(n: i64) -> Row {
        let number = || Datum::Int(n);
        vec![number(), number(), number(), Datum::text(format!("s{n}")), number()]
    }

    fn families(&self, n: i64) -> Vec<Key> {
        let rows = TableRows::new(&self.table).expect("a descriptor");
        rows.family_keys(&rows.primary_key(&Self::row(n)))
    }

    fn entry(&self, index: &str, row: &Row) -> (Key, Vec<u8>) {
        let index = self.table.indexes.iter().find(|found| found.name == index).expect("is there");
        let entry =
            IndexRows::new(&self.table, index).expect("a descriptor").entry(&self.table, row);
        (entry.key, entry.value)
    }

    fn delete(&self, key: Key) {
        self.txn.delete(self.seq, key).expect("deletes");
    }

    fn put(&self, key: Key, value: Vec<u8>) {
        self.txn.put(self.seq, key, value).expect("puts");
    }

    async fn close(self) {
        self.txn.commit_or_error().await.expect("commits");
        self.txn.database().close().await.expect("closes");
    }
}

async fn damage(server: &Server) {
    let store = Store::open(server).await;
    // 1: an entry is gone. 2: an entry of a row that is not there.
    store.delete(store.entry("t_a", &Store::row(1)).0);
    let (key, value) = store.entry("t_a", &Store::row(77));
    store.put(key, value);
    // 3: the row has changed below its entries.
    let mut changed = Store::row(3);
    changed[2] = Datum::Int(33);
    let pairs = TableRows::new(&store.table).expect("a descriptor").pairs(&changed);
    for (key, value) in pairs {
        store.put(key, value.expect("has a value"));
    }
    // 4: only the second family is left. 5: a family that the table does not have.
    store.delete(store.families(4)[0].clone());
    let rows = TableRows::new(&store.table).expect("a descriptor");
    let mut key = rows.primary_key(&Store::row(5));
    encode_family(&mut key, 4);
    store.put(key, b"x".to_vec());
    // 6: the parent is gone.
    let parents = TableRows::new(&store.parent).expect("a descriptor");
    store.delete(parents.first_key(&[Datum::Int(6)]));
    // 7: bytes that are no row.
    store.put(store.families(7)[0].clone(), vec![0xff; 3]);
    // 8: what the entry stores is another text.
    let mut other = Store::row(8);
    other[3] = Datum::text("other");
    store.put(store.entry("t_a", &Store::row(8)).0, store.entry("t_a", &other).1);
    store.close().await;
}

/// `braid check` of a stopped server: its status, and what it prints among others.
fn check_offline(server: &Server, succeeds: bool, lines: &[&str]) {
    if store_url(server.folder()).is_some() {
        return;
    }
    let folder = server.folder().display().to_string();
    let output = std::process::Command::new(binary())
        .args(["check", "--data", &folder])
        .output()
        .expect("braid check runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.success(), succeeds, "{printed}");
    for line in lines {
        assert!(printed.contains(line), "{line} is not in {printed}");
    }
}

#[test]
fn each_kind_of_damage_is_found() {
    let mut server = Server::start(Config::new());
    let runtime = runtime();
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(TABLES).await.expect("makes tables");
        for table in ["t", "p"] {
            assert_eq!(findings(&client, table).await, [] as [String; 0]);
        }
    });
    server.terminate();
    check_offline(&server, true, &["0 findings"]);
    runtime.block_on(damage(&server));
    let dangling = "defaultdb.public.t: index_dangling, /t/t_a/77/77, /t/primary/77 is missing";
    check_offline(&server, false, &[dangling, "defaultdb.public.t: corrupt, /t/primary/7"]);
    server.restart();
    let found = runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        findings(&client, "t").await
    });
    let wanted = [
        "t | corrupt | /t/primary/7 | ",
        "t | family | /t/primary/4 | family \"first\" is missing",
        "t | family | /t/primary/5/family:4 | no such family",
        "t | foreign_key | /t/primary/6 | constraint \"t_p_fkey\": /p/primary/6 is missing",
        "t | index_dangling | /t/t_a/4/4 | /t/primary/4 is missing",
        "t | index_dangling | /t/t_a/77/77 | /t/primary/77 is missing",
        "t | index_dangling | /t/t_b/3 | its row has other values",
        "t | index_dangling | /t/t_b/4 | /t/primary/4 is missing",
        "t | index_missing | /t/primary/1 | index \"t_a\" has no entry of the row",
        "t | index_missing | /t/primary/3 | index \"t_b\" has no entry of the row",
        "t | index_wrong | /t/t_a/8/8 | index \"t_a\" does not say what the row says",
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{found} instead of {wanted}");
    }
}

#[test]
fn it_needs_the_owner_and_sees_the_transaction() {
    let server = Server::start(Config::new());
    runtime().block_on(async {
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(TABLES).await.expect("makes tables");
        let begin =
            "BEGIN; INSERT INTO t VALUES (10, 1, 10, 'x', NULL); DELETE FROM t WHERE id < 4";
        client.batch_execute(begin).await.expect("changes rows");
        assert_eq!(findings(&client, "public.t").await, [] as [String; 0]);
        client.batch_execute("ROLLBACK; CREATE USER mallory; SET ROLE mallory").await.expect("is");
        let refused = client.simple_query("CHECK TABLE t").await.expect_err("is refused");
        assert_eq!(refused.code().map(|code| code.code()), Some("42501"));
        let unknown = client.simple_query("CHECK TABLE nothing").await.expect_err("is refused");
        assert_eq!(unknown.code().map(|code| code.code()), Some("42P01"));
        let typed = client.query("CHECK TABLE nothing", &[]).await.expect_err("is refused");
        assert_eq!(typed.code().map(|code| code.code()), Some("42P01"));
        client.batch_execute("RESET ROLE").await.expect("is root again");
        assert!(client.query("CHECK TABLE t", &[]).await.expect("checks").is_empty());
    });
}

/// No row is read or written by a descriptor that names what the table does not have.
#[test]
fn a_descriptor_with_a_missing_column_is_refused() {
    let mut server = Server::start(Config::new());
    let runtime = runtime();
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(TABLES).await.expect("makes tables");
    });
    server.terminate();
    runtime.block_on(async {
        let store = Store::open(&server).await;
        let mut table = Table::clone(&store.table);
        table.indexes[0].storing = vec![99];
        table.indexes[1].keys[0].column = 99;
        let mut without_key = table.clone();
        without_key.primary.keys[0].column = 99;
        for index in &table.indexes[..2] {
            assert!(is_refused(|| IndexRows::new(&table, index)), "{}", index.name);
        }
        assert!(is_refused(|| TableRows::new(&Arc::new(without_key))));
        store.close().await;
    });
}

/// Whether a layout is refused: with XX000, or by the assertion that debug builds have there.
fn is_refused<T>(layout: impl FnOnce() -> Result<T, Error>) -> bool {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(layout));
    made.map_or(true, |made| made.is_err_and(|error| error.state() == SqlState::InternalError))
}
