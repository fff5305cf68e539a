//! A schema with an object of every kind, dumped in every format from either server and restored
//! into either: the second dump is the first.

use braid_testkit::target::Target;

use super::tools::{Format, Tools, admin_url, assert_same, file, make_roles, server_name};

#[test]
fn a_dump_is_the_same_after_a_restore() {
    let Some(tools) = Tools::find() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let targets: Vec<Target> = Target::all().collect();
        for target in &targets {
            make_roles(&tools, target).await;
        }
        let mut first_dumps = Vec::new();
        for source in &targets {
            let original = source.create_database("dump_source").await;
            let from = admin_url(&original);
            tools.script(&from, &file("schema.sql"));
            let first = tools.dump(&from);
            for target in &targets {
                for &format in Format::of_size() {
                    let what = format!("{format:?} into {}", server_name(target));
                    let copy = target.create_database("dump_copy").await;
                    let to = admin_url(&copy);
                    tools.copy(&from, &to, format);
                    assert_same(&what, &first, &tools.dump(&to));
                    copy.drop().await;
                }
            }
            first_dumps.push(first);
            original.drop().await;
        }
        if let [ours, theirs] = first_dumps.as_slice() {
            assert_same("BraidDB's dump and PostgreSQL's", ours, theirs);
        }
    });
}
