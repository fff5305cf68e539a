//! Many connections at once over three levels of tables, at every isolation level: afterwards no
//! child is without its parent.

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use tokio_postgres::{Client, SimpleQueryMessage};

const TABLES: &str = "
    CREATE TABLE top (id int PRIMARY KEY, n int DEFAULT 0);
    CREATE TABLE mid (id int PRIMARY KEY, n int DEFAULT 0,
        top int REFERENCES top ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE INDEX mid_top ON mid (top);
    CREATE TABLE low (id int PRIMARY KEY,
        mid int REFERENCES mid ON DELETE SET NULL,
        top int REFERENCES top DEFERRABLE INITIALLY DEFERRED);
    CREATE INDEX low_mid ON low (mid);
    CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE);
    CREATE INDEX tree_up ON tree (up)";
const NAMES: [&str; 4] = ["top", "mid", "low", "tree"];
const CONNECTIONS: u64 = 8;

fn statement(random: &mut Random) -> String {
    let mut id = || random.below(12);
    let (a, b, c) = (id(), id(), id());
    match random.below(14) {
        0 | 1 => format!("INSERT INTO top VALUES ({a}) ON CONFLICT DO NOTHING"),
        2 => format!("DELETE FROM top WHERE id = {a}"),
        3 => format!("UPDATE top SET id = {a} WHERE id = {b}"),
        4 => format!("UPDATE top SET n = n + 1 WHERE id = {a}"),
        5 => format!("INSERT INTO mid VALUES ({a}, 0, {b}), ({c} + 20, 0, {b})"),
        6 => format!("UPDATE mid SET top = {b} WHERE id = {a}"),
        7 => format!("UPDATE mid SET n = n + 1 WHERE id >= {a}"),
        8 => format!("DELETE FROM mid WHERE id = {a}"),
        9 => format!("INSERT INTO low VALUES ({a}, {b}, {c})"),
        10 => format!("UPDATE low SET mid = {b}, top = {c} WHERE id = {a}"),
        11 => format!("INSERT INTO tree VALUES ({a}, {b}), ({b}, {a})"),
        12 => format!("INSERT INTO tree VALUES ({a}, {b})"),
        _ => format!("DELETE FROM tree WHERE id IN ({a}, {b})"),
    }
}

async fn work(client: Client, seed: u64, transactions: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut done = 0;
    for _ in 0..transactions {
        let level = random.pick(&["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"]);
        let mut list = vec![format!("BEGIN ISOLATION LEVEL {level}")];
        list.extend((0..=random.below(3)).map(|_| statement(&mut random)));
        list.push("COMMIT".to_owned());
        let mut is_done = true;
        for sql in list {
            let Err(error) = client.simple_query(&sql).await else { continue };
            let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
            let known = ["23503", "23505", "40001", "40P01"].contains(&code.as_str());
            assert!(known, "{sql}: {error:?}");
            client.simple_query("ROLLBACK").await.expect("rolls back");
            is_done = false;
            break;
        }
        done += u64::from(is_done);
    }
    done
}

/// What `CHECK TABLE` finds after the storm.
pub async fn storm() -> Vec<String> {
    let server = Server::start(Config::new().env("BRAID_UNSAFE_NO_SYNC", "1"));
    let client = super::connect(server.sql_url()).await;
    super::sure(&client, TABLES).await;
    let seed = seed();
    let transactions = Size::from_env().pick(150, 1_500, 10_000);
    let mut workers = Vec::new();
    for i in 0..CONNECTIONS {
        let own = super::connect(server.sql_url()).await;
        workers.push(tokio::spawn(work(own, seed + i, transactions)));
    }
    let mut done = 0;
    for worker in workers {
        done += worker.await.expect("a worker without surprises");
    }
    assert!(done > transactions, "seed {seed}: {done} transactions were committed");
    let mut findings = Vec::new();
    for table in NAMES {
        for message in super::sure(&client, &format!("CHECK TABLE {table}")).await {
            if let SimpleQueryMessage::Row(row) = message {
                let cells: Vec<&str> = (0..row.len()).filter_map(|i| row.get(i)).collect();
                findings.push(cells.join(" | "));
            }
        }
    }
    findings
}
