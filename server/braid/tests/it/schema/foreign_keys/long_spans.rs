//! Cascades to many children whose keys begin with the foreign key. Their spans go as a whole: the
//! same as row by row, and nothing is left over by those who insert meanwhile.

use braid_testkit::random::Random;
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::storm::storm;
use braid_testkit::target::connect;
use tokio_postgres::{Client, SimpleQueryMessage};

const TABLES: &str = "
    CREATE TABLE top (a int PRIMARY KEY, n int DEFAULT 0);
    CREATE TABLE side (a int REFERENCES top ON DELETE CASCADE, x int, w int, PRIMARY KEY (a, x));
    CREATE INDEX side_w ON side (w) WHERE w % 7 = 0;
    CREATE TABLE leaf (a int REFERENCES top ON DELETE CASCADE, x int, PRIMARY KEY (a, x));
    CREATE TABLE mid (a int REFERENCES top ON DELETE CASCADE, b int, PRIMARY KEY (a, b));
    CREATE TABLE low (a int, b int, d int, PRIMARY KEY (a, b, d),
        FOREIGN KEY (a, b) REFERENCES mid ON DELETE CASCADE)";
const NAMES: [&str; 5] = ["top", "side", "leaf", "mid", "low"];
/// Children of a parent: more than go row by row.
const MANY: u64 = 1_400;

async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for message in super::sure(client, sql).await {
        if let SimpleQueryMessage::Row(row) = message {
            let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("-")).collect();
            rows.push(cells.join(" | "));
        }
    }
    rows
}

fn fill(a: u64) -> [String; 4] {
    [
        format!("INSERT INTO side SELECT {a}, g, g * 3 FROM generate_series(1, {MANY}) g"),
        format!("INSERT INTO leaf SELECT {a}, g FROM generate_series(1, {MANY}) g"),
        format!("INSERT INTO mid SELECT {a}, g FROM generate_series(1, {MANY}) g"),
        format!(
            "INSERT INTO low SELECT {a}, g, d FROM generate_series(1, 40) g, \
                 generate_series(1, 40) d"
        ),
    ]
}

fn change(random: &mut Random) -> String {
    let (a, b) = (random.below(6), random.below(6));
    match random.below(7) {
        0 | 1 => format!("DELETE FROM top WHERE a = {a}"),
        2 | 3 => format!("DELETE FROM top WHERE a BETWEEN {} AND {}", a.min(b), a.max(b)),
        4 => format!("DELETE FROM mid WHERE a = {a} AND b <> {b}"),
        5 => format!("INSERT INTO side SELECT {a}, -g, g FROM generate_series(1, 20) g"),
        _ => format!("INSERT INTO top VALUES ({a}) ON CONFLICT DO NOTHING"),
    }
}

async fn both(sides: &[Client; 2], sql: &str, seed: u64) -> bool {
    let (fast, slow) = (super::answer(&sides[0], sql).await, super::answer(&sides[1], sql).await);
    assert_eq!(fast, slow, "seed {seed}: {sql}");
    fast.is_err()
}

/// Random transactions with `range_delete` on and off; how many locks a delete of all parents
/// takes on each side.
pub(super) async fn same_as_row_by_row() -> [usize; 2] {
    let server = Server::start(Config::new().without_sync());
    let sides = [connect(server.sql_url(), None).await, connect(server.sql_url(), None).await];
    for (side, schema) in sides.iter().zip(["fast", "slow"]) {
        super::sure(side, &format!("CREATE SCHEMA {schema}; SET search_path = {schema}")).await;
        super::sure(side, TABLES).await;
    }
    super::sure(&sides[1], "SET range_delete = off").await;
    let refill = async |a: u64| {
        for side in &sides {
            super::sure(side, &format!("INSERT INTO top VALUES ({a}) ON CONFLICT DO NOTHING"))
                .await;
            super::sure(side, &format!("DELETE FROM side WHERE a = {a}")).await;
            super::sure(side, &format!("DELETE FROM leaf WHERE a = {a}")).await;
            super::sure(side, &format!("DELETE FROM mid WHERE a = {a}")).await;
            for sql in fill(a) {
                super::sure(side, &sql).await;
            }
        }
    };
    for a in 0..6 {
        refill(a).await;
    }
    for seed in 0..Size::from_env().pick(2, 8, 400) {
        let random = &mut Random::new(seed);
        refill(random.below(6)).await;
        let level = random.pick(&["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"]);
        let mut list = vec![format!("BEGIN ISOLATION LEVEL {level}"), change(random)];
        if random.below(2) == 0 {
            let undone = [change(random), change(random)];
            list.push("SAVEPOINT s".to_owned());
            list.extend(undone);
            list.push("ROLLBACK TO s".to_owned());
        }
        list.extend([change(random), change(random), "COMMIT".to_owned()]);
        for sql in list {
            if both(&sides, &sql, seed).await {
                both(&sides, "ROLLBACK", seed).await;
                break;
            }
        }
        for table in NAMES {
            let sql = format!("SELECT * FROM {table} ORDER BY 1, 2");
            let (fast, slow) = (rows(&sides[0], &sql).await, rows(&sides[1], &sql).await);
            assert!(fast == slow, "seed {seed}: {table} has {} and {}", fast.len(), slow.len());
        }
    }
    for (table, side) in NAMES.iter().flat_map(|table| sides.iter().map(move |s| (table, s))) {
        let found = rows(side, &format!("CHECK TABLE {table}")).await;
        assert!(found.is_empty(), "{found:?}");
    }
    refill(3).await;
    let mut locks = [0; 2];
    for (side, locks) in sides.iter().zip(&mut locks) {
        super::sure(side, "BEGIN; DELETE FROM top").await;
        *locks = rows(side, "SELECT 1 FROM braid_internal.locks").await.len();
        super::sure(side, "ROLLBACK").await;
    }
    locks
}

fn statement(random: &mut Random) -> String {
    let (a, b) = (random.below(4), random.below(30));
    match random.below(8) {
        0 | 1 => format!("INSERT INTO top VALUES ({a}) ON CONFLICT DO NOTHING"),
        2 => format!(
            "INSERT INTO leaf SELECT {a}, g FROM generate_series(1, {MANY}) g ON CONFLICT DO NOTHING"
        ),
        3 => format!(
            "INSERT INTO side SELECT {a}, g, g FROM generate_series(1, {MANY}) g ON CONFLICT DO NOTHING"
        ),
        4 => format!("INSERT INTO leaf VALUES ({a}, {b} + {MANY})"),
        5 => format!("INSERT INTO side VALUES ({a}, {b} + {MANY}, 14)"),
        6 => format!("UPDATE side SET w = w + {b} WHERE a = {a} AND x BETWEEN {b} AND {b} + 20"),
        _ => format!("DELETE FROM top WHERE a = {a}"),
    }
}

/// What `CHECK TABLE` finds after many have inserted and deleted at once.
pub(super) async fn findings() -> Vec<String> {
    let server = Server::start(Config::new().without_sync());
    let client = connect(server.sql_url(), None).await;
    super::sure(&client, TABLES).await;
    storm(server.sql_url(), Size::from_env().pick(25, 80, 2_000), 4, statement).await;
    let mut findings = Vec::new();
    for table in NAMES {
        findings.extend(rows(&client, &format!("CHECK TABLE {table}")).await.into_iter().take(5));
    }
    findings
}

/// What an insert below a parent says that another transaction is about to delete with a long span
/// of children, and what it says afterwards.
pub(super) async fn insert_meanwhile() -> [super::Answer; 3] {
    let server = Server::start(Config::new().without_sync());
    let deleting = connect(server.sql_url(), None).await;
    let inserting = connect(server.sql_url(), None).await;
    super::sure(&deleting, TABLES).await;
    super::sure(&deleting, "INSERT INTO top VALUES (1)").await;
    for sql in fill(1) {
        super::sure(&deleting, &sql).await;
    }
    super::sure(&deleting, "BEGIN; DELETE FROM top").await;
    super::sure(&inserting, "SET lock_timeout = '200ms'").await;
    let insert = "INSERT INTO leaf VALUES (1, 1000000)";
    let meanwhile = super::answer(&inserting, insert).await;
    let commit = super::answer(&deleting, "COMMIT").await;
    [meanwhile, commit, super::answer(&inserting, insert).await]
}
