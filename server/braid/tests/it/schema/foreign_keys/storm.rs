//! Many connections at once over three levels of tables, at every isolation level: afterwards no
//! child is without its parent.

use braid_testkit::random::Random;
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::storm::storm;
use braid_testkit::target::connect;
use tokio_postgres::SimpleQueryMessage;

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

/// What `CHECK TABLE` finds after the storm.
pub(super) async fn findings() -> Vec<String> {
    findings_of(TABLES, &NAMES, statement).await
}

/// What `CHECK TABLE` finds in tables after a storm of statements.
pub(super) async fn findings_of(
    tables: &str,
    names: &[&str],
    statement: fn(&mut Random) -> String,
) -> Vec<String> {
    let server = Server::start(Config::new().without_sync());
    let client = connect(server.sql_url(), None).await;
    super::sure(&client, tables).await;
    storm(server.sql_url(), Size::from_env().pick(150, 350, 10_000), 3, statement).await;
    let mut findings = Vec::new();
    for table in names {
        for message in super::sure(&client, &format!("CHECK TABLE {table}")).await {
            if let SimpleQueryMessage::Row(row) = message {
                let cells: Vec<&str> = (0..row.len()).filter_map(|i| row.get(i)).collect();
                findings.push(cells.join(" | "));
            }
        }
    }
    findings
}
