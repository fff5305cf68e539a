//! A dump makes the extensions that its database has created or uses, and names what is theirs by
//! their schemas. So PostgreSQL restores it, and dumps the same again.

use braid_testkit::target::Target;

use super::tools::{Format, Tools, admin_url, assert_same, make_roles};

const SCHEMA: &str = "
    CREATE DOMAIN mail AS citext CHECK (value <> 'nobody');
    CREATE TABLE t (id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), name citext, parts hstore,
        hash bytea DEFAULT digest('a', 'sha1'), words text, CHECK (name <> 'q'),
        CHECK (similarity(words, 'a') < 2));
    CREATE INDEX ON t USING gin (words gin_trgm_ops);
    CREATE INDEX ON t USING gin (parts);
    CREATE TABLE rooms (room int, during int4range,
        EXCLUDE USING gist (room WITH =, during WITH &&));
    CREATE VIEW v AS SELECT akeys(parts) AS keys, parts -> 'a' AS value, name = 'x' AS is_x,
        encode(digest(words, 'md5'), 'hex') AS md5, words % 'a' AS is_like,
        replace(name, 'a', 'b') AS replaced, name = ANY (ARRAY['x', 'y']::citext[]) AS is_one
        FROM t WHERE name LIKE 'a%';
    CREATE FUNCTION f(citext) RETURNS hstore LANGUAGE sql AS $$ SELECT hstore('a', $1::text) $$;
    INSERT INTO t (name, parts, words) VALUES ('A', 'a=>1', 'word');";

/// The extensions that it needs.
const USED: [&str; 6] = ["btree_gist", "citext", "hstore", "pg_trgm", "pgcrypto", "\"uuid-ossp\""];

#[test]
fn extensions_that_are_used_are_dumped() {
    let created = USED.map(|name| format!("CREATE EXTENSION {name};")).concat();
    for before in ["", &created] {
        check(before, "public");
    }
}

#[test]
fn extensions_in_another_schema_are_dumped_there() {
    let created = USED.map(|name| format!("CREATE EXTENSION {name} SCHEMA \"Ext\";")).concat();
    check(&format!("CREATE SCHEMA \"Ext\"; {created}"), "\"Ext\"");
}

#[test]
fn a_database_without_any_dumps_none() {
    let Some(tools) = Tools::find() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let source = Target::from_env();
        make_roles(&tools, &source).await;
        let database = source.create_database("dump_extensions").await;
        let url = admin_url(&database);
        tools.sql(&url, "CREATE TABLE t (a int, b text); CREATE VIEW v AS SELECT a FROM t");
        assert!(!tools.dump(&url).contains("EXTENSION"));
        database.drop().await;
    });
}

fn check(before: &str, schema: &str) {
    let Some(tools) = Tools::find() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let source = Target::from_env();
        make_roles(&tools, &source).await;
        let original = source.create_database("dump_extensions").await;
        let from = admin_url(&original);
        tools.sql(&from, &format!("{before}{SCHEMA}"));
        let first = tools.dump(&from);
        for name in USED {
            let made = format!("CREATE EXTENSION IF NOT EXISTS {name} WITH SCHEMA {schema};");
            assert!(first.contains(&made), "{made} is not in\n{first}");
        }
        for target in Target::all() {
            make_roles(&tools, &target).await;
            let copy = target.create_database("dump_extensions_copy").await;
            let to = admin_url(&copy);
            tools.copy(&from, &to, Format::Custom);
            assert_same("extensions", &statements(&first), &statements(&tools.dump(&to)));
            copy.drop().await;
        }
        original.drop().await;
    });
}

/// The statements. PostgreSQL dumps the comments of its extensions as well.
fn statements(dump: &str) -> String {
    let is_one =
        |line: &&str| !line.is_empty() && !line.starts_with("--") && !line.contains("ON EXTENSION");
    dump.lines().filter(is_one).collect::<Vec<_>>().join("\n")
}
