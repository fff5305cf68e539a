//! Two servers, with `share_plans` on and off, that are asked the same at random.

use std::ops::Range;

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;

use super::side::Side;

/// Of one seed.
const STATEMENTS: u64 = 60;

/// What was asked, and the two answers.
pub(super) type Step = (String, (String, String));

/// The two servers, and what both have prepared.
pub(super) struct Sides {
    shared: Side,
    plain: Side,
    /// Drops the tables and makes them again.
    tables: &'static str,
    /// The last statement that was prepared, and its number of parameters.
    pub last: Option<(String, usize)>,
}

impl Sides {
    /// Starts both.
    pub(super) fn start(tables: &'static str) -> Sides {
        Sides { shared: Side::start(), plain: Side::start(), tables, last: None }
    }

    /// The answers of both.
    pub(super) fn both(&mut self, mut ask: impl FnMut(&mut Side) -> String) -> (String, String) {
        (ask(&mut self.shared), ask(&mut self.plain))
    }

    fn begin(&mut self) {
        self.last = None;
        for side in [&mut self.shared, &mut self.plain] {
            side.query("ROLLBACK");
            let answer = side.query(self.tables);
            assert!(!answer.contains("ErrorResponse"), "{answer}");
        }
        self.plain.query("SET share_plans = off");
    }

    /// Runs something that may put all settings back.
    pub(super) fn other(&mut self, sql: &str) -> (String, String) {
        let answers = self.both(|side| side.query(sql));
        if sql == "RESET ALL" {
            self.plain.query("SET share_plans = off");
        }
        answers
    }

    /// Prepares a statement on both and runs it a few times.
    pub(super) fn prepare(
        &mut self,
        name: String,
        sql: &str,
        parameters: usize,
        runs: &[Vec<String>],
    ) -> (String, String) {
        let answers = self.both(|side| side.extended(&name, sql, runs));
        if !answers.0.contains("ErrorResponse") {
            self.last = Some((name, parameters));
        }
        answers
    }

    fn same(&mut self, seed: u64, sql: &str) {
        let (shared, plain) = self.both(|side| side.query(sql));
        check_same(seed, sql, &shared, &plain);
    }

    /// Takes random steps, each seed on new tables; in the end what `contents` show is the same.
    pub(super) fn run(
        &mut self,
        seeds: Range<u64>,
        contents: &[&str],
        step: impl Fn(&mut Sides, u64, &mut Random) -> Step,
    ) {
        let (mut done, mut refused) = (0, 0);
        for seed in seeds {
            let mut random = Random::new(seed);
            self.begin();
            for number in 0..STATEMENTS {
                let (sql, (shared, plain)) = step(self, number, &mut random);
                check_same(seed, &sql, &shared, &plain);
                // A barrier: else time decides where a statement that nobody waited for fails.
                self.same(seed, "SELECT 1");
                if !shared.contains("ErrorResponse") {
                    done += 1;
                    continue;
                }
                refused += 1;
                if random.one_in(2) {
                    self.same(seed, "ROLLBACK");
                }
            }
            for sql in ["COMMIT", "RESET ALL"].iter().chain(contents) {
                self.same(seed, sql);
            }
        }
        assert!(done > refused / 4, "{done} statements ran, {refused} were refused");
    }
}

/// The seed of the environment, or the seeds of the test size.
pub(super) fn seeds(small: u64, medium: u64, full: u64) -> Range<u64> {
    match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(small, medium, full),
    }
}

/// Compares two answers, message by message.
fn check_same(seed: u64, sql: &str, shared: &str, plain: &str) {
    for (a, b) in shared.lines().zip(plain.lines()) {
        assert_eq!(a, b, "BRAID_TEST_SEED={seed}: {sql}");
    }
    assert_eq!(shared, plain, "BRAID_TEST_SEED={seed}: {sql}");
    let is_bug = shared.contains("(closed)") || shared.contains("ERROR XX");
    assert!(!is_bug, "BRAID_TEST_SEED={seed}: {sql}: {shared}");
}
