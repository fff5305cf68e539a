//! Random statements: queries of given column types, and changes of a table.

use std::fmt::Write as _;

use braid_testkit::random::Random;

use super::expression::{TYPES, Ty};

/// The columns of the tables and views, in order.
const COLUMNS: [(&str, Ty); 15] = [
    ("id", Ty::Int),
    ("i", Ty::Int),
    ("g", Ty::Big),
    ("n", Ty::Num),
    ("f", Ty::Float),
    ("s", Ty::Text),
    ("b", Ty::Bool),
    ("d", Ty::Date),
    ("ts", Ty::Stamp),
    ("j", Ty::Json),
    ("a", Ty::Ints),
    ("u", Ty::Uuid),
    ("v", Ty::Span),
    ("m", Ty::Mood),
    ("c", Ty::Blank),
];

/// A column that can be named, and its type.
pub(super) type Column = (String, Ty);

/// A statement to run.
pub(super) struct Statement {
    pub sql: String,
    /// The table that it changes.
    pub changes: Option<&'static str>,
}

/// Makes statements.
pub(super) struct Generator {
    pub random: Random,
    /// The columns in reach, those of the innermost query last.
    pub scopes: Vec<Vec<Column>>,
    /// Items of FROM with a column that fails if somebody reads it.
    pub failing: Vec<String>,
    /// The next select has such a column.
    fails: bool,
    names: u32,
}

impl Generator {
    pub(super) fn new(random: Random) -> Self {
        Self { random, scopes: Vec::new(), failing: Vec::new(), fails: false, names: 0 }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn types(&mut self) -> Vec<Ty> {
        (0..1 + self.random.below(3)).map(|_| *self.random.pick(&TYPES)).collect()
    }

    /// A statement.
    pub(super) fn statement(&mut self) -> Statement {
        if self.random.one_in(8) {
            return self.change();
        }
        let types = self.types();
        Statement { sql: self.query(&types, 3), changes: None }
    }

    fn change(&mut self) -> Statement {
        let table = *self.random.pick(&["t1", "t2"]);
        let own: Vec<Column> =
            COLUMNS.iter().map(|(name, ty)| (format!("{table}.{name}"), *ty)).collect();
        let (name, ty) = COLUMNS[1 + self.random.below(13) as usize];
        self.scopes.push(own);
        let sql = match self.random.below(4) {
            0 => {
                let value = self.expr(ty, 2);
                let condition = self.condition(2);
                let returned = self.expr(ty, 1);
                format!(
                    "UPDATE {table} SET {name} = {value} WHERE {condition} RETURNING {returned}"
                )
            }
            1 => format!("DELETE FROM {table} WHERE {} RETURNING {table}.id", self.condition(2)),
            2 => {
                let condition = self.condition(1);
                format!("DELETE FROM {table} USING v1 w WHERE w.id = {table}.i AND {condition}")
            }
            _ => {
                let columns = self.scopes.pop();
                self.scopes.push(Vec::new());
                let query = self.query(&[Ty::Int, ty], 2);
                self.scopes.pop();
                self.scopes.extend(columns);
                // Of rows with the same key, which one is inserted would depend on their order.
                let value = match ty {
                    Ty::Ints => "min(c1)",
                    _ => "(array_agg(c1 ORDER BY c1))[1]",
                };
                format!(
                    "INSERT INTO {table} (id, {name}) SELECT c0, {value} FROM ({query}) q WHERE \
                     c0 IS NOT NULL GROUP BY c0 ON CONFLICT DO NOTHING"
                )
            }
        };
        self.scopes.pop();
        Statement { sql, changes: Some(table) }
    }

    /// A query of these column types; its columns are `c0`, `c1`, …
    pub(super) fn query(&mut self, types: &[Ty], depth: u32) -> String {
        if depth == 0 {
            return self.select(types, 0);
        }
        match self.random.below(14) {
            0 | 1 => {
                let op = *self.random.pick(&[
                    "UNION ALL",
                    "UNION",
                    "INTERSECT",
                    "EXCEPT",
                    "INTERSECT ALL",
                    "EXCEPT ALL",
                ]);
                let (a, b) = (self.query(types, depth - 1), self.query(types, depth - 1));
                format!("({a}) {op} ({b})")
            }
            2 => {
                let rows: Vec<String> = (0..1 + self.random.below(3))
                    .map(|_| format!("({})", self.values(types, depth - 1).join(", ")))
                    .collect();
                let names: Vec<String> = (0..types.len()).map(|i| format!("c{i}")).collect();
                let name = self.name("w");
                format!("SELECT * FROM (VALUES {}) {name} ({})", rows.join(", "), names.join(", "))
            }
            3 => {
                let inner = self.types();
                let cte = self.query(&inner, depth - 1);
                let (name, alias) = (self.name("k"), self.name("x"));
                let columns =
                    inner.iter().enumerate().map(|(i, ty)| (format!("{alias}.c{i}"), *ty));
                self.scopes.push(columns.collect());
                let list = self.list(types, depth - 1, Generator::expr);
                let condition = self.condition(depth - 1);
                self.scopes.pop();
                format!(
                    "WITH {name} AS ({cte}) SELECT {list} FROM {name} {alias} WHERE {condition}"
                )
            }
            _ => self.select(types, depth),
        }
    }

    fn values(&mut self, types: &[Ty], depth: u32) -> Vec<String> {
        types.iter().map(|ty| format!("({})::{}", self.expr(*ty, depth), ty.sql())).collect()
    }

    fn list(
        &mut self,
        types: &[Ty],
        depth: u32,
        item: fn(&mut Generator, Ty, u32) -> String,
    ) -> String {
        let items = types.iter().enumerate();
        let items: Vec<String> =
            items.map(|(i, ty)| format!("{} AS c{i}", item(self, *ty, depth))).collect();
        items.join(", ")
    }

    /// A SELECT with its clauses.
    fn select(&mut self, types: &[Ty], depth: u32) -> String {
        let fails = std::mem::take(&mut self.fails);
        self.scopes.push(Vec::new());
        let from = self.from(depth);
        let below = depth.saturating_sub(1);
        let mut rest = String::new();
        if self.random.percent(55) {
            let _ = write!(rest, " WHERE {}", self.condition(depth.min(2)));
        }
        let kind = if depth == 0 { 9 } else { self.random.below(10) };
        let mut distinct = "";
        let mut list = match kind {
            0 | 1 => self.grouped(types, below, &mut rest),
            2 => self.list(types, below, Generator::aggregate),
            3 => self.list(types, below, Generator::window),
            4 => {
                distinct = "DISTINCT ";
                self.list(types, below, Generator::expr)
            }
            _ => self.list(types, below, Generator::expr),
        };
        if fails && distinct.is_empty() && kind > 2 {
            let key = self.key().unwrap_or_else(|| "0".to_owned());
            let _ = write!(list, ", 1 / ({key} - {key}) AS failing");
        }
        self.scopes.pop();
        let mut sql = format!("SELECT {distinct}{list} FROM {from}{rest}");
        if self.random.one_in(5) {
            let places: Vec<String> = (1..=types.len()).map(|i| i.to_string()).collect();
            let limit = 1 + self.random.below(4);
            let _ = write!(sql, " ORDER BY {} LIMIT {limit}", places.join(", "));
            if self.random.one_in(3) {
                sql.push_str(" OFFSET 1");
            }
        }
        sql
    }

    /// GROUP BY, with the select list: grouping expressions and aggregates.
    fn grouped(&mut self, types: &[Ty], depth: u32, rest: &mut String) -> String {
        let keys: Vec<(String, Ty)> = (0..1 + self.random.below(2))
            .map(|_| {
                let ty = *self.random.pick(types);
                (self.grouping_key(ty, depth.min(1)), ty)
            })
            .collect();
        let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
        let names = names.join(", ");
        // A subquery in a grouping set, selected twice, and a grouping expression that PostgreSQL
        // takes for a constant are differences of sql.md.
        let folds = |key: &str| {
            let inner = key.strip_prefix("coalesce(");
            inner.is_some_and(|e| e.contains("coalesce(") || e.contains("CASE"))
        };
        let differs = names.contains("SELECT") || keys.iter().any(|(key, _)| folds(key));
        let kinds = if differs { 3..6 } else { 0..6 };
        let clause = match kinds.start + self.random.below(kinds.end - kinds.start) {
            0 => format!("ROLLUP ({names})"),
            1 => format!("CUBE ({names})"),
            2 => format!("GROUPING SETS (({names}), ())"),
            _ => names,
        };
        let items = types.iter().enumerate().map(|(i, ty)| {
            let key = keys.iter().find(|(_, known)| known == ty);
            let item = match key.filter(|_| !self.random.one_in(3)) {
                Some((key, _)) => key.clone(),
                None => self.aggregate(*ty, depth),
            };
            format!("{item} AS c{i}")
        });
        let items: Vec<String> = items.collect();
        let _ = write!(rest, " GROUP BY {clause}");
        if self.random.one_in(4) {
            let aggregate = self.aggregate(Ty::Int, depth);
            let _ = write!(rest, " HAVING {aggregate} > {}", self.random.below(3));
        }
        items.join(", ")
    }

    /// A grouping expression, none of those in which sql.md says that we differ.
    fn grouping_key(&mut self, ty: Ty, depth: u32) -> String {
        for _ in 0..20 {
            let key = self.expr(ty, depth);
            let differs = ["ARRAY(SELECT", "ANY (SELECT", "ALL (SELECT"];
            if self.has_own_column(&key) && !differs.iter().any(|form| key.contains(form)) {
                // A number alone would be read as that of a column.
                return format!("coalesce({key})");
            }
        }
        let own = self.scopes.last().and_then(|own| own.first()).map(|column| column.0.clone());
        let own = own.unwrap_or_else(|| "0".to_owned());
        format!("CASE WHEN {own} IS NULL THEN {} END", self.leaf(ty))
    }

    /// Whether a text names a column of the innermost FROM clause.
    pub(super) fn has_own_column(&self, text: &str) -> bool {
        self.scopes.last().is_some_and(|own| own.iter().any(|column| text.contains(&column.0)))
    }

    /// One to three items of FROM; their columns are in the last scope afterwards.
    fn from(&mut self, depth: u32) -> String {
        let mut sql = self.item(depth, false);
        let more = if depth == 0 { self.random.below(2) } else { self.random.below(3) };
        for _ in 0..more.min(u64::from(depth) + 1) {
            match self.random.below(8) {
                0 | 1 => {
                    let item = self.item(depth, true);
                    let _ = write!(sql, " CROSS JOIN {item}");
                }
                2..=4 => {
                    let item = self.item(depth, true);
                    let condition = self.condition(depth.min(1));
                    let _ = write!(sql, " JOIN {item} ON {condition}");
                }
                5 | 6 => {
                    let item = self.item(depth, true);
                    let condition = self.condition(depth.min(1));
                    let _ = write!(sql, " LEFT JOIN {item} ON {condition}");
                }
                _ => {
                    // A FULL JOIN needs an equality.
                    let kind = *self.random.pick(&["RIGHT", "FULL"]);
                    let left = self.key();
                    let own = self.scopes.last().map_or(0, Vec::len);
                    let item = self.item(0, false);
                    let right = self.scopes.last().map_or(Vec::new(), |s| s[own..].to_vec());
                    let right = right.into_iter().find(|c| c.1 == Ty::Int);
                    match (left, right) {
                        (Some(left), Some((right, _))) => {
                            let _ = write!(sql, " {kind} JOIN {item} ON {left} = {right}");
                        }
                        _ => {
                            let _ = write!(sql, " CROSS JOIN {item}");
                        }
                    }
                }
            }
        }
        sql
    }

    /// An integer column of the query being made.
    fn key(&self) -> Option<String> {
        let own = self.scopes.last()?;
        own.iter().find(|c| c.1 == Ty::Int).map(|c| c.0.clone())
    }

    fn item(&mut self, depth: u32, lateral: bool) -> String {
        let alias = self.name("q");
        let choice = if depth == 0 { 0 } else { self.random.below(8) };
        let (sql, columns): (String, Vec<Column>) = match choice {
            5 | 6 => {
                let types = self.types();
                let visible = lateral && self.random.one_in(2);
                let hidden = (!visible).then(|| self.scopes.pop()).flatten();
                let inner = if self.random.one_in(4) {
                    self.fails = true;
                    self.failing.push(alias.clone());
                    self.select(&types, depth - 1)
                } else {
                    self.query(&types, depth - 1)
                };
                self.scopes.extend(hidden);
                let word = if visible { "LATERAL " } else { "" };
                let columns = types.iter().enumerate();
                let columns = columns.map(|(i, ty)| (format!("{alias}.c{i}"), *ty)).collect();
                (format!("{word}({inner}) {alias}"), columns)
            }
            7 => {
                let (call, ty) = match self.random.below(3) {
                    0 => ("generate_series(1, 3)", Ty::Int),
                    1 => ("unnest(ARRAY[1, NULL, 2])", Ty::Int),
                    _ => ("jsonb_array_elements('[1, null, {\"k\":1}]')", Ty::Json),
                };
                (format!("{call} {alias}"), vec![(alias.clone(), ty)])
            }
            _ => {
                let table = *self.random.pick(&["t1", "t2", "v1", "v2"]);
                let columns = COLUMNS.iter().map(|(name, ty)| (format!("{alias}.{name}"), *ty));
                (format!("{table} {alias}"), columns.collect())
            }
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(columns);
        }
        sql
    }
}
