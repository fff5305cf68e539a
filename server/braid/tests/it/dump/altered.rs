//! A schema that migrations have changed is dumped and restored like any other.

use super::tools::{Format, admin_url, assert_same, file, on_each_target, server_name};

#[test]
fn a_dump_of_altered_tables_is_the_same_after_a_restore() {
    let dumps = on_each_target(async |tools, target| {
        let original = target.create_database("dump_altered").await;
        let from = admin_url(&original);
        tools.script(&from, &file("altered.sql"));
        let first = tools.dump(&from);
        let copy = target.create_database("dump_altered_copy").await;
        let to = admin_url(&copy);
        tools.copy(&from, &to, Format::Custom);
        assert_same(server_name(target), &first, &tools.dump(&to));
        copy.drop().await;
        original.drop().await;
        first
    });
    if let Some([ours, theirs]) = dumps.as_deref() {
        assert_same("BraidDB's dump and PostgreSQL's", ours, theirs);
    }
}
