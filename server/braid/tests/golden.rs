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

fn on_braid(path: &Path) {
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
