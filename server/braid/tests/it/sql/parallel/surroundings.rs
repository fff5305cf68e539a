//! A query has the same rows with several workers wherever it is run from.

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, sorted_rows};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::tables::workers;

const SETUP: &str = "
    CREATE TABLE big (id int PRIMARY KEY, g int, v int, s text, ts timestamp, owner text);
    INSERT INTO big SELECT k, k % 10, k % 100, 's' || k % 30, '2024-03-30'::timestamp +
      k * '7 minutes'::interval, CASE k % 2 WHEN 0 THEN 'reader' ELSE 'other' END
      FROM generate_series(1, 3000) k;
    CREATE TABLE small (g int PRIMARY KEY, name text);
    INSERT INTO small SELECT k, 'n' || k FROM generate_series(0, 8) k;
    CREATE TABLE sink (g int, n int8);
    CREATE VIEW sums AS SELECT g, sum(v) AS n FROM big GROUP BY g;
    CREATE FUNCTION total(int) RETURNS int8 LANGUAGE sql STABLE AS
      'SELECT sum(v) FROM big WHERE g = $1 OR id < 2500';
    CREATE FUNCTION doubled(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
    CREATE FUNCTION looped() RETURNS int8 LANGUAGE plpgsql AS $$
      DECLARE r record; n int8 := 0;
      BEGIN
        FOR r IN SELECT g, sum(v) AS n FROM big GROUP BY g LOOP
          n := n + r.g * r.n + (SELECT count(*) FROM big WHERE g < r.g);
        END LOOP;
        INSERT INTO sink SELECT g, count(*) FROM big GROUP BY g;
        RETURN n + (SELECT sum(sink.n) FROM sink);
      END $$;
    CREATE FUNCTION caught() RETURNS text LANGUAGE plpgsql AS $$
      BEGIN
        RETURN (SELECT sum(1 / (id - 1500)) FROM big);
      EXCEPTION WHEN division_by_zero THEN
        RETURN 'caught ' || (SELECT sum(v) FROM big);
      END $$;
    CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.n := (SELECT sum(v) FROM big WHERE g >= NEW.g);
        RETURN NEW;
      END $$;
    CREATE TABLE triggered (g int, n int8);
    CREATE TRIGGER counted BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION counted();
    CREATE ROLE reader;
    GRANT ALL ON big, small TO reader;
    CREATE TABLE secret AS TABLE big;
    ALTER TABLE secret ADD PRIMARY KEY (id);
    GRANT ALL ON secret TO reader;
    ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON secret USING (owner = current_user);
";

/// What is run, all of it in one transaction that is rolled back. All rows are compared.
const RUNS: &[&str] = &[
    "SELECT * FROM sums",
    "DECLARE c CURSOR FOR SELECT g, count(*), sum(v) FROM big GROUP BY g ORDER BY g;
     FETCH 3 FROM c; UPDATE big SET v = 0; FETCH ALL FROM c",
    "DECLARE c SCROLL CURSOR FOR SELECT g, count(*) FROM big GROUP BY g ORDER BY g;
     FETCH LAST FROM c; FETCH BACKWARD 4 FROM c",
    "DECLARE c CURSOR FOR SELECT count(*) FROM big a JOIN big b ON a.g = b.g",
    "SELECT total(3), total(4)",
    "SELECT g, total(g) FROM small",
    "SELECT g, sum(doubled(v)) FROM big GROUP BY g",
    "SELECT looped(); TABLE sink",
    "SELECT caught(); SELECT count(*) FROM big",
    "INSERT INTO triggered SELECT g FROM small; TABLE triggered",
    "SELECT v, sum(id) FROM own GROUP BY v; DELETE FROM own WHERE id < 90; SELECT sum(v) FROM own",
    "SELECT count(*), sum(v), sum(own.id) FROM own JOIN small ON small.g = own.v",
    "SELECT count(*), sum(own.id) FROM big JOIN own ON own.id = big.v",
    "SET LOCAL TIME ZONE 'Europe/Berlin';
     SELECT extract(hour FROM ts AT TIME ZONE 'UTC'), count(*) FROM big GROUP BY 1;
     SELECT (ts AT TIME ZONE 'UTC')::date, max((ts AT TIME ZONE 'UTC')::text) FROM big GROUP BY 1",
    "SET LOCAL datestyle = 'German, DMY'; SELECT ts::date::text, count(*) FROM big GROUP BY 1",
    "SET LOCAL bytea_output = 'escape'; SELECT max((s::bytea)::text) FROM big",
    "SET LOCAL application_name = 'named';
     SELECT current_setting('application_name'), count(*) FROM big
       WHERE length(current_setting('application_name')) = 5 GROUP BY 1",
    "SELECT count(*), max(now()) = min(now()), max(now()) = now() FROM big",
    "SELECT count(*) FILTER (WHERE owner = current_user) FROM big",
    "SET LOCAL ROLE reader; SELECT g, sum(v), count(*) FROM secret GROUP BY g",
    "SET LOCAL ROLE reader; SELECT count(*) FILTER (WHERE owner = current_user) FROM big",
    "CREATE SEQUENCE numbers; SELECT count(nextval('numbers')) FROM big;
     SELECT currval('numbers')",
    "SELECT count(*) FROM big WHERE random() >= 0",
    "SELECT count(*) FROM (SELECT id FROM big WHERE id > 100 FOR UPDATE) q",
    "UPDATE big SET v = (SELECT sum(v) FROM big b WHERE b.g = big.g) WHERE id < 50;
     SELECT g, sum(v) FROM big GROUP BY g",
    "DELETE FROM big WHERE v > (SELECT avg(v) FROM big); SELECT count(*), sum(v) FROM big",
    "MERGE INTO sink USING (SELECT g, count(*) AS n FROM big GROUP BY g) q ON sink.g = q.g
     WHEN NOT MATCHED THEN INSERT VALUES (q.g, q.n); TABLE sink",
    "CREATE TABLE made AS SELECT g, sum(v) AS n FROM big GROUP BY g; TABLE made",
    "CREATE MATERIALIZED VIEW kept AS SELECT s, max(id) FROM big GROUP BY s; TABLE kept",
    "PREPARE p (int) AS SELECT g, sum(v) FROM big WHERE id > $1 GROUP BY g;
     EXECUTE p(5); EXECUTE p(1500); EXECUTE p(NULL); DEALLOCATE p",
    "SET LOCAL plan_cache_mode = 'force_generic_plan';
     PREPARE p (int) AS SELECT g, sum(v + $1) FROM big WHERE id > $1 GROUP BY g;
     EXECUTE p(5); EXECUTE p(1500); DEALLOCATE p",
    "SAVEPOINT a; DELETE FROM big WHERE id > 1000; SELECT sum(v) FROM big;
     ROLLBACK TO a; SELECT sum(v) FROM big",
    "SELECT s.g, q.n FROM small s, LATERAL (SELECT sum(v) AS n FROM big WHERE g = s.g) q",
    "SELECT s.g, (SELECT count(*) FROM big WHERE id > s.g * 100) FROM small s",
    "WITH RECURSIVE r (n, total) AS (SELECT 1, 0::int8 UNION ALL
     SELECT n + 1, (SELECT sum(v) FROM big WHERE id > n) FROM r WHERE n < 5) TABLE r",
    "WITH gone AS (DELETE FROM big WHERE g = 1 RETURNING v)
     SELECT (SELECT sum(v) FROM gone), (SELECT sum(v) FROM big)",
    "INSERT INTO sink SELECT g, sum(v) FROM big GROUP BY g RETURNING *",
    "SELECT g, sum(v) FROM big GROUP BY g ORDER BY sum(v) DESC, g LIMIT 3",
    "SELECT g, sum(v), rank() OVER (ORDER BY sum(v)) FROM big GROUP BY g",
    "SELECT count(*) FROM (SELECT g FROM big GROUP BY g HAVING sum(v) > 100 LIMIT 5) q",
    "SELECT EXISTS (SELECT sum(v) FROM big GROUP BY g HAVING sum(v) < 0)",
    "ALTER TABLE big ADD COLUMN extra int DEFAULT 5; SELECT sum(extra), sum(v) FROM big",
    "ALTER TABLE big DROP COLUMN g CASCADE; SELECT sum(v), count(*) FROM big",
    "DROP VIEW sums; ALTER TABLE big ALTER COLUMN id TYPE text USING 'k' || id;
     SELECT sum(v), max(id) FROM big",
    "DROP VIEW sums; ALTER TABLE big ALTER COLUMN id TYPE int8;
     SELECT sum(v), max(id) FROM big WHERE id > 7",
    "TRUNCATE big; SELECT sum(v), count(*) FROM big",
];

async fn run(client: &Client, begin: &str, sql: &str) -> Vec<String> {
    client.batch_execute(begin).await.expect("begins");
    let messages = client.simple_query(sql).await;
    let messages = messages.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    client.batch_execute("ROLLBACK").await.expect("rolls back");
    sorted_rows(&messages)
}

async fn server() -> Server {
    let server = Server::start(Config::new().arg("--analyze-interval").arg("0s"));
    let client = connect(server.sql_url(), None).await;
    client.batch_execute(SETUP).await.expect("tables and functions");
    for table in ["big", "small", "secret"] {
        client.batch_execute(&format!("ANALYZE {table}")).await.expect("statistics");
    }
    server
}

async fn session(server: &Server, number: u64) -> Client {
    let client = connect(server.sql_url(), None).await;
    client.batch_execute(&workers(number)).await.expect("settings");
    for sql in [
        "CREATE TEMP TABLE own (id int PRIMARY KEY, v int)",
        "INSERT INTO own SELECT id, v FROM big",
        "ANALYZE own",
    ] {
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_do_not_depend_on_workers_wherever_a_query_is_run_from() {
    let server = server().await;
    let (alone, workers) = (session(&server, 1).await, session(&server, 3).await);
    for (number, sql) in RUNS.iter().enumerate() {
        // Changes of tables are tried at the usual level only.
        let levels = ["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"];
        let level = if sql.contains("ALTER") { levels[0] } else { levels[number % 3] };
        let begin = format!("BEGIN ISOLATION LEVEL {level}");
        let (right, found) = (run(&alone, &begin, sql).await, run(&workers, &begin, sql).await);
        assert_eq!(found, right, "{sql}");
    }
    let query = "SELECT g, sum(v), max(s) FROM big GROUP BY g";
    let right = run(&alone, "BEGIN", query).await;
    for begin in [
        "BEGIN READ ONLY",
        "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
        "BEGIN; SET LOCAL statement_timeout = '1h'",
        "BEGIN; SET LOCAL enable_hashjoin = off",
    ] {
        assert_eq!(run(&workers, begin, query).await, right, "{begin}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_and_portals_work_with_workers() {
    let server = server().await;
    let (alone, mut workers) = (session(&server, 1).await, session(&server, 3).await);
    let sql = "SELECT g, sum(v + $1), count(*) FILTER (WHERE s <> $2) FROM big
               WHERE id > $3 GROUP BY g ORDER BY g";
    let statements = (alone.prepare(sql).await, workers.prepare(sql).await);
    let statements = (statements.0.expect("prepares"), statements.1.expect("prepares"));
    for from in [0, 7, 1000, 1999, 5000] {
        let parameters: [&(dyn ToSql + Sync); 3] = [&1i32, &"s3", &from];
        let right = alone.query(&statements.0, &parameters).await.expect("rows");
        let found = workers.query(&statements.1, &parameters).await.expect("rows");
        let texts = |rows: &[tokio_postgres::Row]| -> Vec<_> {
            let row = |row: &tokio_postgres::Row| {
                (row.get::<_, i32>(0), row.get::<_, i64>(1), row.get::<_, i64>(2))
            };
            rows.iter().map(row).collect()
        };
        assert_eq!(texts(&found), texts(&right), "{from}");
    }
    // A portal gives some rows, another statement runs, and the portal goes on.
    let transaction = workers.transaction().await.expect("begins");
    let parameters: [&(dyn ToSql + Sync); 3] = [&1i32, &"s3", &0i32];
    let portal = transaction.bind(&statements.1, &parameters).await.expect("binds");
    let mut count = transaction.query_portal(&portal, 4).await.expect("rows").len();
    transaction.batch_execute("SELECT sum(v) FROM big").await.expect("another statement");
    count += transaction.query_portal(&portal, 0).await.expect("rows").len();
    assert_eq!(count, 10);
    let portal = transaction.bind(&statements.1, &parameters).await.expect("binds");
    assert_eq!(transaction.query_portal(&portal, 2).await.expect("rows").len(), 2);
    transaction.commit().await.expect("commits");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_decide_about_workers() {
    let server = server().await;
    let client = session(&server, 3).await;
    let sql = "EXPLAIN SELECT sum(v) FROM big";
    for (settings, line) in [
        (String::new(), Some("Workers Planned: 3")),
        (workers(3), Some("Workers Planned: 3")),
        (workers(2), Some("Workers Planned: 2")),
        (workers(1), None),
        (workers(0), None),
        (workers(5).replace("= 0;", "= 1000000;"), None),
        ("RESET ALL".to_owned(), None),
    ] {
        client.batch_execute(&settings).await.expect("settings");
        let messages = client.simple_query(sql).await.expect("a plan");
        let planned = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).filter(|text| text.contains("Workers")),
            _ => None,
        });
        assert_eq!(planned.map(str::trim), line, "{settings}");
    }
}
