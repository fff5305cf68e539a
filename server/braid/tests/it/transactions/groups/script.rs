//! Random tables and random transactions over them.

use std::fmt::Write;

use braid_testkit::random::Random;

use super::triggers;

/// One statement, and whether it is sent with the clause.
pub(super) struct Step {
    pub sql: String,
    pub is_queued: bool,
}

/// What ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A query.
    Query,
    /// `RELEASE`
    Release,
    /// `ROLLBACK TO`, with everything that the block may have failed in.
    Undo,
    /// The end of the transaction.
    Nothing,
}

/// Statements that stay or go together.
pub(super) struct Block {
    pub has_savepoint: bool,
    pub steps: Vec<Step>,
    pub end: End,
}

/// A transaction.
pub(super) struct Script {
    pub begin: &'static str,
    pub blocks: Vec<Block>,
    pub commits: bool,
}

/// The tables of one seed.
pub(super) struct World {
    random: Random,
    has_parent: bool,
    /// Keys that were surely never used.
    fresh: u64,
}

pub(super) const CONTENTS: [&str; 4] = [
    "SELECT * FROM parent ORDER BY id",
    "SELECT * FROM item ORDER BY id",
    "SELECT * FROM pair ORDER BY x, y",
    "SELECT * FROM tally ORDER BY id",
];

impl World {
    /// The tables of a seed, and the statements that make them.
    pub(super) fn new(seed: u64) -> (World, Vec<String>) {
        let mut random = Random::new(seed);
        let has_parent = random.percent(70);
        let unique = if random.percent(60) { " UNIQUE" } else { "" };
        let references = match random.below(7) {
            _ if !has_parent => "",
            0 => " REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE",
            1 => " REFERENCES parent ON DELETE SET NULL",
            2 => " REFERENCES parent ON UPDATE SET NULL ON DELETE CASCADE",
            3 => " REFERENCES parent DEFERRABLE INITIALLY DEFERRED",
            _ => " REFERENCES parent",
        };
        let families =
            if random.percent(30) { ", FAMILY f1 (id, u), FAMILY f2 (k, p)" } else { "" };
        let mut tables = vec![
            "CREATE TABLE parent (id int PRIMARY KEY, n int)".to_owned(),
            format!(
                "CREATE TABLE item (id int PRIMARY KEY, u int{unique}, k int CHECK (k < 60), \
                 p int{references}{families})"
            ),
            "CREATE TABLE pair (x int, y int, v int, PRIMARY KEY (x, y))".to_owned(),
            triggers::TALLY.to_owned(),
        ];
        if random.percent(60) {
            tables.push("CREATE INDEX item_k ON item (k)".to_owned());
        }
        if random.percent(40) {
            tables.push("CREATE INDEX item_p ON item (p) STORING (k)".to_owned());
        }
        if random.percent(40) {
            tables.push("CREATE UNIQUE INDEX pair_v ON pair (v)".to_owned());
        }
        tables.push("INSERT INTO parent SELECT g, g FROM generate_series(0, 5) g".to_owned());
        tables.push("INSERT INTO item SELECT g, g, g, 1 FROM generate_series(0, 5) g".to_owned());
        tables.push("INSERT INTO pair SELECT g / 3, g % 3, g FROM generate_series(0, 8) g".into());
        tables.extend(triggers::some(&mut random));
        (World { random, has_parent, fresh: 1000 }, tables)
    }

    /// A transaction.
    pub(super) fn script(&mut self) -> Script {
        let random = &mut self.random;
        let begin = match random.below(10) {
            0 => "BEGIN ISOLATION LEVEL READ COMMITTED",
            1 => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            _ => "BEGIN",
        };
        let commits = random.percent(90);
        let count = 1 + random.below(4);
        let mut blocks = Vec::new();
        for place in 0..count {
            let is_last = place + 1 == count;
            let end = match self.random.below(4) {
                _ if is_last => End::Nothing,
                0 => End::Release,
                1 => End::Undo,
                _ => End::Query,
            };
            let has_savepoint = match end {
                End::Release | End::Undo => true,
                End::Query => self.random.percent(50),
                End::Nothing => false,
            };
            let steps = 1 + self.random.below(5);
            let steps = (0..steps).map(|_| self.step()).collect();
            blocks.push(Block { has_savepoint, steps, end });
        }
        Script { begin, blocks, commits }
    }

    fn step(&mut self) -> Step {
        let sql = match self.random.below(3) {
            0 => self.on_parent(),
            1 => self.on_item(),
            _ => self.on_pair(),
        };
        Step { sql, is_queued: self.random.percent(80) }
    }

    /// A key: often one that exists, often a new one.
    fn key(&mut self) -> u64 {
        if self.random.percent(40) {
            self.fresh += 1;
            self.fresh
        } else {
            self.random.below(10)
        }
    }

    fn small(&mut self) -> u64 {
        self.random.below(8)
    }

    fn on_parent(&mut self) -> String {
        let (key, small, other) = (self.key(), self.small(), self.small());
        match self.random.below(9) {
            0 => format!("INSERT INTO parent VALUES ({key}, {small})"),
            1 => format!("INSERT INTO parent VALUES ({key}, 1) ON CONFLICT DO NOTHING"),
            2 => format!("UPDATE parent SET n = n + 1 WHERE id = {small}"),
            3 => format!("UPDATE parent SET n = 5 / (n - {other}) WHERE id = {small}"),
            4 => format!("UPDATE parent SET id = {key} WHERE id = {small}"),
            5 => format!("DELETE FROM parent WHERE id = {small}"),
            6 => format!("UPDATE parent SET n = n * 2 WHERE n < 1000 AND id >= {small}"),
            7 => format!("UPSERT INTO parent VALUES ({small}, {other})"),
            _ => format!(
                "INSERT INTO parent SELECT id + {}, n FROM parent WHERE id = {small}",
                self.fresh_block()
            ),
        }
    }

    fn fresh_block(&mut self) -> u64 {
        self.fresh += 100;
        self.fresh
    }

    fn on_item(&mut self) -> String {
        let (key, small, other) = (self.key(), self.small(), self.small());
        let (u, k) = (self.key(), self.random.below(62));
        let p = if self.has_parent && self.random.percent(90) {
            self.random.below(6).to_string()
        } else {
            "NULL".to_owned()
        };
        match self.random.below(12) {
            0 | 1 => format!("INSERT INTO item VALUES ({key}, {u}, {k}, {p})"),
            2 => format!("UPDATE item SET k = k + 1 WHERE id = {small}"),
            3 => format!("UPDATE item SET u = {u} WHERE id = {small}"),
            4 => format!("UPDATE item SET p = {p} WHERE id = {small}"),
            5 => format!("UPDATE item SET k = {other} WHERE k = {small}"),
            6 => format!("DELETE FROM item WHERE id IN ({small}, {other})"),
            7 => format!("DELETE FROM item WHERE k = {small}"),
            8 => format!("UPSERT INTO item VALUES ({small}, {u}, {other}, {p})"),
            9 => format!(
                "INSERT INTO item VALUES ({small}, {u}, 1, NULL) \
                 ON CONFLICT (id) DO UPDATE SET k = item.k + {other}"
            ),
            10 => format!(
                "UPDATE item SET k = (SELECT n % 50 FROM parent WHERE id = {other}) \
                 WHERE id = {small}"
            ),
            _ => format!("UPDATE item SET id = {key}, k = {other} WHERE id = {small}"),
        }
    }

    fn on_pair(&mut self) -> String {
        let (x, y, v) = (self.random.below(4), self.random.below(4), self.key());
        let other = self.random.below(4);
        match self.random.below(8) {
            0 => format!("INSERT INTO pair VALUES ({x}, {y}, {v})"),
            1 => {
                self.fresh += 10;
                let fresh = self.fresh;
                format!(
                    "INSERT INTO pair VALUES ({fresh}, {y}, {fresh}), ({fresh}, {other}, {fresh}+1)"
                )
            }
            2 => format!("UPDATE pair SET v = v + 1000 WHERE x = {x} AND y = {y}"),
            3 => format!("UPDATE pair SET v = {v} WHERE (x, y) = ({x}, {y})"),
            4 => format!("DELETE FROM pair WHERE x = {x}"),
            5 => format!("DELETE FROM pair WHERE x = {x} AND y >= {y}"),
            6 => format!("UPSERT INTO pair VALUES ({x}, {y}, {v}), ({}, {y}, {v}+7)", x + 10),
            _ => format!(
                "INSERT INTO pair SELECT id, {y}, id + {} FROM parent WHERE id <= {other}",
                self.fresh_block()
            ),
        }
    }
}

impl Script {
    /// The statements as a human reads them.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.begin);
        for block in &self.blocks {
            if block.has_savepoint {
                text.push_str("SAVEPOINT sp\n");
            }
            for step in &block.steps {
                let clause = if step.is_queued { " RETURNING NOTHING" } else { "" };
                writeln!(text, "  {}{clause}", step.sql).expect("a string takes it");
            }
            writeln!(text, "{:?}", block.end).expect("a string takes it");
        }
        text.push_str(if self.commits { "COMMIT\n" } else { "ROLLBACK\n" });
        text
    }
}
