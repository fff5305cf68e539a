//! Foreign keys at random: random tables with random foreign keys and actions, random statements,
//! savepoints and SET CONSTRAINTS, compared with PostgreSQL if `POSTGRES_URL` names one, and with a
//! model in memory otherwise. Every answer and the tables after every statement must be the same,
//! and `CHECK TABLE` must find nothing.
//!
//! `BRAID_TEST_SIZE` says how many sets of tables; `BRAID_TEST_SEED` repeats one.

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::store;
use braid_testkit::target::{Target, connect};
use futures_util::SinkExt as _;
use tokio_postgres::{Client, SimpleQueryMessage};

mod long_spans;
mod model;
mod storm;
mod unindexed;
mod world;

use model::{Failure, Model};
use world::{Op, World};

/// Transactions of one seed.
const TRANSACTIONS: usize = 40;
/// The answer that stands for every violation that is not a foreign key's.
const OTHER: &str = "another constraint";

/// What a statement has answered: rows changed, or the state and constraint of its error.
type Answer = Result<u64, String>;

async fn answer(client: &Client, sql: &str) -> Answer {
    match client.simple_query(sql).await {
        Ok(messages) => {
            let changed = messages.iter().find_map(|message| match message {
                SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
                _ => None,
            });
            Ok(changed.unwrap_or(0))
        }
        Err(error) => {
            let Some(error) = error.as_db_error() else { panic!("{sql}: {error:?}") };
            let code = error.code().code();
            assert!(!code.starts_with("XX"), "{sql}: {error:?}");
            // Other constraints are looked at in another order.
            if code.starts_with("23") && code != "23503" {
                return Err(OTHER.to_owned());
            }
            let detail = error.detail().unwrap_or_default();
            Err(format!("{code} {} {detail}", error.message()))
        }
    }
}

async fn sure(client: &Client, sql: &str) -> Vec<SimpleQueryMessage> {
    client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

async fn contents(client: &Client, world: &World) -> String {
    let mut text = String::new();
    for table in 0..world.tables.len() {
        let sql = format!("SELECT id, k, u, a, b, n FROM t{table} ORDER BY 1, 2, 3, 4, 5, 6");
        for message in sure(client, &sql).await {
            let SimpleQueryMessage::Row(row) = message else { continue };
            let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("-")).collect();
            text.push_str(&format!("t{table} {}\n", cells.join(" ")));
        }
    }
    text
}

/// Who says what is right.
enum Judge<'w> {
    Postgres(&'w Client),
    Model(Box<Model<'w>>),
}

impl Judge<'_> {
    async fn answer(&mut self, world: &World, op: &Op) -> Answer {
        match self {
            Judge::Postgres(client) => answer(client, &world.sql(op)).await,
            Judge::Model(model) => model.run(op).map_err(|failure| match failure {
                Failure::ForeignKey(text) => text,
                Failure::Other => OTHER.to_owned(),
            }),
        }
    }

    async fn roll_back(&mut self) {
        match self {
            Judge::Postgres(client) => _ = sure(client, "ROLLBACK").await,
            Judge::Model(model) => model.roll_back(),
        }
    }

    async fn contents(&self, world: &World) -> String {
        match self {
            Judge::Postgres(client) => contents(client, world).await,
            Judge::Model(model) => model.contents(),
        }
    }
}

#[test]
fn random_foreign_keys() {
    let server = Server::start(Config::new().without_sync());
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(16, 40, 5_000),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let ours = connect(server.sql_url(), None).await;
        let (database, postgres) = match Target::postgres() {
            Some(target) => {
                let database = target.create_database("foreign_keys").await;
                let client = database.connect().await;
                (Some(database), Some(client))
            }
            None => (None, None),
        };
        if let Some(theirs) = &postgres {
            // Rows are changed in the order of their keys.
            sure(theirs, "SET enable_seqscan = off; SET enable_bitmapscan = off").await;
            sure(theirs, "SET client_min_messages = error").await;
        }
        let mut done = 0;
        for seed in seeds {
            let mut random = Random::new(seed);
            let world = World::new(&mut random);
            make(&ours, &world, seed, false).await;
            let mut judge = match &postgres {
                Some(theirs) => {
                    make(theirs, &world, seed, true).await;
                    Judge::Postgres(theirs)
                }
                None => Judge::Model(Box::new(Model::new(&world))),
            };
            done += compare(&ours, &mut judge, &world, &mut random, seed).await;
            for client in std::iter::once(&ours).chain(&postgres) {
                sure(client, &format!("DROP SCHEMA s{seed} CASCADE")).await;
            }
        }
        assert!(done > 100, "{done} statements have changed rows");
        drop(postgres);
        if let Some(database) = database {
            database.drop().await;
        }
    });
}

async fn make(client: &Client, world: &World, seed: u64, on_postgres: bool) {
    sure(client, &format!("DROP SCHEMA IF EXISTS s{seed} CASCADE")).await;
    sure(client, &format!("CREATE SCHEMA s{seed}")).await;
    sure(client, &format!("SET search_path = s{seed}")).await;
    for sql in world.ddl(on_postgres) {
        sure(client, &sql).await;
    }
}

/// Runs random transactions; how many statements have changed rows.
async fn compare(
    ours: &Client,
    judge: &mut Judge<'_>,
    world: &World,
    random: &mut Random,
    seed: u64,
) -> u64 {
    let (mut log, mut done) = (Vec::new(), 0);
    for _ in 0..TRANSACTIONS {
        let (mut has_savepoint, mut in_block) = (false, false);
        for op in world.transaction(random) {
            let sql = world.sql(&op);
            let found = answer(ours, &sql).await;
            let wanted = judge.answer(world, &op).await;
            log.push(format!("{sql};\n    -- {wanted:?}"));
            let story = || format!("{};\n{}", world.ddl(true).join(";\n"), log.join("\n"));
            // Which of several deferred checks comes first is not told.
            let state = |answer: &Answer| answer.clone().map_err(|text| text[..5].to_owned());
            let same = match op {
                Op::Commit | Op::SetConstraints(..) => state(&found) == state(&wanted),
                _ => found == wanted,
            };
            assert!(same, "BRAID_TEST_SEED={seed}\n{}\n{found:?}\n{wanted:?}", story());
            done += u64::from(found.as_ref().is_ok_and(|rows| *rows > 0));
            match op {
                Op::Begin => in_block = true,
                Op::Savepoint => has_savepoint = true,
                Op::Commit | Op::Rollback => in_block = false,
                _ => {}
            }
            let failed_inside = found.is_err() && in_block;
            if failed_inside && has_savepoint {
                sure(ours, "ROLLBACK TO s").await;
                judge.answer(world, &Op::RollbackTo).await.expect("rolls back");
                log.push("ROLLBACK TO s;".to_owned());
            } else if failed_inside {
                sure(ours, "ROLLBACK").await;
                judge.roll_back().await;
                log.push("ROLLBACK;".to_owned());
            }
            let (found, wanted) = (contents(ours, world).await, judge.contents(world).await);
            let story = || format!("{};\n{}", world.ddl(true).join(";\n"), log.join("\n"));
            assert!(
                found == wanted,
                "BRAID_TEST_SEED={seed}\n{}\nours:\n{found}\nwanted:\n{wanted}",
                story()
            );
            if failed_inside && !has_savepoint {
                break;
            }
        }
        for table in 0..world.tables.len() {
            let rows = sure(ours, &format!("CHECK TABLE t{table}")).await;
            let finding = rows.iter().find(|row| matches!(row, SimpleQueryMessage::Row(_)));
            assert!(finding.is_none(), "BRAID_TEST_SEED={seed}\n{}\n{finding:?}", log.join("\n"));
        }
    }
    done
}

/// COPY comes in batches, but what a table asks of itself is looked at behind the last row.
#[test]
fn rows_of_a_copy_point_at_later_ones() {
    let server = Server::start(Config::new());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        let table = "CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree)";
        sure(&client, table).await;
        let copy = async |rows: std::ops::Range<i64>, last: &str| {
            let text: String = rows.map(|id| format!("{id}\t{}\n", id + 1)).collect();
            let sink = client.copy_in("COPY tree FROM STDIN").await.expect("begins");
            let mut sink = std::pin::pin!(sink);
            sink.send(bytes::Bytes::from(text + last)).await.expect("is sent");
            sink.finish().await
        };
        assert_eq!(copy(1..3000, "3000\t\\N\n").await.expect("points at later rows"), 3000);
        let error = copy(5001..8000, "8000\t9000\n").await.expect_err("points nowhere");
        let error = error.as_db_error().expect("an error of the server");
        assert_eq!(error.code().code(), "23503");
        assert_eq!(error.detail(), Some("Key (up)=(9000) is not present in table \"tree\"."));
        let count = sure(&client, "SELECT count(*) FROM tree").await;
        let count = count.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        assert_eq!(count, Some("3000"));
    });
}

#[test]
fn no_orphan_is_left_by_many_at_once() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    assert_eq!(runtime.block_on(storm::findings()), [] as [String; 0]);
}

#[test]
fn long_spans_of_children_go_as_if_row_by_row() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let [fast, slow] = runtime.block_on(long_spans::same_as_row_by_row());
    // Else they have gone row by row on both sides.
    assert!(fast * 2 < slow, "{fast} and {slow} locks");
}

#[test]
fn no_orphan_is_left_below_a_long_span() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    assert_eq!(runtime.block_on(long_spans::findings()), Vec::<String>::new());
}

#[test]
fn who_inserts_into_a_long_span_that_goes_waits() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let [meanwhile, commit, afterwards] = runtime.block_on(long_spans::insert_meanwhile());
    if store::is_tikv() {
        // It locks keys, not gaps: the deletion has to look again.
        assert_eq!(meanwhile, Ok(1));
        assert!(commit.clone().is_err_and(|error| error.starts_with("40001")), "{commit:?}");
        return;
    }
    assert_eq!(commit, Ok(0));
    assert!(meanwhile.clone().is_err_and(|error| error.starts_with("55P03")), "{meanwhile:?}");
    assert!(afterwards.clone().is_err_and(|error| error.starts_with("23503")), "{afterwards:?}");
}

#[test]
fn no_orphan_is_left_without_an_index() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    assert_eq!(runtime.block_on(unindexed::findings()), Vec::<String>::new());
}

#[test]
fn children_of_others_do_not_refuse_the_deletion_of_a_parent() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for index in [false, true] {
        let ends = runtime.block_on(unindexed::deletions(index, 2));
        assert_eq!(ends, vec![(Ok(0), "0".to_owned()); 3], "index {index}");
    }
}

#[test]
fn a_child_that_has_come_refuses_the_deletion_of_its_parent() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for index in [false, true] {
        for ((end, orphans), level) in
            runtime.block_on(unindexed::deletions(index, 1)).into_iter().zip(unindexed::LEVELS)
        {
            let wanted = if level == "SERIALIZABLE" { "40001" } else { "23503" };
            assert!(end.clone().is_err_and(|error| error.starts_with(wanted)), "{level}: {end:?}");
            assert_eq!(orphans, "0", "{level}");
        }
    }
}

#[test]
fn a_key_is_validated_beside_children_that_are_right() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    assert_eq!(runtime.block_on(unindexed::validations()), vec![Ok(0); 3]);
}
