//! Random hierarchies of interleaved tables, their rows, and DELETEs on them.

use braid_testkit::random::Random;

/// Types of key columns with values that are hard to tell apart by their bytes.
const TYPES: [(&str, &[&str]); 4] = [
    ("int", &["-1", "0", "1", "109", "110", "255", "256", "70000"]),
    ("text", &["''", "'a'", "'ab'", "'b'", "E'\\x01'", "E'\\x02a'", "'ÿ'"]),
    ("bytea", &["''", "'\\xff'", "'\\xff00'", "'\\xffff'", "'\\x00'", "'\\x01'"]),
    ("numeric(6,2)", &["-2", "0", "1.50", "2", "99.99", "100"]),
];

/// A key column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    name: String,
    ty: usize,
    descending: bool,
}

/// How rows of a table hang on their parents.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tie {
    Action(&'static str),
    ForeignKey(&'static str),
    Placement,
}

/// A table of a hierarchy.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub name: String,
    parent: Option<usize>,
    /// The whole primary key.
    keys: Vec<Column>,
    tie: Tie,
    families: bool,
    indexes: Vec<String>,
    /// Keys of rows that were inserted, as literals.
    rows: Vec<Vec<String>>,
}

/// Tables, the root first, and one that points at them from outside.
pub(super) struct Hierarchy {
    pub tables: Vec<Table>,
    outsider: Option<(usize, &'static str)>,
}

impl Hierarchy {
    pub(super) fn new(random: &mut Random) -> Hierarchy {
        let mut tables: Vec<Table> = Vec::new();
        let count = 2 + random.below(4) as usize;
        for i in 0..count {
            let depth = |mut at: usize, tables: &[Table]| {
                let mut levels = 1;
                while let Some(parent) = tables[at].parent {
                    (at, levels) = (parent, levels + 1);
                }
                levels
            };
            let fits: Vec<usize> = (0..i).filter(|at| depth(*at, &tables) < 4).collect();
            let parent = (i > 0).then(|| fits[random.below(fits.len() as u64) as usize]);
            let mut keys = parent.map(|at| tables[at].keys.clone()).unwrap_or_default();
            let own = if parent.is_some() { random.below(3) } else { 1 + random.below(2) };
            for column in 0..own {
                keys.push(Column {
                    name: format!("k{i}{column}"),
                    ty: random.below(4) as usize,
                    descending: random.below(2) == 0,
                });
            }
            let tie = match random.below(12) {
                0 => Tie::Placement,
                1 => Tie::Action("NO ACTION"),
                2 => Tie::ForeignKey("NO ACTION"),
                3..=6 => Tie::ForeignKey("CASCADE"),
                _ => Tie::Action("CASCADE"),
            };
            tables.push(Table {
                name: format!("t{i}"),
                parent,
                keys,
                tie,
                families: random.below(4) == 0,
                indexes: Vec::new(),
                rows: Vec::new(),
            });
            for n in 0..random.below(3) {
                let index = index(random, &tables, i, n);
                tables[i].indexes.push(index);
            }
        }
        let action = *random.pick(&["CASCADE", "NO ACTION", "SET NULL"]);
        let outsider =
            (random.below(5) == 0).then(|| (random.below(count as u64) as usize, action));
        Hierarchy { tables, outsider }
    }

    /// The statements that make the tables.
    pub(super) fn create(&self) -> Vec<String> {
        let mut list: Vec<String> = self.tables.iter().map(|table| self.table_sql(table)).collect();
        list.extend(self.tables.iter().flat_map(|table| table.indexes.clone()));
        if let Some((at, action)) = self.outsider {
            let table = &self.tables[at];
            let columns = |keys: &[Column]| {
                let list: Vec<String> =
                    keys.iter().map(|c| format!("{} {}", c.name, TYPES[c.ty].0)).collect();
                list.join(", ")
            };
            list.push(format!(
                "CREATE TABLE outsider (id int PRIMARY KEY, {}, FOREIGN KEY ({names}) REFERENCES \
                 {} ({names}) ON DELETE {action})",
                columns(&table.keys),
                table.name,
                names = names(&table.keys),
            ));
        }
        list
    }

    fn table_sql(&self, table: &Table) -> String {
        let columns: Vec<String> = table
            .keys
            .iter()
            .map(|column| format!("{} {}", column.name, TYPES[column.ty].0))
            .collect();
        let keys: Vec<String> = table
            .keys
            .iter()
            .map(|c| format!("{}{}", c.name, if c.descending { " DESC" } else { "" }))
            .collect();
        let mut sql = format!(
            "CREATE TABLE {} ({}, v int, w text, PRIMARY KEY ({})",
            table.name,
            columns.join(", "),
            keys.join(", ")
        );
        if table.families {
            sql += &format!(", FAMILY ({}, v), FAMILY (w)", names(&table.keys));
        }
        let Some(parent) = table.parent.map(|at| &self.tables[at]) else { return sql + ")" };
        let above = names(&parent.keys);
        if let Tie::ForeignKey(action) = table.tie {
            sql += &format!(
                ", FOREIGN KEY ({above}) REFERENCES {} ({above}) ON DELETE {action}",
                parent.name
            );
        }
        sql += &format!(") INTERLEAVE IN PARENT {} ({above})", parent.name);
        match table.tie {
            Tie::Action(action) => sql + &format!(" ON DELETE {action}"),
            _ => sql,
        }
    }

    /// Every table's name.
    pub(super) fn names(&self) -> Vec<String> {
        let outsider = self.outsider.map(|_| "outsider".to_owned());
        self.tables.iter().map(|table| table.name.clone()).chain(outsider).collect()
    }

    /// An INSERT of a row, mostly below a row that is likely to be there.
    pub(super) fn insert(&mut self, random: &mut Random) -> String {
        let at = random.below(self.tables.len() as u64 + 1) as usize;
        if let (Some((target, _)), true) = (self.outsider, at == self.tables.len()) {
            let key = self.key(random, target);
            let id = random.below(1_000);
            return format!("INSERT INTO outsider VALUES ({id}, {})", key.join(", "));
        }
        let at = at.min(self.tables.len() - 1);
        let mut key = match self.tables[at].parent {
            Some(parent) => self.key(random, parent),
            None => Vec::new(),
        };
        for column in &self.tables[at].keys[key.len()..] {
            key.push(random.pick(TYPES[column.ty].1).to_string());
        }
        let table = &mut self.tables[at];
        table.rows.push(key.clone());
        let (v, w) = (random.below(5), random.below(3));
        let w = if w == 0 { "NULL".to_owned() } else { format!("'w{w}'") };
        format!("INSERT INTO {} VALUES ({}, {v}, {w})", table.name, key.join(", "))
    }

    /// The key of some row of a table.
    fn key(&self, random: &mut Random, at: usize) -> Vec<String> {
        let rows = &self.tables[at].rows;
        if rows.is_empty() || random.below(20) == 0 {
            let columns = self.tables[at].keys.iter();
            return columns.map(|column| random.pick(TYPES[column.ty].1).to_string()).collect();
        }
        rows[random.below(rows.len() as u64) as usize].clone()
    }

    /// A DELETE, mostly of what is one or more spans of a primary key.
    pub(super) fn delete(&self, random: &mut Random) -> String {
        let at = if random.below(2) == 0 { 0 } else { random.below(self.tables.len() as u64) };
        let table = &self.tables[at as usize];
        let key = self.key(random, at as usize);
        let count = random.below(key.len() as u64 + 1) as usize;
        let mut conditions: Vec<String> = Vec::new();
        for (column, value) in table.keys.iter().zip(&key).take(count) {
            if random.below(6) == 0 {
                let other = random.pick(TYPES[column.ty].1);
                conditions.push(format!("{} IN ({value}, {other})", column.name));
            } else {
                conditions.push(format!("{} = {value}", column.name));
            }
        }
        if let Some((column, value)) = table.keys.iter().zip(&key).nth(count)
            && random.below(3) == 0
        {
            let op = random.pick(&["<", "<=", ">", ">="]);
            conditions.push(format!("{} {op} {value}", column.name));
            if random.below(3) == 0 {
                let other = random.pick(TYPES[column.ty].1);
                conditions.push(format!("{} > {other}", column.name));
            }
        }
        if random.below(10) == 0 {
            conditions.push(format!("v = {}", random.below(5)));
        }
        let mut sql = format!("DELETE FROM {}", table.name);
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        sql + *random.pick::<&str>(&["", "", "", " RETURNING NOTHING", " RETURNING v"])
    }
}

fn names(keys: &[Column]) -> String {
    keys.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(", ")
}

/// An index of a table: outside, or below any table above it.
fn index(random: &mut Random, tables: &[Table], at: usize, number: u64) -> String {
    let table = &tables[at];
    let name = format!("{}_{number}", table.name);
    let mut above = Vec::new();
    let mut next = table.parent;
    while let Some(parent) = next {
        above.push(parent);
        next = tables[parent].parent;
    }
    if above.is_empty() || random.below(2) == 0 {
        let predicate = if random.below(3) == 0 { " WHERE v > 1" } else { "" };
        let storing = if random.below(3) == 0 { " STORING (w)" } else { "" };
        return format!("CREATE INDEX {name} ON {} (v){storing}{predicate}", table.name);
    }
    let parent = &tables[above[random.below(above.len() as u64) as usize]];
    let keys: Vec<String> = parent
        .keys
        .iter()
        .map(|c| format!("{}{}", c.name, if c.descending { " DESC" } else { "" }))
        .collect();
    format!(
        "CREATE INDEX {name} ON {} ({}, v) INTERLEAVE IN PARENT {} ({})",
        table.name,
        keys.join(", "),
        parent.name,
        names(&parent.keys)
    )
}
