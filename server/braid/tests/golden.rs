//! Golden scripts of SQL over the wire, one Rust test a file under `tests/scripts`.
//!
//! Each runs on a server of its own, or, with `POSTGRES_URL`, on a real PostgreSQL, where the same
//! files must pass; all but those in `braid/`, which show what is BraidDB's own.
//! `UPDATE_GOLDENFILES=1` records; read every line before you commit it.

use std::path::Path;

use braid_testkit::script;
use braid_testkit::target::Target;

/// The folder of scripts that PostgreSQL answers differently.
const OURS: &str = "braid";

test_each_file::test_each_path! { in "./server/braid/tests/scripts" => run }

fn run(path: &Path) {
    let target = Target::from_env();
    let is_ours = path.components().any(|part| part.as_os_str() == OURS);
    if !(is_ours && target.is_postgres()) {
        script::run(&target, path);
    }
}
