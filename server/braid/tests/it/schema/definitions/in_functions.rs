//! Functions and triggers that define tables inside of statements, called by several sessions.

use std::time::Duration;

use braid_testkit::target::{Database, Target};
use tokio_postgres::Client;

const SESSIONS: i64 = 4;
const TABLES: i64 = 6;
const ROWS: i64 = 12;

const FUNCTIONS: &str = "
    CREATE FUNCTION make(name text) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE format('CREATE TABLE %I (session int)', name);
        RETURN 1;
    END $$;
    CREATE FUNCTION note(name text, session int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        IF to_regclass(name) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I (session int)', name);
            -- PostgreSQL may find the name first among its types.
            EXCEPTION WHEN duplicate_table OR duplicate_object OR unique_violation THEN NULL;
            END;
        END IF;
        EXECUTE format('INSERT INTO %I VALUES (%s)', name, session);
        RETURN 1;
    END $$;
    CREATE TABLE measure (day int NOT NULL, session int) PARTITION BY LIST (day);
    CREATE TABLE incoming (day int, session int);
    CREATE FUNCTION route() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE name text := 'measure_' || new.day;
    BEGIN
        PERFORM pg_advisory_xact_lock(1);
        EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF measure FOR VALUES IN (%s)',
            name, new.day);
        INSERT INTO measure VALUES (new.day, new.session);
        RETURN new;
    END $$;
    CREATE TRIGGER route BEFORE INSERT ON incoming FOR EACH ROW EXECUTE FUNCTION route()";

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

async fn execute(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// The SQLSTATE of a statement that fails.
async fn failure(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err(sql);
    error.code().expect("a server's error").code().to_owned()
}

async fn in_each_database(test: impl AsyncFn(&Database)) {
    for target in Target::all() {
        let database = target.create_database("functions").await;
        execute(&database.connect().await, FUNCTIONS).await;
        test(&database).await;
    }
}

fn run(test: impl AsyncFn(&Database)) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(in_each_database(test));
}

/// Runs the same work in several sessions at once.
async fn in_sessions(database: &Database, work: impl AsyncFn(&Client, i64)) {
    let sessions = (0..SESSIONS).map(async |session| {
        let client = database.connect().await;
        work(&client, session).await;
    });
    futures_util::future::join_all(sessions).await;
}

#[test]
fn of_several_sessions_one_makes_the_table_and_all_write_to_it() {
    run(async |database| {
        in_sessions(database, async |client, session| {
            for table in 0..TABLES {
                let sql = format!("SELECT note('notes_{table}', {session}), 'called'");
                execute(client, &sql).await;
            }
        })
        .await;
        let client = database.connect().await;
        for table in 0..TABLES {
            let sql = format!("SELECT count(DISTINCT session) FROM notes_{table}");
            assert_eq!(number(&client, &sql).await, SESSIONS);
        }
    });
}

#[test]
fn triggers_make_the_partitions_into_which_they_insert() {
    run(async |database| {
        in_sessions(database, async |client, session| {
            for day in 0..ROWS {
                let day = day / 2;
                let sql = format!("INSERT INTO incoming VALUES ({day}, {session})");
                execute(client, &sql).await;
            }
        })
        .await;
        let client = database.connect().await;
        assert_eq!(number(&client, "SELECT count(*) FROM measure").await, SESSIONS * ROWS);
        assert_eq!(number(&client, "SELECT count(*) FROM incoming").await, SESSIONS * ROWS);
        let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'measure'::regclass";
        assert_eq!(number(&client, partitions).await, ROWS / 2);
    });
}

#[test]
fn the_second_waits_for_the_first_and_finds_what_it_has_left() {
    run(async |database| {
        let (first, second) = (database.connect().await, database.connect().await);
        for (end, answer) in [("COMMIT", Some("42P07")), ("ROLLBACK", None)] {
            let sql = format!("SELECT make('waited_{end}'), 'called'");
            execute(&first, "BEGIN").await;
            execute(&first, &sql).await;
            let ends = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                execute(&first, end).await;
            };
            match answer {
                Some(state) => {
                    let ((), found) = tokio::join!(ends, failure(&second, &sql));
                    // PostgreSQL finds the name in an index of its catalog, or as a type.
                    assert!([state, "23505", "42710"].contains(&found.as_str()), "{found}");
                }
                None => {
                    tokio::join!(ends, execute(&second, &sql));
                }
            }
        }
    });
}

#[test]
fn a_cancelled_definition_leaves_the_block_as_its_savepoint_was() {
    run(async |database| {
        let client = database.connect().await;
        execute(&client, "CREATE TABLE many (a int)").await;
        execute(&client, "INSERT INTO many SELECT generate_series(1, 1000)").await;
        let slow = "CREATE FUNCTION slow() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
            CREATE TABLE slow AS SELECT a FROM many WHERE pg_sleep(0.1) IS NOT NULL;
            RETURN 1; END $$";
        execute(&client, slow).await;
        execute(&client, "BEGIN; SELECT make('early'), 1; SAVEPOINT s").await;
        execute(&client, "SET LOCAL statement_timeout = 200").await;
        assert_eq!(failure(&client, "SELECT slow(), 1").await, "57014");
        execute(&client, "ROLLBACK TO s; SELECT make('late'), 1; COMMIT").await;
        let found = "SELECT count(*) FROM pg_class WHERE relname IN ('early', 'late', 'slow')";
        assert_eq!(number(&client, found).await, 2);
    });
}
