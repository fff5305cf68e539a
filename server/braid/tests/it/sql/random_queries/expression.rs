//! Random expressions of a type over the columns in reach.
//!
//! Nothing in them depends on the order of evaluation or of rows: no division but by what cannot
//! be 0, aggregates of lists have an ORDER BY, and scalar subqueries give at most one row.

use super::query::Generator;

/// The types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Int,
    Big,
    Num,
    Float,
    Text,
    Bool,
    Date,
    Stamp,
    Json,
    Ints,
    Uuid,
    Span,
    Mood,
    /// `char(n)` and `bpchar`
    Blank,
}

use Ty::{Big, Blank, Bool, Date, Float, Int, Ints, Json, Mood, Num, Span, Stamp, Text, Uuid};

/// All of them.
pub(super) const TYPES: [Ty; 14] =
    [Int, Big, Num, Float, Text, Bool, Date, Stamp, Json, Ints, Uuid, Span, Mood, Blank];

impl Ty {
    pub(super) fn sql(self) -> &'static str {
        match self {
            Int => "int4",
            Big => "int8",
            Num => "numeric",
            Float => "float8",
            Text => "text",
            Bool => "bool",
            Date => "date",
            Stamp => "timestamp",
            Json => "jsonb",
            Ints => "int4[]",
            Uuid => "uuid",
            Span => "interval",
            Mood => "mood",
            Blank => "bpchar",
        }
    }

    fn literals(self) -> &'static [&'static str] {
        match self {
            Int => &["0", "1", "2", "3", "-1"],
            Big => &["0::int8", "1::int8", "4::int8"],
            Num => &["0.0", "0.5", "1.0", "-1.25"],
            Float => &["0::float8", "0.25::float8", "-0.5::float8"],
            Text => &["'s0'::text", "'s1'::text", "''::text", "'zz'::text"],
            Bool => &["true", "false"],
            Date => &["date '2024-01-01'", "date '2024-01-03'"],
            Stamp => &["timestamp '2024-01-01 02:00'", "timestamp '2023-12-31'"],
            Json => &["'{\"k\":1}'::jsonb", "'[1,null]'::jsonb", "'2'::jsonb"],
            Ints => &["ARRAY[0,1]", "ARRAY[2]", "'{}'::int[]"],
            Uuid => &["'00000000-0000-0000-0000-000000000001'::uuid"],
            Span => &["interval '1 day'", "interval '25 hours'"],
            Mood => &["'sad'::mood", "'ok'::mood"],
            Blank => &["'c0'::char(3)", "'c1  '::bpchar", "'c1'::bpchar", "''::bpchar"],
        }
    }

    /// Whether `min` and `max` take it.
    fn has_extremes(self) -> bool {
        !matches!(self, Bool | Json | Uuid)
    }
}

impl Generator {
    /// An expression of a type.
    pub(super) fn expr(&mut self, ty: Ty, depth: u32) -> String {
        if depth == 0 || self.random.percent(35) {
            return self.leaf(ty);
        }
        match self.random.below(14) {
            12 => self.simple_case(ty, depth - 1),
            13 if matches!(ty, Text | Json) => self.whole_row(ty),
            0 => format!("coalesce({}, {})", self.expr(ty, depth - 1), self.expr(ty, depth - 1)),
            1 => format!("nullif({}, {})", self.expr(ty, depth - 1), self.leaf(ty)),
            2 | 3 => {
                let condition = self.condition(depth - 1);
                let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                format!("CASE WHEN {condition} THEN {a} ELSE {b} END")
            }
            4 | 5 => self.scalar_subquery(ty, depth - 1),
            _ if ty == Bool => format!("({})", self.condition(depth)),
            _ => self.operation(ty, depth - 1),
        }
    }

    /// A simple CASE over values of some type.
    fn simple_case(&mut self, ty: Ty, depth: u32) -> String {
        let of = *self.random.pick(&TYPES);
        let operand = self.expr(of, depth);
        let whens: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| format!("WHEN {} THEN {}", self.leaf(of), self.expr(ty, depth)))
            .collect();
        format!("CASE {operand} {} ELSE {} END", whens.join(" "), self.leaf(ty))
    }

    /// The whole row of an item of FROM, which is NULL where an outer join found none.
    fn whole_row(&mut self, ty: Ty) -> String {
        let items = self.items();
        if items.is_empty() {
            return self.leaf(ty);
        }
        let item = self.random.pick(&items).clone();
        match ty {
            Json => format!("to_jsonb({item})"),
            _ => format!("({item})::text"),
        }
    }

    /// The items of FROM in reach whose rows have a value in each column.
    fn items(&self) -> Vec<String> {
        let columns = self.scopes.iter().flatten().map(|column| column.0.as_str());
        let mut items: Vec<String> = columns
            .map(|name| name.split('.').next().unwrap_or(name).to_owned())
            .filter(|item| !self.failing.contains(item))
            .collect();
        items.dedup();
        items
    }

    pub(super) fn leaf(&mut self, ty: Ty) -> String {
        if let Some(column) = self.column(ty).filter(|_| self.random.percent(85)) {
            return column;
        }
        if self.random.one_in(10) {
            return format!("NULL::{}", ty.sql());
        }
        (*self.random.pick(ty.literals())).to_owned()
    }

    /// A column of the type in reach, mostly of the innermost query.
    fn column(&mut self, ty: Ty) -> Option<String> {
        let own = self.scopes.last()?;
        let outer: Vec<String> = if own.iter().any(|c| c.1 == ty) && !self.random.one_in(4) {
            own.iter().filter(|c| c.1 == ty).map(|c| c.0.clone()).collect()
        } else {
            self.scopes.iter().flatten().filter(|c| c.1 == ty).map(|c| c.0.clone()).collect()
        };
        (!outer.is_empty()).then(|| self.random.pick(&outer).clone())
    }

    fn operation(&mut self, ty: Ty, depth: u32) -> String {
        let other = self.expr(ty, depth);
        let int = self.expr(Int, 0);
        match (ty, self.random.below(5)) {
            (Int, 0) => format!("length({})", self.expr(Text, depth)),
            (Int, 1) => format!("cardinality({})", self.expr(Ints, depth)),
            (Int, 2) => format!("abs({other} - {int})"),
            (Int, _) => format!("({other} + {int})"),
            (Big, 0) => format!("({int})::int8"),
            (Big, _) => format!("({other} - {int})"),
            (Num, 0) => format!("round({other}, 1)"),
            (Num, 1) => format!("({int})::numeric / 4"),
            (Num, _) => format!("({other} * {int})"),
            (Float, 0) => format!("({int})::float8"),
            (Float, _) => format!("({other} + {int})"),
            (Text, 0) => format!("upper({other})"),
            (Text, 1) => format!("({int})::text"),
            (Text, 2) => format!("substr({other}, 1, 2)"),
            (Text, 3) => format!("({})::text", self.expr(Mood, depth)),
            (Mood, 0) => format!("least({other}, {})", self.leaf(Mood)),
            (Mood, 1) => format!("(enum_range(NULL, {other}))[{int}]"),
            (Text, _) => format!("({other} || {int})"),
            (Date, _) => format!("({other} + {int})"),
            (Stamp, 0) => format!("({})::timestamp", self.expr(Date, depth)),
            (Stamp, _) => format!("({other} + {})", self.leaf(Span)),
            (Json, 0) => format!("to_jsonb({int})"),
            (Json, _) => format!("jsonb_build_array({other}, {int})"),
            (Ints, 0) => format!("ARRAY[{int}, {int}]"),
            (Ints, 1) => format!("ARRAY(SELECT generate_series(1, {int}))"),
            (Ints, _) => format!("({other} || {int})"),
            (Span, _) => format!("({other} + {})", self.leaf(Span)),
            (Blank, 0) => format!("least({other}, {})", self.leaf(Blank)),
            (Blank, 1) => format!("({} || '  ')::bpchar", self.leaf(Text)),
            (Blank, 2) => format!("({other})::char(2)"),
            (Blank, _) => format!("greatest({}, {other})", self.leaf(Blank)),
            (Bool | Uuid | Mood, _) => other,
        }
    }

    /// A subquery of at most one row.
    pub(super) fn scalar_subquery(&mut self, ty: Ty, depth: u32) -> String {
        if self.random.one_in(3) {
            // An aggregate of the query around, if there is one and its columns are read.
            return format!("(SELECT {})", self.expr(ty, depth.min(1)));
        }
        if ty.has_extremes() && self.random.one_in(2) {
            let inner = self.query(&[ty], depth.min(1));
            let which = self.random.pick(&["min", "max"]);
            return format!("(SELECT {which}(z.c0) FROM ({inner}) z)");
        }
        let inner = self.query(&[ty], depth.min(1));
        format!("(SELECT z.c0 FROM ({inner}) z ORDER BY 1 LIMIT 1)")
    }

    /// A condition.
    pub(super) fn condition(&mut self, depth: u32) -> String {
        let ty = *self.random.pick(&TYPES);
        let below = depth.saturating_sub(1);
        let not = if self.random.one_in(4) { "NOT " } else { "" };
        if depth == 0 {
            return self.comparison(ty, 0);
        }
        match self.random.below(17) {
            16 => match self.items().first() {
                Some(item) => format!("{item} IS {not}NULL"),
                None => self.comparison(ty, below),
            },
            0 => format!("({} AND {})", self.condition(below), self.condition(below)),
            1 => format!("({} OR {})", self.condition(below), self.condition(below)),
            2 => format!("NOT ({})", self.condition(below)),
            3 => format!("{} IS {not}NULL", self.expr(ty, below)),
            4 => format!("({}) IS {not}TRUE", self.condition(below)),
            5 | 6 => format!("{not}EXISTS ({})", self.query(&[ty], below)),
            7 | 8 => {
                let left = self.expr(ty, below);
                format!("{left} {not}IN ({})", self.query(&[ty], below))
            }
            9 => {
                let left = self.expr(ty, below);
                format!("{left} {not}IN ({}, {})", self.leaf(ty), self.expr(ty, below))
            }
            10 => {
                let op = *self.random.pick(&["=", "<>", "<", ">="]);
                let all = *self.random.pick(&["ANY", "ALL"]);
                let left = self.expr(ty, below);
                // A set operation in parentheses would not be read as a query.
                format!("{left} {op} {all} (SELECT z.c0 FROM ({}) z)", self.query(&[ty], below))
            }
            11 => {
                let left = format!("({}, {})", self.expr(Int, 0), self.expr(Text, below));
                format!("{left} {not}IN ({})", self.query(&[Int, Text], below))
            }
            12 => format!("{} = ANY ({})", self.expr(Int, below), self.expr(Ints, below)),
            13 => format!(
                "({}, {}) < ({}, {})",
                self.expr(Int, 0),
                self.leaf(ty),
                self.expr(Int, below),
                self.leaf(ty)
            ),
            14 => format!("{} LIKE 's%'", self.expr(Text, below)),
            _ => self.comparison(ty, below),
        }
    }

    fn comparison(&mut self, ty: Ty, depth: u32) -> String {
        let op = *self.random.pick(&["=", "=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM"]);
        format!("{} {op} {}", self.expr(ty, depth), self.expr(ty, depth))
    }

    /// An aggregate of a type.
    pub(super) fn aggregate(&mut self, ty: Ty, depth: u32) -> String {
        let mut filter = String::new();
        if self.random.one_in(5) {
            let condition = self.condition(depth.min(1));
            // One that names columns of an outer query only is not allowed everywhere (sql.md).
            if self.has_own_column(&condition) {
                filter = format!(" FILTER (WHERE {condition})");
            }
        }
        let distinct = if self.random.one_in(4) { "DISTINCT " } else { "" };
        let e = self.expr(ty, depth);
        let call = match ty {
            Int if self.random.one_in(6) && !self.items().is_empty() => {
                let items = self.items();
                format!("count({}){filter}", self.random.pick(&items))
            }
            Int if self.random.one_in(2) => format!("count({distinct}{e}){filter}"),
            Int => format!("count(*){filter}"),
            Big => format!("sum({distinct}{}){filter}", self.expr(Int, depth)),
            Bool => format!("bool_or({e}){filter}"),
            Text if self.random.one_in(2) => {
                format!("string_agg({distinct}{e}, ',' ORDER BY {e}){filter}")
            }
            Num if self.random.one_in(2) => format!("sum({distinct}{e}){filter}"),
            Ints => {
                let item = self.leaf(Int);
                format!("array_agg({item} ORDER BY {item}){filter}")
            }
            Json => format!("jsonb_agg({e} ORDER BY {e}){filter}"),
            Uuid => format!("(array_agg({e} ORDER BY {e}){filter})[1]"),
            _ => format!("max({e}){filter}"),
        };
        format!("({call})::{}", ty.sql())
    }

    /// A window function of a type, whose result does not depend on the order of peers.
    pub(super) fn window(&mut self, ty: Ty, depth: u32) -> String {
        let (by, order) = (*self.random.pick(&TYPES), *self.random.pick(&TYPES));
        let partition = if self.random.one_in(2) {
            format!("PARTITION BY {} ", self.expr(by, depth.min(1)))
        } else {
            String::new()
        };
        let order = format!("ORDER BY {}", self.expr(order, depth.min(1)));
        let e = self.expr(ty, depth);
        let call = match ty {
            Int => (*self.random.pick(&["rank()", "dense_rank()", "count(*)"])).to_owned(),
            Big => format!("sum({})", self.expr(Int, depth)),
            Bool => format!("bool_and({e})"),
            Json | Uuid => format!("count({e})"),
            _ => format!("min({e})"),
        };
        match ty {
            Json => format!("to_jsonb({call} OVER ({partition}{order}))"),
            Uuid => format!("(CASE WHEN {call} OVER ({partition}{order}) > 1 THEN {e} END)"),
            _ => format!("({call} OVER ({partition}{order}))::{}", ty.sql()),
        }
    }
}
