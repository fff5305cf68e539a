//! Inverted indexes change no answer: the same random statements and queries on two tables, one
//! with such indexes, give the same rows. Documents, arrays and texts are odd: NULLs, empty ones,
//! nested ones, duplicates, numbers that are equal and look different.

use std::collections::BTreeSet;

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::first_column;

use crate::schema::twin_tables::TwinTables;

const COLUMNS: &str = "id int PRIMARY KEY, body jsonb, tags text[], nums numeric[], title text, \
                       live bool, \
                       tenant int GENERATED ALWAYS AS (nullif(id % 5, 0)) STORED, \
                       price numeric GENERATED ALWAYS AS (nums[1]) STORED, \
                       pad char(4) GENERATED ALWAYS AS (tags[1]::char(4)) STORED";

const INDEXES: [&str; 13] = [
    "CREATE INDEX i_body ON indexed USING gin (body)",
    "CREATE INDEX i_path ON indexed USING gin (body jsonb_path_ops)",
    "CREATE INDEX i_tags ON indexed USING gin (tags)",
    "CREATE INDEX i_nums ON indexed USING gin (nums)",
    "CREATE INDEX i_title ON indexed USING gin (title gin_trgm_ops)",
    "CREATE INDEX i_inner ON indexed USING gin ((body -> 'a'))",
    "CREATE INDEX i_live ON indexed USING gin (tags) WHERE live",
    "CREATE INDEX i_lower ON indexed USING gin (lower(title) gin_trgm_ops)",
    "CREATE INDEX i_two ON indexed USING gin (nums, tags)",
    "CREATE INDEX i_tenant ON indexed USING gin (tenant, title gin_trgm_ops, body)",
    "CREATE INDEX i_price ON indexed USING gin (price, pad)",
    "CREATE INDEX i_whole ON indexed USING gin (title, (id % 7))",
    "CREATE INDEX i_words ON indexed USING gin (to_tsvector('english', title))",
];

const WORDS: [&str; 8] = ["a", "b", "c", "red", "", "x y", "Brown fox", "ΟΔΟΣ"];

fn word(random: &mut Random) -> &'static str {
    random.pick::<&str>(&WORDS)
}

/// A JSON value.
fn json(random: &mut Random, depth: u32) -> String {
    let kinds = if depth == 0 { 5 } else { 9 };
    match random.below(kinds) {
        0 => "null".to_owned(),
        1 => (random.below(2) == 0).to_string(),
        2 | 3 => random.pick::<&str>(&["0", "1", "1.0", "1.00", "-0", "2e2", "200"]).to_string(),
        4 => format!("\"{}\"", word(random)),
        5 | 6 => {
            let count = random.below(4);
            let items: Vec<String> = (0..count).map(|_| json(random, depth - 1)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => {
            let count = random.below(4);
            let member =
                |random: &mut Random| format!("\"{}\": {}", word(random), json(random, depth - 1));
            let members: Vec<String> = (0..count).map(|_| member(random)).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn document(random: &mut Random) -> String {
    match random.below(8) {
        0 => "NULL::jsonb".to_owned(),
        _ => format!("'{}'::jsonb", json(random, 3)),
    }
}

fn texts(random: &mut Random) -> String {
    if random.below(9) == 0 {
        return "NULL::text[]".to_owned();
    }
    let count = random.below(4);
    let item = |random: &mut Random| match random.below(7) {
        0 => "NULL".to_owned(),
        _ => format!("'{}'", word(random)),
    };
    let items: Vec<String> = (0..count).map(|_| item(random)).collect();
    match random.below(8) {
        0 if count > 0 => format!("ARRAY[[{0}], [{0}]]::text[]", items.join(", ")),
        _ => format!("ARRAY[{}]::text[]", items.join(", ")),
    }
}

fn numbers(random: &mut Random) -> String {
    let count = random.below(4);
    let values = ["0", "1", "1.0", "2", "200", "2e2", "NULL", "'NaN'"];
    let items: Vec<&str> = (0..count).map(|_| *random.pick::<&str>(&values)).collect();
    match random.below(9) {
        0 => "NULL::numeric[]".to_owned(),
        _ => format!("ARRAY[{}]::numeric[]", items.join(", ")),
    }
}

fn title(random: &mut Random) -> String {
    let count = random.below(4);
    let words: Vec<&str> = (0..count).map(|_| word(random)).collect();
    match random.below(9) {
        0 => "NULL::text".to_owned(),
        _ => format!("'{}'", words.join(random.pick::<&str>(&[" ", "", ", "]))),
    }
}

fn pattern(random: &mut Random) -> String {
    let part = |random: &mut Random| {
        *random.pick::<&str>(&[
            "%", "%", "_", "fox", "own", "red", "Brown ", "ODO", "ΟΔΟΣ", "οδος", "x y", "a",
        ])
    };
    let count = 1 + random.below(4);
    let parts: Vec<&str> = (0..count).map(|_| part(random)).collect();
    format!("'{}'", parts.concat())
}

/// A JSON path.
fn path(random: &mut Random) -> String {
    let step = |random: &mut Random| {
        *random.pick::<&str>(&[".a", ".b", ".red", ".*", "[*]", "[0]", ".**", ".size()", ".type()"])
    };
    let count = random.below(4);
    let steps: Vec<&str> = (0..count).map(|_| step(random)).collect();
    let value = *random.pick::<&str>(&["1", "1.0", "\"a\"", "\"red\"", "null", "true", "@.a"]);
    let operator = *random.pick::<&str>(&["==", "==", "==", "<", "<>"]);
    let condition = match random.below(5) {
        0 => format!("(@.b {operator} {value})"),
        1 => format!("(!(@{operator} {value}))"),
        2 => format!("(@{operator} {value} || exists (@.c))"),
        3 => format!("(@.a {operator} {value} && @.b == 1)"),
        _ => format!("(@{operator} {value})"),
    };
    let mode = *random.pick::<&str>(&["", "", "strict "]);
    format!("'{mode}${} ? {condition}'", steps.concat())
}

/// A query of text search.
fn search(random: &mut Random) -> String {
    let mut text = String::new();
    for at in 0..=random.below(3) {
        if at > 0 {
            text += *random.pick::<&str>(&[" & ", " | ", " <-> ", " & !"]);
        }
        let word = *random.pick::<&str>(&["a", "red", "x", "y", "brown", "fox", "ΟΔΟΣ"]);
        text += word;
        text += *random.pick::<&str>(&["", "", "", ":*", ":A"]);
    }
    let function = *random.pick::<&str>(&["to_tsquery", "to_tsquery", "websearch_to_tsquery"]);
    format!("{function}('simple', '{text}')")
}

/// A comparison of values that are terms themselves.
fn equality(random: &mut Random) -> String {
    let number = |random: &mut Random| random.below(6).to_string();
    let price = |random: &mut Random| {
        random.pick::<&str>(&["0", "1", "1.0", "1.00", "200", "'NaN'", "NULL"]).to_string()
    };
    match random.below(9) {
        0 => format!("tenant = {}", number(random)),
        1 => format!("{} = tenant", number(random)),
        2 => format!("tenant IN ({}, {}, NULL)", number(random), number(random)),
        3 => format!("tenant = ANY (ARRAY[{}, NULL, {}])", number(random), number(random)),
        4 => format!("price = {}", price(random)),
        5 => format!("price IN ({}, {})", price(random), price(random)),
        6 => format!("pad = '{}'", random.pick::<&str>(&["a", "a   ", "red", "x y", ""])),
        7 => format!("title = {}", title(random)),
        _ => format!("id % 7 = {}", number(random)),
    }
}

/// One part of a condition.
fn part(random: &mut Random) -> String {
    match random.below(24) {
        20..=23 => equality(random),
        18 => format!("to_tsvector('english', title) @@({})", search(random)),
        19 => format!("{} @@(to_tsvector('english', title))", search(random)),
        16 => format!("body @? {}", path(random)),
        17 => {
            let path = path(random).replace(" ? (", " == 1 || exists ($.a ? (");
            format!("body @@{})'", path.trim_end_matches('\''))
        }
        0 | 1 => format!("body @> {}", document(random)),
        2 => format!("{} <@(body)", document(random)),
        3 => format!("body ? '{}'", word(random)),
        4 => {
            let operator = *random.pick::<&str>(&["?|", "?&"]);
            format!("body {operator} {}", texts(random))
        }
        5 => format!("body -> 'a' @> {}", document(random)),
        6 | 7 => {
            let operator = *random.pick::<&str>(&["@>", "<@", "&&", "="]);
            format!("tags {operator}({})", texts(random))
        }
        8 => {
            let operator = *random.pick::<&str>(&["@>", "<@", "&&", "="]);
            format!("{} {operator}(nums)", numbers(random))
        }
        9 => format!("'{}' = ANY (tags)", word(random)),
        10 => format!("title LIKE {}", pattern(random)),
        11 => format!("title ILIKE {}", pattern(random)),
        12 => format!("lower(title) LIKE {}", pattern(random)),
        13 => format!("title % {}", title(random)),
        14 => format!("live AND tags @> {}", texts(random)),
        _ => format!("id < {}", random.below(80)),
    }
}

fn condition(random: &mut Random) -> String {
    let mut text = part(random);
    for _ in 0..random.below(3) {
        let operator = *random.pick::<&str>(&["AND", "AND", "OR", "AND NOT"]);
        text = format!("({text}) {operator} ({})", part(random));
    }
    text
}

/// A statement on the table `@`.
fn change(random: &mut Random, may_fail: bool) -> String {
    let id = random.below(80);
    let (body, tags) = (document(random), texts(random));
    let live = *random.pick::<&str>(&["true", "false", "NULL"]);
    let row = format!("({id}, {body}, {tags}, {}, {}, {live})", numbers(random), title(random));
    match random.below(if may_fail { 10 } else { 9 }) {
        0..4 => format!("INSERT INTO @ VALUES {row} ON CONFLICT DO NOTHING"),
        4 => format!("UPSERT INTO @ VALUES {row}"),
        5 => format!("UPDATE @ SET body = {body}, live = {live} WHERE {}", condition(random)),
        6 => {
            format!("UPDATE @ SET tags = {tags}, title = title || 'x' WHERE {}", condition(random))
        }
        7 => format!("DELETE FROM @ WHERE id % 3 = 0 AND ({})", condition(random)),
        8 => format!(
            "MERGE INTO @ t USING (VALUES {row}) s ON t.id = s.column1 WHEN MATCHED THEN UPDATE \
             SET tags = s.column3 WHEN NOT MATCHED THEN INSERT VALUES {row}"
        ),
        // There may be a row already.
        _ => format!("UPDATE @ SET id = id + 80 WHERE id < 80 AND ({})", condition(random)),
    }
}

/// A query of the table `@` whose rows come in one order.
fn query(random: &mut Random) -> String {
    let condition = condition(random);
    match random.below(6) {
        0 => format!("SELECT id::text FROM @ WHERE {condition} ORDER BY id LIMIT 3"),
        1 => format!("SELECT id::text FROM @ WHERE {condition} ORDER BY id DESC FOR UPDATE"),
        2 => format!("SELECT count(*) || ':' || coalesce(sum(id), 0) FROM @ WHERE {condition}"),
        3 => format!(
            "SELECT w.t || ':' || count(t.id) FROM (VALUES ('a'), ('red'), ('x y')) w (t)
             LEFT JOIN @ t ON t.tags @> ARRAY[w.t] AND ({condition}) GROUP BY w.t ORDER BY w.t"
        ),
        _ => format!(
            "SELECT id || ' ' || coalesce(body::text, '') FROM @ WHERE {condition} ORDER BY id"
        ),
    }
}

#[test]
fn random_queries_give_the_same_with_and_without_inverted_indexes() {
    let seed = seed();
    println!("BRAID_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    let server = Server::start(Config::new());
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let twins = TwinTables::create(&server, COLUMNS).await;
        let mut used = BTreeSet::new();
        let rounds = Size::from_env().pick(120, 600, 15_000);
        for round in 0..rounds {
            // Half of the rows are there before the indexes, which so are filled, too.
            if round == rounds / 8 {
                for index in INDEXES {
                    twins.client.batch_execute(index).await.expect("an index");
                }
            }
            let in_block = random.below(4) == 0;
            if in_block {
                twins.client.batch_execute("BEGIN").await.expect("a transaction");
            }
            twins.change(&change(&mut random, !in_block)).await;
            let query = twins.query(&query(&mut random)).await;
            let plan = first_column(&twins.client, &format!("EXPLAIN {query}")).await.join("\n");
            used.extend(
                INDEXES.iter().filter_map(|index| {
                    index.split(' ').nth(2).filter(|name| plan.contains(*name))
                }),
            );
            if in_block {
                let end = if random.below(2) == 0 { "COMMIT" } else { "ROLLBACK" };
                twins.client.batch_execute(end).await.expect("the end of the transaction");
            }
        }
        twins.check().await;
        assert!(used.len() > INDEXES.len() / 2, "{used:?}");
    });
}
