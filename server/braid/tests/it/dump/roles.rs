//! `pg_dumpall`: roles with their attributes, memberships and settings, and all databases.

use braid_testkit::server::{Config, Server};

use super::tools::{ROLES, Tools, assert_same, file, on_each_target};

#[test]
fn roles_are_dumped_as_postgresql_does() {
    let dumps = on_each_target(async |tools, target| {
        let database = target.create_database("dump_globals").await;
        let dump = tools.run("pg_dumpall", &["--globals-only", "-d", &database.url()]);
        database.drop().await;
        let of_roles = dump.lines().filter(|line| {
            ROLES.iter().any(|role| line.contains(role)) && !line.contains("GRANTED BY")
        });
        of_roles.map(str::to_owned).collect::<Vec<_>>()
    });
    let Some(dumps) = dumps else { return };
    assert!(dumps[0].len() >= 9, "{:#?}", dumps[0]);
    assert!(dumps.windows(2).all(|pair| pair[0] == pair[1]), "{dumps:#?}");
}

#[test]
fn a_whole_server_is_dumped_and_restored() {
    let Some(tools) = Tools::find() else { return };
    let (first, second) = (Server::start(Config::new()), Server::start(Config::new()));
    tools.script(first.sql_url(), &file("roles.sql"));
    tools.sql(first.sql_url(), "ALTER ROLE dump_reader PASSWORD 'secret'");
    tools.sql(first.sql_url(), "CREATE DATABASE \"Shop 2\"");
    tools.sql(first.sql_url(), "COMMENT ON DATABASE \"Shop 2\" IS 'the second one'");
    tools.sql(first.sql_url(), "ALTER DATABASE \"Shop 2\" SET work_mem = '8MB'");
    tools.sql(first.sql_url(), "GRANT CREATE ON DATABASE \"Shop 2\" TO dump_owner");
    tools.script(&first.sql_url().replace("/defaultdb", "/Shop%202"), &file("schema.sql"));
    let dump = tools.run("pg_dumpall", &["-d", first.sql_url()]);
    // The first superuser and the first databases are on every server.
    let dump = without_first(&dump);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("all.sql");
    std::fs::write(&file, &dump).expect("is written");
    tools.script(second.sql_url(), &file);
    let again = tools.run("pg_dumpall", &["-d", second.sql_url()]);
    assert_same("pg_dumpall", &dump, &without_first(&again));
    assert!(dump.contains("PASSWORD 'SCRAM-SHA-256$"), "superusers see passwords");
}

/// A dump without what makes the first superuser and the first database again.
fn without_first(dump: &str) -> String {
    let is_first = |line: &&str| {
        *line == "CREATE ROLE root;" || line.starts_with("CREATE DATABASE defaultdb ")
    };
    dump.lines().filter(|line| !is_first(line)).map(|line| format!("{line}\n")).collect()
}
