//! Foreign keys without an index on the child's columns: what a check proves at the commit is that
//! no child of the key has come, not that nobody has written to the child's table.

use braid_testkit::random::Random;
use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column};

pub(super) const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

const TABLES: &str = "
    CREATE TABLE top (id int PRIMARY KEY);
    CREATE TABLE bare (id int PRIMARY KEY, top int REFERENCES top);
    CREATE TABLE other (id int PRIMARY KEY);
    CREATE TABLE worn (id int PRIMARY KEY, top int REFERENCES other ON DELETE CASCADE);
    CREATE TABLE wide (id int PRIMARY KEY, top int REFERENCES top, n int, note text,
        FAMILY (id, n), FAMILY (top, note))";
const NAMES: [&str; 5] = ["top", "bare", "other", "worn", "wide"];

fn statement(random: &mut Random) -> String {
    let mut id = || random.below(16);
    let (a, b) = (id(), id());
    match random.below(12) {
        0 | 1 => format!("INSERT INTO top VALUES ({a}) ON CONFLICT DO NOTHING"),
        2 => format!("DELETE FROM top WHERE id = {a}"),
        3 => format!("INSERT INTO bare VALUES ({a}, {b})"),
        4 => format!("UPDATE bare SET top = {b} WHERE id = {a}"),
        5 => format!("DELETE FROM bare WHERE id = {a}"),
        6 => format!("INSERT INTO other VALUES ({a}) ON CONFLICT DO NOTHING"),
        7 => format!("DELETE FROM other WHERE id = {a}"),
        8 => format!("INSERT INTO worn VALUES ({a}, {b})"),
        9 => format!("INSERT INTO wide VALUES ({a}, {b}, 0, 'x') ON CONFLICT (id) DO NOTHING"),
        10 => format!("UPDATE wide SET n = n + 1 WHERE id = {a}"),
        _ => format!("DELETE FROM wide WHERE id IN ({a}, {b})"),
    }
}

/// What `CHECK TABLE` finds after the storm.
pub(super) async fn findings() -> Vec<String> {
    super::storm::findings_of(TABLES, &NAMES, statement).await
}

/// A parent is deleted while a child of some parent comes; how the deletion has ended at each
/// level, and how many children are without a parent.
pub(super) async fn deletions(index: bool, child_of: u32) -> Vec<(super::Answer, String)> {
    let server = Server::start(Config::new().without_sync());
    let (one, two) = (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
    super::sure(&one, "CREATE TABLE p (id int PRIMARY KEY)").await;
    super::sure(&one, "CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p)").await;
    if index {
        super::sure(&one, "CREATE INDEX ON c (p)").await;
    }
    let mut ends = Vec::new();
    for level in LEVELS {
        super::sure(&one, "DELETE FROM c; DELETE FROM p; INSERT INTO p VALUES (1), (2), (3)").await;
        super::sure(&one, &format!("BEGIN ISOLATION LEVEL {level}")).await;
        super::sure(&one, "DELETE FROM p WHERE id = 1").await;
        super::sure(&two, &format!("INSERT INTO c VALUES (1, {child_of})")).await;
        // Comes and goes again.
        super::sure(&two, "INSERT INTO c VALUES (2, 1)").await;
        super::sure(&two, "DELETE FROM c WHERE id = 2").await;
        let end = super::answer(&one, "COMMIT").await;
        let orphans = "SELECT count(*) FROM c WHERE p NOT IN (SELECT id FROM p)";
        ends.push((end, first_column(&two, orphans).await.concat()));
    }
    ends
}

/// A key that is not valid yet is validated in a transaction block while children come.
pub(super) async fn validations() -> Vec<super::Answer> {
    let server = Server::start(Config::new().without_sync());
    let (one, two) = (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
    super::sure(&one, "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int)").await;
    super::sure(&one, "INSERT INTO p VALUES (0), (1)").await;
    let mut ends = Vec::new();
    for level in LEVELS {
        super::sure(&one, "ALTER TABLE c ADD CONSTRAINT k FOREIGN KEY (p) REFERENCES p NOT VALID")
            .await;
        super::sure(&one, &format!("BEGIN ISOLATION LEVEL {level}")).await;
        super::sure(&one, "ALTER TABLE c VALIDATE CONSTRAINT k").await;
        super::sure(&two, "INSERT INTO c VALUES (0)").await;
        ends.push(super::answer(&one, "COMMIT").await);
        super::sure(&one, "ALTER TABLE c DROP CONSTRAINT k").await;
    }
    ends
}
