//! The examples of `server/docs/reference/errors.md` give the errors that it says they give.
//!
//! An example that is one piece of code is sent as one simple query to a database of its own. If
//! `POSTGRES_URL` names a real PostgreSQL they go there too, to check the examples themselves.

use std::path::Path;

use braid_testkit::target::Target;

/// A row of the tables: the state, and its example if that can be run.
fn examples() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/errors.md");
    let text = std::fs::read_to_string(path).expect("server/docs/reference/errors.md");
    text.lines().filter_map(example).collect()
}

fn example(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let (state, rest) = line.split_once("` | ")?;
    // Name, meaning, example, what the SDK does. Other tables have fewer columns.
    let [_, _, example, _] = rest.split(" | ").collect::<Vec<_>>()[..] else { return None };
    let sql = example.strip_prefix('`')?.strip_suffix('`')?;
    let is_one_piece = !sql.contains('`') && !sql.contains('…');
    is_one_piece.then(|| (state.to_owned(), sql.replace("\\|", "|")))
}

#[test]
fn examples_give_their_errors() {
    check(&Target::from_env());
}

#[test]
fn examples_give_their_errors_on_postgres() {
    if let Some(target) = Target::postgres() {
        check(&target);
    }
}

fn check(target: &Target) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let examples = examples();
    assert!(examples.len() > 50, "only {} examples were found", examples.len());
    let mut wrong = Vec::new();
    for (state, sql) in examples {
        let found = runtime.block_on(outcome(target, &sql));
        // BraidDB's own refusals are no example for PostgreSQL.
        let is_ours = state == "0A000" && target.is_postgres();
        if !found.starts_with(&state) && !is_ours {
            wrong.push(format!("{state} expected of {sql}\n  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn outcome(target: &Target, sql: &str) -> String {
    let database = target.create_database("errors").await;
    let client = database.connect().await;
    let outcome = match client.simple_query(sql).await {
        Ok(_) => "no error".to_owned(),
        Err(error) => match error.as_db_error() {
            Some(error) => format!("{} {}", error.code().code(), error.message()),
            None => error.to_string(),
        },
    };
    drop(client);
    database.drop().await;
    outcome
}
