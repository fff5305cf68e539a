//! Golden scripts of SQL over the wire, one Rust test a file under `tests/scripts`.
//!
//! Each runs on a server of its own, or, with `POSTGRES_URL`, on a real PostgreSQL, where the same
//! files must pass. `UPDATE_GOLDENFILES=1` records; read every line before you commit it.

use std::path::Path;

use braid_testkit::script;
use braid_testkit::target::Target;

test_each_file::test_each_path! { in "./server/braid/tests/scripts" => run }

fn run(path: &Path) {
    script::run(&Target::from_env(), path);
}
