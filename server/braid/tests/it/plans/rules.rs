//! Golden scripts of plans: what each rule of the planner changes (EXPLAIN (RULES)), and the plans
//! of TPC-H. They lie beside the planner, in `server/plan/tests`.
//!
//! `UPDATE_GOLDENFILES=1` records; read every line before you commit it.

use std::path::Path;

use braid_testkit::script;
use braid_testkit::target::Target;

test_each_file::test_each_path! { in "./server/plan/tests/rules" as rules => run }
test_each_file::test_each_path! { in "./server/plan/tests/tpch" as tpch => run }

fn run(path: &Path) {
    script::run(&Target::from_env(), path);
}
