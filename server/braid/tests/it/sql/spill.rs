//! Operators that go on on disk when memory is used up: the same rows as in memory, files that go,
//! limits of the disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::{connect, first_column};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

/// Tables that need several times the memory of [`limit`]: `parts` quarters of 12,000 rows.
fn tables(parts: usize) -> String {
    let (wide, keys) = (3000 * parts, 1250 * parts);
    let (other, one_key) = (2250 * parts, 2000 * parts);
    format!(
        "CREATE TABLE wide (id int PRIMARY KEY, k int, few int, note text);
         INSERT INTO wide SELECT i, i % {keys}, nullif(i % 7, 3),
           'note ' || (i * 7919 % {wide}) || repeat('x', 60) FROM generate_series(1, {wide}) AS i;
         CREATE TABLE other (id int PRIMARY KEY, k int, note text);
         INSERT INTO other SELECT i, nullif(i * 3 % {other}, 9), 'note ' || i || repeat('x', 60)
           FROM generate_series(1, {other}) AS i;
         CREATE TABLE one_key (id int PRIMARY KEY, k int, note text);
         INSERT INTO one_key SELECT i, 42, repeat('y', 200) FROM generate_series(1, {one_key}) AS i;
         CREATE VIEW large AS SELECT id, repeat(note, 100) AS note FROM one_key WHERE id <= 100;
         ANALYZE wide; ANALYZE other; ANALYZE one_key"
    )
}

fn limit(parts: usize) -> String {
    format!("SET statement_memory_limit = '{}kB'", 256 * parts)
}

/// Queries whose operator does not fit, and whether their rows come in order.
const QUERIES: &[(&str, bool)] = &[
    // Sorts: by columns, by expressions, stable ones, descending, with NULLs, with limits.
    ("SELECT * FROM wide ORDER BY note, id", true),
    ("SELECT id, few FROM wide ORDER BY few DESC, k % 10, note || 'a'", true),
    ("SELECT id, note FROM wide ORDER BY few NULLS FIRST, id DESC OFFSET 5", true),
    ("SELECT id FROM wide ORDER BY repeat(note, 2) DESC, id LIMIT 11000", true),
    ("SELECT id, few FROM (SELECT * FROM wide ORDER BY note, id OFFSET 0) x ORDER BY few", true),
    // Groups.
    ("SELECT note, count(*), sum(k), min(id), avg(few) FROM wide GROUP BY note", false),
    ("SELECT k, note, count(*) FROM wide GROUP BY k, note HAVING count(*) > 0", false),
    ("SELECT k % 4000, note, grouping(k % 4000, note), count(*), sum(id) FROM wide
      GROUP BY ROLLUP (k % 4000, note)", false),
    ("SELECT note, few, count(*) FROM wide GROUP BY GROUPING SETS ((note), (few), ())", false),
    ("SELECT rpad(note, 90)::char(90), count(*) FROM wide GROUP BY 1", false),
    // States that grow.
    ("SELECT k, array_agg(note), string_agg(note, ', '), count(*) FROM wide GROUP BY k", false),
    ("SELECT k, json_agg(note), jsonb_agg(id), json_object_agg(id, note), jsonb_object_agg(id, k)
      FROM wide GROUP BY k", false),
    ("SELECT k, array_agg(note ORDER BY note DESC), string_agg(DISTINCT note, ';')
      FROM wide GROUP BY k", false),
    ("SELECT few, count(DISTINCT note), count(DISTINCT k), sum(DISTINCT k) FROM wide GROUP BY few", false),
    ("SELECT count(DISTINCT note), count(DISTINCT (note, id)), max(id) FROM wide", false),
    ("SELECT note, array_agg(DISTINCT k ORDER BY k DESC), variance(id), every(few > 0)
      FROM wide GROUP BY note", false),
    ("SELECT few, percentile_disc(0.5) WITHIN GROUP (ORDER BY id),
      mode() WITHIN GROUP (ORDER BY note) FROM wide GROUP BY few", false),
    ("SELECT few, rank(100) WITHIN GROUP (ORDER BY id) FROM wide GROUP BY few", false),
    // DISTINCT and set operations.
    ("SELECT DISTINCT note, k FROM wide", false),
    ("SELECT DISTINCT rpad(note, 90 + id % 3)::bpchar FROM wide", false),
    ("SELECT DISTINCT ON (k) k, note FROM wide ORDER BY k, note DESC", true),
    ("SELECT note FROM wide UNION SELECT note FROM other", false),
    ("SELECT note, k FROM wide UNION ALL SELECT note, k FROM other", false),
    ("SELECT note FROM wide INTERSECT SELECT note FROM other", false),
    ("SELECT note FROM wide EXCEPT SELECT note FROM other", false),
    ("SELECT note FROM other EXCEPT SELECT note FROM wide WHERE id < 10", false),
    ("(SELECT note FROM wide UNION ALL SELECT note FROM wide) INTERSECT ALL
      (SELECT note FROM other UNION ALL SELECT note FROM other UNION ALL SELECT note FROM wide)", false),
    ("(SELECT note FROM wide UNION ALL SELECT note FROM wide) EXCEPT ALL SELECT note FROM other", false),
    // Joins of every kind, with NULLs among the keys, and with one key for all rows.
    ("SELECT a.id, b.id, b.note FROM wide a JOIN other b ON a.k + 0 = b.k + 0", false),
    ("SELECT a.id, b.id, b.note FROM wide a LEFT JOIN other b ON a.k + 0 = b.k + 0", false),
    ("SELECT a.note, b.id, b.note FROM wide a RIGHT JOIN other b ON a.k + 0 = b.k + 0", false),
    ("SELECT a.note, b.note FROM wide a FULL JOIN other b ON a.k = b.k + 0 AND a.few = 1", false),
    ("SELECT a.id, a.note FROM wide a WHERE EXISTS
      (SELECT FROM other b WHERE a.k + 0 = b.k + 0 AND a.note <> b.note)", false),
    ("SELECT a.id, a.note FROM wide a WHERE NOT EXISTS
      (SELECT FROM other b WHERE a.k + 0 = b.k + 0 AND a.note <> b.note)", false),
    ("SELECT a.id, b.id FROM wide a JOIN other b ON a.note = b.note AND a.k <> b.k", false),
    ("SELECT count(*), sum(a.id), sum(b.id) FROM one_key a JOIN one_key b
      ON a.k + 0 = b.k + 0 AND a.id < 5 WHERE a.note = b.note", false),
    ("SELECT count(a.id), count(b.id) FROM one_key a LEFT JOIN one_key b
      ON a.k + 0 = b.k + 0 AND a.id = 5 AND b.id % 500 = 1 AND a.note = b.note", false),
    ("SELECT count(a.id), count(b.id) FROM (SELECT * FROM one_key WHERE id < 40) a
      FULL JOIN one_key b ON a.k + 0 = b.k + 0 AND a.id = 5 AND a.note = b.note AND b.id < 9", false),
    // Joins without keys.
    ("SELECT a.id, b.id, right(b.note, 2) FROM large a JOIN large b ON a.id > b.id + 50
      AND a.note = b.note", false),
    ("SELECT a.id, b.id, right(b.note, 2) FROM large a LEFT JOIN large b ON a.id > b.id + 50
      AND a.note = b.note", false),
    ("SELECT a.id, b.id, right(b.note, 2) FROM large a RIGHT JOIN large b ON a.id > b.id + 50
      AND a.note || '!' <> b.note", false),
    ("SELECT a.id, b.id, right(b.note, 2) FROM large a FULL JOIN large b ON a.id = 7 AND b.id = 9
      AND a.note || '!' <> b.note", false),
    ("SELECT a.id FROM large a WHERE EXISTS
      (SELECT FROM large b WHERE a.id > b.id + 50 AND a.note || '!' <> b.note)", false),
    ("SELECT a.id FROM large a WHERE NOT EXISTS
      (SELECT FROM large b WHERE a.id > b.id + 50 AND a.note || '!' <> b.note)", false),
    ("SELECT count(*), sum(a.id), sum(b.id) FROM (SELECT * FROM one_key WHERE id < 4) a
      CROSS JOIN one_key b WHERE a.note || b.id <> b.note", false),
    // Windows.
    ("SELECT id, note, rank() OVER (PARTITION BY k ORDER BY id), sum(id) OVER (PARTITION BY k ORDER BY id)
      FROM wide", false),
    ("SELECT id, lag(note) OVER (PARTITION BY k % 100 ORDER BY id DESC),
      count(*) OVER (PARTITION BY k % 100) FROM wide", false),
    ("SELECT id, note, row_number() OVER w, rank() OVER w, dense_rank() OVER w, cume_dist() OVER w,
      percent_rank() OVER w, sum(id) OVER w, count(few) FILTER (WHERE k > 9) OVER w,
      sum(id) OVER (ORDER BY k, few ROWS UNBOUNDED PRECEDING) > 0 FROM wide
      WINDOW w AS (ORDER BY k, few)", false),
    ("SELECT id, note, count(*) OVER (), sum(id) OVER (PARTITION BY id > 20),
      max(note) OVER (PARTITION BY id > 20), min(id) OVER (PARTITION BY id > 20 ORDER BY k
      RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM wide", false),
    // WITH.
    ("WITH kept AS MATERIALIZED (SELECT * FROM wide)
      SELECT a.id, b.note FROM kept a, kept b WHERE a.id = b.id + 1", false),
    ("WITH kept AS MATERIALIZED (SELECT * FROM wide)
      SELECT count(*), (SELECT max(note) FROM kept), (SELECT sum(id) FROM kept) FROM kept", false),
    ("WITH RECURSIVE steps (n, note) AS (SELECT 1, repeat('x', 100) UNION ALL
      SELECT n + 1, note FROM steps WHERE n < 6000) SELECT n, note FROM steps", true),
    ("WITH RECURSIVE grown (n, note) AS (SELECT id, note FROM wide UNION ALL
      SELECT n + 12000, note FROM grown WHERE n < 24000) SELECT count(*), sum(n) FROM grown", false),
];

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// The rows of a query as text.
async fn rows(client: &Client, sql: &str, is_ordered: bool) -> Vec<String> {
    let messages = client.simple_query(sql).await;
    let messages = messages.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let mut rows: Vec<String> = Vec::new();
    for message in messages {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("∅")).collect();
        rows.push(cells.join("|"));
    }
    if !is_ordered {
        rows.sort_unstable();
    }
    rows
}

async fn state(client: &Client, sql: &str) -> Option<SqlState> {
    client.simple_query(sql).await.err().and_then(|error| error.code().cloned())
}

/// The temporary files of a server.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if path.ends_with("LOCK") => {}
            false => found.push(path),
        }
    }
    found
}

/// Aggregates whose result depends on the order of rows have an order here that groups keep.
#[test]
fn rows_are_the_same_as_in_memory() {
    run(async {
        let parts = Size::from_env().pick(2, 4, 4);
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(&tables(parts)).await.expect("tables");
        let mut in_memory = Vec::new();
        for (sql, is_ordered) in QUERIES {
            in_memory.push(rows(&client, sql, *is_ordered).await);
        }
        assert!(files(&server.folder().join("tmp")).is_empty());
        client.batch_execute(&limit(parts)).await.expect("a setting");
        for ((sql, is_ordered), right) in QUERIES.iter().zip(in_memory) {
            let found = rows(&client, sql, *is_ordered).await;
            let differs = found.iter().zip(&right).find(|(found, right)| found != right);
            assert_eq!(differs, None, "{sql}");
            assert_eq!(found.len(), right.len(), "{sql}");
        }
        assert!(files(&server.folder().join("tmp")).is_empty(), "files stay");
        let counted = format!(
            "SELECT temp_files > 40 AND temp_bytes > {} FROM pg_stat_database
             WHERE datname = current_database()",
            2_500_000 * parts
        );
        assert_eq!(first_column(&client, &counted).await, ["t"]);
    });
}

/// A table with columns of every kind: text of the column's type, and an expression over `i`.
const KINDS: &[(&str, &str)] = &[
    ("bool", "i % 2 = 0"),
    ("int2", "i - 300"),
    ("int8", "(i - 300) * 12345678901234"),
    ("numeric", "((i - 300)::text || '.' || repeat('0', i % 30))::numeric"),
    ("numeric(10,3)", "i / 7.0"),
    ("float4", "i / 3.0"),
    ("float8", "(i - 300) / 7.0"),
    ("text", "repeat('ä', i % 50)"),
    ("varchar(9)", "'v' || i"),
    ("char(9)", "'c' || i"),
    ("bytea", "decode(md5(i::text), 'hex')"),
    ("uuid", "md5(i::text)::uuid"),
    ("date", "'2024-01-01'::date + i"),
    ("time", "'00:00:00.000001'::time * 1"),
    ("timetz", "('01:02:03+' || i % 12)::timetz"),
    ("timestamp", "'2024-01-01'::timestamp + i * '1 microsecond'::interval"),
    ("timestamptz", "'2024-01-01'::timestamptz - i * '1 hour'::interval"),
    ("interval", "make_interval(months => i, days => -i, secs => i / 8.0)"),
    ("json", "('{\"b\" :  ' || i || ', \"a\": [1.0, null]}')::json"),
    ("jsonb", "('{\"b\" :  ' || i || ', \"a\": [1.0, null]}')::jsonb"),
    ("int[]", "ARRAY[i, NULL, -i]"),
    ("text[]", "string_to_array(repeat('a,', i % 9), ',')"),
    ("int[][]", "ARRAY[[i, 1], [2, 3]]"),
    ("char(3)[]", "ARRAY['a', 'b ', NULL]"),
    ("mood", "(enum_range(NULL::mood))[1 + i % 3]"),
    ("mood[]", "enum_range(NULL::mood)"),
    ("inet", "('10.0.' || i % 256 || '.1/24')::inet"),
    ("macaddr", "'08:00:2b:01:02:03'::macaddr"),
    ("oid", "i::oid"),
    ("bit(5)", "i::bit(5)"),
    ("point", "point(i, -i)"),
];

#[test]
fn values_of_all_types_come_back_as_they_were() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        let mood = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')";
        client.batch_execute(mood).await.expect("an enum");
        let size = Size::from_env();
        let (count, limit) = size.pick((250, "24kB"), (600, "64kB"), (600, "64kB"));
        let every = size.pick(3, 1, 1);
        let mut checked = 0;
        for (number, (ty, value)) in KINDS.iter().enumerate().step_by(every) {
            let table = format!("kind_{number}");
            let made = format!("CREATE TABLE {table} (id int PRIMARY KEY, v {ty}, note text)");
            let filled = format!(
                "INSERT INTO {table} SELECT i, CASE WHEN i % 10 <> 9 THEN {value} END,
                 repeat('x', 100) FROM generate_series(1, {count}) AS i"
            );
            if client.batch_execute(&made).await.is_err()
                || client.batch_execute(&filled).await.is_err()
            {
                // A type that does not exist here.
                continue;
            }
            checked += 1;
            // As it is, in a record, in an array of records, and by its aggregates.
            for sql in [
                format!("SELECT * FROM {table} ORDER BY note, id DESC"),
                format!("SELECT row(v, id, row(v)) FROM {table} ORDER BY note, -id"),
                format!("SELECT ARRAY[v], ARRAY[row(v, id)], note FROM {table} ORDER BY note, id"),
                format!(
                    "SELECT id, array_agg(v), array_agg(note) FROM {table} GROUP BY id ORDER BY id"
                ),
            ] {
                client.batch_execute("RESET statement_memory_limit").await.expect("a setting");
                let Ok(_) = client.simple_query(&sql).await else { continue };
                let right = rows(&client, &sql, true).await;
                let limited = format!("SET statement_memory_limit = '{limit}'");
                client.batch_execute(&limited).await.expect("a setting");
                assert_eq!(rows(&client, &sql, true).await, right, "{sql}");
                let plan = rows(&client, &format!("EXPLAIN (ANALYZE) {sql}"), true).await;
                assert!(plan.iter().any(|line| line.contains("Disk")), "{plan:?}");
            }
            client.batch_execute("RESET statement_memory_limit").await.expect("a setting");
        }
        assert!(checked * every > 24, "{checked} types");
    });
}

#[test]
fn explain_shows_what_went_to_disk() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(&tables(4)).await.expect("tables");
        client.batch_execute(&limit(4)).await.expect("a setting");
        for (sql, line) in [
            ("SELECT * FROM wide ORDER BY note", "Sort Method: external merge  Disk: "),
            ("SELECT note, count(*) FROM wide GROUP BY note", "Batches: "),
            ("SELECT DISTINCT note FROM wide", "Batches: "),
            ("SELECT note FROM wide EXCEPT SELECT note FROM other", "Batches: "),
            (
                "SELECT count(a.note || b.note) FROM wide a JOIN other b ON a.k + 0 = b.k + 0",
                "Batches: ",
            ),
            (
                "SELECT count(*) OVER (PARTITION BY k), note FROM wide",
                "Sort Method: external merge",
            ),
        ] {
            let plan = rows(&client, &format!("EXPLAIN ANALYZE {sql}"), true).await;
            let found = plan.iter().find(|text| text.trim_start().starts_with(line));
            let found = found.unwrap_or_else(|| panic!("{sql}: {plan:#?}"));
            assert!(found.contains("kB"), "{found}");
            let json = rows(&client, &format!("EXPLAIN (ANALYZE, FORMAT JSON) {sql}"), true).await;
            let keys = ["\"Sort Space Used\": ", "\"Disk Usage\": "];
            assert!(keys.iter().any(|key| json.concat().contains(key)), "{json:?}");
        }
        let small =
            rows(&client, "EXPLAIN ANALYZE SELECT * FROM wide WHERE id < 9 ORDER BY note", true);
        assert!(!small.await.concat().contains("Disk"));
    });
}

const LARGE: &str = "SELECT count(*) FROM (SELECT repeat('x', 200) || g AS v
                     FROM generate_series(1, 3000000) AS g ORDER BY v OFFSET 1) AS sorted";

#[test]
fn the_disk_is_limited_and_files_go_with_their_statement() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        let tmp = server.folder().join("tmp");
        client.batch_execute("SET statement_memory_limit = '2MB'").await.expect("a setting");
        client.batch_execute("SET temp_file_limit = '4MB'").await.expect("a setting");
        let error = client.simple_query(LARGE).await.expect_err("too much");
        let error = error.as_db_error().expect("an answer");
        assert_eq!(error.code(), &SqlState::CONFIGURATION_LIMIT_EXCEEDED);
        assert_eq!(error.message(), "temporary file size exceeds temp_file_limit (4096kB)");
        assert!(files(&tmp).is_empty());
        client.batch_execute("SET temp_file_limit = -1").await.expect("a setting");

        let token = client.cancel_token();
        let running = state(&client, LARGE);
        let watched = async {
            let started = Instant::now();
            while files(&tmp).is_empty() {
                assert!(started.elapsed() < Duration::from_secs(60), "no file");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            for file in files(&tmp) {
                let Ok(file) = fs::metadata(file) else { continue };
                assert_eq!(file.permissions().mode() & 0o777, 0o600);
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            token.cancel_query(tokio_postgres::NoTls).await.expect("a cancel request");
            Instant::now()
        };
        let (failed, cancelled) = tokio::join!(running, watched);
        assert_eq!(failed, Some(SqlState::QUERY_CANCELED));
        assert!(cancelled.elapsed() < Duration::from_secs(5), "{:?}", cancelled.elapsed());
        assert!(files(&tmp).is_empty());
        client.batch_execute("SET statement_timeout = '500ms'").await.expect("a setting");
        assert_eq!(state(&client, LARGE).await, Some(SqlState::QUERY_CANCELED));
        assert!(files(&tmp).is_empty());
    });
}

#[test]
fn a_killed_server_leaves_nothing_after_the_next_start() {
    run(async {
        let mut server = Server::start(Config::new());
        let tmp = server.folder().join("tmp");
        let client = connect(server.sql_url(), None).await;
        client.batch_execute("SET statement_memory_limit = '2MB'").await.expect("a setting");
        let running = tokio::spawn(async move { state(&client, LARGE).await });
        let started = Instant::now();
        while files(&tmp).is_empty() {
            assert!(started.elapsed() < Duration::from_secs(60), "no file");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.kill();
        running.await.expect("an end");
        assert!(!files(&tmp).is_empty(), "the kill came too late");
        server.restart();
        assert!(files(&tmp).is_empty());
    });
}

/// Memory that the process has now.
fn resident_bytes(server: &Server) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok());
    kilobytes.expect("a number") * 1024
}

#[test]
fn rows_that_go_to_disk_take_little_memory() {
    run(async {
        let server = Server::start(Config::new().arg("--memory-limit").arg("64MB"));
        let client = connect(server.sql_url(), None).await;
        client.batch_execute("SET statement_memory_limit = '8MB'").await.expect("a setting");
        let sorted = |rows: u32| {
            format!(
                "SELECT count(*), sum(length(v)) FROM (SELECT repeat('x', 200) || g AS v
                 FROM generate_series(1, {rows}) AS g ORDER BY v DESC OFFSET 1) AS sorted"
            )
        };
        first_column(&client, &sorted(30_000)).await;
        let before = resident_bytes(&server);
        first_column(&client, &sorted(300_000)).await;
        let grown = resident_bytes(&server).saturating_sub(before);
        assert!(grown < 60 << 20, "{} MiB", grown >> 20);
    });
}
