//! A schema that migrations have changed is dumped and restored like any other.

use braid_testkit::target::Target;

use super::tools::{Format, Tools, admin_url, assert_same, file, make_roles};

#[test]
fn a_dump_of_altered_tables_is_the_same_after_a_restore() {
    let Some(tools) = Tools::find() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut dumps = Vec::new();
        for target in Target::all() {
            make_roles(&tools, &target).await;
            let original = target.create_database("dump_altered").await;
            let from = admin_url(&original);
            tools.script(&from, &file("altered.sql"));
            let first = tools.dump(&from);
            let copy = target.create_database("dump_altered_copy").await;
            let to = admin_url(&copy);
            tools.copy(&from, &to, Format::Custom);
            let what = if target.is_postgres() { "PostgreSQL" } else { "BraidDB" };
            assert_same(what, &first, &tools.dump(&to));
            copy.drop().await;
            original.drop().await;
            dumps.push(first);
        }
        if let [ours, theirs] = dumps.as_slice() {
            assert_same("BraidDB's dump and PostgreSQL's", ours, theirs);
        }
    });
}
