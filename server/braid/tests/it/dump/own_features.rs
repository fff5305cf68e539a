//! What only BraidDB has is dumped as what PostgreSQL can read: rows and constraints stay, where
//! they lie is lost.

use braid_testkit::target::Target;

use super::tools::{Format, Tools, admin_url, assert_same, make_roles};

const SCHEMA: &str = "
    CREATE TABLE parent (a int PRIMARY KEY, b text);
    CREATE TABLE child (a int, c int, d text, PRIMARY KEY (a, c))
        INTERLEAVE IN PARENT parent (a) ON DELETE CASCADE;
    CREATE TABLE placed (a int, c int, PRIMARY KEY (a, c)) INTERLEAVE IN PARENT parent (a);
    CREATE TABLE families (id int PRIMARY KEY, hot int, cold text,
        FAMILY f1 (id, hot), FAMILY f2 (cold));
    CREATE TABLE descending (a int, b int, PRIMARY KEY (a, b DESC));
    CREATE INDEX stored ON families (hot) STORING (cold);
    CREATE INDEX inside ON placed (a, c DESC) INTERLEAVE IN PARENT parent (a);
    CREATE TABLE loose (bytes BYTES, string STRING);
    INSERT INTO parent VALUES (1, 'x'), (2, 'y');
    INSERT INTO child VALUES (1, 1, 'one'), (2, 1, 'two');
    INSERT INTO placed VALUES (1, 1), (9, 9);
    INSERT INTO families VALUES (1, 2, 'three');
    INSERT INTO descending VALUES (1, 1), (1, 2);
    INSERT INTO loose VALUES ('a', 'b'), (NULL, NULL);";

#[test]
fn what_only_braiddb_has_is_dumped_for_postgresql() {
    let Some(tools) = Tools::find() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let source = Target::from_env();
        make_roles(&tools, &source).await;
        let original = source.create_database("dump_own").await;
        let from = admin_url(&original);
        tools.sql(&from, SCHEMA);
        let first = tools.dump(&from);
        assert!(first.contains("REFERENCES public.parent(a) ON DELETE CASCADE"), "{first}");
        assert!(first.contains("INCLUDE (cold)"), "{first}");
        assert!(!first.contains("INTERLEAVE") && !first.contains("braid_internal"), "{first}");
        for target in Target::all() {
            make_roles(&tools, &target).await;
            let copy = target.create_database("dump_own_copy").await;
            let to = admin_url(&copy);
            tools.copy(&from, &to, Format::Custom);
            assert_same("own features", &sorted(&first), &sorted(&tools.dump(&to)));
            copy.drop().await;
        }
    });
}

/// Rows of a primary key that descends come in another order from PostgreSQL.
fn sorted(dump: &str) -> String {
    let mut lines: Vec<&str> = dump.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}
