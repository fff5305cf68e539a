//! Random tables with random foreign keys, and random statements over them.

use std::fmt::Write;

use braid_testkit::random::Random;

/// The columns of every table, in order: `id`, `k`, `u`, `a`, `b`, `n`.
pub(super) const COLUMNS: [&str; 6] = ["id", "k", "u", "a", "b", "n"];
/// Keys are small, so that rows meet.
const VALUES: u64 = 6;

/// What happens to children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

impl Action {
    fn sql(self) -> &'static str {
        match self {
            Action::Nothing => "NO ACTION",
            Action::Restrict => "RESTRICT",
            Action::Cascade => "CASCADE",
            Action::SetNull => "SET NULL",
            Action::SetDefault => "SET DEFAULT",
        }
    }
}

/// A foreign key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub name: String,
    pub child: usize,
    pub parent: usize,
    /// Places of its columns and of those pointed at.
    pub columns: Vec<usize>,
    pub parent_columns: Vec<usize>,
    pub full: bool,
    pub on_delete: Action,
    pub on_update: Action,
    /// ON DELETE SET … (columns).
    pub delete_columns: Vec<usize>,
    pub deferrable: bool,
    pub deferred: bool,
    pub indexed: bool,
}

/// A table; `n` is no part of any key.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub key: Vec<usize>,
    pub defaults: Vec<Option<i64>>,
    pub not_null: Vec<bool>,
    /// `CHECK (a < 5)`.
    pub check: bool,
    /// `id`, `k` and `u` are numeric; integers point at them.
    pub numeric: bool,
}

pub(super) type Value = Option<i64>;

/// Which rows: those whose first key column is in a list, or at least a value.
#[derive(Clone, Debug)]
pub(super) enum Which {
    In(Vec<i64>),
    From(i64),
}

/// One statement.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Insert {
        table: usize,
        rows: Vec<Vec<Value>>,
    },
    Update {
        table: usize,
        set: Vec<(usize, Value)>,
        which: Which,
    },
    Delete {
        table: usize,
        which: Which,
    },
    Begin,
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
    /// Of these foreign keys; `None`: all.
    SetConstraints(Option<usize>, bool),
}

/// The tables of a seed.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub tables: Vec<Table>,
    pub keys: Vec<Key>,
}

fn value(random: &mut Random) -> Value {
    if random.one_in(7) { None } else { Some(random.below(VALUES) as i64) }
}

fn action(random: &mut Random) -> Action {
    *random.pick(&[
        Action::Nothing,
        Action::Restrict,
        Action::Cascade,
        Action::Cascade,
        Action::Cascade,
        Action::SetNull,
        Action::SetDefault,
    ])
}

impl World {
    pub(super) fn new(random: &mut Random) -> Self {
        let count = 1 + random.below(4) as usize;
        let tables: Vec<Table> = (0..count)
            .map(|_| {
                let keys: [&[usize]; 4] = [&[0], &[0], &[0, 1], &[3, 0]];
                let key = random.pick(&keys);
                let mut not_null = vec![false; COLUMNS.len()];
                key.iter().for_each(|place| not_null[*place] = true);
                not_null[3] |= random.one_in(6);
                let mut defaults = vec![None; COLUMNS.len()];
                defaults[1] = Some(0);
                defaults[3] = value(random);
                defaults[4] = value(random);
                let (check, numeric) = (random.one_in(6), random.one_in(3));
                Table { key: key.to_vec(), defaults, not_null, check, numeric }
            })
            .collect();
        let mut keys = Vec::new();
        for child in 0..count {
            for number in 0..random.below(4) as usize {
                let parent = random.below(count as u64) as usize;
                let target = if random.one_in(3) { vec![2] } else { tables[parent].key.clone() };
                let columns = match target.len() {
                    1 => vec![*random.pick(&[3, 3, 4])],
                    _ => vec![3, 4],
                };
                let deferrable = random.one_in(3);
                let on_delete = action(random);
                let sets = matches!(on_delete, Action::SetNull | Action::SetDefault);
                let some = sets && columns.len() > 1 && random.one_in(3);
                keys.push(Key {
                    name: format!("f{child}{number}"),
                    child,
                    parent,
                    parent_columns: target,
                    full: random.one_in(4),
                    on_delete,
                    on_update: action(random),
                    delete_columns: if some { vec![4] } else { Vec::new() },
                    deferrable,
                    deferred: deferrable && random.one_in(2),
                    indexed: !random.one_in(3),
                    columns,
                });
            }
        }
        World { tables, keys }
    }

    /// The statements that make the tables. On PostgreSQL every foreign key has an index, so that
    /// it finds children in the order of their keys.
    pub(super) fn ddl(&self, on_postgres: bool) -> Vec<String> {
        let list = |places: &[usize]| {
            let names: Vec<&str> = places.iter().map(|place| COLUMNS[*place]).collect();
            names.join(", ")
        };
        let mut all = Vec::new();
        for (i, table) in self.tables.iter().enumerate() {
            let mut text = format!("CREATE TABLE t{i} (");
            for (place, name) in COLUMNS.iter().enumerate() {
                let ty = if table.numeric && place < 3 { "numeric" } else { "int" };
                let _ = write!(text, "{name} {ty}");
                if let Some(default) = table.defaults[place] {
                    let _ = write!(text, " DEFAULT {default}");
                }
                if table.not_null[place] {
                    text.push_str(" NOT NULL");
                }
                text.push_str(", ");
            }
            if table.check {
                text.push_str("CHECK (a < 5), ");
            }
            let _ = write!(text, "UNIQUE (u), PRIMARY KEY ({}))", list(&table.key));
            all.push(text);
        }
        for (number, key) in self.keys.iter().enumerate() {
            let mut text = format!(
                "ALTER TABLE t{} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES t{} ({}){} \
                 ON DELETE {}",
                key.child,
                key.name,
                list(&key.columns),
                key.parent,
                list(&key.parent_columns),
                if key.full { " MATCH FULL" } else { "" },
                key.on_delete.sql(),
            );
            if !key.delete_columns.is_empty() {
                let _ = write!(text, " ({})", list(&key.delete_columns));
            }
            let _ = write!(text, " ON UPDATE {}", key.on_update.sql());
            if key.deferrable {
                text.push_str(" DEFERRABLE");
            }
            if key.deferred {
                text.push_str(" INITIALLY DEFERRED");
            }
            all.push(text);
            if on_postgres || key.indexed {
                let mut columns = key.columns.clone();
                let primary = self.tables[key.child].key.iter();
                columns.extend(primary.filter(|place| !key.columns.contains(place)));
                all.push(format!("CREATE INDEX i{number} ON t{} ({})", key.child, list(&columns)));
            }
        }
        all
    }

    fn which(&self, random: &mut Random) -> Which {
        match random.below(4) {
            0 => Which::From(random.below(VALUES) as i64),
            1 => {
                let mut list: Vec<i64> = (0..2).map(|_| random.below(VALUES) as i64).collect();
                list.sort_unstable();
                list.dedup();
                Which::In(list)
            }
            _ => Which::In(vec![random.below(VALUES) as i64]),
        }
    }

    /// A statement that changes rows.
    pub(super) fn change(&self, random: &mut Random) -> Op {
        let table = random.below(self.tables.len() as u64) as usize;
        match random.below(10) {
            0..5 => {
                let rows = (0..=random.below(3))
                    .map(|_| {
                        let mut row: Vec<Value> = COLUMNS.iter().map(|_| value(random)).collect();
                        row[0] = Some(row[0].unwrap_or(1));
                        row[1] = Some((row[1].unwrap_or(0)) % 2);
                        row
                    })
                    .collect();
                Op::Insert { table, rows }
            }
            5..8 => {
                let places = [0, 0, 2, 3, 3, 4, 5, 1];
                let mut set = vec![(*random.pick(&places), value(random))];
                if random.one_in(3) {
                    let place = *random.pick(&places);
                    if set[0].0 != place {
                        set.push((place, value(random)));
                    }
                }
                let changes_key = set
                    .iter()
                    .any(|(place, _)| *place == 2 || self.tables[table].key.contains(place));
                let which = match self.which(random) {
                    // Rows that move do not meet each other: PostgreSQL would look row by row.
                    which if changes_key => Which::In(vec![match which {
                        Which::In(list) => list[0],
                        Which::From(value) => value,
                    }]),
                    which => which,
                };
                Op::Update { table, set, which }
            }
            _ => Op::Delete { table, which: self.which(random) },
        }
    }

    /// A transaction: one statement, or a block.
    pub(super) fn transaction(&self, random: &mut Random) -> Vec<Op> {
        if !random.one_in(3) {
            return vec![self.change(random)];
        }
        let mut ops = vec![Op::Begin];
        let mut has_savepoint = false;
        for _ in 0..=random.below(6) {
            match random.below(9) {
                0 if !has_savepoint => {
                    has_savepoint = true;
                    ops.push(Op::Savepoint);
                }
                1 if has_savepoint => ops.push(Op::RollbackTo),
                2 => {
                    let one = (0..self.keys.len()).filter(|i| self.keys[*i].deferrable);
                    let one: Vec<usize> = one.collect();
                    let which = if one.is_empty() || random.one_in(2) {
                        None
                    } else {
                        Some(*random.pick(&one))
                    };
                    ops.push(Op::SetConstraints(which, !random.one_in(3)));
                }
                _ => ops.push(self.change(random)),
            }
        }
        ops.push(if random.one_in(8) { Op::Rollback } else { Op::Commit });
        ops
    }

    /// The statement as SQL.
    pub(super) fn sql(&self, op: &Op) -> String {
        let text = |value: &Value| value.map_or("NULL".to_owned(), |value| value.to_string());
        let filter = |table: usize, which: &Which| {
            let column = COLUMNS[self.tables[table].key[0]];
            match which {
                Which::From(value) => format!("{column} >= {value}"),
                Which::In(list) => {
                    let list: Vec<String> = list.iter().map(i64::to_string).collect();
                    format!("{column} IN ({})", list.join(", "))
                }
            }
        };
        match op {
            Op::Insert { table, rows } => {
                let row = |row: &Vec<Value>| {
                    let values: Vec<String> = row.iter().map(text).collect();
                    format!("({})", values.join(", "))
                };
                let rows: Vec<String> = rows.iter().map(row).collect();
                format!("INSERT INTO t{table} VALUES {}", rows.join(", "))
            }
            Op::Update { table, set, which } => {
                let set: Vec<String> = set
                    .iter()
                    .map(|(place, value)| format!("{} = {}", COLUMNS[*place], text(value)))
                    .collect();
                format!("UPDATE t{table} SET {} WHERE {}", set.join(", "), filter(*table, which))
            }
            Op::Delete { table, which } => {
                format!("DELETE FROM t{table} WHERE {}", filter(*table, which))
            }
            Op::Begin => "BEGIN".to_owned(),
            Op::Commit => "COMMIT".to_owned(),
            Op::Rollback => "ROLLBACK".to_owned(),
            Op::Savepoint => "SAVEPOINT s".to_owned(),
            Op::RollbackTo => "ROLLBACK TO s".to_owned(),
            Op::SetConstraints(which, deferred) => {
                let what = which.map_or("ALL", |key| &self.keys[key].name);
                let word = if *deferred { "DEFERRED" } else { "IMMEDIATE" };
                format!("SET CONSTRAINTS {what} {word}")
            }
        }
    }
}
