//! Golden scripts of SQL over the wire, two Rust tests a file under `tests/scripts`.
//!
//! Each script runs on a server of its own and, if `POSTGRES_URL` names one, on a real PostgreSQL,
//! where the same files must pass; all but those in `scripts/braid`, which show what is BraidDB's
//! own. `UPDATE_GOLDENFILES=1` records, from PostgreSQL what runs there; read every line before you
//! commit it.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

use std::path::Path;

use braid_testkit::script;
use braid_testkit::target::Target;

test_each_file::test_each_path! { in "./server/braid/tests/scripts" as on_braid => on_braid }
test_each_file::test_each_path! { in "./server/braid/tests/scripts" as on_postgres => on_postgres }

/// Whether the script is about what PostgreSQL does not have, or does otherwise.
fn is_ours(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("scripts/braid"))
}

/// What TiKV's lock manager does otherwise, as `docs/architecture/kv-tikv.md` says.
const NOT_ON_TIKV: [(&str, &str); 10] = [
    ("braid/range_delete_of_many_rows", "rows of an ordinary table go one by one there"),
    ("locking/deadlock", "the victim of a deadlock is who closes the circle"),
    ("braid/server_retry", "the victim of a deadlock is who closes the circle"),
    ("locking/advisory_waits", "a circle through the lock of a row is not found"),
    ("locking/conflicts_many", "a commit meets index keys that a waiting insert has locked"),
    ("locking/lock_table", "nobody can be locked out of a table"),
    ("locking/for_update", "shared locks are taken as exclusive ones"),
    ("transactions/prepared", "locks end with their gateway, so nothing can be prepared"),
    ("braid/prepared_groups", "locks end with their gateway, so nothing can be prepared"),
    ("locking/returned_rows", "shared locks are taken as exclusive ones"),
];

fn on_braid(path: &Path) {
    let differs = NOT_ON_TIKV.iter().find(|(script, _)| path.ends_with(script));
    if let Some((script, why)) = differs.filter(|_| braid_testkit::store::is_tikv()) {
        println!("skipped: {script} is otherwise on TiKV: {why}");
        return;
    }
    let is_recording = std::env::var_os("UPDATE_GOLDENFILES").is_some();
    // PostgreSQL is what both are compared with.
    if is_recording && !is_ours(path) && Target::postgres().is_some() {
        return;
    }
    script::run(&Target::from_env(), path);
}

fn on_postgres(path: &Path) {
    if is_ours(path) {
        return;
    }
    match Target::postgres() {
        Some(target) => script::run(&target, path),
        None => println!("skipped: POSTGRES_URL does not name a PostgreSQL to compare with"),
    }
}
